//! Owns the element types of tiles and tensors, and which of them a matrix multiply takes.
//!
//! *Guarantees*: the conversions here are the only ones the host uses: floats round to nearest even, NaN stays
//! NaN (quiet), infinities and subnormals kept. *Not here*: their vector forms (`simd`).

pub use half::{bf16, f16};
use tile_ir::types::DType;

use crate::simd::{Bodies, ElementBodies, convert};

pub(crate) mod sealed {
    use super::{Bodies, ElementBodies};

    /// Finds an element type's row in the table of SIMD bodies.
    pub trait Sealed: Copy + Send + Sync + 'static {
        /// The bodies that read, write and round elements of this type.
        fn bodies(all: &'static Bodies) -> &'static ElementBodies<Self>;
    }
}

/// An element type of tensors and of tiles: `bf16`, `f16`, `f32` or `i32`.
///
/// The bound of kernels that move elements without computing on them; [`Element`] is the bound of those that compute.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of tiles and tensors",
    label = "not an element type",
    note = "the element types are `bf16`, `f16`, `f32` and `i32`",
    note = "a mask, `rt<bool, ..>`, comes from a comparison and only chooses elements: `mask.select(&x, 0.0)`"
)]
pub trait AnyElement:
    sealed::Sealed + Copy + PartialEq + core::fmt::Debug + Default + Send + Sync + 'static
{
    /// The name in kernel source and instance names.
    const NAME: &'static str;
    /// The same type as a value.
    const DTYPE: DType;
    /// The type of one element as a scalar, in which ops compute: `f32` for floats, `i32` for integers.
    type Scalar: AnyElement;
    /// Converts exactly.
    fn to_scalar(self) -> Self::Scalar;
    /// Rounds to nearest even (integers saturate); NaN stays NaN.
    fn from_scalar(value: Self::Scalar) -> Self;
    /// The scalar that a word of a tile's memory on the host stands for: its value, or for integers its bits.
    #[doc(hidden)]
    fn scalar_of(word: f32) -> Self::Scalar;
    /// The word that stands for a scalar, rounded to this type.
    #[doc(hidden)]
    fn word_of(value: Self::Scalar) -> f32;
}

/// An element type that element-wise ops, reductions and masks work on: a float or `i32`.
#[diagnostic::on_unimplemented(
    message = "element-wise ops and reductions work on floats and `i32`, but these elements are `{Self}`",
    label = "no arithmetic on these elements",
    note = "convert first: `.to::<f32>()` or `.to::<i32>()`"
)]
pub trait Arithmetic: AnyElement {}

/// A float element type, `bf16`, `f16` or `f32`: its tiles compute in f32.
#[diagnostic::on_unimplemented(
    message = "this needs floats, `bf16`, `f16` or `f32`, but the element type is `{Self}`",
    label = "not a float element type",
    note = "integers have `add`, `sub`, `mul`, `min`, `max`, `neg`, `abs`, reductions and masks; convert for the rest: `.to::<f32>()`"
)]
pub trait Element: Arithmetic + AnyElement<Scalar = f32> {
    /// Converts exactly.
    fn to_f32(self) -> f32;
    /// Rounds to nearest even; NaN stays NaN.
    fn from_f32(value: f32) -> Self;
}

/// An element type whose tiles a matrix multiply takes as operands: `bf16` or `f16`.
#[diagnostic::on_unimplemented(
    message = "a matrix multiply takes `bf16` or `f16` operands, but this operand is a tile of `{Self}`",
    label = "not an operand type",
    note = "convert an f32 `Row` tile with `.to::<bf16>()`, or load the operand from a bf16 or f16 tensor"
)]
pub trait MmaInput: Element {}

macro_rules! floats {
    ($($ty:ident $dtype:ident $row:ident: $to:expr, $from:expr;)+) => {$(
        impl sealed::Sealed for $ty {
            fn bodies(all: &'static Bodies) -> &'static ElementBodies<$ty> {
                &all.$row
            }
        }

        impl AnyElement for $ty {
            const NAME: &'static str = stringify!($ty);
            const DTYPE: DType = DType::$dtype;
            type Scalar = f32;

            #[inline]
            fn to_scalar(self) -> f32 {
                self.to_f32()
            }

            #[inline]
            fn from_scalar(value: f32) -> $ty {
                <$ty as Element>::from_f32(value)
            }

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

impl sealed::Sealed for i32 {
    fn bodies(all: &'static Bodies) -> &'static ElementBodies<i32> {
        &all.i32
    }
}

impl AnyElement for i32 {
    const NAME: &'static str = "i32";
    const DTYPE: DType = DType::I32;
    type Scalar = i32;

    #[inline]
    fn to_scalar(self) -> i32 {
        self
    }

    #[inline]
    fn from_scalar(value: i32) -> i32 {
        value
    }

    #[inline]
    fn scalar_of(word: f32) -> i32 {
        word.to_bits() as i32
    }

    #[inline]
    fn word_of(value: i32) -> f32 {
        f32::from_bits(value as u32)
    }
}

impl Arithmetic for i32 {}
