//! Compares `tile_std::ops::gemv` on the host device with reading its matrix, in interleaved runs.
//!
//! ```text
//! cargo run --release -p benches --bin host_gemv -- --shards 1 --shards 8
//! ```
//!
//! A product with a vector reads every weight once, so none can be faster for long than reading as many bytes: a sum of words, shared
//! out among as many threads. The matrices are the five projections of a layer of Llama 3.1 8B, whole and as tensor-parallel shards:
//! those that make more of a token are cut by outputs, those that go back to it by inputs. That results are right is for the
//! tests of `tile_std` to say.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Duration;

use benches::clock::Who;
use benches::contest::{Clock, Contestant, Plan, measure};
use benches::machine;
use clap::Parser;
use tile_std::ops::{RowError, RowOptions, gemv_into};
use tile_std::prelude::*;

/// Compares products of a matrix and few vectors on the host device with reading the matrix.
#[derive(Parser)]
struct Options {
    /// Shards of a layer to measure one of; may be repeated.
    #[arg(long, default_values_t = [1])]
    shards: Vec<usize>,
    /// Rows of x.
    #[arg(long, default_value_t = 1)]
    tokens: usize,
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

/// A projection: its name, outputs and inputs, and whether shards cut its inputs.
struct Projection {
    name: &'static str,
    outputs: usize,
    inputs: usize,
    by_inputs: bool,
}

/// Llama 3.1 8B (Meta, arXiv 2407.21783, table 3): 4096 wide, 32 heads of 128 and 8 of keys and values, 14336 inside, 128256 tokens.
const PROJECTIONS: [Projection; 5] = [
    Projection { name: "qkv", outputs: 6144, inputs: 4096, by_inputs: false },
    Projection { name: "output", outputs: 4096, inputs: 4096, by_inputs: true },
    Projection { name: "gate_up", outputs: 28672, inputs: 4096, by_inputs: false },
    Projection { name: "down", outputs: 4096, inputs: 14336, by_inputs: true },
    Projection { name: "logits", outputs: 128256, inputs: 4096, by_inputs: false },
];

/// Adds up words with `threads` threads, each in eight sums.
fn plain_read(words: &[u64], threads: usize) -> u64 {
    let sum = |part: &[u64]| {
        let mut sums = [0u64; 8];
        for eight in part.chunks_exact(8) {
            for (sum, word) in sums.iter_mut().zip(eight) {
                *sum = sum.wrapping_add(*word);
            }
        }
        sums.iter().fold(0, |a: u64, b| a.wrapping_add(*b))
    };
    let part = words.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let mut parts = words.chunks(part);
        let first = parts.next().unwrap_or(&[]);
        let others: Vec<_> = parts.map(|part| scope.spawn(move || sum(part))).collect();
        let first = sum(first);
        others.into_iter().filter_map(|other| other.join().ok()).fold(first, u64::wrapping_add)
    })
}

fn run(
    device: &Device,
    options: &Options,
    threads: usize,
    of: &Projection,
    shards: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let [n, k] =
        if of.by_inputs { [of.outputs, of.inputs / shards] } else { [of.outputs / shards, of.inputs] };
    let value = |r: usize, c: usize| bf16::from_f32(((r * 131 + c * 71) % 1021) as f32 / 64.0 - 8.0);
    let w = Tensor::from_fn([1, 1, n, k], |_, _, r, c| value(r, c))?;
    let x = Tensor::from_fn([1, 1, options.tokens, k], |_, _, r, c| value(c, r))?;
    let y = RefCell::new(Tensor::<bf16>::zeros(options.tokens, n)?);
    let words: Vec<u64> = (0..n * k / 4).map(|i| i as u64).collect();
    let bytes = [words.len() as f64 * 8.0, (n * k + options.tokens * (n + k)) as f64 * 2.0];
    let by = &RowOptions::default();
    let mut contestants: Vec<Contestant<'_>> = vec![
        Contestant::new("read", || {
            std::hint::black_box(plain_read(&words, threads));
            Ok::<(), RowError>(())
        }),
        Contestant::new(of.name, || gemv_into(device, &mut *y.borrow_mut(), &w, &x, None, by).map(|_| ())),
    ];
    let plan = Plan {
        who: Who::Process,
        rounds: options.rounds,
        turn: Duration::from_millis(options.turn),
        pause: Duration::from_millis(3),
    };
    let measured = measure(&mut contestants, plan)?;
    let ratio = |clock| measured.speed_ratio(1, 0, clock).times(bytes[1] / bytes[0]);
    let speed = |i: usize| bytes[i] / measured.seconds(i, Clock::Wall).median * 1e-9;
    println!(
        "{:<8} {shards:>6} {:>14} {:>8.1} {:>8.1} {:>20} {:>20}",
        of.name,
        format!("{n}x{k}"),
        speed(0),
        speed(1),
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
        "method: bf16, {} tokens, {} rounds per matrix; in each, reading and the product have one turn of {} ms (at least one \
         call), in rotated order; GB/s count each byte read and each written, and are medians; ratios are speed / speed of \
         reading, in bytes, within each round, then median [quartiles], by time passed (wall) and by CPU time used (cpu)",
        options.tokens, options.rounds, options.turn
    );
    println!(
        "{:<8} {:>6} {:>14} {:>8} {:>8} {:>20} {:>20}",
        "matrix", "shards", "outputs x inputs", "read", "gemv", "wall / read", "cpu / read"
    );
    for of in &PROJECTIONS {
        for shards in options.shards.iter().map(|shards| (*shards).max(1)) {
            if let Err(why) = run(&device, &options, threads.get(), of, shards) {
                eprintln!("host_gemv: {why}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
