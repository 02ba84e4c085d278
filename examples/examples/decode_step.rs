//! A small decoder writes tokens: `cargo run --release --example decode_step`; `TILE_DEVICE=sim` executes the device's words.
//!
//! *Not here*: the program itself (`examples::decode_step`); this hands it the device, sizes and the stream of the process.

use std::process::ExitCode;

use examples::decode_step::{Sizes, run};
use tile_std::Device;

fn main() -> ExitCode {
    let said = |why: String| {
        eprintln!("decode_step: {why}");
        ExitCode::FAILURE
    };
    let (device, why) = match Device::best() {
        Ok(found) => found,
        Err(error) => return said(error.to_string()),
    };
    println!("{}: {why}", device.name());
    let sizes = Sizes {
        layers: 4,
        hidden: 512,
        heads: 8,
        kv_heads: 2,
        dim: 64,
        inner: 1408,
        vocabulary: 4000,
        capacity: 64,
    };
    match run(&device, sizes, (37, 24), &mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => said(error.to_string()),
    }
}
