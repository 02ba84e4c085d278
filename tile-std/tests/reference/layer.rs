//! A product with its epilogue, checked against f64 on guarded tensors of any form.

use super::{Form, Guarded, Reference, Rng, ulp};
use tile_std::prelude::*;
use tile_std::{Activation, Addend, Epilogue, GemmOptions, GemmReport, gemm_fused_into};

/// What is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Add {
    Nothing,
    /// The old output.
    Output,
    /// A tensor of the output's shape.
    Tensor,
    /// A tensor of one plane.
    Plane,
}

/// One product.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// M, N and K.
    pub sizes: (usize, usize, usize),
    pub batch: usize,
    pub alpha: f32,
    pub bias: bool,
    pub activation: Activation,
    pub add: Add,
    /// Of A, B, C and what is added.
    pub forms: [Form; 4],
    pub seed: u64,
}

/// The activation in f64, and how many units of the last place of f32 an op may be off (the table of ops).
fn activated(activation: Activation, x: f64) -> (f64, f64) {
    match activation {
        Activation::Identity => (x, 0.0),
        Activation::Relu => (if x > 0.0 || x.is_nan() { x } else { 0.0 }, 0.0),
        Activation::Gelu => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            // 1 + tanh(y) without cancellation.
            (x / (1.0 + (-2.0 * inner).exp()), 256.0)
        }
        Activation::Silu => (x / (1.0 + (-x).exp()), 13.0),
    }
}

/// Runs a case and checks every element; gives the elements and the report.
pub fn run<A: MmaInput, C: Element>(
    device: &Device,
    case: &Case,
    options: &GemmOptions<'_>,
) -> Result<(Vec<f64>, GemmReport), String> {
    let (m, n, k) = case.sizes;
    let GemmOptions { transpose_a, transpose_b, .. } = *options;
    let mut rng = Rng(case.seed);
    let [fa, fb, fc, fd] = case.forms;
    let [a_rows, a_cols] = if transpose_a { [k, m] } else { [m, k] };
    let [b_rows, b_cols] = if transpose_b { [n, k] } else { [k, n] };
    let a = Guarded::<A>::new([case.batch, 1, a_rows, a_cols], fa, |_, _, _, _| rng.value());
    let b = Guarded::<A>::new([case.batch, 1, b_rows, b_cols], fb, |_, _, _, _| rng.value());
    let old = Guarded::<C>::new([case.batch, 1, m, n], Form::Owned, |_, _, _, _| rng.value());
    let reads_output = case.add == Add::Output;
    let mut c = Guarded::<C>::new([case.batch, 1, m, n], fc, |p, _, r, col| {
        if reads_output { old.get(p, 0, r, col) as f32 } else { f32::NAN }
    });
    let planes = if case.add == Add::Plane { 1 } else { case.batch };
    let d = Guarded::<C>::new([planes, 1, m, n], fd, |_, _, _, _| rng.value());
    let bias = Guarded::<C>::new([1, 1, 1, n], fd, |_, _, _, _| rng.value());
    let beta = -1.75f32;
    let epilogue = Epilogue {
        alpha: case.alpha,
        bias: case.bias.then(|| bias.view()),
        activation: case.activation,
        add: match case.add {
            Add::Nothing => Addend::None,
            Add::Output => Addend::Output(beta),
            Add::Tensor | Add::Plane => Addend::Tensor(d.view(), beta),
        },
    };
    let report = gemm_fused_into(device, c.view_mut(), a.view(), b.view(), &epilogue, options)
        .map_err(|e| e.to_string())?;
    if !(a.is_intact() && b.is_intact() && c.is_intact() && d.is_intact() && bias.is_intact()) {
        return Err("something outside a tensor changed".into());
    }
    let mut out = vec![];
    for plane in 0..case.batch {
        let at_a = |i, s| if transpose_a { a.get(plane, 0, s, i) } else { a.get(plane, 0, i, s) };
        let at_b = |s, j| if transpose_b { b.get(plane, 0, j, s) } else { b.get(plane, 0, s, j) };
        let reference = Reference::new((m, n, k), at_a, at_b);
        for (i, (value, magnitude)) in reference.value.iter().zip(&reference.magnitude).enumerate() {
            let (row, col) = (i / n, i % n);
            let unit = 2f64.powi(-24);
            let alpha = f64::from(case.alpha);
            let shift = if case.bias { bias.get(0, 0, 0, col) } else { 0.0 };
            let x = alpha * value + shift;
            // The sum in any order, then the product with alpha and the sum with the bias, each rounded once.
            let off_x = k as f64 * unit * magnitude * alpha.abs() + unit * ((alpha * value).abs() + x.abs());
            let (y, off) = activated(case.activation, x);
            // No activation is steeper than 1.13; results below 1e-36 may be flushed.
            let off_y = 1.13 * off_x + off * 2.0 * unit * y.abs() + 1e-36;
            let more = match case.add {
                Add::Nothing => 0.0,
                Add::Output => old.get(plane, 0, row, col) * f64::from(beta),
                Add::Tensor => d.get(plane, 0, row, col) * f64::from(beta),
                Add::Plane => d.get(0, 0, row, col) * f64::from(beta),
            };
            let want = y + more;
            let off = off_y + unit * (more.abs() + want.abs());
            let bound = off + 0.5 * ulp::<C>(want.abs() + off);
            let found = c.get(plane, 0, row, col);
            if (found - want).abs() > bound || found.is_nan() {
                return Err(format!("plane {plane}, [{row}, {col}]: {found}, not {want} within {bound:e}"));
            }
            out.push(found);
        }
    }
    Ok((out, report))
}

/// Runs a case on types by number, 0 to 5.
pub fn run_types(
    types: usize,
    device: &Device,
    case: &Case,
    options: &GemmOptions<'_>,
) -> (Vec<f64>, GemmReport) {
    let result = match types % 6 {
        0 => run::<bf16, bf16>(device, case, options),
        1 => run::<bf16, f32>(device, case, options),
        2 => run::<bf16, f16>(device, case, options),
        3 => run::<f16, f16>(device, case, options),
        4 => run::<f16, f32>(device, case, options),
        _ => run::<f16, bf16>(device, case, options),
    };
    result.unwrap_or_else(|e| panic!("{}: types {types} {case:?} {options:?}: {e}", device.name()))
}
