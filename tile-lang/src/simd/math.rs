//! Owns the primitives of the element-wise recipes on the host: `tile_ir::map::Math` over f32, branch-free, so that
//! a loop over a recipe becomes vector code at every SIMD level.
//!
//! *Guarantees*: the same bits at every level, since each step is one IEEE operation; `recip` and `sqrt` are correctly
//! rounded, `rsqrt` is two correctly rounded steps, `exp2` and `log2` are those of `tile_ir::map`; infinities, zeros and NaN as
//! IEEE has them. (The payload of a NaN is left open.)
//! *Not here*: which recipe an op is (`tile_ir::map`), loops and levels (`simd::map`).

use tile_ir::map::{self, Bits, Math};

/// The primitives on host scalars.
#[derive(Clone, Copy)]
pub(crate) struct Lane;

impl Math for Lane {
    type Value = f32;

    #[inline(always)]
    fn constant(&mut self, value: f32) -> f32 {
        value
    }

    #[inline(always)]
    fn add(&mut self, a: f32, b: f32) -> f32 {
        a + b
    }

    #[inline(always)]
    fn sub(&mut self, a: f32, b: f32) -> f32 {
        a - b
    }

    #[inline(always)]
    fn mul(&mut self, a: f32, b: f32) -> f32 {
        a * b
    }

    #[inline(always)]
    fn fma(&mut self, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn neg(&mut self, a: f32) -> f32 {
        -a
    }

    #[inline(always)]
    fn abs(&mut self, a: f32) -> f32 {
        a.abs()
    }

    /// `f32::min` leaves open which of two zeros it gives; this is `b`, as in the vector instruction.
    #[inline(always)]
    fn min(&mut self, a: f32, b: f32) -> f32 {
        let smaller = if a < b { a } else { b };
        if b.is_nan() { a } else { smaller }
    }

    /// Of two zeros `b`, as in [`Self::min`].
    #[inline(always)]
    fn max(&mut self, a: f32, b: f32) -> f32 {
        let larger = if a > b { a } else { b };
        if b.is_nan() { a } else { larger }
    }

    #[inline(always)]
    fn if_less(&mut self, a: f32, b: f32, x: f32, y: f32) -> f32 {
        if a < b { x } else { y }
    }

    #[inline(always)]
    fn exp2(&mut self, a: f32) -> f32 {
        map::exp2(self, a)
    }

    #[inline(always)]
    fn log2(&mut self, a: f32) -> f32 {
        map::log2(self, a)
    }

    #[inline(always)]
    fn recip(&mut self, a: f32) -> f32 {
        1.0 / a
    }

    #[inline(always)]
    fn sqrt(&mut self, a: f32) -> f32 {
        a.sqrt()
    }

    #[inline(always)]
    fn rsqrt(&mut self, a: f32) -> f32 {
        1.0 / a.sqrt()
    }
}

impl Bits for Lane {
    type Word = u32;

    #[inline(always)]
    fn word(&mut self, value: u32) -> u32 {
        value
    }

    #[inline(always)]
    fn bits(&mut self, value: f32) -> u32 {
        value.to_bits()
    }

    #[inline(always)]
    fn of_bits(&mut self, bits: u32) -> f32 {
        f32::from_bits(bits)
    }

    #[inline(always)]
    fn add_words(&mut self, a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn sub_words(&mut self, a: u32, b: u32) -> u32 {
        a.wrapping_sub(b)
    }

    #[inline(always)]
    fn and_words(&mut self, a: u32, b: u32) -> u32 {
        a & b
    }

    #[inline(always)]
    fn shift_left(&mut self, a: u32, by: u32) -> u32 {
        a << by
    }

    #[inline(always)]
    fn shift_right(&mut self, a: u32, by: u32) -> u32 {
        (a.cast_signed() >> by).cast_unsigned()
    }

    #[inline(always)]
    fn number(&mut self, a: u32) -> f32 {
        a.cast_signed() as f32
    }
}
