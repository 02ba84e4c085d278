//! Closures over elements: on tiles and vectors of every type that computes, with NaN, infinities and both zeros, at ragged
//! sizes; each equals plain Rust on the element, or the ops that a kernel would write in its place.

use super::{Bits, on_both, tensor};
use tile_std::prelude::*;

/// Numbers whose order and signs are delicate.
const NUMBERS: [f32; 12] =
    [0.0, -0.0, 1.0, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.5, -2.5, 3.0, 1.0 / 3.0, -65504.0];

fn left(r: usize, c: usize) -> f32 {
    NUMBERS[(r * 7 + c) % 12]
}

fn right(r: usize, c: usize) -> f32 {
    NUMBERS[((r * 7 + c) / 12 + r) % 12]
}

/// Exact ops: every operator, both orders of a scalar, choices.
#[tile_kernel(instances(
    <f32, 8, 16; subgroups = (2, 1)>,
    <bf16, 16, 32; subgroups = (1, 1)>,
    <f16, 8, 48; subgroups = (1, 2)>,
))]
fn exact<T: Element, const M: usize, const N: usize>(
    y: &mut gl<T>,
    a: &gl<T>,
    b: &gl<T>,
    which: u32,
    s: f32,
) {
    let at = own_tile::<M, N>(y, Linear);
    let p: rt<T, M, N> = load(a, [at.row(), at.col()]);
    let q: rt<T, M, N> = load(b, [at.row(), at.col()]);
    let mut out = p.map(|v| v * v + 1.0);
    if which == 1 {
        out = p.map(|v| s - v);
    }
    if which == 2 {
        out = p.map(|v| (2.0 + v) * s - -v.abs());
    }
    if which == 3 {
        out = p.zip(&q, |v, w| if v > w { v } else { w * s });
    }
    if which == 4 {
        out = p.zip(&q, |v, w| if v < 0.0 && !(w >= s) || 3.0 == v { 0.0 } else { 1.0 });
    }
    if which == 5 {
        // Of two zeros, `min` and `max` give either; the sum is +0.
        out = p.zip(&q, |v, w| v.max(w).min(s.max(1.0)) + 0.0);
    }
    if which == 6 {
        out = p.zip(&q, |v, w| s.mul_add(v, w) - v.mul_add(2.0, s));
    }
    if which == 7 {
        out = p.map(|v| if 0.0 != v { if s <= v { s } else { v } } else { -v });
    }
    if which == 8 {
        out = p.map(|v| s.mul_add(s, v));
    }
    if which == 9 {
        out = p.map(|v| v);
    }
    store(y, &out, at);
}

/// What each closure of [`exact`] says, in plain Rust.
const EXACT: [fn(f32, f32, f32) -> f32; 10] = [
    |v, _, _| v * v + 1.0,
    |v, _, s| s - v,
    |v, _, s| (2.0 + v) * s - -v.abs(),
    |v, w, s| if v > w { v } else { w * s },
    |v, w, s| if v < 0.0 && (w < s || w.is_nan() || s.is_nan()) || 3.0 == v { 0.0 } else { 1.0 },
    |v, w, s| v.max(w).min(s.max(1.0)) + 0.0,
    |v, w, s| s.mul_add(v, w) - v.mul_add(2.0, s),
    |v, _, s| if 0.0 != v { if s <= v { s } else { v } } else { -v },
    |v, _, s| s.mul_add(s, v),
    |v, _, _| v,
];

#[test]
fn closures_of_exact_ops_are_those_of_rust_rounded_once() {
    fn check<T: Bits + Element, const M: usize, const N: usize>(rows: usize, cols: usize)
    where
        exact::Kernel: exact::Compiled<T, M, N>,
    {
        let (a, b) = (tensor::<T>(rows, cols, left), tensor::<T>(rows, cols, right));
        for (which, f) in EXACT.iter().enumerate() {
            for s in [0.75f32, -3.0, f32::NAN] {
                let [y] = on_both(
                    (rows, cols),
                    |_, _| T::from_f32(-77.0),
                    |device, [y]| exact::launch::<T, M, N>(device, y, &a, &b, which as u32, s),
                );
                for (i, got) in y.iter().enumerate() {
                    let (r, c) = (i / cols, i % cols);
                    let element = |v: f32| T::from_f32(v).to_f32();
                    let (v, w) = (element(left(r, c)), element(right(r, c)));
                    let want = T::from_f32(f(v, w, s));
                    assert!(
                        got.bits() == want.bits(),
                        "{} closure {which} of {v} and {w}, s {s}: {got:?}, not {want:?}",
                        T::NAME
                    );
                }
            }
        }
    }
    check::<f32, 8, 16>(19, 37);
    check::<bf16, 16, 32>(19, 37);
    check::<f16, 8, 48>(11, 100);
}

/// Ops with an accuracy of their own: the closure and the ops that it stands for, side by side.
#[tile_kernel(instances(<bf16, 16, 32; subgroups = (1, 1)>, <f32, 8, 16; subgroups = (1, 2)>))]
fn inexact<T: Element, const M: usize, const N: usize>(
    y: &mut gl<T>,
    z: &mut gl<T>,
    a: &gl<T>,
    b: &gl<f32>,
    which: u32,
    s: f32,
) {
    let at = own_tile::<M, N>(y, Linear);
    let p: rt<T, M, N> = load(a, [at.row(), at.col()]);
    let q: rt<f32, M, N> = load(b, [at.row(), at.col()]);
    let wide = p.to::<f32>();
    let mut out = p.map(|x| x.exp2() / (x.exp() + 1.0));
    let mut ops = wide.exp2().div(&wide.exp().add(1.0));
    if which == 1 {
        out = p.zip(&q, |x, y| x.log2() + y.ln() * s.abs());
        ops = wide.log2().add(&q.log().mul(s.abs()));
    }
    if which == 2 {
        out = p.map(|x| (s / x).sqrt() - x.rsqrt() * x.recip());
        ops = wide.recip().mul(s).sqrt().sub(&wide.rsqrt().mul(&wide.recip()));
    }
    if which == 3 {
        out = p.zip(&q, |x, y| if x.sigmoid() > 0.5 { y.silu() + x.tanh() } else { x.gelu() - y.relu() });
        let (yes, no) = (q.silu().add(&wide.tanh()), wide.gelu().sub(&q.relu()));
        ops = wide.sigmoid().gt(0.5).select(&yes, &no);
    }
    store(y, &out, at);
    store(z, &ops.to::<T>(), at);
}

#[test]
fn closures_have_the_bits_of_the_ops_they_stand_for() {
    fn check<T: Bits + Element, const M: usize, const N: usize>(rows: usize, cols: usize)
    where
        inexact::Kernel: inexact::Compiled<T, M, N>,
    {
        let a = tensor::<T>(rows, cols, |r, c| (r as f32 - c as f32) * 0.25 + 0.125);
        let b = tensor::<f32>(rows, cols, |r, c| (r * 3 + c) as f32 * 0.1 - 1.0);
        let mut seen = vec![];
        for which in 0..4 {
            // The two outputs, each on the host and on the simulator; the simulator's functions have bits of their own.
            for device in [Device::host(), Device::sim()] {
                let empty = || Tensor::<T>::zeros(rows, cols).expect("a small tensor");
                let (mut y, mut z) = (empty(), empty());
                inexact::launch::<T, M, N>(&device, &mut y, &mut z, &a, &b, which, -1.5).expect("launches");
                let bits = |t: &Tensor<T>| t.to_vec().into_iter().map(Bits::bits).collect::<Vec<_>>();
                assert_eq!(bits(&y), bits(&z), "{} closure {which} on {}", T::NAME, device.name());
                seen.push(bits(&y));
            }
        }
        seen.sort();
        seen.dedup();
        assert!(seen.len() >= 4, "the closures give different values");
    }
    check::<bf16, 16, 32>(19, 37);
    check::<f32, 8, 16>(19, 37);
}

/// Integers wrap, in tiles and in vectors.
#[tile_kernel(instances(<8, 16; subgroups = (1, 2)>))]
fn integers<const M: usize, const N: usize>(y: &mut gl<i32>, a: &gl<i32>, n: i32) {
    let at = own_tile::<M, N>(y, Linear);
    let p: rt<i32, M, N> = load(a, [at.row(), at.col()]);
    let v: rv<i32, N, PerCol> = load_vec(a, [0, at.col()]);
    let w = v.map(|x| if x > n { n - x } else { x * 3 });
    let q = p.map(|x: i32| -x.abs() + n);
    store(y, &p.zip(&q, |x, y| if x == y { 1 } else { (x - y).max(n).min(2147483647) }).add_col(&w), at);
}

#[test]
fn closures_over_integers_wrap() {
    let (rows, cols) = (11, 35);
    let numbers = [0, 1, -1, i32::MIN, i32::MAX, 7, -9, 1 << 30];
    let at = |r: usize, c: usize| numbers[(r * 3 + c) % 8];
    let a = Tensor::from_fn([1, 1, rows, cols], |_, _, r, c| at(r, c)).expect("a small tensor");
    for n in [0, 5, i32::MIN, i32::MAX] {
        let [y] =
            on_both((rows, cols), |_, _| -77, |device, [y]| integers::launch::<8, 16>(device, y, &a, n));
        for (i, got) in y.iter().enumerate() {
            let (x, v) = (at(i / cols, i % cols), at(0, i % cols));
            let w = if v > n { n.wrapping_sub(v) } else { v.wrapping_mul(3) };
            let q = x.wrapping_abs().wrapping_neg().wrapping_add(n);
            let z = if x == q { 1 } else { x.wrapping_sub(q).max(n) };
            assert_eq!(*got, z.wrapping_add(w), "of {x} and {v}, n {n}");
        }
    }
}

/// A device function whose closure works on a parameter by reference, of a type parameter.
#[tile_fn]
fn blend<T: Element, const M: usize, const N: usize>(
    x: &rt<T, M, N>,
    y: &rt<T, M, N>,
    t: f32,
) -> rt<T, M, N> {
    let u = t.max(0.25);
    x.zip(y, |a, b| a + (b - a) * u.min(0.75))
}

/// Vectors, accumulators, element types that differ, a loop that carries what closures make, a device function.
#[tile_kernel(fns(blend), instances(<bf16, 16, 32; subgroups = (1, 1)>, <f16, 8, 16; subgroups = (2, 2)>))]
fn mixed<T: Element, const M: usize, const N: usize>(
    y: &mut gl<T>,
    a: &gl<T>,
    b: &gl<f32>,
    s: f32,
    turns: u32,
) {
    let at = own_tile::<M, N>(y, Linear);
    let p: rt<T, M, N> = load(a, [at.row(), at.col()]);
    let mut acc: rt<f32, M, N, Acc> = load(b, [at.row(), at.col()]);
    let v: rv<T, M, PerRow> = load_vec(a, [0, at.row()]);
    let w: rv<f32, M, PerRow> = load_vec(b, [0, at.row()]);
    let mut x = p.map(|x| x);
    for i in 0..turns {
        let k = i as f32 + s;
        acc = acc.map(|x| if x < k { x + k } else { x });
        x = x.zip(&acc.to::<f32>(), |x, y| x + y * 0.5);
    }
    let z = w.zip(&v, |p, q| p - q);
    store(y, &blend::<T, M, N>(&x, &acc.add_row(&z).to::<T>(), s), at);
}

#[test]
fn closures_meet_vectors_accumulators_and_device_functions() {
    fn check<T: Bits + Element, const M: usize, const N: usize>()
    where
        mixed::Kernel: mixed::Compiled<T, M, N>,
    {
        let (rows, cols) = (21, 45);
        let element = |v: f32| T::from_f32(v).to_f32();
        let (fa, fb) =
            (|r: usize, c: usize| r as f32 - c as f32 * 0.5, |r: usize, c: usize| (r * c) as f32 * 0.25);
        let (a, b) = (tensor::<T>(rows, cols, fa), tensor::<f32>(rows, cols, fb));
        for (s, turns) in [(0.5f32, 3u32), (2.0, 0), (0.0, 5)] {
            let [y] = on_both(
                (rows, cols),
                |_, _| T::from_f32(-77.0),
                |device, [y]| mixed::launch::<T, M, N>(device, y, &a, &b, s, turns),
            );
            for (i, got) in y.iter().enumerate() {
                let (r, c) = (i / cols, i % cols);
                let (mut x, mut acc) = (element(fa(r, c)), fb(r, c));
                for i in 0..turns {
                    let k = i as f32 + s;
                    acc = if acc < k { acc + k } else { acc };
                    x = element(x + acc * 0.5);
                }
                let other = element(acc + (fb(0, r) - element(fa(0, r))));
                let want = T::from_f32(x + (other - x) * s.clamp(0.25, 0.75));
                assert_eq!(got.bits(), want.bits(), "{} ({r}, {c}): {got:?}, not {want:?}", T::NAME);
            }
        }
    }
    check::<bf16, 16, 32>();
    check::<f16, 8, 16>();
}
