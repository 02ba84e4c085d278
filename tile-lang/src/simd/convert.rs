//! Owns the scalar conversions between f32 and the 16-bit formats, bit for bit what the x86 instructions
//! (`VCVTPH2PS`, `VCVTPS2PH` with round-to-nearest-even) do, whatever the MXCSR says about subnormals.
//!
//! *Guarantees*: exact widening; narrowing rounds to nearest even, overflows to infinity, and keeps NaN a
//! quiet NaN with the top bits of its payload. *Not here*: vector forms, which tests compare with these.

/// Widens bf16 bits; exact, signaling NaNs included.
#[inline(always)]
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Narrows to bf16 bits.
#[inline(always)]
pub fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let quiet = (bits >> 16) | 0x40;
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    (if bits & 0x7fff_ffff > 0x7f80_0000 { quiet } else { rounded }) as u16
}

/// Rounds to the f32 values of tf32, which have 10 fraction bits, to nearest even; NaN stays NaN, quiet.
#[inline(always)]
pub fn f32_to_tf32(value: f32) -> f32 {
    let bits = value.to_bits();
    let quiet = bits | 0x40_0000;
    let rounded = bits.wrapping_add(0xfff + ((bits >> 13) & 1)) & !0x1fff;
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { quiet } else { rounded })
}

/// Widens f16 bits; exact, and a signaling NaN becomes quiet as in `VCVTPH2PS`.
#[inline(always)]
pub fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    let wide = if magnitude > 0x7c00 {
        0x7fc0_0000 | (magnitude << 13)
    } else if magnitude == 0x7c00 {
        0x7f80_0000
    } else if magnitude >= 0x0400 {
        (magnitude << 13) + 0x3800_0000
    } else {
        // A subnormal counts units of 2^-24; both factors and the product are exact in f32.
        (magnitude as f32 * f32::from_bits(0x3380_0000)).to_bits()
    };
    f32::from_bits(sign | wide)
}

/// Narrows to f16 bits.
#[inline(always)]
pub fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let narrow = if magnitude > 0x7f80_0000 {
        0x7e00 | ((magnitude >> 13) & 0x03ff)
    } else if magnitude >= 0x477f_f000 {
        0x7c00
    } else if magnitude >= 0x3880_0000 {
        (magnitude + 0xfff + ((magnitude >> 13) & 1) - 0x3800_0000) >> 13
    } else {
        // Adding 0.5, whose last place is 2^-24, makes the addition round to a count of f16 subnormal units.
        (f32::from_bits(magnitude) + 0.5).to_bits() - 0x3f00_0000
    };
    (sign | narrow) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f16_widens_like_the_half_crate() {
        for bits in 0..=u16::MAX {
            let expected = half::f16::from_bits(bits).to_f32_const();
            let got = f16_to_f32(bits);
            if expected.is_nan() {
                assert_eq!(got.to_bits(), expected.to_bits() | 0x40_0000, "{bits:#06x}");
            } else {
                assert_eq!(got.to_bits(), expected.to_bits(), "{bits:#06x}");
            }
        }
    }

    #[test]
    fn tf32_has_ten_fraction_bits() {
        let ulp = f32::EPSILON * 8192.0;
        assert_eq!(f32_to_tf32(1.0 + ulp), 1.0 + ulp);
        // Halfway between two values, the even one; a little above, the upper one.
        assert_eq!(f32_to_tf32(1.0 + ulp / 2.0), 1.0);
        assert_eq!(f32_to_tf32(1.0 + ulp * 1.5), 1.0 + 2.0 * ulp);
        assert_eq!(f32_to_tf32(-1.0 - ulp / 2.0 - f32::EPSILON), -1.0 - ulp);
        assert_eq!(f32_to_tf32(f32::MAX), f32::INFINITY);
        assert_eq!(f32_to_tf32(f32::NEG_INFINITY), f32::NEG_INFINITY);
        assert!(f32_to_tf32(f32::from_bits(0x7f80_0001)).is_nan());
    }

    #[test]
    fn narrowing_agrees_with_the_half_crate() {
        // Every upper half with low halves around the rounding points of both formats.
        let lows = [0u32, 1, 0x0fff, 0x1000, 0x1001, 0x1fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff];
        for high in (0..=u16::MAX).step_by(if cfg!(miri) { 511 } else { 1 }) {
            for low in lows {
                let value = f32::from_bits((u32::from(high) << 16) | low);
                let bf = half::bf16::from_f32_const(value);
                let hf = half::f16::from_f32_const(value);
                if value.is_nan() {
                    assert!(bf.is_nan() && half::bf16::from_bits(f32_to_bf16(value)).is_nan());
                    assert!(half::f16::from_bits(f32_to_f16(value)).is_nan());
                } else {
                    assert_eq!(f32_to_bf16(value), bf.to_bits(), "{value:e}");
                    assert_eq!(f32_to_f16(value), hf.to_bits(), "{value:e}");
                }
            }
        }
    }
}
