//! The f64 reference of attention and its error bound.

use tile_std::prelude::*;

use super::ulp;

/// The shape of a case, and what its numbers are like.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub batch: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub queries: usize,
    pub keys: usize,
    pub dim: usize,
    pub v_dim: usize,
    pub causal: bool,
    /// Magnitude of the elements of Q.
    pub spread: f32,
    /// How much the scores rise from key to key.
    pub rise: f32,
}

impl Case {
    pub fn new(heads: usize, kv_heads: usize, queries: usize, keys: usize, dim: usize, causal: bool) -> Case {
        Case { batch: 1, heads, kv_heads, queries, keys, dim, v_dim: dim, causal, spread: 1.0, rise: 0.0 }
    }
}

/// The scores of the keys that query `i` sees, and how far off each may be.
fn scores(
    case: &Case,
    i: usize,
    q: impl Fn(usize) -> f64,
    k: impl Fn(usize, usize) -> f64,
) -> (Vec<f64>, f64) {
    let scale = 1.0 / (case.dim.max(1) as f64).sqrt();
    let seen =
        if case.causal { (i + 1 + case.keys).saturating_sub(case.queries).min(case.keys) } else { case.keys };
    let (mut scores, mut doubt) = (vec![], 0f64);
    for j in 0..seen {
        let terms = (0..case.dim).map(|c| q(c) * k(j, c));
        let (sum, magnitude) = terms.fold((0.0, 0.0), |(s, m), x| (s + x, m + x.abs()));
        scores.push(scale * sum);
        if magnitude.is_finite() {
            doubt = doubt.max((case.dim + 4) as f64 * 2f64.powi(-24) * scale * magnitude);
        }
    }
    (scores, doubt)
}

/// The log-sum-exp of one row in f64, and how far off it may be.
///
/// The bound it is kept by is at most 8 bits under the largest score; that and the logarithm are rounded, scaled and added.
pub fn log_sum_exp(
    case: &Case,
    i: usize,
    q: impl Fn(usize) -> f64,
    k: impl Fn(usize, usize) -> f64,
) -> (f64, f64) {
    let (scores, doubt) = scores(case, i, q, k);
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return (top, 0.0);
    }
    let lse = top + scores.iter().map(|s| (s - top).exp()).sum::<f64>().ln();
    let unit = 2f64.powi(-24);
    (lse, 2.0 * doubt + unit * ((scores.len() + 64) as f64 + 4.0 * (top.abs() + lse.abs())))
}

/// One row of attention in f64: the result, and how far off each element may be.
pub fn row<T: Element>(
    case: &Case,
    i: usize,
    q: impl Fn(usize) -> f64,
    k: impl Fn(usize, usize) -> f64,
    v: impl Fn(usize, usize) -> f64,
) -> Vec<(f64, f64)> {
    let (scores, doubt) = scores(case, i, q, k);
    let seen = scores.len();
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY && !scores.iter().any(|s| s.is_nan()) {
        return vec![(0.0, 0.0); case.v_dim];
    }
    let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    let rounding = if T::DTYPE.name() == "bf16" { 2f64.powi(-8) } else { 2f64.powi(-11) };
    let rounding = rounding + (seen + 32) as f64 * 2f64.powi(-24);
    (0..case.v_dim)
        .map(|c| {
            let value = weights.iter().enumerate().map(|(j, w)| w * v(j, c)).sum::<f64>() / total;
            let mean = weights.iter().enumerate().map(|(j, w)| w * v(j, c).abs()).sum::<f64>() / total;
            let least = (0..seen).map(|j| v(j, c).abs()).sum::<f64>() * 2f64.powi(-25) / total;
            (value, 0.5 * ulp::<T>(value) + mean * (rounding + 2.0 * doubt) + least)
        })
        .collect()
}
