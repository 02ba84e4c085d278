//! Owns the element-wise bodies: every row of the op tables as a loop over its recipe, compiled once per SIMD level and
//! for every shape; and the rounding of their results to 16-bit types.
//!
//! *Guarantees*: all levels give the same bits (see `simd::math`). *Not here*: what an op computes (`tile_ir::map`).

use core::mem::MaybeUninit;

use tile_ir::map::{self as recipe, MapBinary, MapUnary};
use tile_ir::types::DType;
use tile_ir::{for_each_map_binary, for_each_map_unary};

use super::math::Lane;
use super::storage::{Filled, Unfilled};
use super::{Level, integer, level};
use crate::element::AnyElement;

/// Where the right operand of a binary op comes from.
#[derive(Clone, Copy)]
pub enum Right<'a> {
    /// One value per row of the left operand.
    PerRow(&'a [f32]),
    /// One value per column.
    PerCol(&'a [f32]),
}

/// `dst[i] = op(src[i])`.
type UnaryBody = unsafe fn(op: MapUnary, src: &[f32], dst: &mut [MaybeUninit<f32>]);
/// `dst[i] = op(src[i], right)`, where rows are as long as the columns of `right`, or as `src` shared out among its rows.
type BinaryBody = unsafe fn(op: MapBinary, src: &[f32], right: Right<'_>, dst: &mut [MaybeUninit<f32>]);

/// The bodies of one level. They are unsafe because the CPU must have the level's features.
pub(crate) struct MapBodies {
    /// Ops of one operand.
    pub(crate) unary: UnaryBody,
    /// Ops of two operands.
    pub(crate) binary: BinaryBody,
}

#[inline(always)]
pub(super) fn each(src: &[f32], dst: &mut [MaybeUninit<f32>], f: impl Fn(f32) -> f32) {
    for (to, from) in dst.iter_mut().zip(src) {
        to.write(f(*from));
    }
}

#[inline(always)]
fn each_pair(src: &[f32], right: &[f32], dst: &mut [MaybeUninit<f32>], f: impl Fn(f32, f32) -> f32) {
    for ((to, from), with) in dst.iter_mut().zip(src).zip(right) {
        to.write(f(*from, *with));
    }
}

/// Applies `f` to every element and its right operand.
#[inline(always)]
pub(super) fn rows(src: &[f32], right: Right<'_>, dst: &mut [MaybeUninit<f32>], f: impl Fn(f32, f32) -> f32) {
    match right {
        Right::PerRow(values) => {
            let cols = src.len().checked_div(values.len()).unwrap_or(0).max(1);
            for ((to, from), with) in dst.chunks_exact_mut(cols).zip(src.chunks_exact(cols)).zip(values) {
                each(from, to, |x| f(x, *with));
            }
        }
        Right::PerCol(values) => {
            let cols = values.len().max(1);
            for (to, from) in dst.chunks_exact_mut(cols).zip(src.chunks_exact(cols)) {
                each_pair(from, values, to, &f);
            }
        }
    }
}

#[inline(always)]
fn unary_core(op: MapUnary, src: &[f32], dst: &mut [MaybeUninit<f32>]) {
    macro_rules! loops {
        ($( $(#[$doc:meta])+ $V:ident { $($column:tt)* } )+) => {
            match op {
                $( MapUnary::$V => each(src, dst, |x| recipe::unary(&mut Lane, MapUnary::$V, x)), )+
            }
        };
    }
    for_each_map_unary!(loops)
}

#[inline(always)]
fn binary_core(op: MapBinary, src: &[f32], right: Right<'_>, dst: &mut [MaybeUninit<f32>]) {
    macro_rules! loops {
        ($( $(#[$doc:meta])+ $V:ident { $($column:tt)* } )+) => {
            match op {
                $( MapBinary::$V => rows(src, right, dst, |a, b| recipe::binary(&mut Lane, MapBinary::$V, a, b)), )+
            }
        };
    }
    for_each_map_binary!(loops)
}

macro_rules! levels {
    ($($bodies:ident $unary:ident $binary:ident $(#[$feature:meta])?;)+) => {$(
        /// # Safety
        /// The CPU has the level's features.
        $(#[$feature])?
        unsafe fn $unary(op: MapUnary, src: &[f32], dst: &mut [MaybeUninit<f32>]) {
            unary_core(op, src, dst);
        }

        /// # Safety
        /// The CPU has the level's features.
        $(#[$feature])?
        unsafe fn $binary(op: MapBinary, src: &[f32], right: Right<'_>, dst: &mut [MaybeUninit<f32>]) {
            binary_core(op, src, right, dst);
        }

        static $bodies: MapBodies = MapBodies { unary: $unary, binary: $binary };
    )+};
}
levels! {
    PORTABLE portable_unary portable_binary;
}
#[cfg(target_arch = "x86_64")]
levels! {
    AVX2 avx2_unary avx2_binary #[target_feature(enable = "avx2,fma")];
    AVX512 avx512_unary avx512_binary #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")];
}

/// The bodies of a level. To call them, the level must be available.
pub(crate) fn bodies(level: Level) -> &'static MapBodies {
    at_level!(level => &PORTABLE, &AVX2, &AVX512)
}

/// Rounds values to ones that `dtype` holds exactly.
pub(super) fn round(dtype: DType, values: &mut [MaybeUninit<f32>]) {
    let all = super::bodies();
    let body = match dtype {
        DType::Bf16 => all.bf16.round,
        DType::F16 => all.f16.round,
        // Nothing to round.
        DType::F32 | DType::I8 | DType::U8 | DType::I32 | DType::Tf32 | DType::Bool => return,
    };
    let at: *mut f32 = values.as_mut_ptr().cast();
    // SAFETY: callers have written all values. The 16-bit bodies read each value before they write it, through raw
    // pointers, so that both regions may be one.
    unsafe { body(at, at, values.len()) }
}

/// Applies a unary op and rounds to `dtype`.
#[inline(never)]
fn unary(op: MapUnary, dtype: DType, src: &[f32], dst: &mut [MaybeUninit<f32>]) {
    assert_eq!(src.len(), dst.len(), "element-wise ops keep the shape");
    if dtype.is_integer() {
        return integer::unary(op, src, dst);
    }
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { (bodies(level()).unary)(op, src, dst) }
    round(dtype, dst);
}

/// Applies a binary op and rounds to `dtype`.
#[inline(never)]
fn binary(op: MapBinary, dtype: DType, src: &[f32], right: Right<'_>, dst: &mut [MaybeUninit<f32>]) {
    let (Right::PerRow(values) | Right::PerCol(values)) = right;
    assert!(
        src.len() == dst.len()
            && (src.is_empty() || (!values.is_empty() && src.len().is_multiple_of(values.len()))),
        "element-wise ops keep the shape, and a vector fits its tile"
    );
    if dtype.is_integer() {
        return integer::binary(op, src, right, dst);
    }
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { (bodies(level()).binary)(op, src, right, dst) }
    round(dtype, dst);
}

/// Applies a unary op to a scalar, in the bits of the tile op.
#[inline]
pub(crate) fn unary_scalar(op: MapUnary, x: f32) -> f32 {
    let mut out = [MaybeUninit::uninit()];
    unary(op, DType::F32, &[x], &mut out);
    // SAFETY: `unary` writes all of its destination.
    unsafe { out[0].assume_init() }
}

impl<'tile> Unfilled<'tile> {
    /// Writes `op` of the values of `src`, a tile of the same shape, rounded to `T`.
    #[inline(always)]
    pub(crate) fn unary<T: AnyElement>(mut self, op: MapUnary, src: &[f32]) -> Filled<'tile> {
        unary(op, T::DTYPE, src, self.memory());
        // SAFETY: `unary` writes all of its destination.
        unsafe { self.assume_filled() }
    }

    /// Writes `op` of the values of `src`, a tile of the same shape, and of `right`, rounded to `T`.
    #[inline(always)]
    pub(crate) fn binary<T: AnyElement>(
        mut self,
        op: MapBinary,
        src: &[f32],
        right: Right<'_>,
    ) -> Filled<'tile> {
        binary(op, T::DTYPE, src, right, self.memory());
        // SAFETY: `binary` writes all of its destination: `right` divides it into whole rows.
        unsafe { self.assume_filled() }
    }
}
