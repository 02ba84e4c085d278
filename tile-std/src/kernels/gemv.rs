//! The product of a matrix and a few vectors, as a layer computes a token: `y[m, n] = sum_k w[n, k] * x[m, k] + add[m, n]`, summed in
//! f32 and rounded once. A row of `add` serves all `m` if there is one, and an empty `add` is 0.
//!
//! *Schedule.* All of W is read and used once, so bytes on their way decide. A work-group makes 16 columns of Y from 16 rows of W:
//! a sub-group has 4 of them, and of these every `SPLIT`-th piece of `L` elements, read 16 bytes per lane. The 4 rows share the piece
//! of `x`, and their loads are under way together. Each lane adds up its own products; lanes meet once per row, and sub-groups once,
//! through shared memory. A work-group does that for as many rows of `x` as it has sub-groups, the next ones from its caches,
//! and each sub-group stores one row of Y.

use crate::Generic::Size;
use crate::ops::dispatch::{Place, Rule};
use crate::prelude::*;

/// One sub-group's part of 16 columns of the product.
#[tile_kernel(derive(G = SPLIT * 4, SLOTS = SPLIT * SPLIT * 256), instances(
    <bf16, bf16, 256, 2; subgroups = (8, 1)>,
    <bf16, bf16, 256, 8; subgroups = (32, 1)>,
    <bf16, bf16, 512, 1; subgroups = (4, 1); host>,
    <bf16, f16, 256, 2; subgroups = (8, 1)>,
    <bf16, f16, 256, 8; subgroups = (32, 1)>,
    <bf16, f16, 512, 1; subgroups = (4, 1); host>,
    <bf16, f32, 256, 2; subgroups = (8, 1)>,
    <bf16, f32, 256, 8; subgroups = (32, 1)>,
    <bf16, f32, 512, 1; subgroups = (4, 1); host>,
    <f16, bf16, 256, 2; subgroups = (8, 1)>,
    <f16, bf16, 256, 8; subgroups = (32, 1)>,
    <f16, bf16, 512, 1; subgroups = (4, 1); host>,
    <f16, f16, 256, 2; subgroups = (8, 1)>,
    <f16, f16, 256, 8; subgroups = (32, 1)>,
    <f16, f16, 512, 1; subgroups = (4, 1); host>,
    <f16, f32, 256, 2; subgroups = (8, 1)>,
    <f16, f32, 256, 8; subgroups = (32, 1)>,
    <f16, f32, 512, 1; subgroups = (4, 1); host>,
    <f32, bf16, 256, 2; subgroups = (8, 1)>,
    <f32, bf16, 256, 8; subgroups = (32, 1)>,
    <f32, bf16, 512, 1; subgroups = (4, 1); host>,
    <f32, f16, 256, 2; subgroups = (8, 1)>,
    <f32, f16, 256, 8; subgroups = (32, 1)>,
    <f32, f16, 512, 1; subgroups = (4, 1); host>,
    <f32, f32, 256, 2; subgroups = (8, 1)>,
    <f32, f32, 256, 8; subgroups = (32, 1)>,
    <f32, f32, 512, 1; subgroups = (4, 1); host>,
))]
pub fn gemv<
    T: Element,
    C: Element,
    const L: usize,
    const SPLIT: usize,
    const G: usize,
    const SLOTS: usize,
>(
    y: &mut gl<C>,
    w: &gl<T>,
    x: &gl<T>,
    add: &gl<C>,
) {
    let at = own_tile::<1, 16>(y, Linear);
    let mut parts: sv<f32, SLOTS> = shared();
    let before = subgroup_row() / SPLIT as u32 * 4;
    let (n, first) = (at.col() * 16 + before, at.row() - subgroup_row());
    for m in 0..(y.rows() - first).min(G as u32) {
        let mut s0: rv<f32, L, Wide> = zeros();
        let mut s1: rv<f32, L, Wide> = zeros();
        let mut s2: rv<f32, L, Wide> = zeros();
        let mut s3: rv<f32, L, Wide> = zeros();
        for step in (0..w.col_tiles(L)).step_by(SPLIT) {
            let k = step + subgroup_row() % SPLIT as u32;
            let piece: rv<T, L, Wide> = load_vec(x, [at.batch(), at.depth(), first + m, k]);
            let w0: rv<T, L, Wide> = load_vec(w, [at.batch(), at.depth(), n, k]);
            let w1: rv<T, L, Wide> = load_vec(w, [at.batch(), at.depth(), n + 1, k]);
            let w2: rv<T, L, Wide> = load_vec(w, [at.batch(), at.depth(), n + 2, k]);
            let w3: rv<T, L, Wide> = load_vec(w, [at.batch(), at.depth(), n + 3, k]);
            let factor = piece.to::<f32>();
            s0 = w0.to::<f32>().fma(&factor, &s0);
            s1 = w1.to::<f32>().fma(&factor, &s1);
            s2 = w2.to::<f32>().fma(&factor, &s2);
            s3 = w3.to::<f32>().fma(&factor, &s3);
        }
        let from: rv<i32, 16, PerCol> = iota(0 - before as i32);
        let mut sums: rv<f32, 16, PerCol> = zeros();
        sums = from.ne(0).select(&sums, s0.reduce_sum());
        sums = from.ne(1).select(&sums, s1.reduce_sum());
        sums = from.ne(2).select(&sums, s2.reduce_sum());
        sums = from.ne(3).select(&sums, s3.reduce_sum());
        store_vec_shared(&mut parts, &sums, m * G as u32 + subgroup_row());
    }
    barrier();
    if at.outside() {
        return;
    }
    let mut total: rv<f32, 16, PerCol> = zeros();
    for i in 0..G as u32 {
        let part: rv<f32, 16, PerCol> = load_vec_shared(&parts, subgroup_row() * G as u32 + i);
        total = total.add(&part);
    }
    let row = if add.rows() == 1 { 0 } else { at.row() };
    let more: rv<C, 16, PerCol> = load_vec(add, [at.batch(), at.depth(), row, at.col()]);
    store_vec(y, &total.add(&more.to::<f32>()).to::<C>(), at);
}

/// How many sub-groups share a row of W, by columns of Y, so that 1024 columns and 4096 both make 2048 sub-groups: a PVC Max 1100
/// runs 1792 of this kernel at once, four in each of 448 vector engines (xe_facts 8).
pub(crate) const POLICY: &[Rule] = &[
    Rule::up_to(2048, Place::Gpu, &[Size(256), Size(8)]),
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(256), Size(2)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(512), Size(1)]),
];
