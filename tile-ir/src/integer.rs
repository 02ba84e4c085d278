//! Owns what element-wise ops compute on integer elements: the rows of the tables in [`crate::map`] whose column `of`
//! is `Arithmetic`, and the conversions between integers and floats.
//!
//! | op | on i32 |
//! |---|---|
//! | `add sub mul neg abs` | wraps; `abs` and `neg` of the least i32 give it back |
//! | `min max` | signed order |
//! | `row_*`, `col_*` | the same combinations, so sums and products wrap |
//! | `.to::<T>()` to a float | nearest even in f32, then in T |
//! | `.to::<T>()` to an integer | nearest even, then saturates; NaN gives 0 |
//! | `mma_*` of i8 and u8 | exact products; sums in i32 wrap |
//!
//! *Guarantees*: total, and executable: the host runs these functions, tests compare every target with them.
//! *Not here*: floats (`map`), scalars (`scalar`: their casts truncate, as Rust's `as` does).

use crate::ir::Reduction;
use crate::map::{MapBinary, MapUnary};
use crate::types::DType;

/// Computes a unary op; `None` where the op is for floats only.
#[inline(always)]
pub const fn unary(op: MapUnary, x: i32) -> Option<i32> {
    match op {
        MapUnary::Abs => Some(x.wrapping_abs()),
        MapUnary::Neg => Some(x.wrapping_neg()),
        MapUnary::Relu
        | MapUnary::Exp2
        | MapUnary::Exp
        | MapUnary::Log2
        | MapUnary::Log
        | MapUnary::Sqrt
        | MapUnary::Rsqrt
        | MapUnary::Recip
        | MapUnary::Sigmoid
        | MapUnary::Silu
        | MapUnary::Tanh
        | MapUnary::Gelu => None,
    }
}

/// Computes a binary op; `None` where the op is for floats only.
#[inline(always)]
pub const fn binary(op: MapBinary, a: i32, b: i32) -> Option<i32> {
    match op {
        MapBinary::Add => Some(a.wrapping_add(b)),
        MapBinary::Sub => Some(a.wrapping_sub(b)),
        MapBinary::Mul => Some(a.wrapping_mul(b)),
        MapBinary::Min => Some(if b < a { b } else { a }),
        MapBinary::Max => Some(if b > a { b } else { a }),
        MapBinary::Div => None,
    }
}

/// Combines two elements of a reduction. Order does not matter: each combination is associative and commutative.
#[inline(always)]
pub const fn combine(how: Reduction, a: i32, b: i32) -> i32 {
    match how {
        Reduction::Max => {
            if b > a {
                b
            } else {
                a
            }
        }
        Reduction::Min => {
            if b < a {
                b
            } else {
                a
            }
        }
        Reduction::Sum => a.wrapping_add(b),
        Reduction::Prod => a.wrapping_mul(b),
    }
}

/// The element that changes nothing in a reduction.
pub const fn neutral(how: Reduction) -> i32 {
    match how {
        Reduction::Max => i32::MIN,
        Reduction::Min => i32::MAX,
        Reduction::Sum => 0,
        Reduction::Prod => 1,
    }
}

/// The nearest value that an integer type holds; types of 32 bits hold all.
#[inline(always)]
pub const fn saturate(dtype: DType, x: i32) -> i32 {
    let (least, most) = match dtype {
        DType::I8 => (i8::MIN as i32, i8::MAX as i32),
        DType::U8 => (0, u8::MAX as i32),
        DType::Bf16 | DType::F16 | DType::F32 | DType::I32 | DType::Tf32 | DType::Bool => {
            (i32::MIN, i32::MAX)
        }
    };
    if x < least {
        least
    } else if x > most {
        most
    } else {
        x
    }
}

/// Rounds to nearest even and saturates; NaN gives 0.
#[inline(always)]
pub fn from_f32(x: f32) -> i32 {
    x.round_ties_even() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_cover_exactly_the_rows_that_say_so() {
        for &op in MapUnary::ALL {
            assert_eq!(unary(op, 3).is_some(), op.takes_integers(), "{}", op.name());
        }
        for &op in MapBinary::ALL {
            assert_eq!(binary(op, 3, 4).is_some(), op.takes_integers(), "{}", op.name());
        }
        for &how in Reduction::ALL {
            for x in [i32::MIN, -1, 0, 1, i32::MAX] {
                assert_eq!(combine(how, neutral(how), x), x);
                for y in [i32::MIN, -7, 2] {
                    assert_eq!(Some(combine(how, x, y)), binary(how.combiner(), x, y));
                }
            }
        }
    }

    #[test]
    fn limits_wrap_and_saturate() {
        assert_eq!(unary(MapUnary::Abs, i32::MIN), Some(i32::MIN));
        assert_eq!(unary(MapUnary::Neg, i32::MIN), Some(i32::MIN));
        assert_eq!(binary(MapBinary::Add, i32::MAX, 1), Some(i32::MIN));
        assert_eq!(binary(MapBinary::Mul, 1 << 20, 1 << 12), Some(0));
        assert_eq!(from_f32(2.5), 2);
        assert_eq!(from_f32(-3.5), -4);
        assert_eq!(from_f32(f32::NAN), 0);
        assert_eq!(from_f32(f32::INFINITY), i32::MAX);
        assert_eq!(from_f32(-3e9), i32::MIN);
        assert_eq!([-129, 5, 128].map(|x| saturate(DType::I8, x)), [-128, 5, 127]);
        assert_eq!([-1, 5, 256].map(|x| saturate(DType::U8, x)), [0, 5, 255]);
    }
}
