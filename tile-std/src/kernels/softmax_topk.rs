//! Softmax of every row, of which the k largest weights are kept, largest first, with their columns `i_1 .. i_k`:
//!
//! ```text
//! m = max_c x[c]    w_j = e^(x[i_j] - m) / s    where s = sum_c e^(x[c] - m), or with KEPT s = sum_j e^(x[i_j] - m)
//! ```
//!
//! e^x rises with x, so the largest weights are those of the largest x: the elements are chosen before any power is taken. If
//! the kept weights are normalised again, the sum over the row cancels and just k powers are left. Elements are
//! ordered as `col_topk` says (NaN first, of equal ones the lower column), so columns are never out of range and never
//! twice. Weights of a row with NaN or with +inf are NaN, and so are those of nothing but -inf; -inf beside numbers has weight 0.
//!
//! *Schedule.* A sub-group loads 16 rows transposed, so that a lane has a row: it sorts and merges what it keeps in its own
//! registers, and nothing crosses lanes. A wider row than `N` it walks in tiles, with the best so far, and with the maximum so far
//! and the sum relative to it. `K` places are kept for the k columns of the output, and the last `K - k` dropped.

use crate::Generic::Size;
use crate::ops::dispatch::{Place, Rule};
use crate::prelude::*;

/// One sub-group's rows: the weights that are kept, and their columns.
#[tile_kernel(derive(PART = N / 4), instances(
    <bf16, false, 8, 128; subgroups = (8, 1)>,
    <bf16, false, 32, 128; subgroups = (8, 1)>,
    <bf16, true, 8, 128; subgroups = (8, 1)>,
    <bf16, true, 32, 128; subgroups = (8, 1)>,
    <f16, false, 8, 128; subgroups = (8, 1)>,
    <f16, false, 32, 128; subgroups = (8, 1)>,
    <f16, true, 8, 128; subgroups = (8, 1)>,
    <f16, true, 32, 128; subgroups = (8, 1)>,
    <f32, false, 8, 128; subgroups = (8, 1)>,
    <f32, false, 32, 32; subgroups = (8, 1)>,
    <f32, true, 8, 128; subgroups = (8, 1)>,
    <f32, true, 32, 32; subgroups = (8, 1)>,
))]
pub fn softmax_topk<T: Element, const KEPT: bool, const K: usize, const N: usize, const PART: usize>(
    weights: &mut gl<T>,
    columns: &mut gl<i32>,
    x: &gl<T>,
) {
    let at = own_tile::<16, K>(weights, Linear);
    let raw: rt<T, N, 16> = load_transpose(x, [at.batch(), at.depth(), at.row(), 0]);
    let first = raw.keep_rows(x.cols(), f32::NEG_INFINITY);
    let (mut best, mut place) = first.col_topk::<K>(K);
    // Of nothing but -inf the maximum is a number all the same: -inf less itself would be NaN.
    let mut top = best.col_max().max(f32::MIN);
    let mut sum: rv<f32, 16, PerCol> = zeros();
    if !KEPT {
        #[unroll]
        for i in 0..4u32 {
            let part = first.sub_tile::<PART, 16>(i, 0).to::<f32>();
            sum = part.sub_col(&top).scale(1.442695).exp2().col_sum_with(&sum);
        }
    }
    for tile in 1..x.col_tiles(N) {
        let raw: rt<T, N, 16> = load_transpose(x, [at.batch(), at.depth(), at.row(), tile]);
        let start = tile * N as u32;
        let next = raw.keep_rows(x.cols() - start, f32::NEG_INFINITY);
        let (better, there) = next.col_topk_with(K, &best, &place, start);
        best = better;
        place = there;
        if !KEPT {
            let higher = best.col_max().max(f32::MIN);
            sum = sum.mul(&top.sub(&higher).scale(1.442695).exp2());
            #[unroll]
            for i in 0..4u32 {
                let part = next.sub_tile::<PART, 16>(i, 0).to::<f32>();
                sum = part.sub_col(&higher).scale(1.442695).exp2().col_sum_with(&sum);
            }
            top = higher;
        }
    }
    if KEPT {
        top = best.col_max().max(f32::MIN);
    }
    let powers = best.sub_col(&top).scale(1.442695).exp2();
    if KEPT {
        sum = powers.keep_rows(weights.cols(), 0.0).col_sum();
    }
    store_transpose(weights, &powers.mul_col(&sum.recip()).to::<T>(), at);
    store_transpose(columns, &place, at);
}

/// Columns of a tile. Which `K`, [`room`] says.
pub(crate) const POLICY: &[Rule] =
    &[Rule::up_to(usize::MAX, Place::Gpu, &[Size(128)]), Rule::up_to(usize::MAX, Place::Host, &[Size(128)])];

/// The same for 32 places of f32: lists of values and indices beside those so far leave few registers to a tile.
pub(crate) const POLICY_ROOMY_F32: &[Rule] =
    &[Rule::up_to(usize::MAX, Place::Gpu, &[Size(32)]), Rule::up_to(usize::MAX, Place::Host, &[Size(32)])];

/// The most elements that are kept.
pub(crate) const MOST: usize = 32;

/// Places for `k` elements. Networks that sort fewer than 8 save little.
pub(crate) const fn room(k: usize) -> u64 {
    if k <= 8 { 8 } else { MOST as u64 }
}
