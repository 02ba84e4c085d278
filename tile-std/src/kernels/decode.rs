//! Decoding: attention of few queries to many keys, in two passes, `O = softmax(scale * Q * K^T) * V`.
//!
//! Q is `[batch, kv heads, group, dim]`: the heads of Q that share a head of K and V are the rows of one matrix, so that
//! K and V are read once for all of them. The keys are cut into splits. The first pass gives, per split, the bound `m` of
//! its scores, `l = sum 2^(t_j - m)` and `o = sum 2^(t_j - m) * v_j`, as [`attention`](super::attention) keeps
//! them. The second gives `O = sum 2^(m_i - M) * o_i / sum 2^(m_i - M) * l_i` over the splits i, M being the largest m.
//!
//! *Schedule.* A token's attention is a read of K and V and little else, and one sub-group per head would leave a GPU
//! empty: so a sub-group owns one split of one head, eight rows at a time. It stores its state as one tile of f32: `o` in
//! the first D columns, `m` in each of the next 16, and `l`, spread over its lanes, in the last 16. In the second pass a
//! sub-group owns 32 columns of the output and reads the splits one after the other.

use super::attention::step;
use crate::prelude::*;

/// The state of one split: rows of `parts` are split after split, each with the rows of Q in whole tiles.
///
/// `tiles` is how many tiles of `BKV` keys a split has.
#[tile_kernel(
    fns(step),
    derive(PARTS = D / 32, SLICES = BKV / 16, BOUND = D / 16, SUMS = D / 16 + 1, WIDE = D + 32),
    instances(
        <bf16, 64, 8, 32; subgroups = (1, 1)>,
        <bf16, 96, 8, 32; subgroups = (1, 1)>,
        <bf16, 128, 8, 32; subgroups = (1, 1)>,
        <bf16, 256, 8, 32; subgroups = (1, 1)>,
        <f16, 64, 8, 32; subgroups = (1, 1)>,
        <f16, 96, 8, 32; subgroups = (1, 1)>,
        <f16, 128, 8, 32; subgroups = (1, 1)>,
        <f16, 256, 8, 32; subgroups = (1, 1)>,
    )
)]
pub fn decode<
    T: MmaInput,
    const D: usize,
    const BQ: usize,
    const BKV: usize,
    const PARTS: usize,
    const SLICES: usize,
    const BOUND: usize,
    const SUMS: usize,
    const WIDE: usize,
>(
    parts: &mut gl<f32>,
    q: &gl<T>,
    k: &gl<T>,
    v: &gl<T>,
    scale: f32,
    tiles: u32,
) {
    let at = own_tile::<BQ, WIDE>(parts, Linear);
    if at.outside() {
        return;
    }
    let blocks = q.row_tiles(BQ);
    let split = at.row() / blocks;
    let row = at.row() - split * blocks;
    let mut part: rt<f32, BQ, WIDE, Acc> = zeros();
    let mut sums: rt<f32, BQ, 16, Acc> = zeros();
    let mut bound: rv<f32, BQ, PerRow> = fill(-3.0e38);
    for j in (split * tiles).min(k.row_tiles(BKV))..((split + 1) * tiles).min(k.row_tiles(BKV)) {
        step::<T, D, WIDE, BQ, BKV, PARTS, SLICES, true>(
            &mut part,
            &mut sums,
            &mut bound,
            q,
            k,
            v,
            at.batch(),
            at.depth(),
            at.depth(),
            row,
            j,
            scale,
            false,
        );
    }
    let zero: rt<f32, BQ, 16, Acc> = zeros();
    part.set_sub_tile(&zero.add_row(&bound), 0, BOUND);
    part.set_sub_tile(&sums, 0, SUMS);
    store(parts, &part, at);
}

/// Joins the splits of 32 columns of the output. `bounds` is the column of the bounds in `parts`, in tiles of 16.
#[tile_kernel(instances(<bf16, 8; subgroups = (1, 4)>, <f16, 8; subgroups = (1, 4)>))]
pub fn merge<T: Element, const BQ: usize>(o: &mut gl<T>, parts: &gl<f32>, bounds: u32) {
    let at = own_tile::<BQ, 32>(o, Linear);
    if at.outside() {
        return;
    }
    let blocks = o.row_tiles(BQ);
    let splits = parts.row_tiles(BQ) / blocks;
    let mut bound: rv<f32, BQ, PerRow> = fill(-3.0e38);
    for split in 0..splits {
        let row = split * blocks + at.row();
        let here: rt<f32, BQ, 16> = load(parts, [at.batch(), at.depth(), row, bounds]);
        bound = here.row_max_with(&bound);
    }
    let mut out: rt<f32, BQ, 32> = zeros();
    let mut total: rv<f32, BQ, PerRow> = zeros();
    for split in 0..splits {
        let row = split * blocks + at.row();
        let here: rt<f32, BQ, 16> = load(parts, [at.batch(), at.depth(), row, bounds]);
        let sums: rt<f32, BQ, 16> = load(parts, [at.batch(), at.depth(), row, bounds + 1]);
        let part: rt<f32, BQ, 32> = load(parts, [at.batch(), at.depth(), row, at.col()]);
        let shrink = here.row_max().sub(&bound).exp2();
        out = out.add(&part.mul_row(&shrink));
        total = total.add(&sums.row_sum().mul(&shrink));
    }
    let inverse = total.ne(0.0).select(&total.recip(), 0.0);
    store(o, &out.mul_row(&inverse).to::<T>(), at);
}

/// Rows of a tile of queries and of a tile of keys.
pub(crate) const SIZES: [u64; 2] = [8, 32];

/// Sub-groups that fill a GPU: splits are made until there are as many. A PVC has 1024 vector engines (xe_facts 8), each
/// with four threads of 256 registers.
pub(crate) const SUBGROUPS: usize = 4096;

/// Tiles of keys that a split has at least: what joining it costs is then small beside what it reads.
pub(crate) const LEAST_TILES: usize = 4;
