//! Owns `exp2` and `log2` in steps of which each is one IEEE operation or one on the bits of a value.
//!
//! *Guarantees*: whoever has these primitives gets the same bits, so that a device without instructions of its own agrees with
//! the host: `exp2` is within 1.02 ulp (subnormal results included) and `log2` within 1.68, both measured over every mantissa
//! (`tile_lang`); infinities, zeros and NaN as IEEE has them. (The payload of a NaN is left open.) Branch-free.
//! *Not here*: the other recipes (`map`).

use super::Math;

/// Primitives on the bits of f32 values, as wrapping 32-bit integers.
pub trait Bits: Math {
    /// A 32-bit integer.
    type Word: Copy;
    /// A constant.
    fn word(&mut self, value: u32) -> Self::Word;
    /// The bits of a value.
    fn bits(&mut self, value: Self::Value) -> Self::Word;
    /// The value that has these bits.
    fn of_bits(&mut self, bits: Self::Word) -> Self::Value;
    /// `a + b`
    fn add_words(&mut self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// `a - b`
    fn sub_words(&mut self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// The bits that both have.
    fn and_words(&mut self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// `a << by`
    fn shift_left(&mut self, a: Self::Word, by: u32) -> Self::Word;
    /// `a >> by` of a two's complement.
    fn shift_right(&mut self, a: Self::Word, by: u32) -> Self::Word;
    /// A two's complement of no more than 24 bits as a value.
    fn number(&mut self, a: Self::Word) -> Self::Value;
}

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
fn power_of_two<M: Bits>(m: &mut M, exponent: M::Word) -> M::Value {
    let bias = m.word(127);
    let biased = m.add_words(exponent, bias);
    let bits = m.shift_left(biased, 23);
    m.of_bits(bits)
}

/// The coefficients from the lowest power up, at `x`.
#[inline(always)]
fn polynomial<M: Bits, const N: usize>(m: &mut M, coefficients: [f32; N], x: M::Value) -> M::Value {
    let mut sum = m.constant(coefficients[N - 1]);
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        let next = m.constant(coefficients[i]);
        sum = m.fma(sum, x, next);
    }
    sum
}

/// 2 to the power.
#[inline(always)]
pub fn exp2<M: Bits>(m: &mut M, a: M::Value) -> M::Value {
    // Beyond these the result is 0 or infinity all the same; NaN passes both.
    let (least, most, rounder, one) =
        (m.constant(-151.0), m.constant(129.0), m.constant(ROUNDER), m.constant(1.0));
    let x = m.if_less(a, least, least, a);
    let x = m.if_less(most, x, most, x);
    let shifted = m.add(x, rounder);
    let rounded = m.sub(shifted, rounder);
    let fraction = m.sub(x, rounded);
    let (bits, none) = (m.bits(shifted), m.word(ROUNDER.to_bits()));
    let exponent = m.sub_words(bits, none);
    let factor = polynomial(m, EXP2, fraction);
    let power = m.fma(factor, fraction, one);
    // In two steps, the first of them exact, so that a subnormal result is rounded once.
    let half = m.shift_right(exponent, 1);
    let other = m.sub_words(exponent, half);
    let (half, other) = (power_of_two(m, half), power_of_two(m, other));
    let power = m.mul(power, half);
    m.mul(power, other)
}

/// Logarithm to base 2.
#[inline(always)]
pub fn log2<M: Bits>(m: &mut M, a: M::Value) -> M::Value {
    let (least, zero) = (m.constant(f32::MIN_POSITIVE), m.constant(0.0));
    let (scale, lower) = (m.constant(8_388_608.0), m.constant(-23.0));
    let scaled = m.mul(a, scale);
    let x = m.if_less(a, least, scaled, a);
    let below = m.if_less(a, least, lower, zero);
    // The mantissa from sqrt(1/2) to sqrt(2), less 1, which is exact.
    let (bits, start, low) = (m.bits(x), m.word(SQRT_HALF), m.word(0x007f_ffff));
    let offset = m.sub_words(bits, start);
    let exponent = m.shift_right(offset, 23);
    let exponent = m.number(exponent);
    let exponent = m.add(exponent, below);
    let mantissa = m.and_words(offset, low);
    let mantissa = m.add_words(mantissa, start);
    let (mantissa, one) = (m.of_bits(mantissa), m.constant(1.0));
    let mantissa = m.sub(mantissa, one);
    let factor = polynomial(m, LOG2, mantissa);
    let log = m.fma(factor, mantissa, exponent);
    let (infinity, nan) = (m.constant(f32::INFINITY), m.constant(f32::NAN));
    // What is not above 0: a zero gives -inf, a negative number NaN, and NaN stays.
    let least = m.constant(f32::NEG_INFINITY);
    let other = m.add(a, least);
    let other = m.if_less(a, zero, nan, other);
    // Infinity stays.
    let log = m.if_less(a, infinity, log, a);
    m.if_less(zero, a, log, other)
}
