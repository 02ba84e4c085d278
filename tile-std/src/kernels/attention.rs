//! Attention, forward: `O = softmax(scale * Q * K^T + mask) * V`, per head, in one pass over the keys.
//!
//! Q is `[batch, heads, queries, dim]`, K and V are `[batch, kv heads, keys, dim]`; `heads / kv heads` neighbouring
//! heads of Q read one head of K and V. For a row with scores `t_j` (to base 2: `scale` has `log2(e)` in it) the pass
//! keeps a bound `m` of the scores so far, `l = sum 2^(t_j - m)` and `o = sum 2^(t_j - m) * v_j`. Where a tile raises
//! the bound to `m'`, `l` and `o` are multiplied by `2^(m - m')` first; at the end `O = o / l`. A row that sees no key,
//! or only scores of minus infinity, has `l = 0` and gives 0. With `causal`, query `i` sees the keys
//! `j <= i + keys - queries`: the last query sees every key. The logarithm of the sum of a row's powers is `m ln 2 + ln l`; it goes to
//! `lse`, `[batch, heads, 1, queries]`, whose columns may also be none: what is stored there is dropped.
//!
//! *Schedule.* A sub-group owns `BQ` queries of a head: their `o` stays in registers while it walks the keys in tiles
//! of `BKV`. Q, K and V come in steps of 32 columns, so that no operand is large; the sums of a row stay spread over its
//! lanes until the end. `m` is raised only where a score is over it by more than 8, which is rare after the first tiles:
//! weights up to 2^8 lose nothing in f32 or bf16, and f16 holds them. Tiles that no query of the sub-group sees are not
//! visited, and only tiles at the diagonal or at the last key are masked. With `causal` the last queries see most, so they
//! go first. The sub-groups of a work-group have neighbouring queries of one head, and fetch the next tile of K and V into
//! the caches together.
//!
//! *Instances.* `D` is the least listed size that holds the head. The accumulator of 16 x 128 takes half of the
//! registers, so heads of 256 go by 8 rows. The host, whose tiles are memory, takes 64 x 64.

use crate::prelude::*;

/// One sub-group's part of attention. `scale` is the factor of the scores times `log2(e)`.
#[tile_kernel(fns(step), derive(PARTS = D / 32, SLICES = BKV / 16), instances(
    <bf16, 64, 16, 32; subgroups = (8, 1)>,
    <bf16, 96, 16, 32; subgroups = (6, 1)>,
    <bf16, 128, 16, 32; subgroups = (8, 1)>,
    <bf16, 256, 8, 32; subgroups = (8, 1)>,
    <bf16, 64, 8, 32; subgroups = (4, 1)>,
    <bf16, 96, 8, 32; subgroups = (3, 1)>,
    <bf16, 128, 8, 32; subgroups = (4, 1)>,
    <f16, 64, 16, 32; subgroups = (8, 1)>,
    <f16, 96, 16, 32; subgroups = (6, 1)>,
    <f16, 128, 16, 32; subgroups = (8, 1)>,
    <f16, 256, 8, 32; subgroups = (8, 1)>,
    <f16, 64, 8, 32; subgroups = (4, 1)>,
    <f16, 96, 8, 32; subgroups = (3, 1)>,
    <f16, 128, 8, 32; subgroups = (4, 1)>,
    <bf16, 64, 64, 64; subgroups = (1, 1); host>,
    <bf16, 96, 64, 64; subgroups = (1, 1); host>,
    <bf16, 128, 64, 64; subgroups = (1, 1); host>,
    <bf16, 256, 64, 64; subgroups = (1, 1); host>,
    <f16, 64, 64, 64; subgroups = (1, 1); host>,
    <f16, 96, 64, 64; subgroups = (1, 1); host>,
    <f16, 128, 64, 64; subgroups = (1, 1); host>,
    <f16, 256, 64, 64; subgroups = (1, 1); host>,
))]
pub fn attention<
    T: MmaInput,
    const D: usize,
    const BQ: usize,
    const BKV: usize,
    const PARTS: usize,
    const SLICES: usize,
>(
    o: &mut gl<T>,
    lse: &mut gl<f32>,
    q: &gl<T>,
    k: &gl<T>,
    v: &gl<T>,
    scale: f32,
    causal: bool,
) {
    let at = own_tile::<BQ, D>(o, Upward);
    if at.outside() {
        return;
    }
    let head = at.depth() / (q.depth() / k.depth());
    // How many keys some query of this tile sees, and how many tiles every one of them sees whole.
    let first = at.row() * (BQ as u32);
    let mut seen = k.rows();
    let mut whole = k.rows() / (BKV as u32);
    if causal {
        let last = first + (BQ as u32) + k.rows();
        seen = seen.min(last - last.min(q.rows()));
        let next = first + 1 + k.rows();
        whole = whole.min((next - next.min(q.rows())) / (BKV as u32));
    }
    let mut out: rt<f32, BQ, D, Acc> = zeros();
    let mut sums: rt<f32, BQ, 16, Acc> = zeros();
    // A number, so that a row of minus infinities does not become NaN.
    let mut bound: rv<f32, BQ, PerRow> = fill(-3.0e38);
    for j in 0..whole {
        step::<T, D, D, BQ, BKV, PARTS, SLICES, false>(
            &mut out,
            &mut sums,
            &mut bound,
            q,
            k,
            v,
            at.batch(),
            at.depth(),
            head,
            at.row(),
            j,
            scale,
            causal,
        );
    }
    for j in whole..(seen + (BKV as u32) - 1) / (BKV as u32) {
        step::<T, D, D, BQ, BKV, PARTS, SLICES, true>(
            &mut out,
            &mut sums,
            &mut bound,
            q,
            k,
            v,
            at.batch(),
            at.depth(),
            head,
            at.row(),
            j,
            scale,
            causal,
        );
    }
    let total = sums.row_sum();
    let inverse = total.ne(0.0).select(&total.recip(), 0.0);
    store(o, &out.mul_row(&inverse).to::<T>(), at);
    store_vec(lse, &bound.scale(0.6931472).add(&total.log()), at);
}

/// Adds the keys of tile `j` to the first D of the W columns of `out`. With `MASK`, some query does not see all of them.
/// What is in the other columns is scaled with `out`.
#[tile_fn]
#[allow(clippy::too_many_arguments, reason = "a device function sees nothing of its caller")]
pub(crate) fn step<
    T: MmaInput,
    const D: usize,
    const W: usize,
    const BQ: usize,
    const BKV: usize,
    const PARTS: usize,
    const SLICES: usize,
    const MASK: bool,
>(
    out: &mut rt<f32, BQ, W, Acc>,
    sums: &mut rt<f32, BQ, 16, Acc>,
    bound: &mut rv<f32, BQ, PerRow>,
    q: &gl<T>,
    k: &gl<T>,
    v: &gl<T>,
    batch: u32,
    depth: u32,
    head: u32,
    row: u32,
    j: u32,
    scale: f32,
    causal: bool,
) {
    let mut scores: rt<f32, BQ, BKV, Acc> = zeros();
    #[unroll]
    for c in 0..PARTS as u32 {
        let x: rt<T, BQ, 32> = load(q, [batch, depth, row, c]);
        let y: rt<T, 32, BKV, VnniT> = load_transpose(k, [batch, head, j, c]);
        mma_ABt(&mut scores, &x, &y);
    }
    prefetch_load_coop::<rt<T, BKV, D>>(k, [batch, head, j + 1, 0], Peers::Col);
    prefetch_load_coop::<rt<T, BKV, D>>(v, [batch, head, j + 1, 0], Peers::Col);
    let mut t = scores.scale(scale);
    if MASK {
        t = t.keep_cols(k.rows() - j * (BKV as u32), f32::NEG_INFINITY);
        if causal {
            t = t.tril(row * (BQ as u32) + k.rows(), j * (BKV as u32) + q.rows(), f32::NEG_INFINITY);
        }
    }
    let mut above = t.sub_row(bound);
    if above.col_max().gt(8.0).any() {
        let raised = t.row_max_with(bound);
        let shrink = bound.sub(&raised).exp2();
        *bound = raised;
        *out = out.mul_row(&shrink);
        *sums = sums.mul_row(&shrink);
        above = t.sub_row(bound);
    }
    let p = above.exp2();
    #[unroll]
    for c in 0..SLICES as u32 {
        *sums = sums.add(&p.sub_tile::<BQ, 16>(0, c));
    }
    let weights = p.to::<T>();
    #[unroll]
    for c in 0..PARTS as u32 {
        let y: rt<T, BKV, 32, Vnni> = load_transform(v, [batch, head, j, c]);
        let mut part = out.sub_tile::<BQ, 32>(0, c);
        mma_AB(&mut part, &weights, &y);
        out.set_sub_tile(&part, 0, c);
    }
}

/// Columns of a head that are compiled, ascending.
pub(crate) const DIMS: [u64; 4] = [64, 96, 128, 256];

/// Most columns of a head that the tall tiles of a GPU hold, and `[BQ, BKV]` of the tall and of the flat ones.
pub(crate) const SIZES: (u64, [u64; 2], [u64; 2]) = (128, [16, 32], [8, 32]);

/// Queries from which the host takes its large tiles, and their `[BQ, BKV]`.
pub(crate) const HOST_SIZES: (usize, [u64; 2]) = (17, [64, 64]);

/// A row of a policy: for up to so many queries, in up to so many planes (batch times heads), take tall tiles or flat ones.
pub(crate) struct Rule {
    pub(crate) queries: usize,
    pub(crate) planes: usize,
    pub(crate) tall: bool,
}

impl Rule {
    const fn up_to(queries: usize, planes: usize, tall: bool) -> Rule {
        Rule { queries, planes, tall }
    }
}

/// Flat tiles make more sub-groups of little work (SyclKittens, `choose_fwd`, bf16: its batches of 32 heads as planes).
pub(crate) const POLICY: &[Rule] = &[
    Rule::up_to(256, usize::MAX, false),
    Rule::up_to(512, 2 * 32, false),
    Rule::up_to(usize::MAX, usize::MAX, true),
];

/// The same for causal attention, which has half the work.
pub(crate) const POLICY_CAUSAL: &[Rule] = &[
    Rule::up_to(256, usize::MAX, false),
    Rule::up_to(512, 4 * 32, false),
    Rule::up_to(1024, 32, false),
    Rule::up_to(usize::MAX, usize::MAX, true),
];
