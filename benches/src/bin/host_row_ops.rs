//! Compares the row operations of `tile_std` on the host device with copying the same bytes, in interleaved runs.
//!
//! ```text
//! cargo run --release -p benches --bin host_row_ops -- --rounds 9
//! ```
//!
//! A row operation reads every element once and writes one, so none can be faster for long than a copy of as many bytes by
//! the standard library, shared out among as many threads: the first contestant. The last table is about softmax with the
//! largest weights, which writes little. That results are right is for the
//! tests of `tile_std` to say.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Duration;

use benches::clock::Who;
use benches::contest::{Clock, Contestant, Plan, measure};
use benches::machine;
use clap::Parser;
use tile_std::ops::{
    Denominator, LayerNorm, RmsNorm, Rope, RopeLayout, RowError, RowOptions, add_rms_norm_into, argmax_into,
    cast_into, gelu_mul_into, layer_norm_into, log_softmax_into, rms_norm_into, rope_into, row_sum_into,
    silu_mul_into, softmax_into, softmax_topk_into,
};
use tile_std::prelude::*;

/// Compares row operations on the host device with copying.
#[derive(Parser)]
struct Options {
    /// Rows of the tensors.
    #[arg(long, default_value_t = 4096)]
    rows: usize,
    /// Columns of the tensors, a multiple of 32.
    #[arg(long, default_value_t = 4096)]
    cols: usize,
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

/// Copies with `threads` threads.
fn plain_copy<T: Copy + Send + Sync>(to: &mut [T], from: &[T], threads: usize) {
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

/// A contestant: its name, the bytes it moves, and one call of it.
type Entry<'a> = (&'static str, f64, Box<dyn FnMut() -> Result<(), RowError> + 'a>);

fn run<T: Element>(
    device: &Device,
    options: &Options,
    threads: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let (rows, cols) = (options.rows, options.cols);
    let value = |r: usize, c: usize| T::from_f32(((r * 131 + c * 71) % 1021) as f32 / 64.0 - 8.0);
    let x = Tensor::from_fn([1, 1, rows, cols], |_, _, r, c| value(r, c))?;
    let other = Tensor::from_fn([1, 1, rows, cols], |_, _, r, c| value(c, r))?;
    let line = Tensor::from_fn([1, 1, 1, cols], |_, _, r, c| value(r, c))?;
    let table = Tensor::from_fn([1, 1, rows, cols / 2], |_, _, r, c| (r * c % 97) as f32 / 97.0)?;
    let out = || Tensor::<T>::zeros(rows, cols).map(RefCell::new);
    let (y, z) = (out()?, out()?);
    let column = RefCell::new(Tensor::<f32>::zeros(rows, 1)?);
    let places = RefCell::new(Tensor::<i32>::zeros(rows, 1)?);
    let whole = RefCell::new(Tensor::<i32>::zeros(rows, cols)?);
    let from = x.to_vec();
    let mut to = from.clone();
    let rms = RmsNorm { weight: line.view(), eps: 1e-5 };
    let layer = LayerNorm { weight: line.view(), bias: line.view(), eps: 1e-5 };
    let turn = Rope { cos: table.view(), sin: table.view(), first: 0, layout: RopeLayout::HalfSplit };
    let by = &RowOptions::default();
    let done = |result: Result<Report, RowError>| result.map(|_| ());

    let tensor = (rows * cols * size_of::<T>()) as f64;
    let tables = (rows * cols * size_of::<f32>()) as f64;
    let entries: Vec<Entry<'_>> = vec![
        (
            "copy by the standard library",
            2.0 * tensor,
            Box::new(|| {
                plain_copy(&mut to, &from, threads);
                Ok(())
            }),
        ),
        ("softmax", 2.0 * tensor, Box::new(|| done(softmax_into(device, &mut *y.borrow_mut(), &x, by)))),
        (
            "log_softmax",
            2.0 * tensor,
            Box::new(|| done(log_softmax_into(device, &mut *y.borrow_mut(), &x, by))),
        ),
        (
            "rms_norm",
            2.0 * tensor,
            Box::new(|| done(rms_norm_into(device, &mut *y.borrow_mut(), &x, &rms, by))),
        ),
        (
            "add_rms_norm",
            4.0 * tensor,
            Box::new(|| {
                let (mut y, mut z) = (y.borrow_mut(), z.borrow_mut());
                done(add_rms_norm_into(device, (y.view_mut(), z.view_mut()), &x, &other, &rms, by))
            }),
        ),
        (
            "layer_norm",
            2.0 * tensor,
            Box::new(|| done(layer_norm_into(device, &mut *y.borrow_mut(), &x, &layer, by))),
        ),
        (
            "silu_mul",
            3.0 * tensor,
            Box::new(|| done(silu_mul_into(device, &mut *y.borrow_mut(), &x, &other, by))),
        ),
        (
            "gelu_mul",
            3.0 * tensor,
            Box::new(|| done(gelu_mul_into(device, &mut *y.borrow_mut(), &x, &other, by))),
        ),
        (
            "rope",
            2.0 * tensor + tables,
            Box::new(|| done(rope_into(device, &mut *y.borrow_mut(), &x, &turn, by))),
        ),
        (
            "cast to i32",
            tensor + tables,
            Box::new(|| done(cast_into(device, &mut *whole.borrow_mut(), &x, by))),
        ),
        ("row_sum", tensor, Box::new(|| done(row_sum_into(device, &mut *column.borrow_mut(), &x, by)))),
        ("argmax", tensor, Box::new(|| done(argmax_into(device, &mut *places.borrow_mut(), &x, by)))),
    ];
    contest(T::DTYPE.name(), entries, options)
}

/// Routing: the 8 largest weights of rows of 128 in f16, of 32,768 rows.
fn run_topk(device: &Device, options: &Options, threads: usize) -> Result<(), Box<dyn std::error::Error>> {
    let (rows, cols, k) = (32768, 128, 8);
    let x = Tensor::from_fn([1, 1, rows, cols], |_, _, r, c| {
        f16::from_f32(((r * 131 + c * 71) % 1021) as f32 / 64.0 - 8.0)
    })?;
    let (from, mut to) = (x.to_vec(), x.to_vec());
    let weights = RefCell::new(Tensor::<f16>::zeros(rows, k)?);
    let columns = RefCell::new(Tensor::<i32>::zeros(rows, k)?);
    let read = (rows * cols * size_of::<f16>()) as f64;
    let moved = read + (rows * k * (size_of::<f16>() + size_of::<i32>())) as f64;
    let mut entries: Vec<Entry<'_>> = vec![(
        "copy by the standard library",
        2.0 * read,
        Box::new(|| {
            plain_copy(&mut to, &from, threads);
            Ok(())
        }),
    )];
    let both = [
        ("softmax_topk, sum of the row", Denominator::Row),
        ("softmax_topk, sum of the kept", Denominator::Kept),
    ];
    for (name, by) in both {
        let (weights, columns, x) = (&weights, &columns, &x);
        let call = move || {
            let (mut weights, mut columns) = (weights.borrow_mut(), columns.borrow_mut());
            let to = (weights.view_mut(), columns.view_mut());
            softmax_topk_into(device, to, x, by, &RowOptions::default()).map(|_| ())
        };
        entries.push((name, moved, Box::new(call)));
    }
    contest("f16, 32768 x 128, k = 8", entries, options)
}

/// Measures contestants, of which the first is the copy, and prints how they fare.
fn contest(
    title: &str,
    entries: Vec<Entry<'_>>,
    options: &Options,
) -> Result<(), Box<dyn std::error::Error>> {
    let bytes: Vec<f64> = entries.iter().map(|(_, of, _)| *of).collect();
    let mut contestants: Vec<Contestant<'_>> =
        entries.into_iter().map(|(name, _, call)| Contestant::new(name, call)).collect();
    let plan = Plan {
        who: Who::Process,
        rounds: options.rounds,
        turn: Duration::from_millis(options.turn),
        pause: Duration::from_millis(3),
    };
    let measured = measure(&mut contestants, plan)?;
    println!("{title:<32} {:>8} {:>20} {:>20}", "GB/s", "wall / copy", "cpu / copy");
    for (i, name) in measured.names().iter().enumerate() {
        let ratio = |clock| measured.speed_ratio(i, 0, clock).times(bytes[i] / bytes[0]);
        let speed = bytes[i] / measured.seconds(i, Clock::Wall).median * 1e-9;
        println!("{name:<32} {speed:>8.1} {:>20} {:>20}", ratio(Clock::Wall), ratio(Clock::Cpu));
    }
    Ok(())
}

fn main() -> ExitCode {
    let options = Options::parse();
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = options.threads.unwrap_or(cores);
    let device = Device::host_with_threads(threads);
    println!("machine: {}", machine::describe(&device));
    println!(
        "method: {} rounds; in each, every contestant has one turn of {} ms (at least one call), in rotated order; \
         GB/s count each byte read and each written, and are medians; ratios are speed / speed of the copy, in bytes, \
         within each round, then median [quartiles], by time passed (wall) and by CPU time used (cpu)",
        options.rounds, options.turn
    );
    let done = run::<f32>(&device, &options, threads.get())
        .and_then(|()| run::<bf16>(&device, &options, threads.get()))
        .and_then(|()| run_topk(&device, &options, threads.get()));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("host_row_ops: {why}");
            ExitCode::FAILURE
        }
    }
}
