//! Owns the check of a product against an f64 reference.
//!
//! An element `x` with the exact value `r` must satisfy `|x - r| <= ulp(r)/2 + K * 2^-24 * sum|a*b|`, where `ulp` is
//! the spacing of C's type at `r`: one rounding of the result and K roundings of f32 sums. To the right side
//! comes `K * 2^-149` for products below the f32 range.
//!
//! *Guarantees*: NaN never passes by comparing false: where an operand makes the reference NaN or infinite, the
//! element must be so too; elsewhere it must be finite, unless C's type cannot hold it. *Assumes*: f64 sums are
//! exact enough, with 2^-53 against 2^-24. *Not here*: computing the product.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use tile_std::prelude::Element;
use tile_std::{Tensor, bf16, f16};

use crate::matrix::{ElementType, Stored};

/// Multiply-adds of the reference above which rows are sampled: 10 to 20 seconds on two cores.
const MOST_WORK: u128 = 10_000_000_000;

/// Rows of C whose reference is summed in one pass over B, which may be larger than the caches.
const ROWS_AT_ONCE: usize = 4;

/// What a check found.
#[derive(Clone, Debug)]
pub struct Check {
    /// Rows of C that were compared.
    pub rows: usize,
    /// Rows of C.
    pub all_rows: usize,
    /// Where an element is wrong, if one is.
    pub broken: Option<Broken>,
    /// The element closest to its bound.
    pub worst: Worst,
    /// `||x - r|| / ||r||` over all finite elements compared; `None` if the reference is 0.
    pub relative_frobenius: Option<f64>,
    /// Elements that are NaN or infinite, as the reference is.
    pub not_finite: u64,
    /// Elements too large for C's type, which became infinite.
    pub overflowed: u64,
    /// Elements whose sums may leave the f32 range, so that nothing can be said.
    pub beyond_f32: u64,
    /// Time the check took.
    pub elapsed: Duration,
}

/// An element with its error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worst {
    /// `|x - r|`.
    pub error: f64,
    /// What it may be.
    pub bound: f64,
}

/// An element that is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Broken {
    /// (batch, row, column).
    pub at: (usize, usize, usize),
    /// The element.
    pub value: f64,
    /// What it should be.
    pub reference: f64,
    /// How far it may be from that.
    pub bound: f64,
}

/// What the check needs to know about C's element type.
#[derive(Clone, Copy, Debug)]
struct Precision {
    /// Bits of the significand, the hidden one included.
    bits: i32,
    /// Exponent of the smallest normal number.
    lowest: i32,
    /// The largest finite number.
    max: f64,
}

impl Precision {
    /// The formats: IEEE 754 binary32 and binary16; bf16 is binary32 without the lower 16 bits.
    fn of<C: Stored>() -> Precision {
        match C::TYPE {
            ElementType::F32 => Precision { bits: 24, lowest: -126, max: f64::from(f32::MAX) },
            ElementType::Bf16 => Precision { bits: 8, lowest: -126, max: f64::from(bf16::MAX.to_f32()) },
            ElementType::F16 => Precision { bits: 11, lowest: -14, max: f64::from(f16::MAX.to_f32()) },
        }
    }

    /// Spacing of the type at `x`.
    fn ulp(self, x: f64) -> f64 {
        // The exponent field; subnormal f64 are far below any `lowest`.
        let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        2f64.powi(exponent.max(self.lowest) - (self.bits - 1))
    }
}

/// What is right about one element, or not.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Within { error: f64, bound: f64 },
    NotFinite,
    Overflowed,
    BeyondF32,
    Broken { bound: f64 },
}

fn judge(x: f64, reference: f64, sum_of_sizes: f64, k: usize, c: Precision) -> Verdict {
    let k = k as f64;
    if !reference.is_finite() {
        let same = x == reference || x.is_nan() && reference.is_nan();
        return if same { Verdict::NotFinite } else { Verdict::Broken { bound: 0.0 } };
    }
    let sums = k * 2f64.powi(-24) * sum_of_sizes + k * 2f64.powi(-149);
    if sum_of_sizes + sums >= f64::from(f32::MAX) {
        return Verdict::BeyondF32;
    }
    let bound = c.ulp(reference) / 2.0 + sums;
    let error = (x - reference).abs();
    if error <= bound {
        return Verdict::Within { error, bound };
    }
    // Rounding to nearest gives infinity from half a step above the largest finite number.
    let overflow = x.is_infinite()
        && x.signum() == reference.signum()
        && reference.abs() + sums >= c.max + c.ulp(c.max) / 2.0;
    if overflow { Verdict::Overflowed } else { Verdict::Broken { bound } }
}

/// The findings of some rows.
#[derive(Default)]
struct Found {
    broken: Option<Broken>,
    worst: Worst,
    squared_errors: f64,
    squared_references: f64,
    not_finite: u64,
    overflowed: u64,
    beyond_f32: u64,
}

impl Found {
    fn add(&mut self, at: (usize, usize, usize), value: f64, reference: f64, verdict: Verdict) {
        match verdict {
            Verdict::Within { error, bound } => {
                // Every bound is positive: the spacing of a type is.
                let this = Worst { error, bound };
                if this.is_worse_than(self.worst) {
                    self.worst = this;
                }
                self.squared_errors += error * error;
                self.squared_references += reference * reference;
            }
            Verdict::NotFinite => self.not_finite += 1,
            Verdict::Overflowed => self.overflowed += 1,
            Verdict::BeyondF32 => self.beyond_f32 += 1,
            Verdict::Broken { bound } => {
                self.broken.get_or_insert(Broken { at, value, reference, bound });
            }
        }
    }

    fn join(self, next: Found) -> Found {
        let worst = if next.worst.is_worse_than(self.worst) { next.worst } else { self.worst };
        Found {
            broken: self.broken.or(next.broken),
            worst,
            squared_errors: self.squared_errors + next.squared_errors,
            squared_references: self.squared_references + next.squared_references,
            not_finite: self.not_finite + next.not_finite,
            overflowed: self.overflowed + next.overflowed,
            beyond_f32: self.beyond_f32 + next.beyond_f32,
        }
    }
}

impl Worst {
    /// True also if the other is none at all, which has no bound.
    fn is_worse_than(self, other: Worst) -> bool {
        self.ratio() > other.ratio() || other.bound == 0.0
    }

    /// The error as a part of its bound.
    pub fn ratio(self) -> f64 {
        if self.bound > 0.0 { self.error / self.bound } else { 0.0 }
    }
}

/// Compares `c` with the product of `a` and `b`, whose shapes fit; depth is 1. Tells (rows done, rows in total).
pub fn check<A: Element, C: Stored>(
    c: &Tensor<C>,
    a: &Tensor<A>,
    b: &Tensor<A>,
    transpose_b: bool,
    tell: &(dyn Fn(u64, u64) + Sync),
) -> Check {
    let start = Instant::now();
    let [batches, _, m, n] = c.shape();
    let (k, precision) = (a.cols(), Precision::of::<C>());
    let all_rows = if n == 0 { 0 } else { batches * m };
    let rows = sample(all_rows, rows_affordable(k, n));
    let (done, total) = (AtomicU64::new(0), rows.len() as u64);
    let mut sum = Found::default();
    let (mut right, mut right_of) = (Vec::new(), None);
    for plane in rows.chunk_by(|x, y| x / m == y / m) {
        let batch = plane[0] / m;
        let (batch_a, batch_b) = (batch.min(a.shape()[0] - 1), batch.min(b.shape()[0] - 1));
        if right_of != Some(batch_b) {
            (right, right_of) = (right_operand(b, batch_b, [k, n], transpose_b), Some(batch_b));
        }
        let compare = |sums: &mut Vec<[f64; 2]>, rows: &[usize]| {
            sums.fill([0.0; 2]);
            let left = |row: usize| a.row(batch_a, 0, row % m).expect("the rows of C are those of A");
            let left = rows.iter().map(|row| left(*row)).collect::<Vec<_>>();
            for (step, ys) in right.chunks_exact(n).enumerate() {
                for (xs, sums) in left.iter().zip(sums.chunks_exact_mut(n)) {
                    let x = f64::from(xs[step].to_f32());
                    for ([sum, sizes], y) in sums.iter_mut().zip(ys) {
                        let product = x * f64::from(*y);
                        *sum += product;
                        *sizes += product.abs();
                    }
                }
            }
            let mut found = Found::default();
            for (row, sums) in rows.iter().map(|row| row % m).zip(sums.chunks_exact(n)) {
                let values = c.row(batch, 0, row).expect("the row was counted from the shape");
                for (column, (value, [reference, sizes])) in values.iter().zip(sums).enumerate() {
                    let value = f64::from(value.to_f32());
                    let verdict = judge(value, *reference, *sizes, k, precision);
                    found.add((batch, row, column), value, *reference, verdict);
                }
            }
            let some = rows.len() as u64;
            tell(done.fetch_add(some, Ordering::Relaxed) + some, total);
            found
        };
        let sums = || vec![[0.0; 2]; ROWS_AT_ONCE * n];
        let found = plane.par_chunks(ROWS_AT_ONCE).map_init(sums, compare).collect::<Vec<Found>>();
        // In the order of rows, so that sums are the same at every run.
        sum = found.into_iter().fold(sum, Found::join);
    }
    let relative_frobenius =
        (sum.squared_references > 0.0).then(|| (sum.squared_errors / sum.squared_references).sqrt());
    Check {
        rows: rows.len(),
        all_rows,
        broken: sum.broken,
        worst: sum.worst,
        relative_frobenius,
        not_finite: sum.not_finite,
        overflowed: sum.overflowed,
        beyond_f32: sum.beyond_f32,
        elapsed: start.elapsed(),
    }
}

/// One plane of B as `[K, N]` without gaps.
fn right_operand<A: Element>(b: &Tensor<A>, batch: usize, [k, n]: [usize; 2], transpose_b: bool) -> Vec<f32> {
    let row = |r: usize| b.row(batch, 0, r).expect("the rows of B are K, or N");
    if !transpose_b {
        return (0..k).flat_map(|r| row(r).iter().map(|y| y.to_f32())).collect();
    }
    let mut right = vec![0.0; k * n];
    for column in 0..n {
        for (y, place) in row(column).iter().zip(right[column..].iter_mut().step_by(n)) {
            *place = y.to_f32();
        }
    }
    right
}

fn rows_affordable(k: usize, n: usize) -> usize {
    let row = (k as u128 * n as u128).max(1);
    usize::try_from((MOST_WORK / row).max(1)).unwrap_or(usize::MAX)
}

/// All rows, or at most `most`: one of each of so many equal parts, drawn by a generator with a fixed seed.
fn sample(all: usize, most: usize) -> Vec<usize> {
    if all <= most {
        return (0..all).collect();
    }
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let border = |part: usize| (all as u128 * part as u128 / most as u128) as usize;
    (0..most)
        .map(|part| {
            // Xorshift (Marsaglia 2003).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let (from, to) = (border(part), border(part + 1));
            from + (state % (to - from) as u64) as usize
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spacing_of_a_type_is_that_of_its_neighbours() {
        for x in [1.0f32, 1.99, 2.0, 3.0e-39, 1.2e-38, 5.0e37] {
            let next = f32::from_bits(x.to_bits() + 1);
            assert_eq!(Precision::of::<f32>().ulp(f64::from(x)), f64::from(next) - f64::from(x), "f32 {x}");
            let low = bf16::from_bits((x.to_bits() >> 16) as u16);
            let next = bf16::from_bits(low.to_bits() + 1);
            let step = f64::from(next.to_f32()) - f64::from(low.to_f32());
            assert_eq!(Precision::of::<bf16>().ulp(f64::from(low.to_f32())), step, "bf16 {x}");
        }
        for x in [1.0f32, 6.0e-8, 6.2e-5, 65000.0] {
            let low = f16::from_f32(x);
            let next = f16::from_bits(low.to_bits() + 1);
            let step = f64::from(next.to_f32()) - f64::from(low.to_f32());
            assert_eq!(Precision::of::<f16>().ulp(f64::from(low.to_f32())), step, "f16 {x}");
        }
    }

    #[test]
    fn verdicts() {
        let (f32_, f16_) = (Precision::of::<f32>(), Precision::of::<f16>());
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        assert!(matches!(judge(1.0, 1.0, 1.0, 1, f32_), Verdict::Within { error: 0.0, .. }));
        assert!(matches!(judge(nan, 1.0, 1.0, 1, f32_), Verdict::Broken { .. }));
        assert!(matches!(judge(1.0, nan, nan, 1, f32_), Verdict::Broken { .. }));
        assert_eq!(judge(nan, nan, nan, 1, f32_), Verdict::NotFinite);
        assert_eq!(judge(-inf, -inf, inf, 1, f32_), Verdict::NotFinite);
        assert!(matches!(judge(inf, -inf, inf, 1, f32_), Verdict::Broken { .. }));
        assert!(matches!(judge(nan, inf, inf, 1, f32_), Verdict::Broken { .. }));
        assert!(matches!(judge(inf, 1.0, 1.0, 1, f32_), Verdict::Broken { .. }));
        assert_eq!(judge(inf, 1e39, 1e39, 1, f32_), Verdict::BeyondF32);
        assert_eq!(judge(inf, 65520.0, 65520.0, 1, f16_), Verdict::Overflowed);
        assert!(matches!(judge(-inf, 65520.0, 65520.0, 1, f16_), Verdict::Broken { .. }));
        assert!(matches!(judge(inf, 65500.0, 65500.0, 1, f16_), Verdict::Broken { .. }));
        // Half a step and one sum's rounding, and not more.
        assert!(matches!(judge(1.0 + 2f64.powi(-11), 1.0, 0.0, 0, f16_), Verdict::Within { .. }));
        assert!(matches!(judge(1.0 + 2f64.powi(-10), 1.0, 1.0, 1, f16_), Verdict::Broken { .. }));
    }

    #[test]
    fn one_wrong_element_is_found_and_named() {
        let a = Tensor::from_fn([2, 1, 3, 4], |b, _, r, c| bf16::from_f32((b + r * 4 + c) as f32))
            .expect("small");
        let b =
            Tensor::from_fn([1, 1, 4, 5], |_, _, r, c| bf16::from_f32(r as f32 - c as f32)).expect("small");
        let product = |batch: usize, row: usize, col: usize| {
            let term = |k| {
                a.get(batch, 0, row, k).expect("inside").to_f32()
                    * b.get(0, 0, k, col).expect("inside").to_f32()
            };
            (0..4).map(term).sum::<f32>()
        };
        let right = Tensor::from_fn([2, 1, 3, 5], |p, _, r, c| product(p, r, c)).expect("small");
        let found = check(&right, &a, &b, false, &|_, _| ());
        assert_eq!((found.rows, found.all_rows, found.broken), (6, 6, None));
        let b_t =
            Tensor::from_fn([1, 1, 5, 4], |_, _, r, c| b.get(0, 0, c, r).expect("inside")).expect("small");
        assert_eq!(check(&right, &a, &b_t, true, &|_, _| ()).broken, None);
        let off =
            |at| Tensor::from_fn([2, 1, 3, 5], |p, _, r, c| product(p, r, c) + f32::from((p, r, c) == at));
        let found = check(&off((1, 2, 3)).expect("small"), &a, &b, false, &|_, _| ());
        assert_eq!(found.broken.map(|broken| broken.at), Some((1, 2, 3)));
    }

    #[test]
    fn samples_are_ordered_and_different() {
        assert_eq!(sample(5, 5), [0, 1, 2, 3, 4]);
        assert!(sample(0, 1).is_empty());
        let rows = sample(1000, 37);
        assert_eq!(rows.len(), 37);
        assert!(rows.is_sorted_by(|x, y| x < y) && rows.iter().all(|row| *row < 1000));
        assert_eq!(rows_affordable(100_000, 200_000), 1);
        assert_eq!(rows_affordable(0, 0), 10_000_000_000);
    }
}
