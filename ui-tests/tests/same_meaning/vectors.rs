//! Vectors, reductions and masks: in loops, at the edges of tensors, and in 16-bit element types.
//!
//! Where a sum is compared bit for bit, its terms are small multiples of a power of two, so every order of adding
//! gives one value; what passes `exp` is compared with f64 within a bound.

use super::{Bits, on_both, tensor};
use tile_std::prelude::*;

/// Softmax of each row by one walk over column blocks with a running maximum and sum, then one that writes. Column
/// `c` counts for row `r` where `c <= r + ahead`.
#[tile_kernel(instances(
    <bf16, 8, 16; subgroups = (2, 2)>,
    <f16, 16, 32; subgroups = (1, 1)>,
    <f32, 8, 64; subgroups = (3, 1)>,
))]
fn online<T: Element, const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<T>, ahead: u32, scale: f32) {
    let at = own_tile::<M, N>(y, Snake(2));
    if at.outside() {
        return;
    }
    let first = at.row() * M as u32 + ahead;
    let mut top: rv<f32, M, PerRow> = fill(-3.0e38);
    let mut sum: rv<f32, M, PerRow> = zeros();
    for k in 0..x.col_tiles(N) {
        let col = k * N as u32;
        if col > first + M as u32 - 1 {
            break;
        }
        let raw: rt<T, M, N> = load(x, [at.row(), k]);
        let logits =
            raw.to::<f32>().scale(scale).keep_cols(x.cols() - col, -3.0e38).tril(first, col, -3.0e38);
        let higher = logits.row_max_with(&top);
        let shrunk = sum.mul(&top.sub(&higher).exp2());
        sum = logits.sub_row(&higher).exp2().row_sum_with(&shrunk);
        top = higher;
    }
    let raw: rt<T, M, N> = load(x, at);
    let logits = raw.to::<f32>().scale(scale).tril(first, at.col() * N as u32, -3.0e38);
    store(y, &logits.sub_row(&top).exp2().div_row(&sum), at);
}

#[test]
fn a_running_maximum_and_sum_give_softmax_of_ragged_causal_rows() {
    fn check<T: Element, const M: usize, const N: usize>(cols: usize, ahead: usize)
    where
        online::Kernel: online::Compiled<T, M, N>,
    {
        let rows = 21;
        let mut x = tensor::<T>(rows, cols, |r, c| ((r * 37 + c * 101) % 64) as f32 / 4.0 - 8.0);
        x.fill_padding(T::from_f32(f32::NAN));
        for device in [Device::host(), Device::sim()] {
            let mut y = Tensor::<f32>::zeros(rows, cols).expect("a small tensor");
            online::launch::<T, M, N>(&device, &mut y, &x, ahead as u32, 0.75)
                .unwrap_or_else(|e| panic!("on {}: {e}", device.name()));
            for r in 0..rows {
                let seen = cols.min(r + ahead + 1);
                let power = |c: usize| (f64::from(x.get(0, 0, r, c).expect("inside").to_f32()) * 0.75).exp2();
                let sum: f64 = (0..seen).map(power).sum();
                for c in 0..cols {
                    let want = if c < seen { power(c) / sum } else { 0.0 };
                    let got = f64::from(y.get(0, 0, r, c).expect("inside"));
                    assert!(
                        (got - want).abs() <= 4e-6 * want + 1e-30,
                        "{} on {}, ahead {ahead}, ({r}, {c}) of {cols}: {got}, not {want}",
                        T::NAME,
                        device.name()
                    );
                }
            }
        }
    }
    for ahead in [0, 3, 40, 1000] {
        for cols in [1, 15, 16, 17, 33, 64, 65, 100] {
            check::<bf16, 8, 16>(cols, ahead);
            check::<f16, 16, 32>(cols, ahead);
            check::<f32, 8, 64>(cols, ahead);
        }
    }
}

/// Folds all rows of a block of columns (`which` < 4) or all columns of a block of rows, by a running value.
#[tile_kernel(instances(
    <bf16, 8, 16; subgroups = (1, 1)>,
    <f16, 32, 16; subgroups = (1, 2)>,
    <f32, 16, 48; subgroups = (2, 1)>,
))]
fn folds<T: Element, const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<T>, which: u32) {
    let at = own_tile::<M, N>(y, Linear);
    if at.outside() {
        return;
    }
    let mut cols: rv<f32, N, PerCol> = fill(0.0);
    let mut rows: rv<f32, M, PerRow> = fill(0.0);
    if which % 4 == 3 {
        cols = fill(1.0);
        rows = fill(1.0);
    }
    if which < 4 {
        for k in 0..x.row_tiles(M) {
            let part: rt<T, M, N> = load(x, [k, at.col()]);
            let left = x.rows() - k * M as u32;
            if which == 0 {
                cols = part.col_sum_with(&cols);
            } else if which == 1 {
                cols = part.col_max_with(&cols);
            } else if which == 2 {
                cols = part.col_min().min(&cols);
            } else {
                cols = part.keep_rows(left, 1.0).col_prod_with(&cols);
            }
        }
    } else {
        for k in 0..x.col_tiles(N) {
            let part: rt<T, M, N> = load(x, [at.row(), k]);
            let left = x.cols() - k * N as u32;
            if which == 4 {
                rows = part.row_sum_with(&rows);
            } else if which == 5 {
                rows = part.row_max().max(&rows);
            } else if which == 6 {
                rows = part.row_min_with(&rows);
            } else {
                rows = rows.mul(&part.keep_cols(left, 1.0).row_prod());
            }
        }
    }
    let blank: rt<f32, M, N> = zeros();
    let out = if which < 4 { blank.add_col(&cols) } else { blank.add_row(&rows) };
    store(y, &out, at);
}

#[test]
fn reductions_run_on_from_block_to_block() {
    fn check<T: Element, const M: usize, const N: usize>(rows: usize, cols: usize)
    where
        folds::Kernel: folds::Compiled<T, M, N>,
    {
        let number = |r: usize, c: usize| ((r * 29 + c * 13 + r * c) % 33) as f32 * 0.5 - 8.0;
        let factor = |r: usize, c: usize| [1.0, -1.0, 2.0, 0.5, 1.0, -0.5, -2.0][(r * 3 + c * 5) % 7];
        for which in 0..8 {
            let prod = which % 4 == 3;
            let value = |r, c| if prod { factor(r, c) } else { number(r, c) };
            let mut x = tensor::<T>(rows, cols, value);
            x.fill_padding(T::from_f32(f32::NAN));
            let [got] = on_both(
                (rows, cols),
                |_, _| -77.0,
                |device, [y]| folds::launch::<T, M, N>(device, y, &x, which),
            );
            let fold = |all: &mut dyn Iterator<Item = f32>| match which % 4 {
                0 => all.sum::<f32>(),
                1 => all.fold(0.0, f32::max),
                2 => all.fold(0.0, f32::min),
                _ => all.product::<f32>(),
            };
            for (i, got) in got.iter().enumerate() {
                let (r, c) = (i / cols, i % cols);
                let want = if which < 4 {
                    fold(&mut (0..rows).map(|r| value(r, c)))
                } else {
                    fold(&mut (0..cols).map(|c| value(r, c)))
                };
                assert_eq!(*got, want, "{} fold {which} at ({r}, {c}) of {rows} x {cols}", T::NAME);
            }
        }
    }
    for (rows, cols) in [(1, 1), (7, 17), (8, 16), (33, 49), (40, 96)] {
        check::<bf16, 8, 16>(rows, cols);
        check::<f16, 32, 16>(rows, cols);
        check::<f32, 16, 48>(rows, cols);
    }
}

/// `which`: a vector per column at tiles, at elements, one per row at tiles, at elements.
#[tile_kernel(instances(<f32; subgroups = (1, 1)>, <bf16; subgroups = (1, 1)>, <f16; subgroups = (1, 1)>))]
fn vector_at<T: Element>(y: &mut gl<f32>, x: &gl<T>, which: u32, plane: u32, row: u32, i: u32) {
    let at = own_tile::<24, 48>(y, Linear);
    let blank: rt<f32, 24, 48> = zeros();
    let mut cols: rv<T, 48, PerCol> = zeros();
    let mut rows: rv<T, 24, PerRow> = zeros();
    if which == 0 {
        cols = load_vec(x, [0, plane, row, i]);
    }
    if which == 1 {
        cols = load_vec(x, elements([0, plane, row, i]));
    }
    if which == 2 {
        rows = load_vec(x, [0, plane, row, i]);
    }
    if which == 3 {
        rows = load_vec(x, elements([0, plane, row, i]));
    }
    store(y, &blank.add_col(&cols.to::<f32>()).add_row(&rows.to::<f32>()), at);
}

fn planes<T: Element>() -> Tensor<T> {
    let mut x =
        Tensor::from_fn([1, 2, 5, 67], |_, d, r, c| T::from_f32(((d * 90 + r * 17 + c) % 200) as f32 + 1.0))
            .expect("a small tensor");
    x.fill_padding(T::from_f32(f32::NAN));
    x
}

fn element<T: Element>(x: &Tensor<T>, plane: u64, row: u64, col: u64) -> f32 {
    let inside = plane < 2 && row < 5 && col < 67;
    if inside { x.get(0, plane as usize, row as usize, col as usize).expect("inside").to_f32() } else { 0.0 }
}

#[test]
fn vectors_load_at_any_place_and_are_0_outside() {
    fn check<T: Element>()
    where
        vector_at::Kernel: vector_at::Compiled<T>,
    {
        let x = planes::<T>();
        let big = [0x0555_5556, 0x0aaa_aaab, 0x4000_0000, 0x8000_0000, u32::MAX - 20, u32::MAX];
        let places = (0..4).chain(big).flat_map(|i| [(0, 0, i), (1, 4, i)]);
        let odd = [(0, 3, 19), (1, 2, 20), (1, 1, 43), (0, 0, 66), (0, 4, 67), (1, 5, 0), (2, 0, 0)];
        let far = [(0, u32::MAX, 0), (0, 0x8000_0000, 1), (u32::MAX, 1, 1), (0, 5, u32::MAX)];
        for (plane, row, i) in places.chain(odd).chain(far) {
            for which in 0..4 {
                let [got] = on_both(
                    (24, 48),
                    |_, _| -77.0,
                    |device, [y]| vector_at::launch::<T>(device, y, &x, which, plane, row, i),
                );
                let len = if which < 2 { 48 } else { 24 };
                let first = u64::from(i) * if which % 2 == 0 { len } else { 1 };
                for (e, got) in got.iter().enumerate() {
                    let lane = if which < 2 { e % 48 } else { e / 48 };
                    let want = element(&x, plane.into(), row.into(), first + lane as u64);
                    assert_eq!(*got, want, "{} {which}: ({plane}, {row}, {i}), lane {lane}", T::NAME);
                }
            }
        }
    }
    check::<f32>();
    check::<bf16>();
    check::<f16>();
}

#[tile_kernel(instances(<f32; subgroups = (1, 1)>, <bf16; subgroups = (1, 1)>, <f16; subgroups = (1, 1)>))]
fn scalar_at<T: Element>(y: &mut gl<f32>, x: &gl<T>, plane: u32, row: u32, col: u32) {
    let at = own_tile::<8, 16>(y, Linear);
    let here = load_scalar(x, [0, plane, row, col]);
    let next = load_scalar(x, [row, col + 1]);
    let tile: rt<f32, 8, 16> = fill(here * 1024.0 + next);
    store(y, &tile, at);
}

#[test]
fn scalars_load_at_any_element_and_are_0_outside() {
    fn check<T: Element>()
    where
        scalar_at::Kernel: scalar_at::Compiled<T>,
    {
        let x = planes::<T>();
        for (plane, row) in [(0, 0), (1, 0), (1, 4), (0, 5), (2, 0), (u32::MAX, 1), (0, u32::MAX)] {
            for col in [0, 1, 2, 31, 65, 66, 67, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
                let got =
                    super::scalar_of(|device, y| scalar_at::launch::<T>(device, y, &x, plane, row, col));
                let want = element(&x, plane.into(), row.into(), col.into()) * 1024.0
                    + element(&x, 0, row.into(), col.wrapping_add(1).into());
                assert_eq!(got, want, "{} at ({plane}, {row}, {col})", T::NAME);
            }
        }
    }
    check::<f32>();
    check::<bf16>();
    check::<f16>();
}

/// Exact ops, each of which rounds its result to the element type.
#[tile_kernel(instances(<f32; subgroups = (1, 1)>, <bf16; subgroups = (1, 1)>, <f16; subgroups = (1, 1)>))]
fn rounded<T: Element>(y: &mut gl<T>, x: &gl<T>, z: &gl<T>, which: u32, s: f32) {
    let at = own_tile::<8, 32>(y, Linear);
    let a: rt<T, 8, 32> = load(x, at);
    let b: rt<T, 8, 32> = load(z, at);
    let mut out = a.mul(&b).add(&a);
    if which == 1 {
        out = a.sub(&b).mul(&b);
    }
    if which == 2 {
        out = a.add(s).sub(s);
    }
    if which == 3 {
        out = a.mul(s).max(&b).min(s);
    }
    if which == 4 {
        out = a.add_row(&b.row_max()).sub_col(&b.col_min());
    }
    if which == 5 {
        let v: rv<T, 32, PerCol> = load_vec(z, [1, 0]);
        let w = v.mul(&v).add(s).neg();
        out = a.mul_col(&w.to::<f32>());
    }
    if which == 6 {
        out = a.abs().neg().relu().add(&b.neg().relu());
    }
    if which == 7 {
        out = fill(s);
        out = out.mul(&a).tril(2, 7, s).triu(0, 1, s).keep_rows(7, s);
    }
    store(y, &out, at);
}

#[test]
fn each_op_rounds_to_the_element_type() {
    fn check<T: Bits + Element>()
    where
        rounded::Kernel: rounded::Compiled<T>,
    {
        let edges = [0.0, -0.0, 1.0, -1.0, 65504.0, 3.3e38, -3.3e38, 6e-8, -1e-40, f32::INFINITY, f32::NAN];
        let spread = |seed: u32, i: usize| {
            let bits = (i as u32 + seed).wrapping_mul(0x9e37_79b9);
            f32::from_bits((bits & 0x87ff_ffff) | 0x3c00_0000)
        };
        let value = |r: usize, c: usize| {
            if r == 3 && c < 11 { edges[c] } else { spread(1, r * 32 + c) }
        };
        let other = |r: usize, c: usize| {
            if r == 3 && c < 11 {
                edges[(c * 7 + 2) % 11].clamp(-1e38, 1e38)
            } else {
                spread(777, r * 32 + c)
            }
        };
        let (x, z) = (tensor::<T>(8, 32, value), tensor::<T>(8, 32, other));
        let a = |r, c| x.get(0, 0, r, c).expect("inside").to_f32();
        let b = |r, c| z.get(0, 0, r, c).expect("inside").to_f32();
        let t = |v: f32| T::from_f32(v).to_f32();
        for s in [1.003_906_3f32, -0.1, 1234.567] {
            for which in 0..8 {
                println!("{} op {which}, s {s}", T::NAME);
                let [got] = on_both(
                    (8, 32),
                    |_, _| T::from_f32(-77.0),
                    |device, [y]| rounded::launch::<T>(device, y, &x, &z, which, s),
                );
                for (i, got) in got.iter().enumerate() {
                    let (r, c) = (i / 32, i % 32);
                    let (p, q) = (a(r, c), b(r, c));
                    let relu = |v: f32| if v > 0.0 || v.is_nan() { v } else { 0.0 };
                    let want = match which {
                        0 => t(t(p * q) + p),
                        1 => t(t(p - q) * q),
                        2 => t(t(p + s) - s),
                        3 => t(t(t(p * s).max(q)).min(s)),
                        4 => {
                            let top = (0..32).map(|c| b(r, c)).fold(f32::NAN, f32::max);
                            let low = (0..8).map(|r| b(r, c)).fold(f32::NAN, f32::min);
                            t(t(p + top) - low)
                        }
                        5 => t(p * -t(t(b(1, c) * b(1, c)) + s)),
                        6 => t(relu(-p.abs()) + relu(-q)),
                        _ => {
                            let kept = t(t(s) * p);
                            let kept = if c + 7 <= r + 2 { kept } else { t(s) };
                            let kept = if c + 1 >= r { kept } else { t(s) };
                            if r < 7 { kept } else { t(s) }
                        }
                    };
                    // The sign of a 0 is not the same everywhere: `max(0, -0)` may be either.
                    let same = got.bits() == want.bits() || (got.to_f32() == 0.0 && want == 0.0);
                    assert!(same, "{} op {which}, s {s}, ({r}, {c}): {got:?}, not {want}", T::NAME);
                }
            }
        }
    }
    check::<f32>();
    check::<bf16>();
    check::<f16>();
}
