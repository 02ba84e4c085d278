//! Matrix multiplication with an end of its own: `C = activation(alpha * A * B + bias) + beta * D`, per plane.
//!
//! A is `[M, K]`, or `[K, M]` when `TRANS_A`; B is `[K, N]`, or `[N, K]` when `TRANS_B`. The bias has one row with a value
//! per column of C. D is a tensor of C's shape, or what C held before. Bias and D may be empty, which leaves them out. All of
//! the end is computed in f32 from the accumulator and rounded once. The old C is read only where `own` is not 0: it may
//! hold NaN.
//!
//! *Schedule.* That of [`gemm`](super::gemm): a tile of C in registers, shared prefetches `ahead` of the walk along K,
//! stacks of work-groups. What the end does is decided by its scalars when it runs, once per tile of C and for a whole
//! sub-group at a time: an instance per activation would be five times the code for a few branches. A transposed A has no
//! message of its own on a GPU (xe_facts 4): it comes as dwords, and a move per row and 16 columns takes them apart. An
//! accumulator of 32 x 64 is half of the registers, so D is added in slices of 8 rows; the old C can be read only
//! as the whole tile that the sub-group owns, for which there is room beside 16 rows.
//!
//! *Instances.* C has A's type or f32: for the other 16-bit type the product goes through a workspace
//! ([`gemm_split`](super::gemm_split)), rounded once as well. A transposed A with few columns is rare: its least tile has
//! 16 rows. f16 into f16 with B as `[K, N]` has 16 rows at most: of 32, Intel's compiler spills up to 1152 bytes.

use crate::functions::{activated, alpha_beta, bias};
use crate::prelude::*;

/// One sub-group's part of the product and of its end.
///
/// `activation` is as for [`activated`]; `beta` is the factor of `d`, `own` that of the old C, which tiles of 32
/// rows leave out whatever it is: the operation takes others for it; `ahead` counts K steps between a prefetch and
/// its use; `snake` counts work-group columns of a stack.
#[tile_kernel(fns(walk, finish), derive(SLICES = BM / 8), instances(
    <bf16, bf16, 32, 64, 32, false, false; subgroups = (8, 4)>,
    <bf16, bf16, 16, 64, 32, false, false; subgroups = (4, 4)>,
    <bf16, bf16, 8, 32, 32, false, false; subgroups = (4, 2)>,
    <bf16, bf16, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <bf16, bf16, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <bf16, bf16, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <bf16, bf16, 32, 64, 32, true, false; subgroups = (8, 4)>,
    <bf16, bf16, 16, 64, 32, true, false; subgroups = (4, 4)>,
    <bf16, bf16, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <bf16, bf16, 16, 64, 32, true, true; subgroups = (4, 4)>,
    <bf16, f32, 32, 64, 32, false, false; subgroups = (8, 4)>,
    <bf16, f32, 16, 64, 32, false, false; subgroups = (4, 4)>,
    <bf16, f32, 8, 32, 32, false, false; subgroups = (4, 2)>,
    <bf16, f32, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <bf16, f32, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <bf16, f32, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <bf16, f32, 32, 64, 32, true, false; subgroups = (8, 4)>,
    <bf16, f32, 16, 64, 32, true, false; subgroups = (4, 4)>,
    <bf16, f32, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <bf16, f32, 16, 64, 32, true, true; subgroups = (4, 4)>,
    <f16, f16, 16, 64, 32, false, false; subgroups = (4, 4)>,
    <f16, f16, 8, 32, 32, false, false; subgroups = (4, 2)>,
    <f16, f16, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <f16, f16, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <f16, f16, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <f16, f16, 16, 64, 32, true, false; subgroups = (4, 4)>,
    <f16, f16, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <f16, f16, 16, 64, 32, true, true; subgroups = (4, 4)>,
    <f16, f32, 32, 64, 32, false, false; subgroups = (8, 4)>,
    <f16, f32, 16, 64, 32, false, false; subgroups = (4, 4)>,
    <f16, f32, 8, 32, 32, false, false; subgroups = (4, 2)>,
    <f16, f32, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <f16, f32, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <f16, f32, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <f16, f32, 32, 64, 32, true, false; subgroups = (8, 4)>,
    <f16, f32, 16, 64, 32, true, false; subgroups = (4, 4)>,
    <f16, f32, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <f16, f32, 16, 64, 32, true, true; subgroups = (4, 4)>,
    <bf16, bf16, 128, 128, 64, false, false; subgroups = (1, 1); host>,
    <bf16, bf16, 128, 128, 64, false, true; subgroups = (1, 1); host>,
    <bf16, bf16, 128, 128, 64, true, false; subgroups = (1, 1); host>,
    <bf16, bf16, 128, 128, 64, true, true; subgroups = (1, 1); host>,
    <bf16, f32, 128, 128, 64, false, false; subgroups = (1, 1); host>,
    <bf16, f32, 128, 128, 64, false, true; subgroups = (1, 1); host>,
    <bf16, f32, 128, 128, 64, true, false; subgroups = (1, 1); host>,
    <bf16, f32, 128, 128, 64, true, true; subgroups = (1, 1); host>,
    <f16, f16, 128, 128, 64, false, false; subgroups = (1, 1); host>,
    <f16, f16, 128, 128, 64, false, true; subgroups = (1, 1); host>,
    <f16, f16, 128, 128, 64, true, false; subgroups = (1, 1); host>,
    <f16, f16, 128, 128, 64, true, true; subgroups = (1, 1); host>,
    <f16, f32, 128, 128, 64, false, false; subgroups = (1, 1); host>,
    <f16, f32, 128, 128, 64, false, true; subgroups = (1, 1); host>,
    <f16, f32, 128, 128, 64, true, false; subgroups = (1, 1); host>,
    <f16, f32, 128, 128, 64, true, true; subgroups = (1, 1); host>,
))]
pub fn gemm_fused<
    A: MmaInput,
    C: Element,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TRANS_A: bool,
    const TRANS_B: bool,
    const SLICES: usize,
>(
    c: &mut gl<C>,
    a: &gl<A>,
    b: &gl<A>,
    per_col: &gl<C>,
    d: &gl<C>,
    alpha: f32,
    activation: u32,
    beta: f32,
    own: f32,
    ahead: u32,
    snake: u32,
) {
    let at = own_tile::<BM, BN>(c, Snake(snake));
    if at.outside() {
        return;
    }
    let steps = if TRANS_A { a.row_tiles(BK) } else { a.col_tiles(BK) };
    let mut acc: rt<f32, BM, BN, Acc> = zeros();
    walk::<A, BM, BN, BK, TRANS_A, TRANS_B>(
        &mut acc,
        a,
        b,
        at.batch(),
        at.depth(),
        at.row(),
        at.col(),
        0,
        steps,
        ahead,
    );
    let mut out = finish::<C, BM, BN, SLICES>(
        &acc,
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
    match BM {
        32 => {}
        _ => {
            if own != 0.0 {
                let old: rt<C, BM, BN> = load(c, at);
                out = out.add(&old.to::<f32>().scale(own));
            }
        }
    }
    store(c, &out.to::<C>(), at);
}

/// Adds the steps `first .. last` along K of one tile of a product to its accumulator, and warms the caches `ahead` of them.
/// `batch` and `depth` are the plane of A and B, `row` and `col` the tile's place.
#[tile_fn(fns(warm))]
#[allow(clippy::too_many_arguments, reason = "a device function sees nothing of its caller")]
pub(crate) fn walk<
    A: MmaInput,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TRANS_A: bool,
    const TRANS_B: bool,
>(
    acc: &mut rt<f32, BM, BN, Acc>,
    a: &gl<A>,
    b: &gl<A>,
    batch: u32,
    depth: u32,
    row: u32,
    col: u32,
    first: u32,
    last: u32,
    ahead: u32,
) {
    for k in first..first + ahead.min(last - first) {
        warm::<A, BM, BN, BK, TRANS_A, TRANS_B>(a, b, batch, depth, row, col, k);
    }
    for k in first..last {
        warm::<A, BM, BN, BK, TRANS_A, TRANS_B>(a, b, batch, depth, row, col, k + ahead);
        let x: rt<A, BM, BK> =
            if TRANS_A { load_transpose(a, [batch, depth, k, row]) } else { load(a, [batch, depth, row, k]) };
        if TRANS_B {
            let y: rt<A, BK, BN, VnniT> = load_transpose(b, [batch, depth, col, k]);
            mma_ABt(acc, &x, &y);
        } else {
            let y: rt<A, BK, BN, Vnni> = load_transform(b, [batch, depth, k, col]);
            mma_AB(acc, &x, &y);
        }
    }
}

/// Fetches this sub-group's share of what its work-group reads in step `k`.
#[tile_fn]
#[allow(clippy::too_many_arguments, reason = "a device function sees nothing of its caller")]
pub(crate) fn warm<
    A: MmaInput,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TRANS_A: bool,
    const TRANS_B: bool,
>(
    a: &gl<A>,
    b: &gl<A>,
    batch: u32,
    depth: u32,
    row: u32,
    col: u32,
    k: u32,
) {
    if TRANS_A {
        prefetch_load_coop::<rt<A, BK, BM>>(a, [batch, depth, k, row], Peers::Row);
    } else {
        prefetch_load_coop::<rt<A, BM, BK>>(a, [batch, depth, row, k], Peers::Row);
    }
    if TRANS_B {
        prefetch_load_coop::<rt<A, BN, BK>>(b, [batch, depth, col, k], Peers::Col);
    } else {
        prefetch_load_coop::<rt<A, BK, BN>>(b, [batch, depth, k, col], Peers::Col);
    }
}

/// `activation(alpha * acc + per_col) + beta * d`; an empty `per_col` or `d` is left out. `SLICES` is `M / 8`.
#[tile_fn(fns(activated, alpha_beta, bias))]
#[allow(clippy::too_many_arguments, reason = "a device function sees nothing of its caller")]
pub(crate) fn finish<C: Element, const M: usize, const N: usize, const SLICES: usize>(
    acc: &rt<f32, M, N, Acc>,
    per_col: &gl<C>,
    d: &gl<C>,
    batch: u32,
    depth: u32,
    row: u32,
    col: u32,
    alpha: f32,
    activation: u32,
    beta: f32,
) -> rt<f32, M, N> {
    let mut x = acc.scale(alpha);
    if per_col.cols() > 0 {
        x = bias(&x, per_col, col);
    }
    let mut out = activated(x, activation).to::<f32>();
    if d.cols() > 0 {
        #[unroll]
        for i in 0..SLICES as u32 {
            let slice = out.sub_tile::<8, N>(i, 0);
            let place = row * (SLICES as u32) + i;
            out.set_sub_tile(&alpha_beta(&slice, d, batch, depth, place, col, 1.0, beta), i, 0);
        }
    }
    out
}
