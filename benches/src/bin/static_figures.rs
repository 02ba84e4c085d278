//! Prints what Intel's offline compiler makes of the kernels of `tile_std`, beside figures of kernels written by hand.
//!
//! ```text
//! cargo run --release -p benches --bin static_figures
//! cargo run --release -p benches --bin static_figures -- --kernel attention --all
//! ```
//!
//! Needs the tools of `scripts/get-tools`, and no GPU: nothing is executed. What is counted, and how, is `cargo tile inspect`'s
//! ([`tile_cli::inspect`], [`tile_cli::interior`]).

use std::process::ExitCode;

use clap::Parser;
use tile_cli::by_hand::BY_HAND;
use tile_cli::inspect::{Figures, inspect, table};
use tile_cli::interior::Counts;
use tile_cli::kernels;
use tile_cli::tools::Tools;

/// Prints figures of kernels from Intel's offline compiler, beside those of kernels written by hand.
#[derive(Parser)]
struct Options {
    /// A kernel; all unless given.
    #[arg(long)]
    kernel: Option<String>,
    /// All instances of a kernel; without it the first that has a module.
    #[arg(long)]
    all: bool,
}

const DEVICES: [&str; 2] = ["pvc", "bmg"];

fn figures(tools: &Tools, kernel: &str, text: Option<&str>, all: bool) -> Result<Vec<Figures>, String> {
    let error = |e: &dyn std::error::Error| e.to_string();
    let kernel = kernels::find(kernels::registry(), kernel).map_err(|e| error(&e))?;
    let instances = kernels::instances(kernel, text).map_err(|e| error(&e))?;
    let modules = instances.into_iter().flat_map(kernels::modules).filter(|m| !m.devices.is_empty());
    let mut out = vec![];
    for module in modules.take(if all { usize::MAX } else { 1 }) {
        for device in DEVICES.iter().filter(|device| module.devices.iter().any(|d| d == *device)) {
            out.push(inspect(tools, &module, device).map_err(|e| format!("{}: {e}", module.label()))?);
        }
    }
    Ok(out)
}

fn run(options: &Options) -> Result<(), String> {
    let tools = Tools::find().map_err(|e| e.to_string())?;
    println!("method: static; Intel's compiler {}", tools.version_of("igc").unwrap_or("of unknown version"));
    let names = kernels::registry().iter().map(|kernel| kernel.name);
    let names: Vec<&str> = match &options.kernel {
        Some(name) => vec![name.as_str()],
        None => names.collect(),
    };
    let mut found = vec![];
    for name in &names {
        found.extend(figures(&tools, name, None, options.all)?);
    }
    println!("{}", table(&found));
    println!(
        "{:<56} {:>6} {:>5} {:>5} {:>6} {:>5} {:>8} {:>5}",
        "interior", "device", "dpas", "alu", "scalar", "math", "messages", "sync"
    );
    for f in &found {
        let Some(Counts { dpas, alu, scalar, math, messages, sync }) = f.interior else { continue };
        let name = format!("{}{}", f.kernel, f.instance);
        println!(
            "{name:<56} {:>6} {dpas:>5} {alu:>5} {scalar:>6} {math:>5} {messages:>8} {sync:>5}",
            f.device
        );
    }
    println!("\nbeside kernels written by hand: this, by hand, ratio");
    for hand in BY_HAND.iter().filter(|hand| names.contains(&hand.kernel)) {
        for f in figures(&tools, hand.kernel, Some(hand.instance), false)? {
            let Some(by_hand) = hand.figure(&f.device) else { continue };
            let Some(this) = hand.of.measured(&f) else {
                return Err(format!("{} {} has nothing to compare", hand.kernel, hand.instance));
            };
            println!(
                "{}{} {}: {this:.1}, {by_hand:.1}, {:.2}; spill {} bytes; {}",
                hand.kernel,
                hand.instance,
                f.device,
                this / by_hand,
                f.spill_bytes,
                hand.what
            );
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("static_figures: {why}");
            ExitCode::FAILURE
        }
    }
}
