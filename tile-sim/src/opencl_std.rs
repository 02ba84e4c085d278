//! The extended instruction set OpenCL.std: which element-wise operation each number is.
//!
//! Float functions are computed in f64 and rounded once, so f16 and f32 results are within about half an ulp;
//! `native_*` and `half_*` forms give the same values (hardware may be less exact).
//! *Not here*: instructions with pointer operands and vector geometry (typed `Unsupported`).

use crate::alu::{Int1, Int2, Int3, Op};
use rspirv::spirv::OpenclStd100Op as Ext;

/// What operands of an extended instruction are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Float,
    Int,
    /// A float and, last, an integer.
    FloatInt,
}

/// Operation, operand count and operand class of an extended instruction.
pub(crate) fn find(number: u32) -> Option<(Op, u8, Class)> {
    let ext = Ext::from_u32(number)?;
    if let Some(f) = unary(ext) {
        return Some((Op::Float1(f), 1, Class::Float));
    }
    if let Some(f) = binary(ext) {
        return Some((Op::Float2(f), 2, Class::Float));
    }
    if let Some((op, arity)) = integer(ext) {
        return Some((op, arity, Class::Int));
    }
    Some(match ext {
        Ext::fabs => (Op::FAbs, 1, Class::Float),
        Ext::fmax | Ext::fmax_common => (Op::FMax, 2, Class::Float),
        Ext::fmin | Ext::fmin_common => (Op::FMin, 2, Class::Float),
        Ext::native_divide | Ext::half_divide => (Op::FDiv, 2, Class::Float),
        Ext::fma | Ext::mad => (Op::Fma, 3, Class::Float),
        Ext::fclamp => (Op::Float3(|x, low, high| x.max(low).min(high)), 3, Class::Float),
        Ext::mix => (Op::Float3(|x, y, a| x + (y - x) * a), 3, Class::Float),
        Ext::smoothstep => (Op::Float3(smoothstep), 3, Class::Float),
        Ext::ldexp => (Op::FloatInt(ldexp), 2, Class::FloatInt),
        Ext::pown => (Op::FloatInt(|x, n| x.powi(n.clamp(-100_000, 100_000) as i32)), 2, Class::FloatInt),
        _ => return None,
    })
}

/// Name of an extended instruction, for counters and messages.
pub(crate) fn name(number: u32) -> String {
    Ext::from_u32(number).map_or_else(|| number.to_string(), |ext| format!("{ext:?}"))
}

fn unary(ext: Ext) -> Option<fn(f64) -> f64> {
    Some(match ext {
        Ext::acos => f64::acos,
        Ext::acosh => f64::acosh,
        Ext::asin => f64::asin,
        Ext::asinh => f64::asinh,
        Ext::atan => f64::atan,
        Ext::atanh => f64::atanh,
        Ext::cbrt => f64::cbrt,
        Ext::ceil => f64::ceil,
        Ext::cos | Ext::native_cos | Ext::half_cos => f64::cos,
        Ext::cosh => f64::cosh,
        Ext::exp | Ext::native_exp | Ext::half_exp => f64::exp,
        Ext::exp2 | Ext::native_exp2 | Ext::half_exp2 => f64::exp2,
        Ext::exp10 | Ext::native_exp10 | Ext::half_exp10 => |x| 10f64.powf(x),
        Ext::expm1 => f64::exp_m1,
        Ext::floor => f64::floor,
        Ext::log | Ext::native_log | Ext::half_log => f64::ln,
        Ext::log2 | Ext::native_log2 | Ext::half_log2 => f64::log2,
        Ext::log10 | Ext::native_log10 | Ext::half_log10 => f64::log10,
        Ext::log1p => f64::ln_1p,
        Ext::rint => f64::round_ties_even,
        Ext::round => f64::round,
        Ext::rsqrt | Ext::native_rsqrt | Ext::half_rsqrt => |x| 1.0 / x.sqrt(),
        Ext::native_recip | Ext::half_recip => f64::recip,
        Ext::sin | Ext::native_sin | Ext::half_sin => f64::sin,
        Ext::sinh => f64::sinh,
        Ext::sqrt | Ext::native_sqrt | Ext::half_sqrt => f64::sqrt,
        Ext::tan | Ext::native_tan | Ext::half_tan => f64::tan,
        Ext::tanh => f64::tanh,
        Ext::trunc => f64::trunc,
        Ext::degrees => f64::to_degrees,
        Ext::radians => f64::to_radians,
        Ext::sign => |x| {
            if x == 0.0 {
                x
            } else if x.is_nan() {
                0.0
            } else {
                x.signum()
            }
        },
        _ => return None,
    })
}

fn binary(ext: Ext) -> Option<fn(f64, f64) -> f64> {
    Some(match ext {
        Ext::atan2 => f64::atan2,
        Ext::copysign => f64::copysign,
        Ext::fdim => |x, y| if x.is_nan() || y.is_nan() { f64::NAN } else { (x - y).max(0.0) },
        Ext::fmod => |x, y| x % y,
        Ext::hypot => f64::hypot,
        Ext::pow | Ext::powr | Ext::native_powr | Ext::half_powr => f64::powf,
        Ext::step => |edge, x| if x < edge { 0.0 } else { 1.0 },
        _ => return None,
    })
}

fn smoothstep(low: f64, high: f64, x: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

fn ldexp(x: f64, n: i64) -> f64 {
    // Two factors keep each in range; results that are subnormal in f32 are still normal here.
    let n = n.clamp(-2000, 2000) as f64;
    x * (n / 2.0).floor().exp2() * (n - (n / 2.0).floor()).exp2()
}

fn integer(ext: Ext) -> Option<(Op, u8)> {
    let one = |op| (Op::Int1(op), 1);
    let two = |op| (Op::Int2(op), 2);
    let three = |op| (Op::Int3(op), 3);
    Some(match ext {
        Ext::s_abs => one(Int1::SAbs),
        Ext::u_abs => one(Int1::UAbs),
        Ext::clz => one(Int1::Clz),
        Ext::ctz => one(Int1::Ctz),
        Ext::popcount => one(Int1::BitCount),
        Ext::s_abs_diff => two(Int2::SAbsDiff),
        Ext::u_abs_diff => two(Int2::UAbsDiff),
        Ext::s_add_sat => two(Int2::SAddSat),
        Ext::u_add_sat => two(Int2::UAddSat),
        Ext::s_sub_sat => two(Int2::SSubSat),
        Ext::u_sub_sat => two(Int2::USubSat),
        Ext::s_hadd => two(Int2::SHadd),
        Ext::u_hadd => two(Int2::UHadd),
        Ext::s_rhadd => two(Int2::SRhadd),
        Ext::u_rhadd => two(Int2::URhadd),
        Ext::s_max => two(Int2::SMax),
        Ext::u_max => two(Int2::UMax),
        Ext::s_min => two(Int2::SMin),
        Ext::u_min => two(Int2::UMin),
        Ext::s_mul_hi => two(Int2::SMulHi),
        Ext::u_mul_hi => two(Int2::UMulHi),
        Ext::rotate => two(Int2::Rotate),
        Ext::s_mul24 => two(Int2::SMul24),
        Ext::u_mul24 => two(Int2::UMul24),
        Ext::s_clamp => three(Int3::SClamp),
        Ext::u_clamp => three(Int3::UClamp),
        Ext::s_mad_hi => three(Int3::SMadHi),
        Ext::u_mad_hi => three(Int3::UMadHi),
        Ext::s_mad_sat => three(Int3::SMadSat),
        Ext::u_mad_sat => three(Int3::UMadSat),
        Ext::s_mad24 => three(Int3::SMad24),
        Ext::u_mad24 => three(Int3::UMad24),
        Ext::bitselect => three(Int3::BitSelect),
        _ => return None,
    })
}
