//! Matrix multiplication of bytes: `C = A * B`, per plane, accumulated in i32, which wraps.
//!
//! A is `[M, K]` of i8. B is `[K, N]` of i8, or `[N, K]` when `TRANS_B`. C is `[M, N]` of i32: sums are exact up to K of
//! 131,071, whatever the elements. M, N and K may be anything, 0 included; an input with one plane can be repeated.
//!
//! *Schedule.* That of [`gemm`](super::gemm): a tile of C in registers, shared prefetches `ahead` of the walk along K, stacks of
//! work-groups. A matrix instruction takes 32 bytes along K, so a step is 64 elements, as many bytes as in 16-bit types.

use crate::prelude::*;

/// One sub-group's part of `C = A * B`.
///
/// `ahead` counts K steps between a prefetch and its use; `snake` counts work-group columns of a stack.
#[tile_kernel(instances(
    <32, 64, 64, false; subgroups = (8, 4)>,
    <8, 32, 64, false; subgroups = (4, 2)>,
    <32, 64, 64, true; subgroups = (8, 4)>,
    <8, 32, 64, true; subgroups = (4, 2)>,
))]
pub fn gemm_i8<const BM: usize, const BN: usize, const BK: usize, const TRANS_B: bool>(
    c: &mut gl<i32>,
    a: &gl<i8>,
    b: &gl<i8>,
    ahead: u32,
    snake: u32,
) {
    let at = own_tile::<BM, BN>(c, Snake(snake));
    if at.outside() {
        return;
    }
    for k in 0..ahead.min(a.col_tiles(BK)) {
        prefetch_load_coop::<rt<i8, BM, BK>>(a, [at.batch(), at.depth(), at.row(), k], Peers::Row);
        if TRANS_B {
            prefetch_load_coop::<rt<i8, BN, BK>>(b, [at.batch(), at.depth(), at.col(), k], Peers::Col);
        } else {
            prefetch_load_coop::<rt<i8, BK, BN>>(b, [at.batch(), at.depth(), k, at.col()], Peers::Col);
        }
    }
    let mut acc: rt<i32, BM, BN, Acc> = zeros();
    for k in 0..a.col_tiles(BK) {
        let next = k + ahead;
        let x: rt<i8, BM, BK> = load(a, [at.batch(), at.depth(), at.row(), k]);
        prefetch_load_coop::<rt<i8, BM, BK>>(a, [at.batch(), at.depth(), at.row(), next], Peers::Row);
        if TRANS_B {
            prefetch_load_coop::<rt<i8, BN, BK>>(b, [at.batch(), at.depth(), at.col(), next], Peers::Col);
            let y: rt<i8, BK, BN, VnniT> = load_transpose(b, [at.batch(), at.depth(), at.col(), k]);
            mma_ABt(&mut acc, &x, &y);
        } else {
            prefetch_load_coop::<rt<i8, BK, BN>>(b, [at.batch(), at.depth(), next, at.col()], Peers::Col);
            let y: rt<i8, BK, BN, Vnni> = load_transform(b, [at.batch(), at.depth(), k, at.col()]);
            mma_AB(&mut acc, &x, &y);
        }
    }
    store(c, &acc, at);
}

/// `[BM, BN, BK]` by rows of C: the first row whose bound is not below M is taken.
pub(crate) const SIZES: &[(usize, [u64; 3])] = &[(32, [8, 32, 64]), (usize::MAX, [32, 64, 64])];
