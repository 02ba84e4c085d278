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

/// What is compared of an instance.
enum Of {
    /// Clocks of the arithmetic of a trip through the K loop.
    Trip,
    /// Instructions of the interior, by units of which a sub-group makes so many.
    Interior(f64),
}

/// A figure of a kernel written by hand.
struct Hand {
    kernel: &'static str,
    instance: &'static str,
    of: Of,
    /// The unit, and what was written by hand.
    what: &'static str,
    /// On pvc and on bmg.
    figures: [f64; 2],
}

/// Kernels written by hand for the same compiler (IGC 2.40.14): in SPIR-V (attention) and in OpenCL C (the others), for tensors
/// without edges and for a head of 128, a row of 128 with k = 8, and a row of 4096.
const BY_HAND: &[Hand] = &[
    Hand {
        kernel: "attention",
        instance: "<bf16, 128, 16, 32>",
        of: Of::Trip,
        what: "clocks per 32 keys; 16 queries, 32 keys a trip, lazy rescaling, maxima in a lane vector",
        figures: [343.0, 307.0],
    },
    Hand {
        kernel: "attention",
        instance: "<bf16, 128, 16, 32>",
        of: Of::Trip,
        what: "clocks per 32 keys; the same with 64 keys a trip",
        figures: [700.0 / 2.0, 563.0 / 2.0],
    },
    Hand {
        kernel: "softmax_topk",
        instance: "<f16, true, 8, 128>",
        of: Of::Interior(16.0),
        what: "instructions per row; a row per lane, i32 keys, of equal elements the lower index",
        figures: [117.0, 115.0],
    },
    Hand {
        kernel: "softmax_topk",
        instance: "<f16, true, 8, 128>",
        of: Of::Interior(16.0),
        what: "instructions per row; float keys: no NaN, of equal negative elements the higher index",
        figures: [95.2, 93.8],
    },
    Hand {
        kernel: "rms_norm",
        instance: "<bf16, false, 256, 16, true>",
        of: Of::Interior(8.0 * 256.0 / 16.0),
        what: "instructions per 16 elements; one 2-D load per sub-group, sub-group block write",
        figures: [8.8, 8.3],
    },
];

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

/// What an instance costs in the units of a figure written by hand.
fn measured(figures: &Figures, of: &Of) -> Option<f64> {
    match of {
        Of::Trip => figures.k_loop.as_ref().map(|l| {
            let arithmetic = Counts { alu: l.alu, scalar: l.scalar, math: l.math, ..Counts::default() };
            arithmetic.clocks() as f64
        }),
        Of::Interior(units) => figures.interior.as_ref().map(|counts| counts.total() as f64 / units),
    }
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
            let by_hand = hand.figures[usize::from(f.device != DEVICES[0])];
            let Some(this) = measured(&f, &hand.of) else {
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
