//! Owns the bodies of comparisons, masks, choices, positions and element-wise ops of three operands.
//!
//! A mask is kept as a value per element whose bits are all 1 or all 0, so that choosing is a blend of bits.
//! *Guarantees*: all levels give the same bits (the payload of a NaN is left open). *Not here*: typing rules.

use core::mem::MaybeUninit;

use tile_ir::ir::Logic;
use tile_ir::map::{self as recipe, MapTernary};
use tile_ir::scalar::Compare;

use super::map::{Right, round, rows};
use super::math::Lane;
use super::storage::{Filled, Unfilled};
use super::{Level, level};
use crate::element::{AnyElement, Element};
use crate::operand::Counted;

/// An element of a mask.
#[inline(always)]
pub(crate) fn truth(value: bool) -> f32 {
    f32::from_bits(if value { u32::MAX } else { 0 })
}

/// A second operand: one value per element, or one for all.
#[derive(Clone, Copy)]
enum Other<'a> {
    Each(&'a [f32]),
    All(f32),
}

impl<'a> Other<'a> {
    /// Reads the form that operands have in binary ops.
    fn of(right: Right<'a>, len: usize) -> Other<'a> {
        match right {
            Right::PerRow(&[value]) => Other::All(value),
            Right::PerRow(values) | Right::PerCol(values) => {
                assert_eq!(values.len(), len, "operands have one shape");
                Other::Each(values)
            }
        }
    }
}

type CompareBody =
    unsafe fn(op: Compare, integers: bool, src: &[f32], right: Right<'_>, dst: &mut [MaybeUninit<f32>]);
type LogicBody = unsafe fn(op: Logic, left: &[f32], right: Other<'_>, dst: &mut [MaybeUninit<f32>]);
type SelectBody = unsafe fn(mask: &[f32], yes: &[f32], no: Other<'_>, dst: &mut [MaybeUninit<f32>]);
type TernaryBody =
    unsafe fn(op: MapTernary, x: &[f32], a: Other<'_>, b: Other<'_>, dst: &mut [MaybeUninit<f32>]);

/// The bodies of one level. They are unsafe because the CPU must have the level's features.
struct Bodies {
    compare: CompareBody,
    logic: LogicBody,
    select: SelectBody,
    ternary: TernaryBody,
}

#[inline(always)]
fn compare_core(op: Compare, integers: bool, src: &[f32], right: Right<'_>, dst: &mut [MaybeUninit<f32>]) {
    macro_rules! loops {
        ($($V:ident $operator:tt)+) => {
            match op {
                $(
                    Compare::$V if integers => {
                        rows(src, right, dst, |a, b| truth((a.to_bits() as i32) $operator (b.to_bits() as i32)));
                    }
                    Compare::$V => rows(src, right, dst, |a, b| truth(a $operator b)),
                )+
            }
        };
    }
    loops!(Lt < Le <= Gt > Ge >= Eq == Ne !=)
}

/// `dst[i] = f(x[i], a(i), b(i))`.
#[inline(always)]
fn each(
    x: &[f32],
    dst: &mut [MaybeUninit<f32>],
    a: impl Fn(usize) -> f32,
    b: impl Fn(usize) -> f32,
    f: impl Fn(f32, f32, f32) -> f32,
) {
    for (i, (to, x)) in dst.iter_mut().zip(x).enumerate() {
        to.write(f(*x, a(i), b(i)));
    }
}

/// The same for operands of both forms, in a loop of its own for each.
#[inline(always)]
fn each_other(
    x: &[f32],
    a: Other<'_>,
    b: Other<'_>,
    dst: &mut [MaybeUninit<f32>],
    f: impl Fn(f32, f32, f32) -> f32,
) {
    let len = x.len();
    match (a, b) {
        (Other::Each(a), Other::Each(b)) => {
            let (a, b) = (&a[..len], &b[..len]);
            each(x, dst, |i| a[i], |i| b[i], f);
        }
        (Other::Each(a), Other::All(b)) => {
            let a = &a[..len];
            each(x, dst, |i| a[i], |_| b, f);
        }
        (Other::All(a), Other::Each(b)) => {
            let b = &b[..len];
            each(x, dst, |_| a, |i| b[i], f);
        }
        (Other::All(a), Other::All(b)) => each(x, dst, |_| a, |_| b, f),
    }
}

#[inline(always)]
fn logic_core(op: Logic, left: &[f32], right: Other<'_>, dst: &mut [MaybeUninit<f32>]) {
    let bits =
        |f: fn(u32, u32) -> u32| move |x: f32, a: f32, _: f32| f32::from_bits(f(x.to_bits(), a.to_bits()));
    let none = Other::All(0.0);
    match op {
        Logic::And => each_other(left, right, none, dst, bits(|a, b| a & b)),
        Logic::Or => each_other(left, right, none, dst, bits(|a, b| a | b)),
        Logic::Xor => each_other(left, right, none, dst, bits(|a, b| a ^ b)),
    }
}

#[inline(always)]
fn select_core(mask: &[f32], yes: &[f32], no: Other<'_>, dst: &mut [MaybeUninit<f32>]) {
    each_other(mask, Other::Each(yes), no, dst, |mask, yes, no| {
        let mask = mask.to_bits();
        f32::from_bits((mask & yes.to_bits()) | (!mask & no.to_bits()))
    });
}

#[inline(always)]
fn ternary_core(op: MapTernary, x: &[f32], a: Other<'_>, b: Other<'_>, dst: &mut [MaybeUninit<f32>]) {
    match op {
        MapTernary::Fma => {
            each_other(x, a, b, dst, |x, a, b| recipe::ternary(&mut Lane, MapTernary::Fma, x, a, b));
        }
    }
}

macro_rules! levels {
    ($($bodies:ident $module:ident $(#[$feature:meta])?;)+) => {$(
        mod $module {
            use super::*;

            /// # Safety
            /// The CPU has the level's features.
            $(#[$feature])?
            unsafe fn compare(op: Compare, integers: bool, src: &[f32], right: Right<'_>, dst: &mut [MaybeUninit<f32>]) {
                compare_core(op, integers, src, right, dst);
            }

            /// # Safety
            /// The CPU has the level's features.
            $(#[$feature])?
            unsafe fn logic(op: Logic, left: &[f32], right: Other<'_>, dst: &mut [MaybeUninit<f32>]) {
                logic_core(op, left, right, dst);
            }

            /// # Safety
            /// The CPU has the level's features.
            $(#[$feature])?
            unsafe fn select(mask: &[f32], yes: &[f32], no: Other<'_>, dst: &mut [MaybeUninit<f32>]) {
                select_core(mask, yes, no, dst);
            }

            /// # Safety
            /// The CPU has the level's features.
            $(#[$feature])?
            unsafe fn ternary(op: MapTernary, x: &[f32], a: Other<'_>, b: Other<'_>, dst: &mut [MaybeUninit<f32>]) {
                ternary_core(op, x, a, b, dst);
            }

            pub(super) static BODIES: Bodies = Bodies { compare, logic, select, ternary };
        }
        use $module::BODIES as $bodies;
    )+};
}
levels! {
    PORTABLE portable;
}
#[cfg(target_arch = "x86_64")]
levels! {
    AVX2 avx2 #[target_feature(enable = "avx2,fma")];
    AVX512 avx512 #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")];
}

/// The bodies of a level. To call them, the level must be available.
fn bodies(level: Level) -> &'static Bodies {
    at_level!(level => &PORTABLE, &AVX2, &AVX512)
}

#[inline(never)]
fn compare(op: Compare, integers: bool, src: &[f32], right: Right<'_>, dst: &mut [MaybeUninit<f32>]) {
    let (Right::PerRow(values) | Right::PerCol(values)) = right;
    assert!(
        src.len() == dst.len()
            && (src.is_empty() || (!values.is_empty() && src.len().is_multiple_of(values.len()))),
        "comparisons keep the shape, and a vector fits its tile"
    );
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { (bodies(level()).compare)(op, integers, src, right, dst) }
}

#[inline(never)]
fn logic(op: Logic, left: &[f32], right: Other<'_>, dst: &mut [MaybeUninit<f32>]) {
    assert_eq!(left.len(), dst.len(), "masks keep the shape");
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { (bodies(level()).logic)(op, left, right, dst) }
}

#[inline(never)]
fn select(mask: &[f32], yes: &[f32], no: Other<'_>, dst: &mut [MaybeUninit<f32>]) {
    assert!(mask.len() == dst.len() && yes.len() == dst.len(), "a choice keeps the shape");
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { (bodies(level()).select)(mask, yes, no, dst) }
}

#[inline(never)]
fn ternary(op: MapTernary, x: &[f32], a: Other<'_>, b: Other<'_>, dst: &mut [MaybeUninit<f32>]) {
    assert_eq!(x.len(), dst.len(), "element-wise ops keep the shape");
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { (bodies(level()).ternary)(op, x, a, b, dst) }
}

impl<'tile> Unfilled<'tile> {
    /// Writes the mask of a comparison of `src`, of the same shape, with `right`.
    #[inline(always)]
    pub(crate) fn compared<T: AnyElement>(
        mut self,
        op: Compare,
        src: &[f32],
        right: Right<'_>,
    ) -> Filled<'tile> {
        compare(op, T::DTYPE.is_integer(), src, right, self.memory());
        // SAFETY: `compare` writes all of its destination.
        unsafe { self.assume_filled() }
    }

    /// Writes a combination of two masks of the same shape.
    #[inline(always)]
    pub(crate) fn combined(mut self, op: Logic, left: &[f32], right: &[f32]) -> Filled<'tile> {
        assert_eq!(left.len(), right.len(), "operands have one shape");
        logic(op, left, Other::Each(right), self.memory());
        // SAFETY: `logic` writes all of its destination.
        unsafe { self.assume_filled() }
    }

    /// Writes the complement of a mask of the same shape.
    #[inline(always)]
    pub(crate) fn complemented(mut self, mask: &[f32]) -> Filled<'tile> {
        logic(Logic::Xor, mask, Other::All(truth(true)), self.memory());
        // SAFETY: `logic` writes all of its destination.
        unsafe { self.assume_filled() }
    }

    /// Writes `yes` where the mask is true and `no` elsewhere; a number is rounded to `T`.
    #[inline(always)]
    pub(crate) fn selected<T: AnyElement>(
        mut self,
        mask: &[f32],
        yes: &[f32],
        no: Right<'_>,
    ) -> Filled<'tile> {
        let no = match Other::of(no, yes.len()) {
            Other::All(word) => Other::All(T::word_of(T::scalar_of(word))),
            each @ Other::Each(_) => each,
        };
        select(mask, yes, no, self.memory());
        // SAFETY: `select` writes all of its destination.
        unsafe { self.assume_filled() }
    }

    /// Writes `op` of three operands of the same shape, or numbers, rounded to `T`.
    #[inline(always)]
    pub(crate) fn ternary<T: Element>(
        mut self,
        op: MapTernary,
        x: &[f32],
        a: Right<'_>,
        b: Right<'_>,
    ) -> Filled<'tile> {
        let (a, b) = (Other::of(a, x.len()), Other::of(b, x.len()));
        ternary(op, x, a, b, self.memory());
        round(T::DTYPE, self.memory());
        // SAFETY: `ternary` writes all of its destination.
        unsafe { self.assume_filled() }
    }

    /// Writes `start` plus the row, or the column, of every element.
    #[inline(always)]
    pub(crate) fn counted<T: Counted>(mut self, by_row: bool, start: T) -> Filled<'tile> {
        let (_, cols) = self.shape();
        for (r, row) in self.memory().chunks_exact_mut(cols.max(1)).enumerate() {
            for (c, to) in row.iter_mut().enumerate() {
                to.write(start.word_at(if by_row { r } else { c } as u32));
            }
        }
        // SAFETY: the rows make up the whole region.
        unsafe { self.assume_filled() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [f32; 12] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        1e-40,
        -1e-40,
        f32::MAX,
        1.0000001,
        2.5,
    ];

    /// Every pair of numbers, and a rest that fills no register.
    fn pairs() -> (Vec<f32>, Vec<f32>) {
        NUMBERS.iter().flat_map(|&a| NUMBERS.iter().map(move |&b| (a, b))).chain([(3.0, 4.0); 5]).unzip()
    }

    fn levels() -> impl Iterator<Item = Level> {
        Level::ALL.iter().copied().filter(|l| l.available())
    }

    fn run(body: impl FnOnce(&mut [MaybeUninit<f32>]), len: usize) -> Vec<u32> {
        let mut out = vec![MaybeUninit::new(7f32); len];
        body(&mut out);
        // SAFETY: all were initialised, with 7.
        out.into_iter().map(|v| unsafe { v.assume_init() }.to_bits()).collect()
    }

    #[test]
    fn every_level_compares_as_rust_does() {
        let (a, b) = pairs();
        for level in levels() {
            for &op in Compare::ALL {
                // SAFETY: the level is available.
                let got = run(
                    |out| unsafe { (bodies(level).compare)(op, false, &a, Right::PerCol(&b), out) },
                    a.len(),
                );
                for (i, &got) in got.iter().enumerate() {
                    let (x, y) = (a[i], b[i]);
                    let want = match op {
                        Compare::Lt => x < y,
                        Compare::Le => x <= y,
                        Compare::Gt => x > y,
                        Compare::Ge => x >= y,
                        Compare::Eq => x == y,
                        Compare::Ne => x != y,
                    };
                    assert_eq!(got, truth(want).to_bits(), "{level:?} {} of {x} and {y}", op.name());
                }
            }
        }
    }

    #[test]
    fn every_level_compares_integers() {
        let numbers = [0, 1, -1, i32::MIN, i32::MAX, 7];
        let pairs = numbers.iter().flat_map(|&a| numbers.iter().map(move |&b| (a, b)));
        let (a, b): (Vec<i32>, Vec<i32>) = pairs.unzip();
        let words = |v: &[i32]| v.iter().map(|&v| f32::from_bits(v as u32)).collect::<Vec<f32>>();
        let (left, right) = (words(&a), words(&b));
        for level in levels() {
            for &op in Compare::ALL {
                let body = bodies(level).compare;
                // SAFETY: the level is available.
                let got = run(|out| unsafe { body(op, true, &left, Right::PerCol(&right), out) }, a.len());
                for (i, &got) in got.iter().enumerate() {
                    let (x, y) = (a[i], b[i]);
                    let want = match op {
                        Compare::Lt => x < y,
                        Compare::Le => x <= y,
                        Compare::Gt => x > y,
                        Compare::Ge => x >= y,
                        Compare::Eq => x == y,
                        Compare::Ne => x != y,
                    };
                    assert_eq!(got, truth(want).to_bits(), "{level:?} {} of {x} and {y}", op.name());
                }
            }
        }
    }

    #[test]
    fn every_level_combines_chooses_and_multiplies_alike() {
        let (a, b) = pairs();
        let mask: Vec<f32> = (0..a.len()).map(|i| truth(i % 3 == 0)).collect();
        let other: Vec<f32> = (0..a.len()).map(|i| truth(i % 2 == 0)).collect();
        let same = |got: u32, want: f32| {
            let got = f32::from_bits(got);
            got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan())
        };
        for level in levels() {
            for &op in Logic::ALL {
                let body = bodies(level).logic;
                // SAFETY: the level is available.
                let got = run(|out| unsafe { body(op, &mask, Other::Each(&other), out) }, a.len());
                for (i, &got) in got.iter().enumerate() {
                    let (x, y) = (i % 3 == 0, i % 2 == 0);
                    let want = match op {
                        Logic::And => x && y,
                        Logic::Or => x || y,
                        Logic::Xor => x != y,
                    };
                    assert_eq!(got, truth(want).to_bits(), "{level:?} {}", op.name());
                }
            }
            for no in [Other::Each(&b), Other::All(-0.0)] {
                let body = bodies(level).select;
                // SAFETY: the level is available.
                let got = run(|out| unsafe { body(&mask, &a, no, out) }, a.len());
                for (i, &got) in got.iter().enumerate() {
                    let no = if let Other::Each(b) = no { b[i] } else { -0.0 };
                    let want = if i % 3 == 0 { a[i] } else { no };
                    assert_eq!(got, want.to_bits(), "{level:?} {i}");
                }
            }
            for (p, q) in [
                (Other::Each(&b), Other::Each(&a)),
                (Other::Each(&b), Other::All(0.1)),
                (Other::All(-0.3), Other::Each(&b)),
                (Other::All(3.0), Other::All(f32::INFINITY)),
            ] {
                let body = bodies(level).ternary;
                // SAFETY: the level is available.
                let got = run(|out| unsafe { body(MapTernary::Fma, &a, p, q, out) }, a.len());
                let at = |of: Other<'_>, i: usize| match of {
                    Other::Each(all) => all[i],
                    Other::All(one) => one,
                };
                for (i, &got) in got.iter().enumerate() {
                    let want = a[i].mul_add(at(p, i), at(q, i));
                    assert!(same(got, want), "{level:?} fma {} {} {}", a[i], at(p, i), at(q, i));
                }
            }
        }
    }
}
