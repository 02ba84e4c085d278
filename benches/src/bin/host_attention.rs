//! Compares `tile_std::ops::attention` on the host device with multiply-adds in registers, in interleaved runs.
//!
//! ```text
//! cargo run --release -p benches --features peers --bin host_attention -- --dims 64,128
//! ```
//!
//! Attention multiplies matrices, and no product of f32 (which the host computes in, whatever the tensors hold) can be faster than
//! fused multiply-adds that touch no memory, on as many threads: the first contestant. Its exponentials and maxima are not counted as
//! work. That results are right is for the tests of `tile_std` to say.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Duration;

use benches::clock::Who;
use benches::contest::{Clock, Contestant, Plan, measure};
use benches::machine;
use clap::Parser;
use pulp::{Arch, Simd, WithSimd};
use tile_std::ops::{AttentionError, AttentionOptions, attention_into};
use tile_std::prelude::*;

/// Compares attention on the host device with multiply-adds in registers.
#[derive(Parser)]
struct Options {
    /// Heads.
    #[arg(long, default_value_t = 8)]
    heads: usize,
    /// Queries, and as many keys.
    #[arg(long, default_value_t = 1024)]
    length: usize,
    /// Columns of a head.
    #[arg(long, value_delimiter = ',', default_values_t = [64, 128])]
    dims: Vec<usize>,
    /// Every query sees every key.
    #[arg(long)]
    full: bool,
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

/// Sums under way at once: more than the latency of an addition times the additions of a clock, on any CPU.
const CHAINS: usize = 24;

/// Multiply-adds in each of these sums.
const TIMES: u32 = 100_000;

/// Multiply-adds in registers with the widest vectors of this CPU; says how many of single elements these were.
struct MultiplyAdds;

impl WithSimd for MultiplyAdds {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (by, add) = (simd.splat_f32s(0.999), simd.splat_f32s(0.001));
        // Not known to be alike, or one of them would do.
        let mut sums = std::hint::black_box([simd.splat_f32s(1.0); CHAINS]);
        for _ in 0..TIMES {
            for sum in &mut sums {
                *sum = simd.mul_add_f32s(*sum, by, add);
            }
        }
        std::hint::black_box(sums.into_iter().fold(add, |a, b| simd.add_f32s(a, b)));
        (S::F32_LANES * CHAINS) as f64 * f64::from(TIMES)
    }
}

/// Lets `threads` threads multiply and add; the operations of all of them, two for each.
fn multiply_adds(threads: usize) -> f64 {
    let one = || 2.0 * Arch::new().dispatch(MultiplyAdds);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(one)).collect();
        one() + others.into_iter().filter_map(|other| other.join().ok()).sum::<f64>()
    })
}

fn run(
    device: &Device,
    options: &Options,
    threads: usize,
    dim: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let (heads, n) = (options.heads, options.length);
    let tensor = |seed: usize| {
        Tensor::from_fn([1, heads, n, dim], |_, h, r, c| {
            bf16::from_f32(((seed + h * 17 + r * 131 + c * 71) % 1021) as f32 / 512.0 - 1.0)
        })
    };
    let (q, k, v) = (tensor(0)?, tensor(5)?, tensor(11)?);
    let o = RefCell::new(Tensor::<bf16>::with_shape([1, heads, n, dim])?);
    let causal = !options.full;
    let by = AttentionOptions { causal, ..AttentionOptions::default() };
    // Two products of a query with each key that it sees, and two operations for each element.
    let pairs = if causal { n * (n + 1) / 2 } else { n * n };
    let work = [multiply_adds(threads), (4 * heads * dim * pairs) as f64];
    let mut contestants: Vec<Contestant<'_>> = vec![
        Contestant::new("multiply-adds", || {
            std::hint::black_box(multiply_adds(threads));
            Ok::<(), AttentionError>(())
        }),
        Contestant::new("attention", || {
            attention_into(device, &mut *o.borrow_mut(), &q, &k, &v, &by).map(|_| ())
        }),
    ];
    let plan = Plan {
        who: Who::Process,
        rounds: options.rounds,
        turn: Duration::from_millis(options.turn),
        pause: Duration::from_millis(3),
    };
    let measured = measure(&mut contestants, plan)?;
    let ratio = |clock| measured.speed_ratio(1, 0, clock).times(work[1] / work[0]);
    let seconds = |i: usize| measured.seconds(i, Clock::Wall).median;
    println!(
        "{:<24} {:>10.1} {:>10.1} {:>8.2} {:>20} {:>20}",
        format!("{heads} x {n} x {dim}"),
        work[0] / seconds(0) * 1e-9,
        work[1] / seconds(1) * 1e-9,
        seconds(1) * 1e3,
        ratio(Clock::Wall),
        ratio(Clock::Cpu)
    );
    Ok(())
}

fn main() -> ExitCode {
    let options = Options::parse();
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = options.threads.unwrap_or(cores);
    let device = Device::host_with_threads(threads);
    println!("machine: {}", machine::describe(&device));
    println!(
        "method: bf16, {}; {} rounds per shape; in each, multiply-adds and attention have one turn of {} ms (at least one \
         call), in rotated order; GFLOP/s are medians; ratios are speed / speed of multiply-adds within each round, then \
         median [quartiles], by time passed (wall) and by CPU time used (cpu)",
        if options.full { "every query sees every key" } else { "causal" },
        options.rounds,
        options.turn
    );
    println!(
        "{:<24} {:>10} {:>10} {:>8} {:>20} {:>20}",
        "heads x length x dim", "peak", "attention", "ms", "wall / peak", "cpu / peak"
    );
    for dim in &options.dims {
        if let Err(why) = run(&device, &options, threads.get(), *dim) {
            eprintln!("host_attention: {why}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
