//! Measures what `#[tile_kernel]` costs as a user sees it: a crate outside the workspace that depends on
//! `tile-std`, with the GEMM kernel in 0, 1, 8 and 16 instances, under `cargo check` and `cargo build` with
//! cargo's default dev profile (so the macro itself is not optimised).
//!
//! ```text
//! cargo run --release -p benches --bin macro_cost
//! ```
//!
//! Two more contestants say where the time goes: `cargo check` of the same crate with the macro already
//! expanded, and the front end alone in this process.

mod scratch;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use benches::clock::Who;
use benches::contest::{Clock, Contestant, Measured, Plan, Spread, measure};
use benches::machine;
use clap::Parser;
use scratch::{Form, Scratch};
use tile_std::Device;

/// The most a `cargo check` may cost per instance.
const GOAL_MS: f64 = 50.0;

/// Measures the cost of `#[tile_kernel]` per instance.
#[derive(Parser)]
struct Options {
    /// Instances of the kernel; at most as many as the library's GEMM has with device modules.
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1, 8, 16])]
    instances: Vec<usize>,
    /// Rounds; in each, every contestant has one turn.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Where the scratch crate is built, to keep its dependencies for the next run; a temporary folder if not
    /// given.
    #[arg(long)]
    target_dir: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("macro_cost: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let mut counts = options.instances.clone();
    counts.sort_unstable();
    counts.dedup();
    if counts.len() < 2 {
        return Err("a cost per instance needs at least two different numbers of instances".into());
    }
    println!("machine: {}", machine::describe(&Device::host()));
    println!(
        "method: a scratch crate with the library's GEMM in {counts:?} instances, with modules for {}; its file is written anew before \
         every cargo run; {} rounds, every contestant once a round in rotated order; a cost per instance is the \
         slope of a least-squares line through one round's times, then median [quartiles] over rounds; cpu is CPU \
         time, which other programs on the machine disturb less",
        scratch::targets(),
        options.rounds
    );
    let scratch = Scratch::new(options.target_dir.clone())?;
    println!("building the scratch crate's dependencies once (dev profile); this takes a while");
    scratch.warm_up()?;

    let commands = [("cargo check", "check", Form::Macro), ("cargo build", "build", Form::Macro)];
    let expanded = [("cargo check, macro expanded beforehand", "check", Form::Expanded)];
    let kinds: Vec<_> = commands.into_iter().chain(expanded).collect();
    let mut contestants = Vec::new();
    for (_, command, form) in &kinds {
        for count in &counts {
            let text = scratch::kernel_text(*count, *form)?;
            let scratch = &scratch;
            let name = format!("{command} with {count} instances");
            contestants.push(Contestant::new(name, move || scratch.cargo(command, &text)));
        }
    }
    let plan =
        Plan { who: Who::Children, rounds: options.rounds, turn: Duration::ZERO, pause: Duration::ZERO };
    let measured = measure(&mut contestants, plan).map_err(|e| e.to_string())?;
    for (i, (title, ..)) in kinds.iter().enumerate() {
        print_series(title, &measured, i * counts.len(), &counts);
    }

    let some: Vec<usize> = counts.iter().copied().filter(|count| *count > 0).collect();
    let mut contestants = Vec::new();
    for count in &some {
        let (attr, source) = scratch::kernel_parts(*count)?;
        contestants.push(Contestant::new(format!("front end, {count} instances"), move || {
            tile_front::compile_source(&attr, source).map(|_| ()).map_err(|errors| errors.join("; "))
        }));
    }
    let plan = Plan { who: Who::Process, turn: Duration::from_millis(100), ..plan };
    let front = measure(&mut contestants, plan).map_err(|e| e.to_string())?;
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    if some.len() > 1 {
        print_series(&format!("front end alone, in this process ({profile})"), &front, 0, &some);
    }

    let check = slopes(&measured, 0, &counts, Clock::Wall);
    let check_cpu = slopes(&measured, 0, &counts, Clock::Cpu);
    let (first, rest) = (2 * counts.len(), Clock::Cpu);
    let analysis = slopes(&measured, first, &counts, rest);
    println!(
        "\nof the {:.1} ms CPU per instance of cargo check, rustc's work on the expansion is {:.1} ms; the macro is \
         the rest",
        check_cpu.median, analysis.median
    );
    println!(
        "goal: <= {GOAL_MS} ms per instance for cargo check: {} ({:.1} ms wall, {:.1} ms CPU)",
        if check.median <= GOAL_MS { "holds" } else { "DOES NOT HOLD" },
        check.median,
        check_cpu.median
    );
    Ok(())
}

/// The times of one series of contestants, and its cost per instance.
fn print_series(title: &str, measured: &Measured, first: usize, counts: &[usize]) {
    println!("\n# {title}; {}", machine::load());
    for (i, count) in counts.iter().enumerate() {
        let ms = |clock| measured.seconds(first + i, clock).median * 1e3;
        println!("{count:>4} instances: {:>9.1} ms wall {:>9.1} ms cpu", ms(Clock::Wall), ms(Clock::Cpu));
    }
    let show = |s: Spread| format!("{:.2} [{:.2} {:.2}] ms", s.median, s.low, s.high);
    let slope = |clock| show(slopes(measured, first, counts, clock));
    println!("per instance: {} wall, {} cpu", slope(Clock::Wall), slope(Clock::Cpu));
}

/// Milliseconds per instance of a series, round by round.
fn slopes(measured: &Measured, first: usize, counts: &[usize], clock: Clock) -> Spread {
    let rounds = measured.turns(first).len();
    Spread::of((0..rounds).map(|round| {
        let points: Vec<(f64, f64)> = counts
            .iter()
            .enumerate()
            .map(|(i, count)| (*count as f64, clock.of(measured.turns(first + i)[round]) * 1e3))
            .collect();
        slope(&points)
    }))
}

/// The slope of the least-squares line through points.
fn slope(points: &[(f64, f64)]) -> f64 {
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let along: f64 = points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
    points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / along
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_ignores_what_all_points_share() {
        assert_eq!(slope(&[(0.0, 100.0), (1.0, 103.0), (8.0, 124.0)]), 3.0);
    }
}
