//! Owns the element types of tiles and tensors, and which of them a matrix multiply takes.
//!
//! *Guarantees*: the conversions here are the only ones the host uses: floats round to nearest even, NaN stays
//! NaN (quiet), infinities and subnormals kept. *Not here*: their vector forms (`simd`).

pub use half::{bf16, f16};
use tile_ir::integer;
use tile_ir::types::DType;

use crate::ops::closure::Widens;
use crate::simd::{Bodies, ElementBodies, convert};

pub(crate) mod sealed {
    use super::{Bodies, ElementBodies};

    /// Finds an element type's row in the table of SIMD bodies.
    pub trait Sealed: Copy + Send + Sync + 'static {
        /// The bodies that read, write and round elements of this type.
        fn bodies(all: &'static Bodies) -> &'static ElementBodies<Self>;
    }

    /// Closes the set of element types of tiles.
    pub trait InTiles {}
}

/// An element type of tiles: `bf16`, `f16`, `f32`, `i8`, `u8`, `i32` or, for operands of a matrix multiply, `tf32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of tiles",
    label = "not an element type",
    note = "the element types are `bf16`, `f16`, `f32`, `i8`, `u8`, `i32` and, for operands of a matrix multiply, `tf32`",
    note = "a mask, `rt<bool, ..>`, comes from a comparison and only chooses elements: `mask.select(&x, 0.0)`"
)]
pub trait TileElement: sealed::InTiles + 'static {
    /// The name in kernel source and instance names.
    const NAME: &'static str;
    /// The same type as a value.
    const DTYPE: DType;
    /// The type of one element as a scalar, in which ops compute: `f32` for floats, `i32` for integers.
    type Scalar: AnyElement;
    /// The scalar that a word of a tile's memory on the host stands for: its value, or for integers its bits.
    #[doc(hidden)]
    fn scalar_of(word: f32) -> Self::Scalar;
    /// The word that stands for a scalar, rounded to this type.
    #[doc(hidden)]
    fn word_of(value: Self::Scalar) -> f32;
}

/// An element type of tensors and of tiles: `bf16`, `f16`, `f32`, `i8`, `u8` or `i32`.
///
/// The bound of kernels that move elements without computing on them; [`Element`] is the bound of those that compute.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of tensors",
    label = "not an element type",
    note = "the element types are `bf16`, `f16`, `f32`, `i8`, `u8` and `i32`"
)]
pub trait AnyElement:
    TileElement + sealed::Sealed + Copy + PartialEq + core::fmt::Debug + Default + Send + Sync + 'static
{
    /// Converts exactly.
    fn to_scalar(self) -> Self::Scalar;
    /// Rounds to nearest even; NaN stays NaN. Integers saturate.
    fn from_scalar(value: Self::Scalar) -> Self;
}

/// An element type that element-wise ops, reductions and masks work on: a float or `i32`.
#[diagnostic::on_unimplemented(
    message = "element-wise ops and reductions work on floats and `i32`, but these elements are `{Self}`",
    label = "no arithmetic on these elements",
    note = "convert first: `.to::<f32>()` or `.to::<i32>()`"
)]
pub trait Arithmetic: AnyElement + Widens {}

/// A float element type, `bf16`, `f16` or `f32`: its tiles compute in f32.
#[diagnostic::on_unimplemented(
    message = "this needs floats, `bf16`, `f16` or `f32`, but the element type is `{Self}`",
    label = "not a float element type",
    note = "integers have `add`, `sub`, `mul`, `min`, `max`, `neg`, `abs`, reductions and masks; convert for the rest: `.to::<f32>()`"
)]
pub trait Element: Arithmetic + AnyElement + TileElement<Scalar = f32> {
    /// Converts exactly.
    fn to_f32(self) -> f32;
    /// Rounds to nearest even; NaN stays NaN.
    fn from_f32(value: f32) -> Self;
}

/// A float element type whose tiles a matrix multiply takes as operands: `bf16` or `f16`. The bound of kernels that
/// accumulate in f32.
#[diagnostic::on_unimplemented(
    message = "a matrix multiply of floats takes `bf16` or `f16` operands, but this operand is a tile of `{Self}`",
    label = "not an operand type",
    note = "convert an f32 `Row` tile with `.to::<bf16>()`, or load the operand from a bf16 or f16 tensor"
)]
pub trait MmaInput: Element {}

/// An element type whose tiles a matrix multiply takes as operands: `bf16`, `f16`, `tf32`, `i8` or `u8`.
#[diagnostic::on_unimplemented(
    message = "a matrix multiply takes operands of `bf16`, `f16`, `tf32`, `i8` or `u8`, but this operand is a tile of `{Self}`",
    label = "not an operand type",
    note = "convert an f32 `Row` tile with `.to::<bf16>()`, or load the operand from a bf16 or f16 tensor; load an f32 tensor as `rt<tf32, ..>`"
)]
pub trait MmaOperand: TileElement {}

impl<T: MmaInput> MmaOperand for T {}
impl MmaOperand for i8 {}
impl MmaOperand for u8 {}
impl MmaOperand for tf32 {}

macro_rules! floats {
    ($($ty:ident $dtype:ident $row:ident: $to:expr, $from:expr;)+) => {$(
        impl sealed::Sealed for $ty {
            fn bodies(all: &'static Bodies) -> &'static ElementBodies<$ty> {
                &all.$row
            }
        }

        impl sealed::InTiles for $ty {}

        impl AnyElement for $ty {
            #[inline]
            fn to_scalar(self) -> f32 {
                Element::to_f32(self)
            }

            #[inline]
            fn from_scalar(value: f32) -> $ty {
                <$ty as Element>::from_f32(value)
            }
        }

        impl TileElement for $ty {
            const NAME: &'static str = stringify!($ty);
            const DTYPE: DType = DType::$dtype;
            type Scalar = f32;

            #[inline]
            fn scalar_of(word: f32) -> f32 {
                word
            }

            #[inline]
            fn word_of(value: f32) -> f32 {
                Element::to_f32(<$ty as Element>::from_f32(value))
            }
        }

        impl Arithmetic for $ty {}

        impl Element for $ty {
            #[inline]
            fn to_f32(self) -> f32 {
                $to(self)
            }

            #[inline]
            fn from_f32(value: f32) -> $ty {
                $from(value)
            }
        }
    )+};
}
floats! {
    bf16 Bf16 bf16: |v: bf16| convert::bf16_to_f32(v.to_bits()), |v| bf16::from_bits(convert::f32_to_bf16(v));
    f16 F16 f16: |v: f16| convert::f16_to_f32(v.to_bits()), |v| f16::from_bits(convert::f32_to_f16(v));
    f32 F32 f32: |v| v, |v| v;
}

impl MmaInput for bf16 {}
impl MmaInput for f16 {}

macro_rules! integers {
    ($($ty:ident $dtype:ident;)+) => {$(
        impl sealed::Sealed for $ty {
            fn bodies(all: &'static Bodies) -> &'static ElementBodies<$ty> {
                &all.$ty
            }
        }

        impl sealed::InTiles for $ty {}

        impl TileElement for $ty {
            const NAME: &'static str = stringify!($ty);
            const DTYPE: DType = DType::$dtype;
            type Scalar = i32;

            #[inline]
            fn scalar_of(word: f32) -> i32 {
                word.to_bits() as i32
            }

            #[inline]
            fn word_of(value: i32) -> f32 {
                f32::from_bits(integer::saturate(DType::$dtype, value) as u32)
            }
        }

        impl AnyElement for $ty {
            #[inline]
            fn to_scalar(self) -> i32 {
                i32::from(self)
            }

            #[inline]
            fn from_scalar(value: i32) -> $ty {
                integer::saturate(DType::$dtype, value) as $ty
            }
        }
    )+};
}
integers! {
    i8 I8;
    u8 U8;
    i32 I32;
}

impl Arithmetic for i32 {}

/// TensorFloat-32, the element type of operands of a matrix multiply that are loaded from f32 tensors: f32 rounded to 10
/// fraction bits. No tensor has it, and no value.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let data = [1.0 + 1.0 / 4096.0; 64]; // more bits than tf32 has
/// let g = gl::of(&data, 8, 8).expect("8 x 8 elements are there");
/// let x: rt<tf32, 8, 8> = load(&g, [0, 0]);
/// assert_eq!(x.get(7, 7), 1.0);
/// ```
#[allow(non_camel_case_types, reason = "the field's name for the format")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum tf32 {}

impl sealed::InTiles for tf32 {}

impl TileElement for tf32 {
    const NAME: &'static str = "tf32";
    const DTYPE: DType = DType::Tf32;
    type Scalar = f32;

    #[inline]
    fn scalar_of(word: f32) -> f32 {
        word
    }

    #[inline]
    fn word_of(value: f32) -> f32 {
        convert::f32_to_tf32(value)
    }
}
