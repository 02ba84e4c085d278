//! Owns the element types of tiles and tensors, and which of them a matrix multiply takes.
//!
//! *Guarantees*: the conversions here are the only ones the host uses: round to nearest even, NaN stays
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

/// An element type a tile or a tensor may have: `bf16`, `f16` or `f32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of tiles and tensors",
    label = "not an element type",
    note = "the element types are `bf16`, `f16` and `f32`"
)]
pub trait Element: sealed::Sealed + Copy + PartialEq + core::fmt::Debug + Send + Sync + 'static {
    /// The name in kernel source and instance names.
    const NAME: &'static str;
    /// The same type as a value.
    const DTYPE: DType;
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

impl sealed::Sealed for bf16 {
    fn bodies(all: &'static Bodies) -> &'static ElementBodies<bf16> {
        &all.bf16
    }
}

impl Element for bf16 {
    const NAME: &'static str = "bf16";
    const DTYPE: DType = DType::Bf16;

    fn to_f32(self) -> f32 {
        convert::bf16_to_f32(self.to_bits())
    }

    fn from_f32(value: f32) -> bf16 {
        bf16::from_bits(convert::f32_to_bf16(value))
    }
}

impl MmaInput for bf16 {}

impl sealed::Sealed for f16 {
    fn bodies(all: &'static Bodies) -> &'static ElementBodies<f16> {
        &all.f16
    }
}

impl Element for f16 {
    const NAME: &'static str = "f16";
    const DTYPE: DType = DType::F16;

    fn to_f32(self) -> f32 {
        convert::f16_to_f32(self.to_bits())
    }

    fn from_f32(value: f32) -> f16 {
        f16::from_bits(convert::f32_to_f16(value))
    }
}

impl MmaInput for f16 {}

impl sealed::Sealed for f32 {
    fn bodies(all: &'static Bodies) -> &'static ElementBodies<f32> {
        &all.f32
    }
}

impl Element for f32 {
    const NAME: &'static str = "f32";
    const DTYPE: DType = DType::F32;

    fn to_f32(self) -> f32 {
        self
    }

    fn from_f32(value: f32) -> f32 {
        value
    }
}
