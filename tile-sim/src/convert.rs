//! Conversions between integers and floats, and float formats as bit patterns.
//!
//! *Guarantees*: float results round to nearest even; NaN stays NaN; float to integer rounds towards zero
//! unless a rounding mode says otherwise, and a value that does not fit is an error unless saturated.

use crate::alu::{mask_of, signed};
use crate::error::{Fault, Rule, broken};

/// How a float becomes an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Zero,
    Even,
    Up,
    Down,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Convert {
    /// Zero-extends or truncates.
    Unsigned,
    /// Sign-extends or truncates.
    Signed,
    FloatToUnsigned {
        saturate: bool,
        rounding: Rounding,
    },
    FloatToSigned {
        saturate: bool,
        rounding: Rounding,
    },
    UnsignedToFloat,
    SignedToFloat,
    Float,
    FloatToBf16,
    Bf16ToFloat,
    Tf32,
    SaturateSignedToUnsigned,
    SaturateUnsignedToSigned,
}

impl Convert {
    pub(crate) fn eval(self, v: u64, from: u8, to: u8) -> Result<u64, Fault> {
        Ok(match self {
            Convert::Unsigned => v & mask_of(to),
            Convert::Signed => signed(v, from) as u64 & mask_of(to),
            Convert::FloatToUnsigned { saturate, rounding } => {
                let x = rounding.apply(to_f64(v, from));
                // 2^to is exact in f64; comparing with the largest integer would round it up.
                let end = (f64::from(to)).exp2();
                if x > -1.0 && x < end {
                    x as u64
                } else if saturate {
                    (x as u64).min(mask_of(to))
                } else {
                    return Err(out_of_range(v, from, to, "unsigned"));
                }
            }
            Convert::FloatToSigned { saturate, rounding } => {
                let x = rounding.apply(to_f64(v, from));
                let end = (f64::from(to) - 1.0).exp2();
                if x >= -end && x < end {
                    x as i64 as u64 & mask_of(to)
                } else if saturate {
                    let max = (mask_of(to) >> 1) as i64;
                    (x as i64).clamp(-max - 1, max) as u64 & mask_of(to)
                } else {
                    return Err(out_of_range(v, from, to, "signed"));
                }
            }
            Convert::UnsignedToFloat => match to {
                32 => u64::from((v as f32).to_bits()),
                _ => from_f64(v as f64, to),
            },
            Convert::SignedToFloat => match to {
                32 => u64::from((signed(v, from) as f32).to_bits()),
                _ => from_f64(signed(v, from) as f64, to),
            },
            Convert::Float => match (from, to) {
                (a, b) if a == b => v,
                _ => from_f64(to_f64(v, from), to),
            },
            Convert::FloatToBf16 => u64::from(bf16_from_f32(v as u32)),
            Convert::Bf16ToFloat => v << 16,
            Convert::Tf32 => u64::from(tf32_from_f32(v as u32)),
            Convert::SaturateSignedToUnsigned => {
                i128::from(signed(v, from)).clamp(0, i128::from(mask_of(to))) as u64
            }
            Convert::SaturateUnsignedToSigned => v.min(mask_of(to) >> 1),
        })
    }
}

fn out_of_range(v: u64, from: u8, to: u8, sign: &str) -> Fault {
    broken(Rule::ConversionRange, format!("{} does not fit a {sign} {to}-bit integer", to_f64(v, from)))
}

impl Rounding {
    fn apply(self, x: f64) -> f64 {
        match self {
            Rounding::Zero => x.trunc(),
            Rounding::Even => x.round_ties_even(),
            Rounding::Up => x.ceil(),
            Rounding::Down => x.floor(),
        }
    }
}

/// The value of a float's bit pattern.
pub(crate) fn to_f64(v: u64, bits: u8) -> f64 {
    match bits {
        16 => f64::from(f32_from_f16(v as u16)),
        32 => f64::from(f32::from_bits(v as u32)),
        _ => f64::from_bits(v),
    }
}

/// Rounds to the float format of this width and gives its bit pattern.
pub(crate) fn from_f64(x: f64, bits: u8) -> u64 {
    match bits {
        16 => u64::from(half::f16::from_f64(x).to_bits()),
        32 => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    }
}

pub(crate) fn f32_from_f16(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

/// Rounds an f32 pattern to bf16, to nearest even; NaN keeps its sign and becomes quiet.
pub(crate) fn bf16_from_f32(bits: u32) -> u16 {
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// Rounds an f32 pattern to 10 fraction bits, to nearest even; NaN stays NaN.
pub(crate) fn tf32_from_f32(bits: u32) -> u32 {
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        return bits | 0x40_0000;
    }
    (bits + 0xfff + (bits >> 13 & 1)) & !0x1fff
}

/// Whether the float with this bit pattern is normal (not zero, subnormal, infinite or NaN).
pub(crate) fn is_normal(v: u64, bits: u8) -> bool {
    let fraction = match bits {
        16 => 10,
        32 => 23,
        _ => 52,
    };
    let all = mask_of(bits - 1 - fraction);
    let exponent = v >> fraction & all;
    exponent != 0 && exponent != all
}
