//! A causal, scaled softmax of rows: reductions, broadcasts, masks, and a maximum that runs over column blocks.

use tile_std::prelude::*;

#[tile_kernel(instances(<bf16, 8, 16; subgroups = (2, 1)>, <f32, 16, 32; subgroups = (1, 1)>))]
pub fn causal<T: Element, const M: usize, const N: usize>(y: &mut gl<T>, x: &gl<T>, temperature: f32) {
    let at = own_tile::<M, N>(y, Linear);
    if at.outside() {
        return;
    }
    let first = at.row() * M as u32;
    let mut top: rv<f32, M, PerRow> = fill(-3.0e38);
    let mut sum: rv<f32, M, PerRow> = zeros();
    for k in 0..x.col_tiles(N) {
        let raw: rt<T, M, N> = load(x, [at.row(), k]);
        let logits = raw.to::<f32>().scale(temperature).tril(first, k * N as u32, -3.0e38);
        let higher = logits.row_max_with(&top);
        sum = logits.sub_row(&higher).exp().row_sum_with(&sum.mul(&top.sub(&higher).exp()));
        top = higher;
    }
    let raw: rt<T, M, N> = load(x, at);
    let logits = raw.to::<f32>().scale(temperature).tril(first, at.col() * N as u32, -3.0e38);
    let out = logits.sub_row(&top).exp().div_row(&sum).keep_rows(x.rows() - first, 0.0);
    store(y, &out.to::<T>(), at);
}

pub fn main() {
    let x = Tensor::from_fn([1, 1, 11, 40], |_, _, r, c| ((r * 3 + c * 7) % 5) as f32).unwrap();
    let mut y = Tensor::<f32>::zeros(11, 40).unwrap();
    causal::launch::<f32, 16, 32>(&Device::host(), &mut y, &x, 0.5).unwrap();
    for r in 0..11 {
        let exp = |c: usize| (f64::from(x.get(0, 0, r, c).unwrap()) * 0.5).exp();
        let sum: f64 = (0..=r).map(exp).sum();
        for c in 0..40 {
            let want = if c <= r { exp(c) / sum } else { 0.0 };
            assert!((f64::from(y.get(0, 0, r, c).unwrap()) - want).abs() < 1e-5, "{r} {c}");
        }
    }
}
