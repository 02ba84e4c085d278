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

/// What a shape is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Tile sizes: rows and columns of C, and a step of K.
    pub tile: [u64; 3],
    /// K steps between a prefetch and its use.
    pub ahead: u32,
    /// Work-group columns of a stack.
    pub snake: u32,
    /// Parts that K is cut into.
    pub splits: u32,
}

const fn tuned(ahead: u32, snake: u32, splits: u32) -> Row {
    Row { tile: [32, 64, 32], ahead, snake, splits }
}

/// The 27 shapes `[M, K, N]` of the SyclKittens paper (tables 22 and 23, bf16 on one stack of an Intel Max GPU), with what it
/// computes them with: the tile from its table 20, the width of stacks from D.2 ("snake-curve group swizzle"), the prefetch
/// distance from D.2 ("2 for all squares") and, for the others, from the GEMM of github.com/intel/SyclKittens at
/// a50586ba, since the paper gives no list; no split, since all of them have 256 tiles and more (the same source).
///
/// Where the two sources differ in the width (2048 and 7168 cubed, 14336 cubed, 2048x4096x4096), the paper has it. The paper walks
/// grids that are no whole number of stacks in linear order; ours may be ragged, so that its width holds for all. Its
/// unrolling of K by 32 and its choice of a cooperative launch have no counterpart: loops along K are not unrolled here
/// (DESIGN 5), and launches are plain.
pub(crate) const SHAPES: &[([usize; 3], Row)] = &[
    ([1024, 1024, 1024], tuned(2, 8, 1)),
    ([2048, 2048, 2048], tuned(2, 4, 1)),
    ([3072, 3072, 3072], tuned(2, 16, 1)),
    ([4096, 4096, 4096], tuned(2, 8, 1)),
    ([5120, 5120, 5120], tuned(2, 8, 1)),
    ([6144, 6144, 6144], tuned(2, 8, 1)),
    ([7168, 7168, 7168], tuned(2, 8, 1)),
    ([8192, 8192, 8192], tuned(2, 16, 1)),
    ([9216, 9216, 9216], tuned(2, 8, 1)),
    ([10240, 10240, 10240], tuned(2, 8, 1)),
    ([12288, 12288, 12288], tuned(2, 4, 1)),
    ([14336, 14336, 14336], tuned(2, 8, 1)),
    ([16384, 16384, 16384], tuned(2, 4, 1)),
    ([2048, 4096, 12288], tuned(3, 8, 1)),
    ([4096, 4096, 12288], tuned(3, 8, 1)),
    ([8192, 4096, 12288], tuned(3, 8, 1)),
    ([2048, 4096, 4096], tuned(3, 8, 1)),
    ([8192, 4096, 4096], tuned(2, 8, 1)),
    ([2048, 4096, 11008], tuned(1, 8, 1)),
    ([4096, 4096, 11008], tuned(2, 8, 1)),
    ([2048, 11008, 4096], tuned(2, 8, 1)),
    ([4096, 11008, 4096], tuned(3, 8, 1)),
    ([2048, 1024, 4096], tuned(1, 8, 1)),
    ([2048, 4096, 1024], tuned(3, 8, 1)),
    ([256, 4096, 4096], tuned(3, 8, 1)),
    ([512, 4096, 4096], tuned(3, 8, 1)),
    ([512, 4096, 11008], tuned(3, 8, 1)),
];

/// Tile sizes by rows of C, for all other shapes: the first row whose bound is not below M is taken. Small M would leave most
/// of a large tile empty.
pub(crate) const SIZES: &[(usize, [u64; 3])] =
    &[(8, [8, 32, 32]), (64, [16, 64, 32]), (usize::MAX, [32, 64, 32])];

/// Prefetch distance in K steps for all other shapes: of cubes, and of what is not one (D.2, "shape-adaptive lookahead": 2
/// for squares, mostly 3 for rectangles).
pub(crate) const AHEAD: [u32; 2] = [2, 3];

/// Width of a stack in work-group columns for all other shapes (D.2: 8 for most).
pub(crate) const SNAKE: u32 = 8;

/// Tiles of C below which K is cut, and sub-groups that the splits then make (the source above: planes =
/// `1024 / tiles`, rounded up, if there are fewer than 256 tiles; 8 of them at 512 x 512, as in table 25).
pub(crate) const SPLIT: [u64; 2] = [256, 1024];

/// The least K that is cut, and the least K steps of a split: table 25 begins at 2048, where a split is 1.07 times as
/// fast as oneDNN; below, the second launch costs more than is won.
pub(crate) const SPLIT_LEAST: (usize, u64) = (2048, 4);

/// Tile sizes on the host device, where they are memory and not registers, largest first (measured: `gemm_host` in
/// benches). The large one reads A and B less often, and C once per 128 steps of K.
pub(crate) const HOST_SIZES: &[[u64; 3]] = &[[256, 128, 128], [128, 128, 64]];

/// Rows and columns below which most of a [`HOST_SIZES`] tile would be empty.
pub(crate) const HOST_LEAST: usize = 96;

/// Prefetch distance on the host device, whose caches find the next step by themselves.
pub(crate) const HOST_AHEAD: u32 = 2;
