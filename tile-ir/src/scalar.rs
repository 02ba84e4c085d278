//! Owns the meaning of scalar arithmetic: one table, obeyed by the host, every lowering and the tests.
//!
//! | op | u32, u64, i32 | f32 |
//! |---|---|---|
//! | `+ - *`, unary `-` | wraps | IEEE, round to nearest even |
//! | `/` | truncates; by 0 gives 0; `i32::MIN / -1` wraps | IEEE |
//! | `%` | sign of the dividend; by 0 gives 0; `i32::MIN % -1` is 0 | refused |
//! | `& \| ^ !` | bitwise (logical for `bool`) | refused |
//! | `<< >>` | the amount counts modulo the width; `>>` of i32 keeps the sign | refused |
//! | `min max` | usual | the operand that is not NaN; NaN only if both are |
//! | comparisons | usual | IEEE: every comparison with NaN is false but `!=` |
//! | `as` between integers | truncates or extends by the source's sign | |
//! | `as` float to integer | | truncates and saturates; NaN gives 0 |
//! | `as` integer to float | nearest even | |
//!
//! *Guarantees*: [`binary`], [`unary`], [`compare`] and [`cast`] are total and are the executable form of the
//! table (used for constant folding and as the reference in tests).

/// A constant scalar. Floats are kept as bits, so that constants can be compared and printed exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Const {
    /// A `u32`.
    U32(u32),
    /// An `i32`.
    I32(i32),
    /// A `u64`.
    U64(u64),
    /// The bits of an `f32`.
    F32(u32),
    /// A `bool`.
    Bool(bool),
}

use crate::types::ScalarType;
use core::fmt;

impl Const {
    /// The type of the constant.
    pub const fn ty(self) -> ScalarType {
        match self {
            Const::U32(_) => ScalarType::U32,
            Const::I32(_) => ScalarType::I32,
            Const::U64(_) => ScalarType::U64,
            Const::F32(_) => ScalarType::F32,
            Const::Bool(_) => ScalarType::Bool,
        }
    }
}

impl fmt::Display for Const {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Const::U32(v) => write!(f, "{v}u32"),
            Const::I32(v) => write!(f, "{v}i32"),
            Const::U64(v) => write!(f, "{v}u64"),
            Const::F32(bits) => write!(f, "{:?}f32", f32::from_bits(*bits)),
            Const::Bool(v) => write!(f, "{v}"),
        }
    }
}

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $( #[doc = $vdoc:literal] $variant:ident = $text:literal $symbol:literal ),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $( #[doc = $vdoc] $variant ),+ }
        impl $name {
            /// Every member.
            pub const ALL: &'static [$name] = &[ $( $name::$variant ),+ ];
            /// The name in the text form, which is also the name of the host function.
            pub const fn name(self) -> &'static str { match self { $( $name::$variant => $text ),+ } }
            /// How kernel source spells it: an operator, or a method.
            pub const fn symbol(self) -> &'static str { match self { $( $name::$variant => $symbol ),+ } }
            /// What it does, as a sentence.
            pub const fn doc(self) -> &'static str { match self { $( $name::$variant => $vdoc ),+ } }
        }
    };
}

named! {
    /// A scalar op of two operands of one type, giving that type.
    Binary {
        /// Sum.
        Add = "add" "+",
        /// Difference.
        Sub = "sub" "-",
        /// Product.
        Mul = "mul" "*",
        /// Quotient.
        Div = "div" "/",
        /// Remainder.
        Rem = "rem" "%",
        /// Bitwise or logical and.
        And = "and" "&",
        /// Bitwise or logical or.
        Or = "or" "|",
        /// Bitwise or logical exclusive or.
        Xor = "xor" "^",
        /// Shift left.
        Shl = "shl" "<<",
        /// Shift right.
        Shr = "shr" ">>",
        /// The smaller operand.
        Min = "min" "min",
        /// The larger operand.
        Max = "max" "max",
    }
}

named! {
    /// A scalar op of one operand, giving its type.
    Unary {
        /// Arithmetic negation.
        Neg = "neg" "-",
        /// Bitwise or logical complement.
        Not = "not" "!",
    }
}

named! {
    /// A comparison of two operands of one type, giving `bool`.
    Compare {
        /// Equal.
        Eq = "eq" "==",
        /// Not equal.
        Ne = "ne" "!=",
        /// Less.
        Lt = "lt" "<",
        /// Less or equal.
        Le = "le" "<=",
        /// Greater.
        Gt = "gt" ">",
        /// Greater or equal.
        Ge = "ge" ">=",
    }
}

impl Binary {
    /// True when the op is defined on `ty`.
    pub const fn takes(self, ty: ScalarType) -> bool {
        match self {
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Min | Binary::Max => {
                ty.is_number()
            }
            Binary::Rem | Binary::Shl | Binary::Shr => ty.is_integer(),
            Binary::And | Binary::Or | Binary::Xor => ty.is_integer() || matches!(ty, ScalarType::Bool),
        }
    }
}

impl Unary {
    /// True when the op is defined on `ty`. Negating an unsigned integer is refused, as in Rust.
    pub const fn takes(self, ty: ScalarType) -> bool {
        match self {
            Unary::Neg => matches!(ty, ScalarType::I32 | ScalarType::F32),
            Unary::Not => ty.is_integer() || matches!(ty, ScalarType::Bool),
        }
    }
}

impl Compare {
    /// True when the comparison is defined on `ty`: `bool` has only equality.
    pub const fn takes(self, ty: ScalarType) -> bool {
        match self {
            Compare::Eq | Compare::Ne => true,
            Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge => ty.is_number(),
        }
    }
}

macro_rules! integer_binary {
    ($op:expr, $a:expr, $b:expr, $variant:ident, $bits:literal) => {{
        let (a, b) = ($a, $b);
        Some(Const::$variant(match $op {
            Binary::Add => a.wrapping_add(b),
            Binary::Sub => a.wrapping_sub(b),
            Binary::Mul => a.wrapping_mul(b),
            Binary::Div => {
                if b == 0 {
                    0
                } else {
                    a.wrapping_div(b)
                }
            }
            Binary::Rem => {
                if b == 0 {
                    0
                } else {
                    a.wrapping_rem(b)
                }
            }
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            Binary::Shl => a.wrapping_shl(b as u32 & ($bits - 1)),
            Binary::Shr => a.wrapping_shr(b as u32 & ($bits - 1)),
            Binary::Min => a.min(b),
            Binary::Max => a.max(b),
        }))
    }};
}

/// Computes a binary op on constants; `None` when the types differ or the op does not take them.
pub fn binary(op: Binary, a: Const, b: Const) -> Option<Const> {
    if a.ty() != b.ty() || !op.takes(a.ty()) {
        return None;
    }
    match (a, b) {
        (Const::U32(a), Const::U32(b)) => integer_binary!(op, a, b, U32, 32),
        (Const::I32(a), Const::I32(b)) => integer_binary!(op, a, b, I32, 32),
        (Const::U64(a), Const::U64(b)) => integer_binary!(op, a, b, U64, 64),
        (Const::F32(a), Const::F32(b)) => {
            let (a, b) = (f32::from_bits(a), f32::from_bits(b));
            let value = match op {
                Binary::Add => a + b,
                Binary::Sub => a - b,
                Binary::Mul => a * b,
                Binary::Div => a / b,
                Binary::Min => a.min(b),
                Binary::Max => a.max(b),
                Binary::Rem | Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => {
                    return None;
                }
            };
            Some(Const::F32(value.to_bits()))
        }
        (Const::Bool(a), Const::Bool(b)) => match op {
            Binary::And => Some(Const::Bool(a & b)),
            Binary::Or => Some(Const::Bool(a | b)),
            Binary::Xor => Some(Const::Bool(a ^ b)),
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Rem => None,
            Binary::Shl | Binary::Shr | Binary::Min | Binary::Max => None,
        },
        (Const::U32(_) | Const::I32(_) | Const::U64(_) | Const::F32(_) | Const::Bool(_), _) => None,
    }
}

/// Computes a unary op on a constant; `None` when the op does not take its type.
pub fn unary(op: Unary, a: Const) -> Option<Const> {
    match (op, a) {
        (Unary::Neg, Const::I32(a)) => Some(Const::I32(a.wrapping_neg())),
        (Unary::Neg, Const::F32(a)) => Some(Const::F32(a ^ 0x8000_0000)),
        (Unary::Neg, Const::U32(_) | Const::U64(_) | Const::Bool(_)) => None,
        (Unary::Not, Const::U32(a)) => Some(Const::U32(!a)),
        (Unary::Not, Const::I32(a)) => Some(Const::I32(!a)),
        (Unary::Not, Const::U64(a)) => Some(Const::U64(!a)),
        (Unary::Not, Const::Bool(a)) => Some(Const::Bool(!a)),
        (Unary::Not, Const::F32(_)) => None,
    }
}

/// Compares two constants; `None` when the types differ or the comparison does not take them.
pub fn compare(op: Compare, a: Const, b: Const) -> Option<bool> {
    fn by<T: PartialOrd>(op: Compare, a: T, b: T) -> bool {
        match op {
            Compare::Eq => a == b,
            Compare::Ne => a != b,
            Compare::Lt => a < b,
            Compare::Le => a <= b,
            Compare::Gt => a > b,
            Compare::Ge => a >= b,
        }
    }
    if a.ty() != b.ty() || !op.takes(a.ty()) {
        return None;
    }
    match (a, b) {
        (Const::U32(a), Const::U32(b)) => Some(by(op, a, b)),
        (Const::I32(a), Const::I32(b)) => Some(by(op, a, b)),
        (Const::U64(a), Const::U64(b)) => Some(by(op, a, b)),
        (Const::F32(a), Const::F32(b)) => Some(by(op, f32::from_bits(a), f32::from_bits(b))),
        (Const::Bool(a), Const::Bool(b)) => Some(by(op, a, b)),
        (Const::U32(_) | Const::I32(_) | Const::U64(_) | Const::F32(_) | Const::Bool(_), _) => None,
    }
}

/// Converts a constant as Rust's `as` does; `None` for the conversions Rust refuses (anything to `bool`
/// but `bool`, and `bool` to a float).
pub fn cast(a: Const, to: ScalarType) -> Option<Const> {
    macro_rules! to_number {
        ($v:expr) => {
            match to {
                ScalarType::U32 => Some(Const::U32($v as u32)),
                ScalarType::I32 => Some(Const::I32($v as i32)),
                ScalarType::U64 => Some(Const::U64($v as u64)),
                ScalarType::F32 => Some(Const::F32(($v as f32).to_bits())),
                ScalarType::Bool => None,
            }
        };
    }
    match a {
        Const::U32(v) => to_number!(v),
        Const::I32(v) => to_number!(v),
        Const::U64(v) => to_number!(v),
        Const::F32(bits) => to_number!(f32::from_bits(bits)),
        Const::Bool(v) => match to {
            ScalarType::U32 => Some(Const::U32(v as u32)),
            ScalarType::I32 => Some(Const::I32(v as i32)),
            ScalarType::U64 => Some(Const::U64(v as u64)),
            ScalarType::Bool => Some(Const::Bool(v)),
            ScalarType::F32 => None,
        },
    }
}

/// True when `as` converts `from` to `to`.
pub const fn casts(from: ScalarType, to: ScalarType) -> bool {
    match to {
        ScalarType::Bool => matches!(from, ScalarType::Bool),
        ScalarType::F32 => !matches!(from, ScalarType::Bool),
        ScalarType::U32 | ScalarType::I32 | ScalarType::U64 => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_zero_and_overflow_are_total() {
        assert_eq!(binary(Binary::Div, Const::U32(7), Const::U32(0)), Some(Const::U32(0)));
        assert_eq!(binary(Binary::Rem, Const::U64(7), Const::U64(0)), Some(Const::U64(0)));
        assert_eq!(binary(Binary::Div, Const::I32(i32::MIN), Const::I32(-1)), Some(Const::I32(i32::MIN)));
        assert_eq!(binary(Binary::Add, Const::U32(u32::MAX), Const::U32(2)), Some(Const::U32(1)));
        assert_eq!(binary(Binary::Shl, Const::U32(1), Const::U32(33)), Some(Const::U32(2)));
        assert_eq!(binary(Binary::Shr, Const::I32(-8), Const::I32(1)), Some(Const::I32(-4)));
    }

    #[test]
    fn nan_loses_min_and_max_and_every_order() {
        let (nan, one) = (Const::F32(f32::NAN.to_bits()), Const::F32(1f32.to_bits()));
        assert_eq!(binary(Binary::Max, nan, one), Some(one));
        assert_eq!(binary(Binary::Min, one, nan), Some(one));
        assert_eq!(compare(Compare::Lt, nan, one), Some(false));
        assert_eq!(compare(Compare::Ne, nan, nan), Some(true));
        assert_eq!(cast(nan, ScalarType::I32), Some(Const::I32(0)));
        assert_eq!(cast(Const::F32(1e20f32.to_bits()), ScalarType::U32), Some(Const::U32(u32::MAX)));
    }

    #[test]
    fn takes_agrees_with_evaluation() {
        let samples =
            [Const::U32(3), Const::I32(3), Const::U64(3), Const::F32(3f32.to_bits()), Const::Bool(true)];
        for a in samples {
            for &op in Binary::ALL {
                assert_eq!(binary(op, a, a).is_some(), op.takes(a.ty()), "{} on {}", op.name(), a.ty());
            }
            for &op in Unary::ALL {
                assert_eq!(unary(op, a).is_some(), op.takes(a.ty()), "{} on {}", op.name(), a.ty());
            }
            for &op in Compare::ALL {
                assert_eq!(compare(op, a, a).is_some(), op.takes(a.ty()), "{} on {}", op.name(), a.ty());
            }
            for &to in ScalarType::ALL {
                assert_eq!(cast(a, to).is_some(), casts(a.ty(), to), "{} as {to}", a.ty());
            }
        }
    }
}
