//! Top-k of rows longer than a tile, by both forms, against a plain sort; ties, NaN, infinities, rows shorter than k.

use super::{on_both, tensor};
use tile_std::prelude::*;

/// The K largest of every row of `x` with their columns, by a loop over tiles of N columns.
#[tile_kernel(instances(
    <f32, 8, 16, 5; subgroups = (2, 1)>,
    <bf16, 16, 32, 8; subgroups = (1, 1)>,
    <f16, 16, 128, 16; subgroups = (1, 1)>,
))]
fn rows<T: Element, const M: usize, const N: usize, const K: usize>(
    values: &mut gl<f32>,
    columns: &mut gl<f32>,
    x: &gl<T>,
) {
    let at = own_tile::<M, 16>(values, Linear);
    let mut v: rt<f32, M, 16> = fill(f32::NEG_INFINITY);
    let mut i: rt<i32, M, 16> = fill(-1);
    for tile in 0..x.col_tiles(N) {
        let part: rt<T, M, N> = load(x, [at.row(), tile]);
        let first = N as u32 * tile;
        let (next, places) =
            part.keep_cols(x.cols() - first, f32::NEG_INFINITY).row_topk_with(K, &v, &i, first);
        v = next;
        i = places;
    }
    store(values, &v, at);
    store(columns, &i.to::<f32>(), at);
}

/// The same with a row per lane: tiles are loaded transposed, and the first tile starts the list.
#[tile_kernel(instances(
    <f32, 16, 8, 5; subgroups = (1, 2)>,
    <bf16, 32, 8, 8; subgroups = (1, 1)>,
    <f16, 128, 16, 16; subgroups = (1, 1)>,
))]
fn columns<T: Element, const N: usize, const P: usize, const K: usize>(
    values: &mut gl<f32>,
    places: &mut gl<f32>,
    x: &gl<T>,
) {
    let at = own_tile::<P, 16>(values, Linear);
    let first: rt<T, N, 16> = load_transpose(x, [at.col(), 0]);
    let (mut v, mut i) = first.keep_rows(x.cols(), f32::NEG_INFINITY).col_topk::<P>(K);
    for tile in 1..x.col_tiles(N) {
        let part: rt<T, N, 16> = load_transpose(x, [at.col(), tile]);
        let start = N as u32 * tile;
        let (next, row) = part.keep_rows(x.cols() - start, f32::NEG_INFINITY).col_topk_with(K, &v, &i, start);
        v = next;
        i = row;
    }
    store(values, &v, at);
    store(places, &i.to::<f32>(), at);
}

/// Few values, so that many are equal.
fn element<T: Element>(r: usize, c: usize) -> f32 {
    match (r * 31 + c * 17 + r * c) % 23 {
        0 if r.is_multiple_of(3) => f32::NAN,
        1 => f32::INFINITY,
        2 | 3 => f32::NEG_INFINITY,
        4 => -0.0,
        5 => 0.0,
        n if n < 12 => n as f32 - 8.0,
        n => T::from_f32(((r * 97 + c * 131 + n) % 1000) as f32 / 7.0 - 60.0).to_f32(),
    }
}

/// The first `k` of a row as a sort gives them.
fn sorted(row: &[f32], k: usize) -> Vec<(f32, f32)> {
    let mut all: Vec<(f32, f32)> = row.iter().copied().zip((0..).map(|i| i as f32)).collect();
    all.sort_by(|a, b| match (a.0.is_nan(), b.0.is_nan()) {
        (false, false) => b.0.partial_cmp(&a.0).expect("numbers"),
        (a, b) => b.cmp(&a),
    });
    all.truncate(k);
    all
}

/// What must be there: a value's sign of zero is plus, its NaN any.
fn check(what: &str, want: &[(f32, f32)], got: impl Fn(usize) -> (f32, f32)) {
    for (n, &(value, place)) in want.iter().enumerate() {
        let (v, p) = got(n);
        let same = (v.is_nan() && value.is_nan()) || (v == value && (v != 0.0 || !v.is_sign_negative()));
        assert!(same && p == place, "{what}, place {n}: {v} at {p}, not {value} at {place}");
    }
}

#[test]
fn rows_of_any_length_give_their_largest_elements() {
    fn run<T: Element, const M: usize, const N: usize, const P: usize, const K: usize>()
    where
        rows::Kernel: rows::Compiled<T, M, N, K>,
        columns::Kernel: columns::Compiled<T, N, P, K>,
    {
        for (height, width) in [(1, 16), (9, 17), (16, 100), (33, 129), (5, 300)] {
            let mut x = tensor::<T>(height, width, element::<T>);
            x.fill_padding(T::from_f32(f32::NAN));
            let want: Vec<Vec<(f32, f32)>> = (0..height)
                .map(|r| sorted(&(0..width).map(|c| element::<T>(r, c)).collect::<Vec<f32>>(), K))
                .collect();
            // Of tensors of K columns just the first K are stored.
            let outputs =
                |device: &Device, [v, i]: &mut [Tensor<f32>; 2]| rows::launch::<T, M, N, K>(device, v, i, &x);
            let [v, i] = on_both((height, K), |_, _| -77.0, outputs);
            for (r, want) in want.iter().enumerate() {
                check(&format!("{} row {r} of {height}x{width}", T::NAME), want, |n| {
                    (v[r * K + n], i[r * K + n])
                });
            }
            let outputs = |device: &Device, [v, i]: &mut [Tensor<f32>; 2]| {
                columns::launch::<T, N, P, K>(device, v, i, &x)
            };
            let [v, i] = on_both((K, height), |_, _| -77.0, outputs);
            for (r, want) in want.iter().enumerate() {
                let at = |n: usize| (v[n * height + r], i[n * height + r]);
                check(&format!("{} column {r} of {height}x{width}", T::NAME), want, at);
            }
        }
    }
    run::<f32, 8, 16, 8, 5>();
    run::<bf16, 16, 32, 8, 8>();
    run::<f16, 16, 128, 16, 16>();
}

/// Rows of whole numbers, all columns of results stored.
#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn whole(values: &mut gl<i32>, places: &mut gl<i32>, x: &gl<i32>) {
    let at = own_tile::<8, 16>(values, Linear);
    let tile: rt<i32, 8, 32> = load(x, [at.row(), 0]);
    let (v, i) = tile.keep_cols(x.cols(), -2147483647).row_topk::<16>(4);
    store(values, &v, at);
    store(places, &i, at);
}

#[test]
fn integers_are_ordered_too_and_nothing_is_minus_one() {
    let value = |r: usize, c: usize| [i32::MAX, -5, 0, i32::MIN, 7][(3 * r + c) % 5];
    let x = Tensor::<i32>::from_fn([1, 1, 10, 20], |_, _, r, c| value(r, c)).expect("a small tensor");
    let [v, i] = on_both((10, 16), |_, _| 77, |device, [v, i]| whole::launch(device, v, i, &x));
    for r in 0..10 {
        let mut all: Vec<(i32, i32)> = (0..20).map(|c| (value(r, c), c as i32)).collect();
        all.sort_by_key(|&(v, i)| (std::cmp::Reverse(v), i));
        all.truncate(4);
        all.resize(16, (i32::MIN, -1));
        let got: Vec<(i32, i32)> = (0..16).map(|n| (v[r * 16 + n], i[r * 16 + n])).collect();
        assert_eq!(got, all, "row {r}");
    }
}
