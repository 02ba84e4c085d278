//! Compares row kernels on the host device with copying the same bytes, in interleaved runs.
//!
//! ```text
//! cargo run --release -p benches --bin host_rows -- --rounds 9
//! ```
//!
//! A row kernel reads every element once and writes one, so no kernel can be faster than a copy for long. The copy of
//! the tensors by the standard library, shared out among as many threads, is the first contestant.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Duration;

use benches::clock::Who;
use benches::contest::{Clock, Contestant, Plan, measure};
use benches::machine;
use clap::Parser;
use tile_std::prelude::*;

/// Compares row kernels on the host device with copying.
#[derive(Parser)]
struct Options {
    /// Rows of the tensors; they have 4096 columns.
    #[arg(long, default_value_t = 4096)]
    rows: usize,
    /// Rounds; in each, every contestant has one turn.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Threads of every contestant; all cores unless given.
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Milliseconds of a turn; a turn has at least one call.
    #[arg(long, default_value_t = 100)]
    turn: u64,
}

/// Columns of the tensors, which a tile spans.
const COLS: usize = 4096;

/// `y = x`.
#[tile_kernel(instances(<8, 4096; subgroups = (1, 1); host>))]
pub fn copy<const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f32>) {
    let at = own_tile::<M, N>(y, Linear);
    let tile: rt<f32, M, N> = load(x, [at.row(), 0]);
    store(y, &tile, at);
}

/// Every row less its largest element.
#[tile_kernel(instances(<8, 4096; subgroups = (1, 1); host>))]
pub fn less_max<const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f32>) {
    let at = own_tile::<M, N>(y, Linear);
    let tile: rt<f32, M, N> = load(x, [at.row(), 0]);
    store(y, &tile.sub_row(&tile.row_max()), at);
}

/// `2^x` over its sum in the row.
#[tile_kernel(instances(<8, 4096; subgroups = (1, 1); host>))]
pub fn softmax<const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f32>) {
    let at = own_tile::<M, N>(y, Linear);
    let tile: rt<f32, M, N> = load(x, [at.row(), 0]);
    let powers = tile.sub_row(&tile.row_max()).exp2();
    store(y, &powers.mul_row(&powers.row_sum().recip()), at);
}

/// Copies with `threads` threads.
fn plain_copy(to: &mut [f32], from: &[f32], threads: usize) {
    let part = from.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let mut parts = to.chunks_mut(part).zip(from.chunks(part));
        let first = parts.next();
        for (to, from) in parts {
            scope.spawn(|| to.copy_from_slice(from));
        }
        if let Some((to, from)) = first {
            to.copy_from_slice(from);
        }
    });
}

/// Compares a softmax with f64 loops, on a few rows.
fn check(found: &Tensor<f32>, x: &Tensor<f32>) -> Result<(), String> {
    let at = |t: &Tensor<f32>, r, c| t.get(0, 0, r, c).map_or(f64::NAN, f64::from);
    for row in (0..x.rows()).step_by(997) {
        let largest = (0..COLS).map(|c| at(x, row, c)).fold(f64::MIN, f64::max);
        let sum: f64 = (0..COLS).map(|c| (at(x, row, c) - largest).exp2()).sum();
        for col in 0..COLS {
            let (got, want) = (at(found, row, col), (at(x, row, col) - largest).exp2() / sum);
            let off = (got - want).abs();
            if off.is_nan() || off > 1e-5 * want {
                return Err(format!("softmax is wrong: row {row}, column {col} is {got}, not {want}"));
            }
        }
    }
    Ok(())
}

fn run(options: &Options) -> Result<(), String> {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = options.threads.unwrap_or(cores);
    let device = Device::host_with_threads(threads);
    println!("machine: {}", machine::describe(&device));
    println!(
        "method: {} rounds; in each, every contestant has one turn of {} ms (at least one call), in rotated order; \
         GB/s count each byte read and each written, and are medians; ratios are speed / speed of the copy within \
         each round, then median [quartiles], by time passed (wall) and by CPU time used (cpu)",
        options.rounds, options.turn
    );
    let told = |e: TensorError| e.to_string();
    let value = |r: usize, c: usize| ((r * 131 + c * 71) % 1021) as f32 / 64.0 - 8.0;
    let x = Tensor::from_fn([1, 1, options.rows, COLS], |_, _, r, c| value(r, c)).map_err(told)?;
    let new = || Tensor::<f32>::zeros(options.rows, COLS).map_err(told);
    let (mut copied, mut less, mut soft) = (new()?, new()?, new()?);
    softmax::launch::<8, 4096>(&device, &mut soft, &x).map_err(|e| e.to_string())?;
    check(&soft, &x)?;

    let from = x.to_vec();
    let mut to = vec![0.0f32; from.len()];
    let mut contestants = vec![
        Contestant::new("copy by the standard library", || {
            plain_copy(&mut to, &from, threads.get());
            Ok::<(), LaunchError>(())
        }),
        Contestant::new("load, store", || copy::launch::<8, 4096>(&device, &mut copied, &x).map(|_| ())),
        Contestant::new("load, row_max, sub_row, store", || {
            less_max::launch::<8, 4096>(&device, &mut less, &x).map(|_| ())
        }),
        Contestant::new("softmax", || softmax::launch::<8, 4096>(&device, &mut soft, &x).map(|_| ())),
    ];
    let plan = Plan {
        who: Who::Process,
        rounds: options.rounds,
        turn: Duration::from_millis(options.turn),
        pause: Duration::from_millis(3),
    };
    let measured = measure(&mut contestants, plan).map_err(|e| e.to_string())?;
    let bytes = 2.0 * (options.rows * COLS * size_of::<f32>()) as f64;
    println!("{:<32} {:>8} {:>20} {:>20}", "", "GB/s", "wall / copy", "cpu / copy");
    for (i, name) in measured.names().iter().enumerate() {
        let ratio = |clock| measured.speed_ratio(i, 0, clock);
        let speed = bytes / measured.seconds(i, Clock::Wall).median * 1e-9;
        println!("{name:<32} {speed:>8.1} {:>20} {:>20}", ratio(Clock::Wall), ratio(Clock::Cpu));
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("host_rows: {why}");
            ExitCode::FAILURE
        }
    }
}
