//! Owns the primitives of the element-wise recipes on the host: `tile_ir::map::Math` over f32, branch-free, so that
//! a loop over a recipe becomes vector code at every SIMD level.
//!
//! *Guarantees*: the same bits at every level, since each step is one IEEE operation; `recip` and `sqrt` are correctly
//! rounded, `rsqrt` is two correctly rounded steps, `exp2` is within 1.02 ulp (subnormal results included) and `log2`
//! within 1.68, both measured over every mantissa; infinities, zeros and NaN as IEEE has them. (The payload of a NaN is
//! left open.)
//! *Not here*: which recipe an op is (`tile_ir::map`), loops and levels (`simd::map`).

use tile_ir::map::Math;

/// The primitives on host scalars.
#[derive(Clone, Copy)]
pub(crate) struct Lane;

/// Adding this rounds to an integer, which then stands in the low bits.
const ROUNDER: f32 = 12_582_912.0; // 1.5 * 2^23

/// `2^x = 1 + x * (E[0] + E[1] x + ..)` for |x| <= 1/2: minimax in the relative error, 2.6e-9.
const EXP2: [f32; 6] =
    [0.693_147_24, 0.240_226_52, 0.055_503_104, 0.009_617_693, 0.001_340_664_3, 0.000_155_946_78];

/// `log2(1 + x) = x * (L[0] + L[1] x + ..)` for sqrt(1/2) - 1 <= x <= sqrt(2) - 1: minimax in the relative error, 4.1e-9.
const LOG2: [f32; 10] = [
    core::f32::consts::LOG2_E,
    -0.721_347_33,
    0.480_898_23,
    -0.360_696_64,
    0.288_567_4,
    -0.239_617_4,
    0.204_600_62,
    -0.191_062_75,
    0.186_174_97,
    -0.109_949_574,
];

/// The bits of sqrt(1/2).
const SQRT_HALF: u32 = 0x3f35_04f3;

/// `2^exponent` for -126 <= exponent <= 127.
#[inline(always)]
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((exponent.wrapping_add(127) as u32) << 23)
}

/// The coefficients from the lowest power up, at `x`.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: [f32; N], x: f32) -> f32 {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, coefficients[i]);
    }
    sum
}

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
        // Beyond these the result is 0 or infinity all the same; NaN passes both.
        let x = if a < -151.0 { -151.0 } else { a };
        let x = if x > 129.0 { 129.0 } else { x };
        let shifted = x + ROUNDER;
        let fraction = x - (shifted - ROUNDER);
        let exponent = shifted.to_bits().wrapping_sub(ROUNDER.to_bits()) as i32;
        let power = polynomial(EXP2, fraction).mul_add(fraction, 1.0);
        // In two steps, the first of them exact, so that a subnormal result is rounded once.
        let half = exponent >> 1;
        power * power_of_two(half) * power_of_two(exponent.wrapping_sub(half))
    }

    #[inline(always)]
    fn log2(&mut self, a: f32) -> f32 {
        let tiny = a < f32::MIN_POSITIVE;
        let x = if tiny { a * 8_388_608.0 } else { a };
        let below = if tiny { -23.0 } else { 0.0 };
        // The mantissa from sqrt(1/2) to sqrt(2), less 1, which is exact.
        let offset = x.to_bits().wrapping_sub(SQRT_HALF);
        let exponent = (offset as i32 >> 23) as f32 + below;
        let mantissa = f32::from_bits((offset & 0x007f_ffff).wrapping_add(SQRT_HALF)) - 1.0;
        let log = polynomial(LOG2, mantissa).mul_add(mantissa, exponent);
        let log = if a < f32::INFINITY { log } else { a }; // infinity and NaN stay
        let log = if a == 0.0 { f32::NEG_INFINITY } else { log };
        if a < 0.0 { f32::NAN } else { log }
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
