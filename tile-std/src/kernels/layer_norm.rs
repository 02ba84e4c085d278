//! Layer norm of every row, alone or of a sum:
//!
//! ```text
//! x = a, or a + residual    u = mean_c x[c]    v = mean_c (x[c] - u)^2    y[c] = (x[c] - u) / sqrt(v + eps) * weight[c] + bias[c]
//! ```
//!
//! The variance is that of the differences from the mean, which is known before: a difference of two means would cancel
//! for rows far from 0. The sum is formed in f32, normalized as such, and stored once more, rounded, for the next layer.
//! A NaN or an infinity in a row makes the row NaN.
//!
//! *Schedule.* Two passes over an `8 x N` tile in f32 that a sub-group keeps: the sum of its rows, then of the squares of
//! the differences, lane by lane, so that lanes meet once per row and pass. The sub-groups that share rows (`G` side by
//! side, with `SHARED`) exchange both through shared memory, with a barrier each; a row of up to `G * N` elements is read
//! once. Of a wider one every work-group also runs over what its neighbours write, in both passes.

use crate::Generic::{Flag, Size};
use crate::functions::row_squares;
use crate::ops::dispatch::{Place, Rule};
use crate::prelude::*;

/// One sub-group's part of a layer norm. `sum` and `residual` are for `ADD` alone.
#[tile_kernel(fns(row_squares), derive(PART = N / 4, SLOTS = G * 8), instances(
    <bf16, false, 128, 1, false; subgroups = (8, 1)>,
    <bf16, false, 128, 8, true; subgroups = (1, 8)>,
    <bf16, false, 128, 16, true; subgroups = (1, 16)>,
    <bf16, false, 128, 32, true; subgroups = (1, 32)>,
    <bf16, false, 512, 1, false; subgroups = (1, 1); host>,
    <bf16, false, 1024, 1, false; subgroups = (1, 1); host>,
    <bf16, false, 2048, 1, false; subgroups = (1, 1); host>,
    <bf16, false, 4096, 1, false; subgroups = (1, 1); host>,
    <bf16, false, 4096, 4, true; subgroups = (1, 4); host>,
    <bf16, true, 128, 1, false; subgroups = (8, 1)>,
    <bf16, true, 128, 8, true; subgroups = (1, 8)>,
    <bf16, true, 128, 16, true; subgroups = (1, 16)>,
    <bf16, true, 128, 32, true; subgroups = (1, 32)>,
    <bf16, true, 512, 1, false; subgroups = (1, 1); host>,
    <bf16, true, 1024, 1, false; subgroups = (1, 1); host>,
    <bf16, true, 2048, 1, false; subgroups = (1, 1); host>,
    <bf16, true, 4096, 1, false; subgroups = (1, 1); host>,
    <bf16, true, 4096, 4, true; subgroups = (1, 4); host>,
    <f16, false, 128, 1, false; subgroups = (8, 1)>,
    <f16, false, 128, 8, true; subgroups = (1, 8)>,
    <f16, false, 128, 16, true; subgroups = (1, 16)>,
    <f16, false, 128, 32, true; subgroups = (1, 32)>,
    <f16, false, 512, 1, false; subgroups = (1, 1); host>,
    <f16, false, 1024, 1, false; subgroups = (1, 1); host>,
    <f16, false, 2048, 1, false; subgroups = (1, 1); host>,
    <f16, false, 4096, 1, false; subgroups = (1, 1); host>,
    <f16, false, 4096, 4, true; subgroups = (1, 4); host>,
    <f16, true, 128, 1, false; subgroups = (8, 1)>,
    <f16, true, 128, 8, true; subgroups = (1, 8)>,
    <f16, true, 128, 16, true; subgroups = (1, 16)>,
    <f16, true, 128, 32, true; subgroups = (1, 32)>,
    <f16, true, 512, 1, false; subgroups = (1, 1); host>,
    <f16, true, 1024, 1, false; subgroups = (1, 1); host>,
    <f16, true, 2048, 1, false; subgroups = (1, 1); host>,
    <f16, true, 4096, 1, false; subgroups = (1, 1); host>,
    <f16, true, 4096, 4, true; subgroups = (1, 4); host>,
    <f32, false, 128, 1, false; subgroups = (8, 1)>,
    <f32, false, 128, 8, true; subgroups = (1, 8)>,
    <f32, false, 128, 16, true; subgroups = (1, 16)>,
    <f32, false, 128, 32, true; subgroups = (1, 32)>,
    <f32, false, 512, 1, false; subgroups = (1, 1); host>,
    <f32, false, 1024, 1, false; subgroups = (1, 1); host>,
    <f32, false, 2048, 1, false; subgroups = (1, 1); host>,
    <f32, false, 4096, 1, false; subgroups = (1, 1); host>,
    <f32, false, 4096, 4, true; subgroups = (1, 4); host>,
    <f32, true, 128, 1, false; subgroups = (8, 1)>,
    <f32, true, 128, 8, true; subgroups = (1, 8)>,
    <f32, true, 128, 16, true; subgroups = (1, 16)>,
    <f32, true, 128, 32, true; subgroups = (1, 32)>,
    <f32, true, 512, 1, false; subgroups = (1, 1); host>,
    <f32, true, 1024, 1, false; subgroups = (1, 1); host>,
    <f32, true, 2048, 1, false; subgroups = (1, 1); host>,
    <f32, true, 4096, 1, false; subgroups = (1, 1); host>,
    <f32, true, 4096, 4, true; subgroups = (1, 4); host>,
))]
pub fn layer_norm<
    T: Element,
    const ADD: bool,
    const N: usize,
    const G: usize,
    const SHARED: bool,
    const PART: usize,
    const SLOTS: usize,
>(
    y: &mut gl<T>,
    sum: &mut gl<T>,
    x: &gl<T>,
    residual: &gl<T>,
    weight: &gl<T>,
    bias: &gl<T>,
    eps: f32,
) {
    let at = own_tile::<8, N>(y, Linear);
    let mut sums: sv<f32, SLOTS> = shared();
    let mut squares: sv<f32, SLOTS> = shared();
    let raw: rt<T, 8, N> = load(x, [at.batch(), at.depth(), at.row(), at.col()]);
    let mut own = raw.to::<f32>();
    if ADD {
        // Quarter by quarter: two tiles of f32 fill the registers.
        #[unroll]
        for i in 0..4u32 {
            let more: rt<T, 8, PART> = load(residual, [at.batch(), at.depth(), at.row(), at.col() * 4 + i]);
            let part = own.sub_tile::<8, PART>(0, i).add(&more.to::<f32>());
            own.set_sub_tile(&part, 0, i);
        }
        store(sum, &own.to::<T>(), at);
    }
    let mut total = own.row_sum();
    for tile in (0..x.col_tiles(N)).step_by(G) {
        let apart = tile + subgroup_col();
        if apart != at.col() {
            for part in 0..4u32 {
                let col = apart * 4 + part;
                let raw: rt<T, 8, PART> = load(x, [at.batch(), at.depth(), at.row(), col]);
                let mut other = raw.to::<f32>();
                if ADD {
                    let more: rt<T, 8, PART> = load(residual, [at.batch(), at.depth(), at.row(), col]);
                    other = other.add(&more.to::<f32>());
                }
                total = other.row_sum_with(&total);
            }
        }
    }
    if SHARED {
        store_vec_shared(&mut sums, &total, subgroup_col());
        barrier();
        total = zeros();
        for i in 0..G as u32 {
            let part: rv<f32, 8, PerRow> = load_vec_shared(&sums, i);
            total = total.add(&part);
        }
    }
    let mean = total.scale(1.0 / x.cols() as f32);
    let first = x.cols().min(at.col() * N as u32);
    let away = own.sub_row(&mean).keep_cols(x.cols() - first, 0.0);
    let mut spread = row_squares::<N, PART>(&away);
    for tile in (0..x.col_tiles(N)).step_by(G) {
        let apart = tile + subgroup_col();
        if apart != at.col() {
            for part in 0..4u32 {
                let col = apart * 4 + part;
                let raw: rt<T, 8, PART> = load(x, [at.batch(), at.depth(), at.row(), col]);
                let mut other = raw.to::<f32>();
                if ADD {
                    let more: rt<T, 8, PART> = load(residual, [at.batch(), at.depth(), at.row(), col]);
                    other = other.add(&more.to::<f32>());
                }
                let first = x.cols().min(col * PART as u32);
                let off = other.sub_row(&mean).keep_cols(x.cols() - first, 0.0);
                spread = off.mul(&off).row_sum_with(&spread);
            }
        }
    }
    if SHARED {
        store_vec_shared(&mut squares, &spread, subgroup_col());
        barrier();
        spread = zeros();
        for i in 0..G as u32 {
            let part: rv<f32, 8, PerRow> = load_vec_shared(&squares, i);
            spread = spread.add(&part);
        }
    }
    let inverse = spread.scale(1.0 / x.cols() as f32).add(eps).rsqrt();
    let factor: rv<T, N, PerCol> = load_vec(weight, [0, at.col()]);
    let shift: rv<T, N, PerCol> = load_vec(bias, [0, at.col()]);
    let scaled = away.mul_row(&inverse).mul_col(&factor.to::<f32>()).add_col(&shift.to::<f32>());
    store(y, &scaled.to::<T>(), at);
}

/// Which tile and how many sub-groups a row takes. A tile of 8 x 256 and its differences from the mean do not fit the
/// registers (4,672 bytes spilled on pvc).
///
/// On the host a tile wider than the row is work for nothing (rows of 512 elements take seven times as long by 4096), and sub-groups
/// that share rows hold all of their tiles at a time, more than its caches do.
pub(crate) const POLICY: &[Rule] = &[
    Rule::up_to(128, Place::Gpu, &[Size(128), Size(1), Flag(false)]),
    Rule::up_to(1024, Place::Gpu, &[Size(128), Size(8), Flag(true)]),
    Rule::up_to(2048, Place::Gpu, &[Size(128), Size(16), Flag(true)]),
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(128), Size(32), Flag(true)]),
    Rule::up_to(512, Place::Host, &[Size(512), Size(1), Flag(false)]),
    Rule::up_to(1024, Place::Host, &[Size(1024), Size(1), Flag(false)]),
    Rule::up_to(2048, Place::Host, &[Size(2048), Size(1), Flag(false)]),
    Rule::up_to(8192, Place::Host, &[Size(4096), Size(1), Flag(false)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(4096), Size(4), Flag(true)]),
];
