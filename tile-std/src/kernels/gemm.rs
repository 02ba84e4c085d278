//! Matrix multiplication: `C = A * B`, per plane, accumulated in f32.
//!
//! A is `[M, K]`. B is `[K, N]`, or `[N, K]` when `TRANS_B`. M, N and K may be anything, 0 included; rows may lie
//! further apart than they are long; an input with one plane can be repeated over a batch.
//!
//! *Schedule.* A sub-group keeps one `BM x BN` tile of C in registers and walks K in steps of `BK`. With
//! `PREFETCH`, the sub-groups of a work-group warm the caches for the step `ahead` of the current one together:
//! the sub-groups of a row share A's tile and those of a column share B's, each fetching its own disjoint part,
//! so that every byte of the work-group's panels is fetched once (SyclKittens paper, D.2.1). The first `ahead`
//! steps are warmed the same way before the loop. Work-groups walk C in stacks of `snake` columns, turning at
//! both ends, so that neighbours find each other's panels in the L2 cache (ibid., D.2).
//!
//! *Instances.* A GPU's registers hold a 32x64 tile of C with its operands; the host, whose tiles are memory, does
//! better with 128x128 and 256x128 ones (measured: `gemm_host` in benches), which are compiled for it alone.

use crate::prelude::*;

/// One sub-group's part of `C = A * B`.
///
/// `ahead` counts K steps between a prefetch and its use; `snake` counts work-group columns of a stack.
#[tile_kernel(instances(
    <bf16, bf16, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <bf16, bf16, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <bf16, bf16, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <bf16, bf16, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <bf16, bf16, 16, 64, 32, true, true; subgroups = (4, 4)>,
    <bf16, bf16, 8, 32, 32, true, true; subgroups = (4, 2)>,
    <bf16, f32, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <bf16, f32, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <bf16, f32, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <bf16, f32, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <bf16, f32, 16, 64, 32, true, true; subgroups = (4, 4)>,
    <bf16, f32, 8, 32, 32, true, true; subgroups = (4, 2)>,
    <bf16, f16, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <bf16, f16, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <bf16, f16, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <bf16, f16, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <bf16, f16, 16, 64, 32, true, true; subgroups = (4, 4)>,
    <bf16, f16, 8, 32, 32, true, true; subgroups = (4, 2)>,
    <f16, f16, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <f16, f16, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <f16, f16, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <f16, f16, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <f16, f16, 16, 64, 32, true, true; subgroups = (4, 4)>,
    <f16, f16, 8, 32, 32, true, true; subgroups = (4, 2)>,
    <f16, f32, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <f16, f32, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <f16, f32, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <f16, f32, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <f16, f32, 16, 64, 32, true, true; subgroups = (4, 4)>,
    <f16, f32, 8, 32, 32, true, true; subgroups = (4, 2)>,
    <f16, bf16, 32, 64, 32, false, true; subgroups = (8, 4)>,
    <f16, bf16, 16, 64, 32, false, true; subgroups = (4, 4)>,
    <f16, bf16, 8, 32, 32, false, true; subgroups = (4, 2)>,
    <f16, bf16, 32, 64, 32, true, true; subgroups = (8, 4)>,
    <f16, bf16, 16, 64, 32, true, true; subgroups = (4, 4)>,
    <f16, bf16, 8, 32, 32, true, true; subgroups = (4, 2)>,
    <bf16, bf16, 32, 64, 32, false, false; subgroups = (8, 4)>,
    <bf16, bf16, 32, 64, 32, true, false; subgroups = (8, 4)>,
    <bf16, f32, 32, 64, 32, false, false; subgroups = (8, 4)>,
    <bf16, f32, 32, 64, 32, true, false; subgroups = (8, 4)>,
    <bf16, bf16, 256, 128, 128, false, true; subgroups = (1, 1); host>,
    <bf16, bf16, 128, 128, 64, false, true; subgroups = (1, 1); host>,
    <bf16, bf16, 256, 128, 128, true, true; subgroups = (1, 1); host>,
    <bf16, bf16, 128, 128, 64, true, true; subgroups = (1, 1); host>,
    <bf16, f32, 256, 128, 128, false, true; subgroups = (1, 1); host>,
    <bf16, f32, 128, 128, 64, false, true; subgroups = (1, 1); host>,
    <bf16, f32, 256, 128, 128, true, true; subgroups = (1, 1); host>,
    <bf16, f32, 128, 128, 64, true, true; subgroups = (1, 1); host>,
    <bf16, f16, 256, 128, 128, false, true; subgroups = (1, 1); host>,
    <bf16, f16, 128, 128, 64, false, true; subgroups = (1, 1); host>,
    <bf16, f16, 256, 128, 128, true, true; subgroups = (1, 1); host>,
    <bf16, f16, 128, 128, 64, true, true; subgroups = (1, 1); host>,
    <f16, f16, 256, 128, 128, false, true; subgroups = (1, 1); host>,
    <f16, f16, 128, 128, 64, false, true; subgroups = (1, 1); host>,
    <f16, f16, 256, 128, 128, true, true; subgroups = (1, 1); host>,
    <f16, f16, 128, 128, 64, true, true; subgroups = (1, 1); host>,
    <f16, f32, 256, 128, 128, false, true; subgroups = (1, 1); host>,
    <f16, f32, 128, 128, 64, false, true; subgroups = (1, 1); host>,
    <f16, f32, 256, 128, 128, true, true; subgroups = (1, 1); host>,
    <f16, f32, 128, 128, 64, true, true; subgroups = (1, 1); host>,
    <f16, bf16, 256, 128, 128, false, true; subgroups = (1, 1); host>,
    <f16, bf16, 128, 128, 64, false, true; subgroups = (1, 1); host>,
    <f16, bf16, 256, 128, 128, true, true; subgroups = (1, 1); host>,
    <f16, bf16, 128, 128, 64, true, true; subgroups = (1, 1); host>,
))]
pub fn gemm<
    A: MmaInput,
    C: Element,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TRANS_B: bool,
    const PREFETCH: bool,
>(
    c: &mut gl<C>,
    a: &gl<A>,
    b: &gl<A>,
    ahead: u32,
    snake: u32,
) {
    let at = own_tile::<BM, BN>(c, Snake(snake));
    if at.outside() {
        return;
    }
    if PREFETCH {
        for k in 0..ahead.min(a.col_tiles(BK)) {
            prefetch_load_coop::<rt<A, BM, BK>>(a, [at.batch(), at.depth(), at.row(), k], Peers::Row);
            if TRANS_B {
                prefetch_load_coop::<rt<A, BN, BK>>(b, [at.batch(), at.depth(), at.col(), k], Peers::Col);
            } else {
                prefetch_load_coop::<rt<A, BK, BN>>(b, [at.batch(), at.depth(), k, at.col()], Peers::Col);
            }
        }
    }
    let mut acc: rt<f32, BM, BN, Acc> = zeros();
    for k in 0..a.col_tiles(BK) {
        let x: rt<A, BM, BK> = load(a, [at.batch(), at.depth(), at.row(), k]);
        if PREFETCH {
            prefetch_load_coop::<rt<A, BM, BK>>(a, [at.batch(), at.depth(), at.row(), k + ahead], Peers::Row);
            if TRANS_B {
                prefetch_load_coop::<rt<A, BN, BK>>(
                    b,
                    [at.batch(), at.depth(), at.col(), k + ahead],
                    Peers::Col,
                );
            } else {
                prefetch_load_coop::<rt<A, BK, BN>>(
                    b,
                    [at.batch(), at.depth(), k + ahead, at.col()],
                    Peers::Col,
                );
            }
        }
        if TRANS_B {
            let y: rt<A, BK, BN, VnniT> = load_transpose(b, [at.batch(), at.depth(), at.col(), k]);
            mma_ABt(&mut acc, &x, &y);
        } else {
            let y: rt<A, BK, BN, Vnni> = load_transform(b, [at.batch(), at.depth(), k, at.col()]);
            mma_AB(&mut acc, &x, &y);
        }
    }
    store(c, &acc.to::<C>(), at);
}
