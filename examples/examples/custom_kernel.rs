//! A kernel of this crate with device functions of another: `act(x * w + b)` in one pass, and a row softmax.
//!
//! Run with `cargo run --release --example custom_kernel`; `TILE_DEVICE=sim` executes the device's words instead of the
//! host bodies. It checks itself against plain loops and exits non-zero if something is wrong.

use std::process::ExitCode;

use tile_std::functions::{bias, silu_mul};
use tile_std::prelude::*;

/// A gated linear layer: `silu(x * w_gate + b_gate) * (x * w_up)`, written as bf16.
#[tile_kernel(
    fns(bias, silu_mul),
    instances(<bf16, 16, 32, 32; subgroups = (4, 2)>, <f16, 16, 32, 32; subgroups = (4, 2)>)
)]
pub fn gated<A: MmaInput, const BM: usize, const BN: usize, const BK: usize>(
    y: &mut gl<A>,
    x: &gl<A>,
    w_gate: &gl<A>,
    w_up: &gl<A>,
    b_gate: &gl<f32>,
) {
    let at = own_tile::<BM, BN>(y, Snake(4));
    if at.outside() {
        return;
    }
    let mut gate: rt<f32, BM, BN, Acc> = zeros();
    let mut up: rt<f32, BM, BN, Acc> = zeros();
    for k in 0..x.col_tiles(BK) {
        let part: rt<A, BM, BK> = load(x, [at.row(), k]);
        let g: rt<A, BK, BN, Vnni> = load_transform(w_gate, [k, at.col()]);
        mma_AB(&mut gate, &part, &g);
        let u: rt<A, BK, BN, Vnni> = load_transform(w_up, [k, at.col()]);
        mma_AB(&mut up, &part, &u);
    }
    let gate = bias(&gate, b_gate, at.col()).to::<f32>();
    store(y, &silu_mul(&gate, &up.to::<f32>()).to::<A>(), at);
}

/// Softmax of rows of at most `N` columns; columns past the edge do not count.
#[tile_kernel(instances(<bf16, 8, 64; subgroups = (4, 1)>))]
pub fn softmax<T: Element, const M: usize, const N: usize>(p: &mut gl<T>, x: &gl<T>) {
    let at = own_tile::<M, N>(p, Linear);
    let raw: rt<T, M, N> = load(x, [at.row(), 0]);
    let logits = raw.to::<f32>().scale(1.442695).keep_cols(x.cols(), -1.0e30);
    let powers = logits.sub_row(&logits.row_max()).exp2();
    store(p, &powers.div_row(&powers.row_sum()).to::<T>(), at);
}

/// The largest distance between what a kernel gave and what plain loops give, beside the largest value.
fn worst(found: &Tensor<bf16>, want: impl Fn(usize, usize) -> f64) -> (f64, f64) {
    let (mut error, mut size) = (0.0f64, 0.0f64);
    for row in 0..found.rows() {
        for col in 0..found.cols() {
            let want = want(row, col);
            let found = found.get(0, 0, row, col).map_or(f64::NAN, |v| f64::from(v.to_f32()));
            error = if found.is_finite() { error.max((found - want).abs()) } else { f64::INFINITY };
            size = size.max(want.abs());
        }
    }
    (error, size)
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let (rows, inner, hidden) = (100, 70, 50);
    let wave = |r: usize, c: usize, step: f32| bf16::from_f32(((r * 31 + c * 17) as f32 * step).sin());
    let x = Tensor::from_fn([1, 1, rows, inner], |_, _, r, c| wave(r, c, 0.37))?;
    let w_gate = Tensor::from_fn([1, 1, inner, hidden], |_, _, r, c| wave(r, c, 0.11))?;
    let w_up = Tensor::from_fn([1, 1, inner, hidden], |_, _, r, c| wave(r, c, 0.23))?;
    let b_gate = Tensor::from_fn([1, 1, 1, hidden], |_, _, _, c| c as f32 / 25.0 - 1.0)?;
    let (device, why) = Device::best()?;
    println!("device   {device}: {why}");

    let mut y = Tensor::<bf16>::zeros(rows, hidden)?;
    let report = gated::launch::<bf16, 16, 32, 32>(&device, &mut y, &x, &w_gate, &w_up, &b_gate)?;
    println!("gated    {report}");
    let at = |t: &Tensor<bf16>, r, c| t.get(0, 0, r, c).map_or(f64::NAN, |v| f64::from(v.to_f32()));
    let dot =
        |w: &Tensor<bf16>, r: usize, c: usize| (0..inner).map(|k| at(&x, r, k) * at(w, k, c)).sum::<f64>();
    let (error, size) = worst(&y, |r, c| {
        let g = dot(&w_gate, r, c) + b_gate.get(0, 0, 0, c).map_or(f64::NAN, f64::from);
        g / (1.0 + (-g).exp()) * dot(&w_up, r, c)
    });
    println!("         largest error {error:.2e}, largest value {size:.2e}");
    // bf16 keeps 8 bits of the result; the sums behind it are f32.
    let gated_is_right = error <= size * 2f64.powi(-8);

    let mut p = Tensor::<bf16>::zeros(rows, hidden)?;
    let report = softmax::launch::<bf16, 8, 64>(&device, &mut p, &y)?;
    println!("softmax  {report}");
    let (error, size) = worst(&p, |r, c| {
        let largest = (0..hidden).map(|j| at(&y, r, j)).fold(f64::MIN, f64::max);
        let sum: f64 = (0..hidden).map(|j| (at(&y, r, j) - largest).exp()).sum();
        (at(&y, r, c) - largest).exp() / sum
    });
    println!("         largest error {error:.2e}, largest value {size:.2e}");
    Ok(gated_is_right && error <= size * 2f64.powi(-8))
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => {
            println!("both results agree with plain loops");
            ExitCode::SUCCESS
        }
        Ok(false) => {
            eprintln!("custom_kernel: a result differs from plain loops");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("custom_kernel: {error}");
            ExitCode::FAILURE
        }
    }
}
