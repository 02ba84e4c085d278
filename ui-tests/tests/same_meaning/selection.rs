//! Comparisons, masks, choices, positions and fused multiply-add: on tiles and vectors, with NaN, infinities and both
//! zeros, at ragged sizes.

use super::{Bits, on_both, tensor};
use tile_std::prelude::*;

/// One comparison per launch, with a tile, a number and vectors on the right; a bit of the result for each that holds.
#[tile_kernel(instances(
    <f32, 8, 16; subgroups = (2, 1)>,
    <bf16, 16, 32; subgroups = (1, 1)>,
    <f16, 8, 48; subgroups = (1, 2)>,
))]
fn compare<T: Element, const M: usize, const N: usize>(
    y: &mut gl<f32>,
    a: &gl<T>,
    b: &gl<T>,
    rows: &gl<f32>,
    cols: &gl<f32>,
    which: u32,
    s: f32,
) {
    let at = own_tile::<M, N>(y, Linear);
    if at.outside() {
        return;
    }
    let p: rt<T, M, N> = load(a, [at.row(), at.col()]);
    let q: rt<T, M, N> = load(b, [at.row(), at.col()]);
    let v: rv<f32, M, PerRow> = load_vec(rows, [0, at.row()]);
    let w: rv<f32, N, PerCol> = load_vec(cols, [0, at.col()]);
    let one: rt<f32, M, N> = fill(1.0);
    let mut tile: rt<bool, M, N> = p.lt(&q);
    let mut number: rt<bool, M, N> = p.lt(s);
    let mut row: rt<bool, M, N> = p.lt_row(&v);
    let mut col: rt<bool, M, N> = p.lt_col(&w);
    if which == 1 {
        tile = p.le(&q);
        number = p.le(s);
        row = p.le_row(&v);
        col = p.le_col(&w);
    }
    if which == 2 {
        tile = p.gt(&q);
        number = p.gt(s);
        row = p.gt_row(&v);
        col = p.gt_col(&w);
    }
    if which == 3 {
        tile = p.ge(&q);
        number = p.ge(s);
        row = p.ge_row(&v);
        col = p.ge_col(&w);
    }
    if which == 4 {
        tile = p.eq(&q);
        number = p.eq(s);
        row = p.eq_row(&v);
        col = p.eq_col(&w);
    }
    if which == 5 {
        tile = p.ne(&q);
        number = p.ne(s);
        row = p.ne_row(&v);
        col = p.ne_col(&w);
    }
    let low = tile.select(&one, 0.0).add(&number.select(&one, 0.0).scale(2.0));
    let high = row.select(&one, 0.0).scale(4.0).add(&col.select(&one, 0.0).scale(8.0));
    store(y, &low.add(&high), at);
}

/// Numbers whose order is delicate; every pair of them meets in two operands.
const NUMBERS: [f32; 10] = [0.0, -0.0, 1.0, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.5, -2.0, 3.0];

#[test]
fn comparisons_are_those_of_rust() {
    fn check<T: Bits + Element, const M: usize, const N: usize>(rows: usize, cols: usize)
    where
        compare::Kernel: compare::Compiled<T, M, N>,
    {
        let left = |r: usize, c: usize| NUMBERS[(r * cols + c) % 10];
        let right = |r: usize, c: usize| NUMBERS[((r * cols + c) / 10 + r) % 10];
        let (a, b) = (tensor::<T>(rows, cols, left), tensor::<T>(rows, cols, right));
        let (by_row, by_col) = (|r: usize| NUMBERS[(r * 3) % 10], |c: usize| NUMBERS[(c * 7 + 1) % 10]);
        let v = tensor::<f32>(1, rows, |_, r| by_row(r));
        let w = tensor::<f32>(1, cols, |_, c| by_col(c));
        let relations: [fn(&f32, &f32) -> bool; 6] = [f32::lt, f32::le, f32::gt, f32::ge, f32::eq, f32::ne];
        for (which, holds) in relations.iter().enumerate() {
            for s in [0.0, f32::NAN, f32::INFINITY] {
                let [y] = on_both(
                    (rows, cols),
                    |_, _| -1.0,
                    |device, [y]| compare::launch::<T, M, N>(device, y, &a, &b, &v, &w, which as u32, s),
                );
                for r in 0..rows {
                    for c in 0..cols {
                        let x = left(r, c);
                        let bit = |other: f32| u32::from(holds(&x, &other)) as f32;
                        let want =
                            bit(right(r, c)) + 2.0 * bit(s) + 4.0 * bit(by_row(r)) + 8.0 * bit(by_col(c));
                        let got: f32 = y[r * cols + c];
                        assert_eq!(got, want, "{} relation {which} of {x}, s {s}, ({r}, {c})", T::NAME);
                    }
                }
            }
        }
    }
    check::<f32, 8, 16>(19, 37);
    check::<bf16, 16, 32>(19, 37);
    check::<f16, 8, 48>(11, 100);
}

/// Masks combined, complemented, carried by a loop and through an `if`, choosing between tiles of a type.
#[tile_kernel(instances(<f32, 8, 16; subgroups = (1, 1)>, <bf16, 16, 16; subgroups = (1, 2)>))]
fn masks<T: Element, const M: usize, const N: usize>(
    y: &mut gl<T>,
    a: &gl<T>,
    b: &gl<T>,
    how: u32,
    turns: u32,
) {
    let at = own_tile::<M, N>(y, Linear);
    let p: rt<T, M, N> = load(a, [at.row(), at.col()]);
    let q: rt<T, M, N> = load(b, [at.row(), at.col()]);
    let mut mask = p.lt(1.0);
    let other = q.ge(-0.5);
    if how == 0 {
        mask = mask.and(&other);
    } else if how == 1 {
        mask = mask.or(&other);
    } else {
        mask = mask.xor(&other);
    }
    for i in 0..turns {
        if i == 1 {
            continue;
        }
        mask = mask.not();
    }
    let some = mask.select(&p, &q);
    store(y, &other.select(&some, -7.03125), at);
}

#[test]
fn masks_combine_and_choose() {
    fn check<T: Bits + Element, const M: usize, const N: usize>(rows: usize, cols: usize)
    where
        masks::Kernel: masks::Compiled<T, M, N>,
    {
        let left = |r: usize, c: usize| NUMBERS[(r * cols + c) % 10];
        let right = |r: usize, c: usize| NUMBERS[(r + 3 * c) % 10];
        let (a, b) = (tensor::<T>(rows, cols, left), tensor::<T>(rows, cols, right));
        for how in 0..3u32 {
            for turns in 0..4u32 {
                let [y] = on_both(
                    (rows, cols),
                    |_, _| T::from_f32(99.0),
                    |device, [y]| masks::launch::<T, M, N>(device, y, &a, &b, how, turns),
                );
                for r in 0..rows {
                    for c in 0..cols {
                        let (p, q) = (left(r, c), right(r, c));
                        let (x, other) = (p < 1.0, q >= -0.5);
                        let mask = [x && other, x || other, x != other][how as usize];
                        let nots = turns - u32::from(turns > 1);
                        let mask = mask != (nots % 2 == 1);
                        let want = if other { if mask { p } else { q } } else { -7.03125 };
                        let (got, want) = (y[r * cols + c], T::from_f32(want));
                        assert_eq!(got.bits(), want.bits(), "{} {how} {turns} ({r}, {c})", T::NAME);
                    }
                }
            }
        }
    }
    check::<f32, 8, 16>(13, 21);
    check::<bf16, 16, 16>(17, 33);
}

/// Vectors: comparisons with vectors and numbers, choices, positions in vectors and tiles, multiply-add.
#[tile_kernel(instances(<f32, 8, 16; subgroups = (1, 1)>, <f16, 24, 32; subgroups = (1, 1)>))]
fn vectors<T: Element, const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<T>, start: f32) {
    let at = own_tile::<M, N>(y, Linear);
    let raw: rv<T, N, PerCol> = load_vec(x, [0, at.col()]);
    let first = (at.col() * N as u32) as f32;
    let places: rv<f32, N, PerCol> = iota(first);
    let wide = raw.to::<f32>();
    let mask: rv<bool, N, PerCol> = wide.lt(&places).or(&wide.ge(40.0)).and(&raw.ne(5.0));
    let chosen = mask.not().select(&wide, -1.0);
    let scaled = raw.fma(&raw, 0.25).to::<f32>().fma(2.0, &chosen);
    let heights: rv<f32, M, PerRow> = iota(start);
    let rows: rt<f32, M, N> = iota_rows(start);
    let cols: rt<f32, M, N> = iota_cols(first);
    // Rows and columns counted twice, by a tile and by a vector, cancel.
    let tile = rows.sub_row(&heights).add(&cols.sub_col(&places));
    let out = tile.add_col(&scaled).fma(&cols, &rows);
    store(y, &out, at);
}

#[test]
fn vectors_are_compared_chosen_and_counted() {
    fn check<T: Bits + Element, const M: usize, const N: usize>(rows: usize, cols: usize, start: f32)
    where
        vectors::Kernel: vectors::Compiled<T, M, N>,
    {
        let value = |c: usize| T::from_f32([3.0, 5.0, 100.0, -2.5, f32::NAN, 7.25][c % 6]).to_f32();
        let x = tensor::<T>(1, cols, |_, c| value(c));
        let [y] =
            on_both((rows, cols), |_, _| 0.5, |device, [y]| vectors::launch::<T, M, N>(device, y, &x, start));
        for r in 0..rows {
            for c in 0..cols {
                let v = value(c);
                let mask = (v < c as f32 || v >= 40.0) && v != 5.0;
                let chosen = if mask { -1.0 } else { v };
                let square = T::from_f32(v.mul_add(v, 0.25)).to_f32();
                let scaled = square.mul_add(2.0, chosen);
                let row = start + (r % M) as f32;
                let want = (0.0 + scaled).mul_add(c as f32, row);
                let got: f32 = y[r * cols + c];
                assert_eq!(got.bits(), want.bits(), "{} ({r}, {c}): {got}, not {want}", T::NAME);
            }
        }
    }
    check::<f32, 8, 16>(11, 45, 0.0);
    check::<f32, 8, 16>(8, 16, 1.0e9);
    check::<f16, 24, 32>(30, 70, -3.5);
}

/// Integers: comparisons with tiles, numbers and vectors, choices and positions that wrap.
#[tile_kernel(instances(<8, 16; subgroups = (2, 1)>, <16, 32; subgroups = (1, 1)>))]
fn integers<const M: usize, const N: usize>(y: &mut gl<i32>, a: &gl<i32>, b: &gl<i32>, s: i32) {
    let at = own_tile::<M, N>(y, Linear);
    let p: rt<i32, M, N> = load(a, [at.row(), at.col()]);
    let q: rt<i32, M, N> = load(b, [at.row(), at.col()]);
    let rows: rt<i32, M, N> = iota_rows(s);
    let cols: rv<i32, N, PerCol> = iota(s);
    let one: rt<i32, M, N> = fill(1);
    let low = p.lt(&q).select(&one, 0).add(&p.ge(s).select(&one, 0).mul(2));
    let high = p.eq_col(&cols).select(&one, 0).mul(4).add(&p.gt(&rows).select(&one, 0).mul(8));
    let vector = cols.ne(3).and(&cols.le(2147483640)).select(&cols, -5);
    store(y, &low.add(&high).add_col(&vector.mul(16)), at);
}

#[test]
fn integers_are_compared_and_chosen() {
    fn check<const M: usize, const N: usize>(rows: usize, cols: usize, s: i32)
    where
        integers::Kernel: integers::Compiled<M, N>,
    {
        const NUMBERS: [i32; 7] = [0, 1, -1, i32::MIN, i32::MAX, 3, -5];
        let left = |r: usize, c: usize| NUMBERS[(r * cols + c) % 7];
        let right = |r: usize, c: usize| NUMBERS[(r + c / 2) % 7];
        let make = |f: &dyn Fn(usize, usize) -> i32| {
            Tensor::<i32>::from_fn([1, 1, rows, cols], |_, _, r, c| f(r, c)).expect("a small tensor")
        };
        let (a, b) = (make(&left), make(&right));
        let [got] =
            on_both((rows, cols), |_, _| 77, |device, [y]| integers::launch::<M, N>(device, y, &a, &b, s));
        for r in 0..rows {
            for c in 0..cols {
                let (p, q) = (left(r, c), right(r, c));
                let (row, col) = (s.wrapping_add((r % M) as i32), s.wrapping_add((c % N) as i32));
                let bits = [p < q, p >= s, p == col, p > row];
                let low: i32 = bits.iter().enumerate().map(|(i, &b)| i32::from(b) << i).sum();
                let chosen = if col != 3 && col <= 2147483640 { col } else { -5 };
                let want = low.wrapping_add(chosen.wrapping_mul(16));
                assert_eq!(got[r * cols + c], want, "({r}, {c}) of {p} and {q}, s {s}");
            }
        }
    }
    for s in [0, -5, i32::MAX - 3, i32::MIN] {
        check::<8, 16>(19, 37, s);
        check::<16, 32>(19, 37, s);
    }
}

/// Adds 1 where the tile has an element above the limit, 2 where a row's number is, 4 where a column's is.
#[tile_kernel(instances(
    <f32, 8, 16; subgroups = (2, 1)>,
    <bf16, 24, 32; subgroups = (1, 1)>,
))]
fn somewhere<T: Element, const M: usize, const N: usize>(
    y: &mut gl<f32>,
    a: &gl<T>,
    rows: &gl<f32>,
    cols: &gl<f32>,
    limit: f32,
) {
    let at = own_tile::<M, N>(y, Linear);
    let x: rt<T, M, N> = load(a, [at.row(), at.col()]);
    let v: rv<f32, M, PerRow> = load_vec(rows, [0, at.row()]);
    let w: rv<f32, N, PerCol> = load_vec(cols, [0, at.col()]);
    let mut found: rt<f32, M, N> = zeros();
    if x.gt(limit).any() {
        found = found.add(1.0);
    }
    found = found.add(if v.gt(limit).any() { 2.0 } else { 0.0 });
    let mut left = 1u32;
    while w.gt(limit).any() && left > 0 {
        left -= 1;
        found = found.add(4.0);
    }
    store(y, &found, at);
}

#[test]
fn a_mask_is_asked_for_a_true_element() {
    fn check<T: Element, const M: usize, const N: usize>(nan: bool)
    where
        somewhere::Kernel: somewhere::Compiled<T, M, N>,
    {
        let (rows, cols) = (5 * M - 3, 3 * N - 5);
        // One element above the limit in every third tile, at a place of its own; beyond the edge, what was loaded is 0.
        let high = |tile: usize, of: usize, i: usize| tile.is_multiple_of(3) && i % of == tile * 7 % of;
        let low = if nan { f32::NAN } else { -1.0 };
        let mut a = tensor::<T>(rows, cols, |r, c| {
            if high(r / M * 3 + c / N, M * N, r % M * N + c % N) { 9.0 } else { low }
        });
        let mut v = tensor::<f32>(1, rows, |_, i| if high(i / M, M, i) { 9.0 } else { low });
        let mut w = tensor::<f32>(1, cols, |_, i| if high(i / N, N, i) { 9.0 } else { low });
        a.fill_padding(T::from_f32(9.0));
        v.fill_padding(9.0);
        w.fill_padding(9.0);
        for limit in [8.5f32, -0.5] {
            let [got] = on_both(
                (rows, cols),
                |_, _| -77.0,
                |device, [y]| somewhere::launch::<T, M, N>(device, y, &a, &v, &w, limit),
            );
            for (i, got) in got.into_iter().enumerate() {
                let (top, left) = (i / cols / M * M, i % cols / N * N);
                let of = |x: Option<f32>| x.unwrap_or(0.0) > limit;
                let tile = (0..M * N).any(|i| of(a.get(0, 0, top + i / N, left + i % N).map(|x| x.to_f32())));
                let row = (0..M).any(|i| of(v.get(0, 0, 0, top + i)));
                let col = (0..N).any(|i| of(w.get(0, 0, 0, left + i)));
                let want = f32::from(u8::from(tile) + 2 * u8::from(row) + 4 * u8::from(col));
                assert_eq!(got, want, "{} element {i}, limit {limit}", T::NAME);
            }
        }
    }
    for nan in [false, true] {
        check::<f32, 8, 16>(nan);
        check::<bf16, 24, 32>(nan);
    }
}
