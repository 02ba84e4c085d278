//! Reads digits in any light: `cargo run --release --example norms`; `TILE_DEVICE=sim` executes the device's words.
//!
//! *Not here*: the program itself (`examples::norms`); this hands it the device and the stream of the process.

use std::process::ExitCode;

use examples::norms::run;
use tile_std::Device;

fn main() -> ExitCode {
    let said = |why: String| {
        eprintln!("norms: {why}");
        ExitCode::FAILURE
    };
    let (device, why) = match Device::best() {
        Ok(found) => found,
        Err(error) => return said(error.to_string()),
    };
    println!("{}: {why}", device.name());
    match run(&device, &mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => said(error.to_string()),
    }
}
