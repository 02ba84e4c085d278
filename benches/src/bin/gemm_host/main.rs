//! Compares `C = A * B` on the host device with other matrix multiplications, in interleaved runs.
//!
//! ```text
//! cargo run --release -p benches --features peers --bin gemm_host -- --sizes 512,1024,2048
//! ```
//!
//! The peers multiply f32; tile multiplies bf16 and writes f32 or bf16. Two peers read their number of threads
//! once, so each number of threads has its own process: this program runs itself again, see [`Options::only`].

mod run;
mod table;

use std::num::NonZeroUsize;
use std::process::{Command, ExitCode};

use benches::{machine, peers};
use clap::Parser;
use tile_std::Device;

/// Compares tile's host GEMM with other matrix multiplications.
#[derive(Parser)]
pub struct Options {
    /// Rows and columns of the square matrices.
    #[arg(long, value_delimiter = ',', default_values_t = [512, 1024, 2048])]
    sizes: Vec<usize>,
    /// Rounds; in each, every contestant has one turn.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Threads of every contestant; all cores unless given. One thread is always measured too.
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Another instance of the kernel to enter, by its name; may be given several times.
    #[arg(long)]
    instance: Vec<String>,
    /// Also enter tile with A and B in rows that lie this many elements further apart than they are long.
    #[arg(long)]
    pad: Option<usize>,
    /// Milliseconds of a turn; a turn has at least one call.
    #[arg(long, default_value_t = 50)]
    turn: u64,
    /// Measure in this process, with this many threads; needs the environment the program sets for itself.
    #[arg(long, hide = true)]
    only: Option<NonZeroUsize>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match options.only {
        Some(threads) => run::run(&options, threads),
        None => divide(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("gemm_host: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Tells the method, then measures each number of threads in its own process.
fn divide(options: &Options) -> Result<(), String> {
    println!("machine: {}", machine::describe(&Device::host()));
    println!(
        "method: {} rounds; in each, every contestant has one turn of {} ms (at least one call), in rotated order; \
         GFLOP/s are medians; ratios are speed tile / speed peer taken within each round, then median [quartiles], \
         by time passed (wall) and by CPU time used (cpu); above 1 tile is faster",
        options.rounds, options.turn
    );
    println!(
        "contestants: tile multiplies bf16 and accumulates f32; the crates gemm 0.19 (AVX-512 kernels on), faer \
         0.24, matrixmultiply 0.3 (feature `threading`) and OpenBLAS multiply f32; all use the same number of \
         threads, and their products are compared first"
    );
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut counts = vec![options.threads.unwrap_or(cores), NonZeroUsize::MIN];
    counts.dedup();
    let program = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    for threads in counts {
        let status = Command::new(&program)
            .args(std::env::args_os().skip(1))
            .arg(format!("--only={threads}"))
            .envs(peers::environment(threads.get()))
            .status()
            .map_err(|e| format!("cannot run {}: {e}", program.display()))?;
        if !status.success() {
            return Err(format!("the run with {threads} threads failed: {status}"));
        }
    }
    Ok(())
}
