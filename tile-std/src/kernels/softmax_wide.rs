//! Softmax and log-softmax of rows too wide for one work-group, in two kernels:
//!
//! ```text
//! m = max_c x[c]    s = sum_c e^(x[c] - m)        then    e^(x[c] - m) / s    or    x[c] - m - ln s
//! ```
//!
//! What is special about NaN and infinities is as in [`crate::kernels::softmax`].
//!
//! *Schedule.* The first kernel gives 8 rows to a work-group, whose sub-groups take tiles in turn and keep the maximum so far
//! and the sum relative to it; they meet once, through shared memory. The second is element-wise, so that all of the
//! device works on few rows, as those of logits are. Every element is read twice, the second time mostly from a cache.

use crate::Generic::Size;
use crate::ops::dispatch::{Place, Rule};
use crate::prelude::*;

/// The maximum and the sum of powers of 8 rows, each in the first column of an output.
#[tile_kernel(derive(SLOTS = G * 8), instances(
    <bf16, 128, 32; subgroups = (1, 32)>,
    <f16, 128, 32; subgroups = (1, 32)>,
    <f32, 128, 32; subgroups = (1, 32)>,
))]
pub fn softmax_sums<T: Element, const N: usize, const G: usize, const SLOTS: usize>(
    tops: &mut gl<f32>,
    sums: &mut gl<f32>,
    x: &gl<T>,
) {
    let at = own_tile::<8, 16>(tops, Linear);
    let mut maxima: sv<f32, SLOTS> = shared();
    let mut parts: sv<f32, SLOTS> = shared();
    // Of nothing but -inf the maximum is a number all the same: -inf less itself would be NaN.
    let mut top: rv<f32, 8, PerRow> = fill(f32::MIN);
    let mut sum: rv<f32, 8, PerRow> = zeros();
    for tile in (0..x.col_tiles(N)).step_by(G) {
        let col = tile + subgroup_col();
        let raw: rt<T, 8, N> = load(x, [at.batch(), at.depth(), at.row(), col]);
        let first = x.cols().min(col * N as u32);
        let wide = raw.to::<f32>().keep_cols(x.cols() - first, f32::NEG_INFINITY);
        let higher = wide.row_max_with(&top);
        let kept = sum.mul(&top.sub(&higher).scale(1.442695).exp2());
        sum = wide.sub_row(&higher).scale(1.442695).exp2().row_sum_with(&kept);
        top = higher;
    }
    store_vec_shared(&mut maxima, &top, subgroup_col());
    store_vec_shared(&mut parts, &sum, subgroup_col());
    barrier();
    for i in 0..G as u32 {
        let one: rv<f32, 8, PerRow> = load_vec_shared(&maxima, i);
        top = top.max(&one);
    }
    sum = zeros();
    for i in 0..G as u32 {
        let one: rv<f32, 8, PerRow> = load_vec_shared(&maxima, i);
        let part: rv<f32, 8, PerRow> = load_vec_shared(&parts, i);
        sum = sum.add(&part.mul(&one.sub(&top).scale(1.442695).exp2()));
    }
    let column: rt<f32, 8, 16> = zeros();
    store(tops, &column.add_row(&top), at);
    store(sums, &column.add_row(&sum), at);
}

/// One sub-group's part of a softmax, or with `LOG` of its logarithm, from what [`softmax_sums()`] found.
#[tile_kernel(instances(
    <bf16, false, 128; subgroups = (1, 8)>,
    <bf16, true, 128; subgroups = (1, 8)>,
    <f16, false, 128; subgroups = (1, 8)>,
    <f16, true, 128; subgroups = (1, 8)>,
    <f32, false, 128; subgroups = (1, 8)>,
    <f32, true, 128; subgroups = (1, 8)>,
))]
pub fn softmax_apply<T: Element, const LOG: bool, const N: usize>(
    y: &mut gl<T>,
    x: &gl<T>,
    tops: &gl<f32>,
    sums: &gl<f32>,
) {
    let at = own_tile::<8, N>(y, Linear);
    // All columns but the first lie outside, and are 0.
    let tops: rt<f32, 8, 16> = load(tops, [at.batch(), at.depth(), at.row(), 0]);
    let sums: rt<f32, 8, 16> = load(sums, [at.batch(), at.depth(), at.row(), 0]);
    let (top, sum) = (tops.row_sum(), sums.row_sum());
    let raw: rt<T, 8, N> = load(x, at);
    let less = raw.to::<f32>().sub_row(&top);
    if LOG {
        store(y, &less.sub_row(&sum.log()).to::<T>(), at);
    } else {
        store(y, &less.scale(1.442695).exp2().mul_row(&sum.recip()).to::<T>(), at);
    }
}

/// The widest row that one work-group of a GPU reads once ([`crate::kernels::softmax`]: 32 tiles of 256, and of 128 for the
/// logarithm). The host holds 65,536 columns, and reads wider rows again from its caches.
pub(crate) const fn widest(log: bool) -> usize {
    if log { 4096 } else { 8192 }
}

/// Tiles of the first kernel.
pub(crate) const SUMS_POLICY: &[Rule] = &[
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(128), Size(32)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(128), Size(32)]),
];

/// Tiles of the second.
pub(crate) const APPLY_POLICY: &[Rule] =
    &[Rule::up_to(usize::MAX, Place::Gpu, &[Size(128)]), Rule::up_to(usize::MAX, Place::Host, &[Size(128)])];
