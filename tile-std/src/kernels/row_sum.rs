//! The sum or the mean of every row, in f32: `y[r] = sum_c x[r, c]`, for a mean over the number of columns.
//!
//! *Schedule.* A sub-group walks 8 rows in tiles of `N` columns and adds them up element by element, so that lanes meet once
//! per row. Wide rows are shared by the `G` sub-groups of a work-group (`SHARED`), which take tiles in turn and add their sums
//! up through shared memory; the first stores. The output is one column wide, so all but the first column of what is
//! stored is dropped.

use crate::Generic::{Flag, Size};
use crate::ops::dispatch::{Place, Rule};
use crate::prelude::*;

/// One sub-group's part of the sums of rows, or with `MEAN` of their means.
#[tile_kernel(derive(SLOTS = G * 8), instances(
    <bf16, false, 64, 1, false; subgroups = (8, 1)>,
    <bf16, false, 64, 16, true; subgroups = (1, 16)>,
    <bf16, false, 1024, 1, false; subgroups = (1, 1); host>,
    <bf16, true, 64, 1, false; subgroups = (8, 1)>,
    <bf16, true, 64, 16, true; subgroups = (1, 16)>,
    <bf16, true, 1024, 1, false; subgroups = (1, 1); host>,
    <f16, false, 64, 1, false; subgroups = (8, 1)>,
    <f16, false, 64, 16, true; subgroups = (1, 16)>,
    <f16, false, 1024, 1, false; subgroups = (1, 1); host>,
    <f16, true, 64, 1, false; subgroups = (8, 1)>,
    <f16, true, 64, 16, true; subgroups = (1, 16)>,
    <f16, true, 1024, 1, false; subgroups = (1, 1); host>,
    <f32, false, 64, 1, false; subgroups = (8, 1)>,
    <f32, false, 64, 16, true; subgroups = (1, 16)>,
    <f32, false, 1024, 1, false; subgroups = (1, 1); host>,
    <f32, true, 64, 1, false; subgroups = (8, 1)>,
    <f32, true, 64, 16, true; subgroups = (1, 16)>,
    <f32, true, 1024, 1, false; subgroups = (1, 1); host>,
))]
pub fn row_sum<
    T: Element,
    const MEAN: bool,
    const N: usize,
    const G: usize,
    const SHARED: bool,
    const SLOTS: usize,
>(
    y: &mut gl<f32>,
    x: &gl<T>,
) {
    let at = own_tile::<8, 16>(y, Linear);
    let mut parts: sv<f32, SLOTS> = shared();
    let mut lanes: rt<f32, 8, N> = zeros();
    for tile in (0..x.col_tiles(N)).step_by(G) {
        let raw: rt<T, 8, N> = load(x, [at.batch(), at.depth(), at.row(), tile + subgroup_col()]);
        lanes = lanes.add(&raw.to::<f32>());
    }
    let mut total = lanes.row_sum();
    if SHARED {
        store_vec_shared(&mut parts, &total, subgroup_col());
        barrier();
        total = zeros();
        for i in 0..G as u32 {
            let part: rv<f32, 8, PerRow> = load_vec_shared(&parts, i);
            total = total.add(&part);
        }
    }
    if MEAN {
        total = total.scale(1.0 / x.cols() as f32);
    }
    let column: rt<f32, 8, 16> = zeros();
    store(y, &column.add_row(&total), at);
}

/// Which tile and how many sub-groups a row takes.
pub(crate) const POLICY: &[Rule] = &[
    Rule::up_to(512, Place::Gpu, &[Size(64), Size(1), Flag(false)]),
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(64), Size(16), Flag(true)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(1024), Size(1), Flag(false)]),
];
