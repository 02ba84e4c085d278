//! Measures what an OpenCL launch costs beside its kernel, and what the library's kernels do on the device, against the
//! host device, in one run.
//!
//! ```text
//! TILE_OPENCL_LIBRARY=$PWD/target/tools/opencl/lib/libintelocl.so \
//!     cargo run --release -p benches --features opencl,peers --bin launch
//! ```
//!
//! The device is that of `TILE_DEVICE`, else of `opencl`. A first launch is measured in a process of its own, since a
//! process builds a program once. OpenBLAS takes part if the machine has it and the feature `peers` is on.

mod kernels;
mod latency;

use std::process::ExitCode;

use benches::machine;
use clap::Parser;
use tile_std::Device;

/// Measures launches and kernels on an OpenCL device.
#[derive(Parser)]
struct Options {
    /// Rounds; in each, every contestant has one turn.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Milliseconds of a turn; a turn has at least one call.
    #[arg(long, default_value_t = 100)]
    turn: u64,
    /// Kernels whose name has this in it; the others are left out.
    #[arg(long, default_value = "")]
    only: String,
    /// Launches each kernel once and prints what building it took: what the program asks of itself.
    #[arg(long, hide = true)]
    first_launch: bool,
}

fn run(options: &Options) -> Result<(), String> {
    let value = std::env::var("TILE_DEVICE").unwrap_or_else(|_| "opencl".into());
    let (device, _) = Device::select(Some(&value)).map_err(|e| e.to_string())?;
    if options.first_launch {
        return latency::first_launch(&device);
    }
    println!("machine: {}", machine::describe(&Device::host()));
    println!("device: {device}");
    latency::first_launches(options.rounds)?;
    latency::latencies(&device, options.rounds)?;
    kernels::contests(&device, options)
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("launch: {why}");
            ExitCode::FAILURE
        }
    }
}
