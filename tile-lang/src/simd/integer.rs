//! Owns the bodies of ops on integer elements, whose bits a tile's words hold: element-wise ops, reductions, conversions.
//!
//! Plain loops over the functions of `tile_ir::integer`, compiled once per SIMD level.
//! *Guarantees*: all levels give the same bits, since integer arithmetic has no rounding.
//! *Not here*: what an op computes (`tile_ir::integer`), floats (`map`, `reduce`).

use core::mem::MaybeUninit;

use tile_ir::integer as meaning;
use tile_ir::ir::Reduction;
use tile_ir::map::{MapBinary, MapUnary};
use tile_ir::types::{Along, DType};
use tile_ir::{for_each_map_binary, for_each_map_unary};

use super::map::{Right, each, rows};
use super::storage::{Filled, Unfilled};
use super::{Level, level};

type Out<'a> = &'a mut [MaybeUninit<f32>];

/// The integer of a word.
#[inline(always)]
fn int(word: f32) -> i32 {
    word.to_bits() as i32
}

/// The word of an integer.
#[inline(always)]
fn word(value: i32) -> f32 {
    f32::from_bits(value as u32)
}

#[inline(always)]
fn unary_core(op: MapUnary, src: &[f32], dst: Out<'_>) {
    macro_rules! loops {
        ($( $(#[$doc:meta])+ $V:ident { $($column:tt)* } )+) => {
            match op {
                // The element type's traits keep ops for floats away from here.
                $( MapUnary::$V => each(src, dst, |x| word(meaning::unary(MapUnary::$V, int(x)).unwrap_or(0))), )+
            }
        };
    }
    for_each_map_unary!(loops)
}

#[inline(always)]
fn binary_core(op: MapBinary, src: &[f32], right: Right<'_>, dst: Out<'_>) {
    macro_rules! loops {
        ($( $(#[$doc:meta])+ $V:ident { $($column:tt)* } )+) => {
            match op {
                $( MapBinary::$V => rows(src, right, dst, |a, b| {
                    word(meaning::binary(MapBinary::$V, int(a), int(b)).unwrap_or(0))
                }), )+
            }
        };
    }
    for_each_map_binary!(loops)
}

#[inline(always)]
fn reduce_core(how: Reduction, along: Along, cols: usize, src: &[f32], dst: Out<'_>) {
    macro_rules! loops {
        ($($how:ident)+) => {
            match how {
                $( Reduction::$how => match along {
                    Along::Rows => {
                        for (to, row) in dst.iter_mut().zip(src.chunks_exact(cols)) {
                            let first = meaning::neutral(Reduction::$how);
                            to.write(word(row.iter().fold(first, |sum, &x| meaning::combine(Reduction::$how, sum, int(x)))));
                        }
                    }
                    Along::Cols => {
                        dst.fill(MaybeUninit::new(word(meaning::neutral(Reduction::$how))));
                        for row in src.chunks_exact(cols) {
                            for (to, &x) in dst.iter_mut().zip(row) {
                                // SAFETY: the line above has written all of them.
                                let sum = int(unsafe { to.assume_init() });
                                to.write(word(meaning::combine(Reduction::$how, sum, int(x))));
                            }
                        }
                    }
                }, )+
            }
        };
    }
    loops!(Max Min Sum Prod)
}

#[inline(always)]
fn convert_core(from: DType, to: DType, src: &[f32], dst: Out<'_>) {
    match (from.is_integer(), to.is_integer()) {
        (false, false) => each(src, dst, |x| x),
        (true, true) => each(src, dst, |x| word(meaning::saturate(to, int(x)))),
        (true, false) => each(src, dst, |x| int(x) as f32),
        (false, true) => each(src, dst, |x| word(meaning::saturate(to, meaning::from_f32(x)))),
    }
}

/// `c += a * b` over contiguous row-major matrices of shapes m x n, m x k and k x n.
#[inline(always)]
fn mma_core([n, k]: [usize; 2], c: &mut [f32], a: &[f32], b: &[f32]) {
    for (sums, left) in c.chunks_exact_mut(n).zip(a.chunks_exact(k)) {
        for (&left, right) in left.iter().zip(b.chunks_exact(n)) {
            for (sum, &right) in sums.iter_mut().zip(right) {
                *sum = word(int(*sum).wrapping_add(int(left).wrapping_mul(int(right))));
            }
        }
    }
}

/// A product of tiles: shape, accumulator, left and right operand.
type Product = unsafe fn([usize; 2], &mut [f32], &[f32], &[f32]);

/// The bodies of one level. They are unsafe because the CPU must have the level's features.
struct IntegerBodies {
    unary: unsafe fn(MapUnary, &[f32], Out<'_>),
    binary: unsafe fn(MapBinary, &[f32], Right<'_>, Out<'_>),
    reduce: unsafe fn(Reduction, Along, usize, &[f32], Out<'_>),
    convert: unsafe fn(DType, DType, &[f32], Out<'_>),
    mma: Product,
}

macro_rules! levels {
    ($($bodies:ident $level:ident $(#[$feature:meta])?;)+) => {$(
        mod $level {
            use super::*;

            /// # Safety
            /// The CPU has the level's features.
            $(#[$feature])?
            pub(super) unsafe fn unary(op: MapUnary, src: &[f32], dst: Out<'_>) {
                unary_core(op, src, dst);
            }

            /// # Safety
            /// The CPU has the level's features.
            $(#[$feature])?
            pub(super) unsafe fn binary(op: MapBinary, src: &[f32], right: Right<'_>, dst: Out<'_>) {
                binary_core(op, src, right, dst);
            }

            /// # Safety
            /// The CPU has the level's features.
            $(#[$feature])?
            pub(super) unsafe fn reduce(how: Reduction, along: Along, cols: usize, src: &[f32], dst: Out<'_>) {
                reduce_core(how, along, cols, src, dst);
            }

            /// # Safety
            /// The CPU has the level's features.
            $(#[$feature])?
            pub(super) unsafe fn convert(from: DType, to: DType, src: &[f32], dst: Out<'_>) {
                convert_core(from, to, src, dst);
            }

            /// # Safety
            /// The CPU has the level's features.
            $(#[$feature])?
            pub(super) unsafe fn mma(shape: [usize; 2], c: &mut [f32], a: &[f32], b: &[f32]) {
                mma_core(shape, c, a, b);
            }
        }

        static $bodies: IntegerBodies = IntegerBodies {
            unary: $level::unary,
            binary: $level::binary,
            reduce: $level::reduce,
            convert: $level::convert,
            mma: $level::mma,
        };
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
fn bodies(level: Level) -> &'static IntegerBodies {
    at_level!(level => &PORTABLE, &AVX2, &AVX512)
}

/// Applies a unary op; the callers have compared the lengths.
pub(super) fn unary(op: MapUnary, src: &[f32], dst: Out<'_>) {
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { (bodies(level()).unary)(op, src, dst) }
}

/// Applies a binary op; the callers have compared the lengths.
pub(super) fn binary(op: MapBinary, src: &[f32], right: Right<'_>, dst: Out<'_>) {
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { (bodies(level()).binary)(op, src, right, dst) }
}

/// Reduces a tile of a shape; `along` is what stays. Writes all of `dst`.
#[inline(never)]
pub(super) fn reduce(
    how: Reduction,
    along: Along,
    (row_count, cols): (usize, usize),
    src: &[f32],
    running: Option<&[f32]>,
    dst: Out<'_>,
) {
    let left = match along {
        Along::Rows => row_count,
        Along::Cols => cols,
    };
    assert!(
        src.len() == row_count * cols
            && dst.len() == left
            && running.is_none_or(|before| before.len() == left),
        "a tile's shape fixes the length of its reduction"
    );
    if cols == 0 {
        dst.fill(MaybeUninit::new(word(meaning::neutral(how))));
    } else {
        // SAFETY: `level()` only names levels this CPU has.
        unsafe { (bodies(level()).reduce)(how, along, cols, src, dst) }
    }
    for (to, before) in dst.iter_mut().zip(running.unwrap_or_default()) {
        // SAFETY: all of them were just written: as many rows, or columns, as `dst` has places.
        let now = int(unsafe { to.assume_init() });
        to.write(word(meaning::combine(how, int(*before), now)));
    }
}

/// Accumulates `c += a * b` over contiguous row-major matrices of shapes m x n, m x k and k x n; sums wrap.
///
/// # Panics
/// When a slice has not exactly its shape's length: an internal error, because tile types fix the lengths.
#[inline(never)]
pub(crate) fn mma([m, n, k]: [usize; 3], c: &mut [f32], a: &[f32], b: &[f32]) {
    assert!(c.len() == m * n && a.len() == m * k && b.len() == k * n, "tile shapes fix the slice lengths");
    if n == 0 || k == 0 {
        return;
    }
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { (bodies(level()).mma)([n, k], c, a, b) }
}

#[inline(never)]
fn convert(from: DType, to: DType, src: &[f32], dst: Out<'_>) {
    assert_eq!(src.len(), dst.len(), "conversions keep a tile's shape");
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { (bodies(level()).convert)(from, to, src, dst) }
    super::map::round(to, dst);
}

impl<'tile> Unfilled<'tile> {
    /// Rounds the values to tf32.
    ///
    /// # Safety
    /// Every value of the region must have been written.
    #[inline(never)]
    pub(crate) unsafe fn round_to_tf32(&mut self) {
        for value in self.memory() {
            // SAFETY: passed on from the caller.
            let wide = unsafe { value.assume_init() };
            value.write(super::convert::f32_to_tf32(wide));
        }
    }

    /// Writes the elements of `src`, a tile of the same shape, converted from one type to another, of which at least one is
    /// an integer.
    pub(crate) fn converted_integers(mut self, from: DType, to: DType, src: &[f32]) -> Filled<'tile> {
        convert(from, to, src, self.memory());
        // SAFETY: `convert` writes all of its destination.
        unsafe { self.assume_filled() }
    }
}
