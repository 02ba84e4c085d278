//! Tiles and vectors of i32: ops that wrap, reductions, masks, conversions, at the edges of tensors.

use super::{on_both, tensor};
use tile_std::prelude::*;

/// Every op that integers have, in one chain per `which`.
#[tile_kernel(instances(<8, 16; subgroups = (2, 2)>, <16, 48; subgroups = (1, 2)>))]
fn integers<const M: usize, const N: usize>(y: &mut gl<i32>, x: &gl<i32>, which: u32, s: i32, keep: u32) {
    let at = own_tile::<M, N>(y, Linear);
    if at.outside() {
        return;
    }
    let a: rt<i32, M, N> = load(x, at);
    let mut out: rt<i32, M, N> = zeros();
    if which == 0 {
        out = a.add(s).mul(&a).sub(7).neg();
    }
    if which == 1 {
        out = a.abs().min(s).max(-9);
    }
    if which == 2 {
        let per_row = a.row_sum();
        let per_col = a.col_max();
        out = a.sub_row(&per_row).add_col(&per_col);
    }
    if which == 3 {
        let mut least: rv<i32, M, PerRow> = fill(s);
        for k in 0..x.col_tiles(N) {
            let part: rt<i32, M, N> = load(x, [at.row(), k]);
            least = part.row_min_with(&least);
        }
        out = out.add_row(&least);
    }
    if which == 4 {
        let product = a.col_prod();
        let row: rv<i32, N, PerCol> = load_vec(x, [0, at.col()]);
        out = a.keep_cols(keep, s).add_col(&product.add(&row).max(s));
    }
    if which == 5 {
        let n = load_scalar(x, [1, 1]);
        out = a.tril(keep, 2, n).keep_rows(7, -1);
    }
    store(y, &out, at);
}

fn value(r: usize, c: usize) -> i32 {
    const EDGES: [i32; 6] = [i32::MIN, i32::MAX, -1, 0, 46_341, 0x7fc0_0001];
    let x = (r as u32 * 7919 + c as u32 * 104_729).wrapping_mul(0x9E37_79B9);
    if x.is_multiple_of(5) { EDGES[(x >> 9) as usize % 6] } else { x as i32 }
}

#[test]
fn ops_on_integers_wrap_and_keep_bits() {
    fn check<const M: usize, const N: usize>(rows: usize, cols: usize)
    where
        integers::Kernel: integers::Compiled<M, N>,
    {
        let mut x = Tensor::from_fn([1, 1, rows, cols], |_, _, r, c| value(r, c)).expect("a small tensor");
        x.fill_padding(i32::MIN + 5);
        let (s, keep) = (1 << 20, 5u32);
        // What a tile holds: 0 outside the tensor.
        let at = |r: usize, c: usize| if r < rows && c < cols { value(r, c) } else { 0 };
        for which in 0..6u32 {
            let [got] = on_both(
                (rows, cols),
                |_, _| -77,
                |device, [y]| integers::launch::<M, N>(device, y, &x, which, s, keep),
            );
            for r in 0..rows {
                for c in 0..cols {
                    let a = value(r, c);
                    let (r0, c0) = (r / M * M, c / N * N);
                    let row = || (c0..c0 + N).map(|c| at(r, c));
                    let col = || (r0..r0 + M).map(|r| at(r, c));
                    let want = match which {
                        0 => a.wrapping_add(s).wrapping_mul(a).wrapping_sub(7).wrapping_neg(),
                        1 => a.wrapping_abs().min(s).max(-9),
                        2 => {
                            let sum = row().fold(0i32, i32::wrapping_add);
                            a.wrapping_sub(sum).wrapping_add(col().max().unwrap_or(0))
                        }
                        3 => (0..cols.next_multiple_of(N)).map(|c| at(r, c)).min().unwrap_or(0).min(s),
                        4 => {
                            let product = col().fold(1i32, i32::wrapping_mul);
                            let kept = if c - c0 < 5 { a } else { s };
                            kept.wrapping_add(product.wrapping_add(at(0, c)).max(s))
                        }
                        _ => {
                            let low = if c - c0 + 2 <= r - r0 + 5 { a } else { at(1, 1) };
                            if r - r0 < 7 { low } else { -1 }
                        }
                    };
                    assert_eq!(got[r * cols + c], want, "{which} at ({r}, {c}) of {rows} x {cols}");
                }
            }
        }
    }
    for (rows, cols) in [(1, 1), (7, 17), (8, 16), (33, 49), (20, 96)] {
        check::<8, 16>(rows, cols);
        check::<16, 48>(rows, cols);
    }
}

#[test]
fn conversions_to_integers_round_and_saturate() {
    fn check<T: Element>()
    where
        to_integers::Kernel: to_integers::Compiled<T>,
        from_integers::Kernel: from_integers::Compiled<T>,
    {
        const EDGES: [f32; 12] = [
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            2.5,
            3.5,
            -0.5,
            -1.5,
            3.0e9,
            -3.0e9,
            2_147_483_520.0,
            1.0e-30,
            -65_504.0,
        ];
        let (rows, cols) = (13, 37);
        let at = |r: usize, c: usize| {
            if c.is_multiple_of(3) {
                EDGES[(r + c) % 12]
            } else {
                ((r * 53 + c * 29) % 997) as f32 / 7.0 - 60.0
            }
        };
        let x = tensor::<T>(rows, cols, at);
        let [got] = on_both((rows, cols), |_, _| -77, |device, [y]| to_integers::launch::<T>(device, y, &x));
        for r in 0..rows {
            for c in 0..cols {
                let v = T::from_f32(at(r, c)).to_f32();
                let want = if v.is_nan() { 0 } else { v.round_ties_even() as i32 };
                assert_eq!(got[r * cols + c], want, "{v} of {}", T::NAME);
            }
        }
        let n = Tensor::from_fn([1, 1, rows, cols], |_, _, r, c| value(r, c)).expect("a small tensor");
        let [got] = on_both(
            (rows, cols),
            |_, _| T::from_f32(-77.0),
            |device, [y]| from_integers::launch::<T>(device, y, &n),
        );
        for r in 0..rows {
            for c in 0..cols {
                let want = T::from_f32(value(r, c) as f32).to_f32();
                assert_eq!(got[r * cols + c].to_f32(), want, "{} to {}", value(r, c), T::NAME);
            }
        }
    }
    check::<bf16>();
    check::<f16>();
    check::<f32>();
}

#[tile_kernel(instances(<bf16; subgroups = (1, 1)>, <f16; subgroups = (1, 1)>, <f32; subgroups = (1, 1)>))]
fn to_integers<T: Element>(y: &mut gl<i32>, x: &gl<T>) {
    let at = own_tile::<16, 32>(y, Linear);
    let a: rt<T, 16, 32> = load(x, at);
    store(y, &a.to::<i32>(), at);
}

#[tile_kernel(instances(<bf16; subgroups = (1, 1)>, <f16; subgroups = (1, 1)>, <f32; subgroups = (1, 1)>))]
fn from_integers<T: Element>(y: &mut gl<T>, x: &gl<i32>) {
    let at = own_tile::<16, 32>(y, Linear);
    let a: rt<i32, 16, 32> = load(x, at);
    store(y, &a.to::<T>(), at);
}

/// Elements of any type are moved as they are.
#[tile_kernel(instances(<f16; subgroups = (1, 1)>, <f32; subgroups = (1, 1)>, <i32; subgroups = (1, 1)>))]
fn moved<T: AnyElement>(y: &mut gl<T>, x: &gl<T>) {
    let at = own_tile::<8, 16>(y, Linear);
    let a: rt<T, 8, 16> = load(x, at);
    store(y, &a, at);
}

#[test]
fn elements_of_any_type_are_moved() {
    let x = Tensor::from_fn([1, 1, 11, 21], |_, _, r, c| value(r, c)).expect("a small tensor");
    let [got] = on_both((11, 21), |_, _| 1, |device, [y]| moved::launch::<i32>(device, y, &x));
    assert_eq!(got, x.to_vec());
    let x = tensor::<f16>(11, 21, |r, c| (r * 21 + c) as f32);
    let [got] = on_both((11, 21), |_, _| f16::ONE, |device, [y]| moved::launch::<f16>(device, y, &x));
    assert_eq!(got, x.to_vec());
}
