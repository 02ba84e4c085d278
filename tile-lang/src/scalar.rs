//! Owns the scalar functions that expanded kernels call for every operator, method and cast, so that a scalar
//! means the same on the host as in `tile_ir::scalar`, whose table these functions obey.
//!
//! *Guarantees*: total: integers wrap, division by zero gives 0, shift amounts count modulo the width, casts
//! are Rust's `as`. The traits are sealed and the functions generic, so that generated code needs no types.
//! *Not here*: a scalar's type (inferred by rustc), `&&` and `||` (Rust's own: scalars have no side effects).
//!
//! `usize` is a scalar here only because a kernel's sizes are const parameters of that type.

mod sealed {
    pub trait Sealed: Copy {}
}

/// A scalar of a kernel.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scalar type of kernels",
    label = "not a kernel scalar",
    note = "the scalar types are `u32`, `u64`, `i32`, `f32` and `bool`"
)]
pub trait Scalar: sealed::Sealed + PartialEq {}

/// A scalar with arithmetic and an order: every one but `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number",
    label = "not a number",
    note = "the number types are `u32`, `u64`, `i32` and `f32`"
)]
pub trait Number: Scalar + PartialOrd {
    #[doc(hidden)]
    fn add(self, other: Self) -> Self;
    #[doc(hidden)]
    fn sub(self, other: Self) -> Self;
    #[doc(hidden)]
    fn mul(self, other: Self) -> Self;
    #[doc(hidden)]
    fn div(self, other: Self) -> Self;
    #[doc(hidden)]
    fn min(self, other: Self) -> Self;
    #[doc(hidden)]
    fn max(self, other: Self) -> Self;
}

/// A number that has a sign: `i32` or `f32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be negated",
    label = "has no sign",
    note = "the scalar types with a sign are `i32` and `f32`"
)]
pub trait Signed: Number {
    #[doc(hidden)]
    fn neg(self) -> Self;
}

/// A scalar made of bits: an integer or `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bitwise operators",
    label = "not an integer or bool",
    note = "convert first: `x as u32`"
)]
pub trait Bits: Scalar {
    #[doc(hidden)]
    fn not(self) -> Self;
    #[doc(hidden)]
    fn and(self, other: Self) -> Self;
    #[doc(hidden)]
    fn or(self, other: Self) -> Self;
    #[doc(hidden)]
    fn xor(self, other: Self) -> Self;
}

/// An integer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integer",
    label = "not an integer",
    note = "remainders and shifts are defined on `u32`, `u64` and `i32`"
)]
pub trait Integer: Number + Bits {
    #[doc(hidden)]
    fn rem(self, other: Self) -> Self;
    #[doc(hidden)]
    fn shl(self, amount: u32) -> Self;
    #[doc(hidden)]
    fn shr(self, amount: u32) -> Self;
    #[doc(hidden)]
    fn low_bits(self) -> u32;
}

/// A scalar that `as To` converts.
#[diagnostic::on_unimplemented(
    message = "`as` does not convert `{Self}` to `{To}`",
    label = "no such conversion",
    note = "compare instead of converting to bool: `x != 0`"
)]
pub trait CastTo<To>: Scalar {
    #[doc(hidden)]
    fn cast(self) -> To;
}

macro_rules! integers {
    ($($ty:ty)+) => {$(
        impl sealed::Sealed for $ty {}
        impl Scalar for $ty {}
        impl Number for $ty {
            #[inline]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline]
            fn div(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }
            #[inline]
            fn min(self, other: Self) -> Self {
                Ord::min(self, other)
            }
            #[inline]
            fn max(self, other: Self) -> Self {
                Ord::max(self, other)
            }
        }
        impl Bits for $ty {
            #[inline]
            fn not(self) -> Self {
                !self
            }
            #[inline]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
        }
        impl Integer for $ty {
            #[inline]
            fn rem(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
            #[inline]
            fn shl(self, amount: u32) -> Self {
                self.wrapping_shl(amount)
            }
            #[inline]
            fn shr(self, amount: u32) -> Self {
                self.wrapping_shr(amount)
            }
            #[inline]
            fn low_bits(self) -> u32 {
                self as u32
            }
        }
    )+};
}
integers!(u32 i32 u64 usize);

impl Signed for i32 {
    #[inline]
    fn neg(self) -> Self {
        self.wrapping_neg()
    }
}

impl sealed::Sealed for f32 {}
impl Scalar for f32 {}
impl Number for f32 {
    #[inline]
    fn add(self, other: Self) -> Self {
        self + other
    }
    #[inline]
    fn sub(self, other: Self) -> Self {
        self - other
    }
    #[inline]
    fn mul(self, other: Self) -> Self {
        self * other
    }
    #[inline]
    fn div(self, other: Self) -> Self {
        self / other
    }
    #[inline]
    fn min(self, other: Self) -> Self {
        f32::min(self, other)
    }
    #[inline]
    fn max(self, other: Self) -> Self {
        f32::max(self, other)
    }
}
impl Signed for f32 {
    #[inline]
    fn neg(self) -> Self {
        -self
    }
}

impl sealed::Sealed for bool {}
impl Scalar for bool {}
impl Bits for bool {
    #[inline]
    fn not(self) -> Self {
        !self
    }
    #[inline]
    fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }
}

macro_rules! casts {
    ($($from:ty => $($to:ty)+;)+) => {$($(
        impl CastTo<$to> for $from {
            #[inline]
            fn cast(self) -> $to {
                self as $to
            }
        }
    )+)+};
}
casts! {
    u32 => u32 i32 u64 f32 usize;
    i32 => u32 i32 u64 f32 usize;
    u64 => u32 i32 u64 f32 usize;
    f32 => u32 i32 u64 f32 usize;
    usize => u32 i32 u64 f32 usize;
    bool => u32 i32 u64 bool usize;
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident: $bound:ident($($arg:ident),+) -> $out:ty = $body:expr;)+) => {
        $(
            $(#[$doc])*
            #[inline]
            pub fn $name<S: $bound>($($arg: S),+) -> $out {
                $body
            }
        )+
    };
}
functions! {
    /// Adds; integers wrap.
    add: Number(a, b) -> S = Number::add(a, b);
    /// Subtracts; integers wrap.
    sub: Number(a, b) -> S = Number::sub(a, b);
    /// Multiplies; integers wrap.
    mul: Number(a, b) -> S = Number::mul(a, b);
    /// Divides; integers truncate, an integer divided by 0 gives 0, and `i32::MIN / -1` wraps.
    div: Number(a, b) -> S = Number::div(a, b);
    /// Gives the remainder, with the sign of `a`; by 0 it is 0.
    rem: Integer(a, b) -> S = Integer::rem(a, b);
    /// Negates; `i32::MIN` wraps.
    neg: Signed(a) -> S = Signed::neg(a);
    /// Complements every bit, or a `bool`.
    not: Bits(a) -> S = Bits::not(a);
    /// Ands bits.
    and: Bits(a, b) -> S = Bits::and(a, b);
    /// Ors bits.
    or: Bits(a, b) -> S = Bits::or(a, b);
    /// Exclusive-ors bits.
    xor: Bits(a, b) -> S = Bits::xor(a, b);
    /// Gives the smaller operand; of a NaN and a number, the number.
    min: Number(a, b) -> S = Number::min(a, b);
    /// Gives the larger operand; of a NaN and a number, the number.
    max: Number(a, b) -> S = Number::max(a, b);
    /// Compares; false with NaN.
    lt: Number(a, b) -> bool = a < b;
    /// Compares; false with NaN.
    le: Number(a, b) -> bool = a <= b;
    /// Compares; false with NaN.
    gt: Number(a, b) -> bool = a > b;
    /// Compares; false with NaN.
    ge: Number(a, b) -> bool = a >= b;
    /// Compares; false with NaN.
    eq: Scalar(a, b) -> bool = a == b;
    /// Compares; true with NaN.
    ne: Scalar(a, b) -> bool = a != b;
}

/// Shifts left by `amount` modulo the width of `a`.
#[inline]
pub fn shl<S: Integer, A: Integer>(a: S, amount: A) -> S {
    Integer::shl(a, amount.low_bits())
}

/// Shifts right by `amount` modulo the width of `a`; `i32` keeps its sign.
#[inline]
pub fn shr<S: Integer, A: Integer>(a: S, amount: A) -> S {
    Integer::shr(a, amount.low_bits())
}

/// Converts as Rust's `as`: integers truncate or extend, a float saturates and NaN gives 0.
#[inline]
pub fn cast<To>(value: impl CastTo<To>) -> To {
    value.cast()
}

macro_rules! maps {
    ($( $(#[doc = $doc:literal])+ $V:ident { name: $name:ident, $($column:tt)* } )+) => {
        $( maps! { @ $name $V $($doc)+ } )+
    };
    // Negation is a function of every signed scalar, above.
    (@ neg $V:ident $($doc:literal)+) => {};
    (@ $name:ident $V:ident $($doc:literal)+) => {
        #[doc = concat!("Gives, for one number, the bits of the op on tiles:", $($doc),+)]
        ///
        /// ```
        /// use tile_lang::prelude::*;
        ///
        /// let x: rt<f32, 8, 16> = fill(0.3);
        #[doc = concat!("assert_eq!(tile_lang::scalar::", stringify!($name), "(0.3), x.", stringify!($name), "().get(0, 0));")]
        /// ```
        #[inline]
        pub fn $name(x: f32) -> f32 {
            crate::simd::map::unary_scalar(tile_ir::map::MapUnary::$V, x)
        }
    };
}
tile_ir::for_each_map_unary!(maps);
