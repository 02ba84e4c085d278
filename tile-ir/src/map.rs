//! Owns the table of element-wise ops, one row per op, and their recipes in terms of a few primitives.
//!
//! A row is the one place where an op is spelled: the IR, the lowering, the host methods, the documentation and
//! the tests expand the same rows ([`for_each_map_unary!`](crate::for_each_map_unary),
//! [`for_each_map_binary!`](crate::for_each_map_binary), [`for_each_map_ternary!`](crate::for_each_map_ternary),
//! [`for_each_map_compare!`](crate::for_each_map_compare)). What an op computes is its recipe over [`Math`], executed by
//! the host body and emitted by the lowering alike, so the two cannot drift apart: they differ only in the
//! primitives `exp2`, `log2`, `recip`, `sqrt` and `rsqrt`, where a device has instructions of its own. [`exp2`] and [`log2`] are
//! for those that have none.
//!
//! *Guarantees*: the `ulp` of a row bounds the error of the result in units of the last place of f32 against the
//! exact function, for every target, on finite results of at least 1e-36 in size (smaller ones may be flushed to 0);
//! NaN gives NaN in every row but `min` and `max`.
//! *Not here*: which operands an op takes (`ops::map`), rounding to 16-bit types (the result type's).

mod steps;

pub use steps::{Bits, exp2, log2};

/// Calls `$cb!` with every unary row.
#[macro_export]
macro_rules! for_each_map_unary {
    ($($cb:ident)::+) => { $($cb)::+! {
        /// Absolute value of every element.
        Abs { name: abs, of: Arithmetic, ulp: 0 }
        /// Negation of every element.
        Neg { name: neg, of: Arithmetic, ulp: 0 }
        /// `x` where `x > 0`, else 0; NaN stays NaN.
        Relu { name: relu, of: Element, ulp: 0 }
        /// 2 to the power of every element.
        Exp2 { name: exp2, of: Element, ulp: 4 }
        /// e to the power of every element. `exp2` is cheaper: fold the factor log2(e) into a scale you apply anyway.
        Exp { name: exp, of: Element, ulp: 6 }
        /// Logarithm to base 2 of every element.
        Log2 { name: log2, of: Element, ulp: 4 }
        /// Natural logarithm of every element.
        Log { name: log, of: Element, ulp: 6 }
        /// Square root of every element.
        Sqrt { name: sqrt, of: Element, ulp: 4 }
        /// Reciprocal of the square root of every element.
        Rsqrt { name: rsqrt, of: Element, ulp: 4 }
        /// Reciprocal of every element.
        Recip { name: recip, of: Element, ulp: 3 }
        /// Logistic function `1 / (1 + exp(-x))` of every element.
        Sigmoid { name: sigmoid, of: Element, ulp: 12 }
        /// `x * sigmoid(x)` of every element.
        Silu { name: silu, of: Element, ulp: 13 }
        /// Hyperbolic tangent of every element.
        Tanh { name: tanh, of: Element, ulp: 16 }
        /// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))` of every element: the usual approximation of GELU,
        /// against which its error counts.
        Gelu { name: gelu, of: Element, ulp: 256 }
    } };
}

/// Calls `$cb!` with every binary row.
#[macro_export]
macro_rules! for_each_map_binary {
    ($($cb:ident)::+) => { $($cb)::+! {
        /// Sum.
        Add { name: add, of: Arithmetic, ulp: 0 }
        /// Difference.
        Sub { name: sub, of: Arithmetic, ulp: 0 }
        /// Product.
        Mul { name: mul, of: Arithmetic, ulp: 0 }
        /// Quotient, as the product with the reciprocal.
        Div { name: div, of: Element, ulp: 4 }
        /// The smaller operand; the one that is a number if the other is NaN. Of two zeros, either.
        Min { name: min, of: Arithmetic, ulp: 0 }
        /// The larger operand; the one that is a number if the other is NaN. Of two zeros, either.
        Max { name: max, of: Arithmetic, ulp: 0 }
    } };
}

/// `Arithmetic` rows work on every element type that computes, `Element` rows on floats.
macro_rules! integers {
    (Arithmetic) => {
        true
    };
    (Element) => {
        false
    };
}

/// Calls `$cb!` with every ternary row.
#[macro_export]
macro_rules! for_each_map_ternary {
    ($($cb:ident)::+) => { $($cb)::+! {
        /// `x * a + b`, rounded once.
        Fma { name: fma, of: Element, ulp: 0 }
    } };
}

/// Calls `$cb!` with every comparison: a row names a [`Compare`](crate::scalar::Compare), whose meaning it has on every
/// element.
#[macro_export]
macro_rules! for_each_map_compare {
    ($($cb:ident)::+) => { $($cb)::+! {
        /// Tells where an element is less than the other; false with NaN.
        Lt { name: lt }
        /// Tells where an element is at most the other; false with NaN.
        Le { name: le }
        /// Tells where an element is greater than the other; false with NaN.
        Gt { name: gt }
        /// Tells where an element is at least the other; false with NaN.
        Ge { name: ge }
        /// Tells where two elements are equal; false with NaN, true of the two zeros.
        Eq { name: eq }
        /// Tells where two elements differ; true with NaN.
        Ne { name: ne }
    } };
}

macro_rules! declare {
    ($(#[$meta:meta])* $Enum:ident: $( $(#[doc = $doc:literal])+ $V:ident { name: $name:ident, of: $of:ident, ulp: $ulp:literal } )+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $Enum { $( $(#[doc = $doc])+ $V ),+ }

        impl $Enum {
            /// Every op of the table.
            pub const ALL: &'static [$Enum] = &[$($Enum::$V),+];
            /// The name in kernel source and in the text form.
            pub const fn name(self) -> &'static str { match self { $($Enum::$V => stringify!($name)),+ } }
            /// What the op computes, as a sentence.
            pub const fn doc(self) -> &'static str { match self { $($Enum::$V => concat!($($doc),+)),+ } }
            /// Largest error in units of the last place of f32; 0 means correctly rounded.
            pub const fn ulp(self) -> u32 { match self { $($Enum::$V => $ulp),+ } }
            /// True when the op also works on integers, where it wraps.
            pub const fn takes_integers(self) -> bool { match self { $($Enum::$V => integers!($of)),+ } }
            /// Reads a name as [`Self::name`] writes it.
            pub fn from_name(name: &str) -> Option<$Enum> { Self::ALL.iter().copied().find(|op| op.name() == name) }
        }
    };
}

macro_rules! declare_unary { ($($rows:tt)+) => { declare! {
    /// An element-wise op of one operand.
    MapUnary: $($rows)+ } }; }
macro_rules! declare_binary { ($($rows:tt)+) => { declare! {
    /// An element-wise op of two operands.
    MapBinary: $($rows)+ } }; }
macro_rules! declare_ternary { ($($rows:tt)+) => { declare! {
    /// An element-wise op of three operands.
    MapTernary: $($rows)+ } }; }
for_each_map_unary!(declare_unary);
for_each_map_binary!(declare_binary);
for_each_map_ternary!(declare_ternary);

/// The primitives that recipes are made of, over f32 values of some kind: host scalars or vectors, or emitted
/// instructions.
pub trait Math {
    /// A value.
    type Value: Copy;
    /// A constant.
    fn constant(&mut self, value: f32) -> Self::Value;
    /// `a + b`
    fn add(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    /// `a - b`
    fn sub(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    /// `a * b`
    fn mul(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    /// `a * b + c`, rounded once.
    fn fma(&mut self, a: Self::Value, b: Self::Value, c: Self::Value) -> Self::Value;
    /// `-a`
    fn neg(&mut self, a: Self::Value) -> Self::Value;
    /// `|a|`
    fn abs(&mut self, a: Self::Value) -> Self::Value;
    /// The smaller; the number if one is NaN.
    fn min(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    /// The larger; the number if one is NaN.
    fn max(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    /// `if a < b { x } else { y }`; with NaN in `a` or `b`, `y`.
    fn if_less(&mut self, a: Self::Value, b: Self::Value, x: Self::Value, y: Self::Value) -> Self::Value;
    /// 2 to the power, within 4 ulp.
    fn exp2(&mut self, a: Self::Value) -> Self::Value;
    /// Logarithm to base 2, within 4 ulp.
    fn log2(&mut self, a: Self::Value) -> Self::Value;
    /// Reciprocal, within 3 ulp.
    fn recip(&mut self, a: Self::Value) -> Self::Value;
    /// Square root, within 4 ulp.
    fn sqrt(&mut self, a: Self::Value) -> Self::Value;
    /// Reciprocal square root, within 4 ulp.
    fn rsqrt(&mut self, a: Self::Value) -> Self::Value;
}

const LOG2_E: f32 = core::f32::consts::LOG2_E;
/// log2(e) minus its f32 value.
const LOG2_E_LOW: f32 = 1.925_963e-8;
const LN_2: f32 = core::f32::consts::LN_2;

/// Computes a unary op.
#[inline(always)]
pub fn unary<M: Math>(m: &mut M, op: MapUnary, x: M::Value) -> M::Value {
    match op {
        MapUnary::Abs => m.abs(x),
        MapUnary::Neg => m.neg(x),
        MapUnary::Relu => {
            let zero = m.constant(0.0);
            m.if_less(x, zero, zero, x)
        }
        MapUnary::Exp2 => m.exp2(x),
        MapUnary::Exp => exp(m, x),
        MapUnary::Log2 => m.log2(x),
        MapUnary::Log => {
            let (log, ln2) = (m.log2(x), m.constant(LN_2));
            m.mul(log, ln2)
        }
        MapUnary::Sqrt => m.sqrt(x),
        MapUnary::Rsqrt => m.rsqrt(x),
        MapUnary::Recip => m.recip(x),
        MapUnary::Sigmoid => sigmoid(m, x),
        MapUnary::Silu => {
            // -inf * 0 would be NaN; the limit is 0, which the clamp gives (below -88 the result is 0 in f32).
            let (s, least) = (sigmoid(m, x), m.constant(-1e4));
            let clamped = m.if_less(x, least, least, x);
            m.mul(clamped, s)
        }
        MapUnary::Tanh => tanh(m, x),
        MapUnary::Gelu => {
            // x / 2 * (1 + tanh(u)) = x * sigmoid(2 u), which does not cancel for negative x.
            // The factor 2 sqrt(2 / pi) is folded into both terms of u: one product and one rounding less.
            let (cubic, linear) = (m.constant(0.071_354_814), m.constant(1.595_769_2));
            let least = m.constant(-1e4);
            let square = m.mul(x, x);
            let factor = m.fma(square, cubic, linear);
            let inner = m.mul(x, factor);
            let s = sigmoid(m, inner);
            let clamped = m.if_less(x, least, least, x);
            m.mul(clamped, s)
        }
    }
}

/// Computes a binary op.
#[inline(always)]
pub fn binary<M: Math>(m: &mut M, op: MapBinary, a: M::Value, b: M::Value) -> M::Value {
    match op {
        MapBinary::Add => m.add(a, b),
        MapBinary::Sub => m.sub(a, b),
        MapBinary::Mul => m.mul(a, b),
        MapBinary::Div => {
            let r = m.recip(b);
            m.mul(a, r)
        }
        MapBinary::Min => m.min(a, b),
        MapBinary::Max => m.max(a, b),
    }
}

/// Computes a ternary op.
#[inline(always)]
pub fn ternary<M: Math>(m: &mut M, op: MapTernary, x: M::Value, a: M::Value, b: M::Value) -> M::Value {
    match op {
        MapTernary::Fma => m.fma(x, a, b),
    }
}

/// `exp2(x * log2(e))`, where the rounding error of the product, which would count |x| times, is put back.
#[inline(always)]
fn exp<M: Math>(m: &mut M, x: M::Value) -> M::Value {
    let (l, low, ln2, one) = (m.constant(LOG2_E), m.constant(LOG2_E_LOW), m.constant(LN_2), m.constant(1.0));
    let high = m.mul(x, l);
    let negated = m.neg(high);
    let error = m.fma(x, l, negated);
    let error = m.fma(x, low, error);
    let correction = m.fma(error, ln2, one);
    let power = m.exp2(high);
    let corrected = m.mul(power, correction);
    // For infinite arguments the error is NaN; nothing needs correcting there.
    let (size, bound) = (m.abs(high), m.constant(160.0));
    m.if_less(size, bound, corrected, power)
}

#[inline(always)]
fn sigmoid<M: Math>(m: &mut M, x: M::Value) -> M::Value {
    let (negated, one) = (m.neg(x), m.constant(1.0));
    let e = exp(m, negated);
    let sum = m.add(e, one);
    m.recip(sum)
}

/// Near 0 a polynomial, since `1 - 2 / (exp(2x) + 1)` cancels there.
#[inline(always)]
fn tanh<M: Math>(m: &mut M, x: M::Value) -> M::Value {
    let (one, two) = (m.constant(1.0), m.constant(2.0));
    let size = m.abs(x);
    let doubled = m.add(size, size);
    let e = exp(m, doubled);
    let sum = m.add(e, one);
    let r = m.recip(sum);
    let shrink = m.mul(two, r);
    let far = m.sub(one, shrink);
    let far_negated = m.neg(far);
    let zero = m.constant(0.0);
    let far = m.if_less(x, zero, far_negated, far);
    // Taylor coefficients of tanh(x)/x in x^2: -1/3, 2/15, -17/315, 62/2835, -1382/155925, 21844/6081075, -929569/638512875.
    let square = m.mul(x, x);
    let mut p = m.constant(-0.001_455_834_4);
    for c in [0.003_592_128, -0.008_863_236, 0.021_869_488, -0.053_968_254, 0.133_333_33, -0.333_333_34] {
        let c = m.constant(c);
        p = m.fma(p, square, c);
    }
    let correction = m.mul(p, square);
    let near = m.fma(x, correction, x);
    let bound = m.constant(0.55);
    m.if_less(size, bound, near, far)
}

/// The primitives on host scalars with the precision of `std`; the reference in tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalars;

impl Math for Scalars {
    type Value = f32;
    fn constant(&mut self, value: f32) -> f32 {
        value
    }
    fn add(&mut self, a: f32, b: f32) -> f32 {
        a + b
    }
    fn sub(&mut self, a: f32, b: f32) -> f32 {
        a - b
    }
    fn mul(&mut self, a: f32, b: f32) -> f32 {
        a * b
    }
    fn fma(&mut self, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    fn neg(&mut self, a: f32) -> f32 {
        -a
    }
    fn abs(&mut self, a: f32) -> f32 {
        a.abs()
    }
    fn min(&mut self, a: f32, b: f32) -> f32 {
        a.min(b)
    }
    fn max(&mut self, a: f32, b: f32) -> f32 {
        a.max(b)
    }
    fn if_less(&mut self, a: f32, b: f32, x: f32, y: f32) -> f32 {
        if a < b { x } else { y }
    }
    fn exp2(&mut self, a: f32) -> f32 {
        a.exp2()
    }
    fn log2(&mut self, a: f32) -> f32 {
        a.log2()
    }
    fn recip(&mut self, a: f32) -> f32 {
        1.0 / a
    }
    fn sqrt(&mut self, a: f32) -> f32 {
        a.sqrt()
    }
    fn rsqrt(&mut self, a: f32) -> f32 {
        1.0 / a.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(op: MapUnary, x: f64) -> f64 {
        match op {
            MapUnary::Abs => x.abs(),
            MapUnary::Neg => -x,
            MapUnary::Relu => {
                if x > 0.0 {
                    x
                } else {
                    0.0
                }
            }
            MapUnary::Exp2 => x.exp2(),
            MapUnary::Exp => x.exp(),
            MapUnary::Log2 => x.log2(),
            MapUnary::Log => x.ln(),
            MapUnary::Sqrt => x.sqrt(),
            MapUnary::Rsqrt => 1.0 / x.sqrt(),
            MapUnary::Recip => 1.0 / x,
            MapUnary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            MapUnary::Silu => x / (1.0 + (-x).exp()),
            MapUnary::Tanh => x.tanh(),
            MapUnary::Gelu => {
                let inner = (2.0 / core::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
                // The same value without the cancellation of 1 + tanh.
                x / (1.0 + (-2.0 * inner).exp())
            }
        }
    }

    /// Results below this may be flushed to 0, as the header says.
    const LEAST: f64 = 1e-36;

    #[test]
    fn recipes_hold_their_ulp_and_keep_nan() {
        for &op in MapUnary::ALL {
            let mut worst = (0.0, 0.0);
            for i in -40_000..40_000 {
                let x = (i as f32) * 0.002_03 + 1e-6;
                let want = exact(op, f64::from(x));
                let found = unary(&mut Scalars, op, x);
                if !want.is_finite() || want.abs() < LEAST || want.abs() > f64::from(f32::MAX) {
                    continue;
                }
                let unit = 2f64.powi(want.abs().log2().floor() as i32 - 23);
                let error = (f64::from(found) - want).abs() / unit;
                if error > worst.0 {
                    worst = (error, x);
                }
            }
            println!("{}: {:.2} ulp at {}", op.name(), worst.0, worst.1);
            // Half a unit is rounding itself.
            assert!(
                worst.0 <= f64::from(op.ulp()) + 0.5,
                "{}: {:.2} ulp at {}, bound {}",
                op.name(),
                worst.0,
                worst.1,
                op.ulp()
            );
            assert!(unary(&mut Scalars, op, f32::NAN).is_nan(), "{}", op.name());
        }
    }

    #[test]
    fn limits_are_right() {
        let at = |op, x| unary(&mut Scalars, op, x);
        assert_eq!(at(MapUnary::Exp, f32::NEG_INFINITY), 0.0);
        assert_eq!(at(MapUnary::Exp, f32::INFINITY), f32::INFINITY);
        assert_eq!(at(MapUnary::Sigmoid, f32::NEG_INFINITY), 0.0);
        assert_eq!(at(MapUnary::Sigmoid, f32::INFINITY), 1.0);
        assert_eq!(at(MapUnary::Silu, f32::NEG_INFINITY), 0.0);
        assert_eq!(at(MapUnary::Silu, f32::INFINITY), f32::INFINITY);
        assert_eq!(at(MapUnary::Tanh, f32::NEG_INFINITY), -1.0);
        assert_eq!(at(MapUnary::Tanh, f32::INFINITY), 1.0);
        assert_eq!(at(MapUnary::Gelu, f32::NEG_INFINITY), 0.0);
        assert_eq!(at(MapUnary::Gelu, f32::INFINITY), f32::INFINITY);
        assert!(MapUnary::ALL.iter().all(|op| op.doc().trim_end().ends_with('.')));
    }
}
