//! Matrix multiplication whose K is cut into splits, for products of few tiles and a long K: a GPU has room for more
//! sub-groups than such a C has tiles.
//!
//! A and B are as for [`gemm_fused`](super::gemm_fused). Split s takes `each` steps of K from step `s * each` on. Two forms: in
//! [`gemm_split()`] every split has a plane of f32 of its own, and [`gemm_join()`] adds them in their order, so that the same
//! bits come out in every run; in [`gemm_split_atomic()`] all splits add to one plane of zeros, in the order in which they
//! happen to end, which needs one plane for all. `gemm_join` puts the end of `gemm_fused` on the sum of either.
//!
//! *Schedule.* A sub-group owns one split of one tile and walks it as `gemm_fused` does. In the join a sub-group owns 8 x 64
//! elements and reads the planes one after the other.

use super::gemm_fused::{finish, walk};
use crate::prelude::*;

/// One split of one tile: plane `p * splits + s` of `parts` is split s of plane p of the product.
#[tile_kernel(fns(walk), instances(
    <bf16, 32, 64, 32, false, false; subgroups = (8, 4)>,
    <bf16, 16, 64, 32, false, false; subgroups = (4, 4)>,
    <bf16, 8, 32, 32, false, false; subgroups = (4, 2)>,
    <bf16, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <bf16, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <bf16, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <bf16, 32, 64, 32, true, false; subgroups = (8, 4)>,
    <bf16, 16, 64, 32, true, false; subgroups = (4, 4)>,
    <bf16, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <bf16, 16, 64, 32, true, true; subgroups = (4, 4)>,
    <f16, 32, 64, 32, false, false; subgroups = (8, 4)>,
    <f16, 16, 64, 32, false, false; subgroups = (4, 4)>,
    <f16, 8, 32, 32, false, false; subgroups = (4, 2)>,
    <f16, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <f16, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <f16, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <f16, 32, 64, 32, true, false; subgroups = (8, 4)>,
    <f16, 16, 64, 32, true, false; subgroups = (4, 4)>,
    <f16, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <f16, 16, 64, 32, true, true; subgroups = (4, 4)>,
))]
pub fn gemm_split<
    A: MmaInput,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TRANS_A: bool,
    const TRANS_B: bool,
>(
    parts: &mut gl<f32>,
    a: &gl<A>,
    b: &gl<A>,
    splits: u32,
    each: u32,
    ahead: u32,
    snake: u32,
) {
    let at = own_tile::<BM, BN>(parts, Snake(snake));
    if at.outside() {
        return;
    }
    let batch = at.batch() / splits;
    let split = at.batch() - batch * splits;
    let steps = if TRANS_A { a.row_tiles(BK) } else { a.col_tiles(BK) };
    let mut acc: rt<f32, BM, BN, Acc> = zeros();
    walk::<A, BM, BN, BK, TRANS_A, TRANS_B>(
        &mut acc,
        a,
        b,
        batch,
        at.depth(),
        at.row(),
        at.col(),
        (split * each).min(steps),
        ((split + 1) * each).min(steps),
        ahead,
    );
    store(parts, &acc, at);
}

/// One split of one tile, added to `sum`. `places` says which: it has a row and 16 columns for each tile of `sum`, in a plane
/// for each split, `p * splits + s`, and is neither read nor written.
#[tile_kernel(fns(walk), instances(
    <bf16, 32, 64, 32, false, false; subgroups = (8, 4)>,
    <bf16, 16, 64, 32, false, false; subgroups = (4, 4)>,
    <bf16, 8, 32, 32, false, false; subgroups = (4, 2)>,
    <bf16, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <bf16, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <bf16, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <bf16, 32, 64, 32, true, false; subgroups = (8, 4)>,
    <bf16, 16, 64, 32, true, false; subgroups = (4, 4)>,
    <bf16, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <bf16, 16, 64, 32, true, true; subgroups = (4, 4)>,
    <f16, 32, 64, 32, false, false; subgroups = (8, 4)>,
    <f16, 16, 64, 32, false, false; subgroups = (4, 4)>,
    <f16, 8, 32, 32, false, false; subgroups = (4, 2)>,
    <f16, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <f16, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <f16, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <f16, 32, 64, 32, true, false; subgroups = (8, 4)>,
    <f16, 16, 64, 32, true, false; subgroups = (4, 4)>,
    <f16, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <f16, 16, 64, 32, true, true; subgroups = (4, 4)>,
))]
pub fn gemm_split_atomic<
    A: MmaInput,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TRANS_A: bool,
    const TRANS_B: bool,
>(
    places: &mut gl<bf16>,
    sum: &mut gl<f32>,
    a: &gl<A>,
    b: &gl<A>,
    splits: u32,
    each: u32,
    ahead: u32,
    snake: u32,
) {
    let at = own_tile::<1, 16>(places, Snake(snake));
    if at.outside() {
        return;
    }
    let batch = at.batch() / splits;
    let split = at.batch() - batch * splits;
    let steps = if TRANS_A { a.row_tiles(BK) } else { a.col_tiles(BK) };
    let mut acc: rt<f32, BM, BN, Acc> = zeros();
    walk::<A, BM, BN, BK, TRANS_A, TRANS_B>(
        &mut acc,
        a,
        b,
        batch,
        at.depth(),
        at.row(),
        at.col(),
        (split * each).min(steps),
        ((split + 1) * each).min(steps),
        ahead,
    );
    atomic_add(sum, &acc, [batch, at.depth(), at.row(), at.col()]);
}

/// Adds the planes `p * splits ..` of `parts` to plane p of C, and puts the end of `gemm_fused` on the sum.
#[tile_kernel(fns(finish), derive(SLICES = M / 8), instances(
    <bf16, 8, 64; subgroups = (4, 2)>,
    <f16, 8, 64; subgroups = (4, 2)>,
    <f32, 8, 64; subgroups = (4, 2)>,
))]
pub fn gemm_join<C: Element, const M: usize, const N: usize, const SLICES: usize>(
    c: &mut gl<C>,
    parts: &gl<f32>,
    per_col: &gl<C>,
    d: &gl<C>,
    splits: u32,
    alpha: f32,
    activation: u32,
    beta: f32,
    own: f32,
) {
    let at = own_tile::<M, N>(c, Linear);
    if at.outside() {
        return;
    }
    let mut sum: rt<f32, M, N, Acc> = zeros();
    for s in 0..splits {
        let part: rt<f32, M, N, Acc> = load(parts, [at.batch() * splits + s, at.depth(), at.row(), at.col()]);
        sum = sum.add(&part);
    }
    let mut out = finish::<C, M, N, SLICES>(
        &sum,
        per_col,
        d,
        at.batch(),
        at.depth(),
        at.row(),
        at.col(),
        alpha,
        activation,
        beta,
    );
    if own != 0.0 {
        let old: rt<C, M, N> = load(c, at);
        out = out.add(&old.to::<f32>().scale(own));
    }
    store(c, &out.to::<C>(), at);
}

/// Tile of the join.
pub(crate) const JOIN: [u64; 2] = [8, 64];
