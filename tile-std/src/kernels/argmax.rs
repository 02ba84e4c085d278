//! Where the largest element of every row is: `y[r] = min { c : x[r, c] = max_c x[r, c] }`.
//!
//! The first of equal elements counts. NaN counts as -inf, and so the answer for a row of nothing else is 0.
//!
//! *Schedule.* A sub-group walks 8 rows in tiles of `N` columns and keeps, element by element, the largest so far and its
//! column, so that lanes meet once per row: for the maximum, and for the first column that has it. Wide rows are shared by
//! the `G` sub-groups of a work-group (`SHARED`), which take tiles in turn and compare through shared memory; the first
//! stores. The output is one column wide, so all but the first column of what is stored is dropped.

use crate::Generic::{Flag, Size};
use crate::ops::dispatch::{Place, Rule};
use crate::prelude::*;

/// One sub-group's part of the columns of the largest elements.
#[tile_kernel(derive(SLOTS = G * 8), instances(
    <bf16, 64, 1, false; subgroups = (8, 1)>,
    <bf16, 64, 16, true; subgroups = (1, 16)>,
    <bf16, 1024, 1, false; subgroups = (1, 1); host>,
    <f16, 64, 1, false; subgroups = (8, 1)>,
    <f16, 64, 16, true; subgroups = (1, 16)>,
    <f16, 1024, 1, false; subgroups = (1, 1); host>,
    <f32, 64, 1, false; subgroups = (8, 1)>,
    <f32, 64, 16, true; subgroups = (1, 16)>,
    <f32, 1024, 1, false; subgroups = (1, 1); host>,
))]
pub fn argmax<T: Element, const N: usize, const G: usize, const SHARED: bool, const SLOTS: usize>(
    y: &mut gl<i32>,
    x: &gl<T>,
) {
    let at = own_tile::<8, 16>(y, Linear);
    let mut maxima: sv<f32, SLOTS> = shared();
    let mut places: sv<i32, SLOTS> = shared();
    let mut largest: rt<f32, 8, N> = fill(f32::NEG_INFINITY);
    let mut place: rt<i32, 8, N> = iota_cols((subgroup_col() * N as u32) as i32);
    for tile in (0..x.col_tiles(N)).step_by(G) {
        let col = tile + subgroup_col();
        let raw: rt<T, 8, N> = load(x, [at.batch(), at.depth(), at.row(), col]);
        let first = x.cols().min(col * N as u32);
        let wide = raw.to::<f32>().keep_cols(x.cols() - first, f32::NEG_INFINITY);
        let here: rt<i32, 8, N> = iota_cols((col * N as u32) as i32);
        let larger = wide.gt(&largest);
        place = larger.select(&here, &place);
        largest = larger.select(&wide, &largest);
    }
    let mut top = largest.row_max();
    let mut first = largest.eq_row(&top).select(&place, 2147483647).row_min();
    if SHARED {
        store_vec_shared(&mut maxima, &top, subgroup_col());
        store_vec_shared(&mut places, &first, subgroup_col());
        barrier();
        for i in 0..G as u32 {
            let one: rv<f32, 8, PerRow> = load_vec_shared(&maxima, i);
            let there: rv<i32, 8, PerRow> = load_vec_shared(&places, i);
            let better = one.gt(&top).or(&one.eq(&top).and(&there.lt(&first)));
            first = better.select(&there, &first);
            top = better.select(&one, &top);
        }
    }
    let column: rt<i32, 8, 16> = zeros();
    store(y, &column.add_row(&first), at);
}

/// Which tile and how many sub-groups a row takes.
pub(crate) const POLICY: &[Rule] = &[
    Rule::up_to(512, Place::Gpu, &[Size(64), Size(1), Flag(false)]),
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(64), Size(16), Flag(true)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(1024), Size(1), Flag(false)]),
];
