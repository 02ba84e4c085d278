//! Softmax and log-softmax of every row:
//!
//! ```text
//! m = max_c x[c]    s = sum_c e^(x[c] - m)    softmax(x)[c] = e^(x[c] - m) / s    log_softmax(x)[c] = x[c] - m - ln s
//! ```
//!
//! A row with a NaN or with +inf gives NaN, and so does a row of nothing but -inf; -inf beside numbers has weight 0.
//!
//! *Schedule.* A sub-group keeps an `8 x N` tile in registers, finds the largest element and the sum of each row there,
//! and scales what it has, so that every element is raised to its power once. The sub-groups that share rows (`G` side
//! by side, with `SHARED`) exchange maxima and sums through shared memory, one barrier for both; a row of up to
//! `G * N` elements is read once. Of a wider one every work-group also runs over what its neighbours write, in running
//! form: the maximum so far, and the sum relative to it.

use crate::Generic::{Flag, Size};
use crate::ops::dispatch::{Place, Rule};
use crate::prelude::*;

/// One sub-group's part of a softmax, or with `LOG` of its logarithm.
#[tile_kernel(derive(PART = N / 4, SLOTS = G * 8), instances(
    <bf16, false, 128, 1, false; subgroups = (8, 1)>,
    <bf16, false, 256, 8, true; subgroups = (1, 8)>,
    <bf16, false, 256, 32, true; subgroups = (1, 32)>,
    <bf16, false, 512, 1, false; subgroups = (1, 1); host>,
    <bf16, false, 1024, 1, false; subgroups = (1, 1); host>,
    <bf16, false, 2048, 1, false; subgroups = (1, 1); host>,
    <bf16, false, 4096, 1, false; subgroups = (1, 1); host>,
    <bf16, false, 4096, 4, true; subgroups = (1, 4); host>,
    <bf16, true, 128, 1, false; subgroups = (8, 1)>,
    <bf16, true, 128, 8, true; subgroups = (1, 8)>,
    <bf16, true, 128, 32, true; subgroups = (1, 32)>,
    <bf16, true, 512, 1, false; subgroups = (1, 1); host>,
    <bf16, true, 1024, 1, false; subgroups = (1, 1); host>,
    <bf16, true, 2048, 1, false; subgroups = (1, 1); host>,
    <bf16, true, 4096, 1, false; subgroups = (1, 1); host>,
    <bf16, true, 4096, 4, true; subgroups = (1, 4); host>,
    <f16, false, 128, 1, false; subgroups = (8, 1)>,
    <f16, false, 256, 8, true; subgroups = (1, 8)>,
    <f16, false, 256, 32, true; subgroups = (1, 32)>,
    <f16, false, 512, 1, false; subgroups = (1, 1); host>,
    <f16, false, 1024, 1, false; subgroups = (1, 1); host>,
    <f16, false, 2048, 1, false; subgroups = (1, 1); host>,
    <f16, false, 4096, 1, false; subgroups = (1, 1); host>,
    <f16, false, 4096, 4, true; subgroups = (1, 4); host>,
    <f16, true, 128, 1, false; subgroups = (8, 1)>,
    <f16, true, 128, 8, true; subgroups = (1, 8)>,
    <f16, true, 128, 32, true; subgroups = (1, 32)>,
    <f16, true, 512, 1, false; subgroups = (1, 1); host>,
    <f16, true, 1024, 1, false; subgroups = (1, 1); host>,
    <f16, true, 2048, 1, false; subgroups = (1, 1); host>,
    <f16, true, 4096, 1, false; subgroups = (1, 1); host>,
    <f16, true, 4096, 4, true; subgroups = (1, 4); host>,
    <f32, false, 128, 1, false; subgroups = (8, 1)>,
    <f32, false, 256, 8, true; subgroups = (1, 8)>,
    <f32, false, 256, 32, true; subgroups = (1, 32)>,
    <f32, false, 512, 1, false; subgroups = (1, 1); host>,
    <f32, false, 1024, 1, false; subgroups = (1, 1); host>,
    <f32, false, 2048, 1, false; subgroups = (1, 1); host>,
    <f32, false, 4096, 1, false; subgroups = (1, 1); host>,
    <f32, false, 4096, 4, true; subgroups = (1, 4); host>,
    <f32, true, 128, 1, false; subgroups = (8, 1)>,
    <f32, true, 128, 8, true; subgroups = (1, 8)>,
    <f32, true, 128, 32, true; subgroups = (1, 32)>,
    <f32, true, 512, 1, false; subgroups = (1, 1); host>,
    <f32, true, 1024, 1, false; subgroups = (1, 1); host>,
    <f32, true, 2048, 1, false; subgroups = (1, 1); host>,
    <f32, true, 4096, 1, false; subgroups = (1, 1); host>,
    <f32, true, 4096, 4, true; subgroups = (1, 4); host>,
))]
pub fn softmax<
    T: Element,
    const LOG: bool,
    const N: usize,
    const G: usize,
    const SHARED: bool,
    const PART: usize,
    const SLOTS: usize,
>(
    y: &mut gl<T>,
    x: &gl<T>,
) {
    let at = own_tile::<8, N>(y, Linear);
    let mut maxima: sv<f32, SLOTS> = shared();
    let mut sums: sv<f32, SLOTS> = shared();
    let raw: rt<T, 8, N> = load(x, [at.batch(), at.depth(), at.row(), at.col()]);
    let first = x.cols().min(at.col() * N as u32);
    let own = raw.to::<f32>().keep_cols(x.cols() - first, f32::NEG_INFINITY);
    // Of nothing but -inf the maximum is a number all the same: -inf less itself would be NaN.
    let near = own.row_max().max(f32::MIN);
    let held = if LOG { own } else { own.sub_row(&near).scale(1.442695).exp2() };
    let mut top = near.scale(1.0);
    let mut sum: rv<f32, 8, PerRow> = zeros();
    if LOG {
        sum = held.sub_row(&near).scale(1.442695).exp2().row_sum_with(&sum);
    } else {
        sum = held.row_sum_with(&sum);
    }
    for tile in (0..x.col_tiles(N)).step_by(G) {
        let apart = tile + subgroup_col();
        if apart != at.col() {
            for part in 0..4u32 {
                let col = apart * 4 + part;
                let raw: rt<T, 8, PART> = load(x, [at.batch(), at.depth(), at.row(), col]);
                let first = x.cols().min(col * PART as u32);
                let other = raw.to::<f32>().keep_cols(x.cols() - first, f32::NEG_INFINITY);
                let higher = other.row_max_with(&top);
                let kept = sum.mul(&top.sub(&higher).scale(1.442695).exp2());
                sum = other.sub_row(&higher).scale(1.442695).exp2().row_sum_with(&kept);
                top = higher;
            }
        }
    }
    if SHARED {
        store_vec_shared(&mut maxima, &top, subgroup_col());
        store_vec_shared(&mut sums, &sum, subgroup_col());
        barrier();
        for i in 0..G as u32 {
            let one: rv<f32, 8, PerRow> = load_vec_shared(&maxima, i);
            top = top.max(&one);
        }
        sum = zeros();
        for i in 0..G as u32 {
            let one: rv<f32, 8, PerRow> = load_vec_shared(&maxima, i);
            let part: rv<f32, 8, PerRow> = load_vec_shared(&sums, i);
            sum = sum.add(&part.mul(&one.sub(&top).scale(1.442695).exp2()));
        }
    }
    if LOG {
        store(y, &held.sub_row(&top).sub_row(&sum.log()).to::<T>(), at);
    } else {
        let factor = near.sub(&top).scale(1.442695).exp2().mul(&sum.recip());
        store(y, &held.mul_row(&factor).to::<T>(), at);
    }
}

/// Which tile and how many sub-groups a row takes. A row of 8 x 256 takes half of the registers.
///
/// On the host a tile wider than the row is work for nothing (rows of 512 elements take seven times as long by 4096), and sub-groups
/// that share rows hold all of their tiles at a time, more than its caches do.
pub(crate) const POLICY: &[Rule] = &[
    Rule::up_to(128, Place::Gpu, &[Size(128), Size(1), Flag(false)]),
    Rule::up_to(2048, Place::Gpu, &[Size(256), Size(8), Flag(true)]),
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(256), Size(32), Flag(true)]),
    Rule::up_to(512, Place::Host, &[Size(512), Size(1), Flag(false)]),
    Rule::up_to(1024, Place::Host, &[Size(1024), Size(1), Flag(false)]),
    Rule::up_to(2048, Place::Host, &[Size(2048), Size(1), Flag(false)]),
    Rule::up_to(8192, Place::Host, &[Size(4096), Size(1), Flag(false)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(4096), Size(4), Flag(true)]),
];

/// The same for the logarithm, which holds its argument and its powers at a time.
pub(crate) const POLICY_LOG: &[Rule] = &[
    Rule::up_to(128, Place::Gpu, &[Size(128), Size(1), Flag(false)]),
    Rule::up_to(1024, Place::Gpu, &[Size(128), Size(8), Flag(true)]),
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(128), Size(32), Flag(true)]),
    Rule::up_to(512, Place::Host, &[Size(512), Size(1), Flag(false)]),
    Rule::up_to(1024, Place::Host, &[Size(1024), Size(1), Flag(false)]),
    Rule::up_to(2048, Place::Host, &[Size(2048), Size(1), Flag(false)]),
    Rule::up_to(8192, Place::Host, &[Size(4096), Size(1), Flag(false)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(4096), Size(4), Flag(true)]),
];
