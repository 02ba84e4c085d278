//! Owns numbers that know how far a correct device may be from them.
//!
//! A [`Num`] is a value and an absolute error. An error of 0 means that every device must give these very bits (any
//! NaN for NaN); an infinite error means that nothing is known, as after a sum whose order decides whether it overflows.
//! *Guarantees*: the errors follow the documented tolerance of each op (`tile_ir::map`, `tile_ir::ops::reduce`).
//! *Not here*: tiles (`eval`).

use half::{bf16, f16};
use tile_ir::ir::Reduction;
use tile_ir::map::{self as recipe, MapBinary, MapUnary, Scalars};
use tile_ir::types::DType;

/// A value with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Num {
    /// The value.
    pub v: f32,
    /// How far a correct result may be from it.
    pub e: f64,
    /// The value of an integer, which is exact; `v` is then the f32 nearest to it.
    pub int: Option<i32>,
}

/// Half a unit in the last place of f32, relative.
const HALF_ULP: f64 = 1.0 / 16_777_216.0;
/// Results below 1e-36 may be flushed to 0 by the ops of the table.
const FLUSH: f64 = 2e-36;
/// The smallest error there is: the sign of zero is open.
const SIGN_OF_ZERO: f64 = 1e-45;

/// Rounds to an element type; the integers are not rounded to here.
pub fn rounded(dtype: DType, v: f32) -> f32 {
    match dtype {
        DType::Bf16 => bf16::from_f32(v).to_f32(),
        DType::F16 => f16::from_f32(v).to_f32(),
        DType::Tf32 => tf32(v),
        DType::F32 | DType::I8 | DType::U8 | DType::I32 | DType::Bool => v,
    }
}

/// Rounds to 10 fraction bits, nearest even.
fn tf32(v: f32) -> f32 {
    if !v.is_finite() {
        return v;
    }
    let bits = v.to_bits();
    let odd = (bits >> 13) & 1;
    f32::from_bits((bits + 0xFFF + odd) & !0x1FFF)
}

/// An integer in the range of an element type.
fn saturated(dtype: DType, v: i32) -> Num {
    Num::whole(match dtype {
        DType::I8 => v.clamp(-128, 127),
        DType::U8 => v.clamp(0, 255),
        _ => v,
    })
}

impl core::fmt::Display for Num {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.int {
            Some(v) => write!(f, "{v}"),
            None if self.e == 0.0 => write!(f, "{:?} ({:#010x})", self.v, self.v.to_bits()),
            None => write!(f, "{:?} ({:#010x}) within {:e}", self.v, self.v.to_bits(), self.e),
        }
    }
}

impl Num {
    /// A value that is exact.
    pub const fn exact(v: f32) -> Num {
        Num { int: None, v, e: 0.0 }
    }

    /// An integer.
    pub const fn whole(v: i32) -> Num {
        Num { int: Some(v), v: v as f32, e: 0.0 }
    }

    /// Zero of an element type.
    pub const fn zero(dtype: DType) -> Num {
        if dtype.is_integer() { Num::whole(0) } else { Num::exact(0.0) }
    }

    /// A value of which nothing is known.
    pub const UNKNOWN: Num = Num { int: None, v: f32::NAN, e: f64::INFINITY };

    /// True when nothing is known.
    pub fn is_unknown(self) -> bool {
        self.e == f64::INFINITY
    }

    fn with(v: f64, e: f64) -> Num {
        if v.abs() + e >= f64::from(f32::MAX) || v.is_nan() {
            Num::UNKNOWN
        } else {
            Num { int: None, v: v as f32, e }
        }
    }

    /// The values at the ends of the error.
    fn ends(self) -> [f32; 2] {
        let v = f64::from(self.v);
        [(v - self.e) as f32, (v + self.e) as f32]
    }

    /// Rounds to an element type.
    pub fn to(self, dtype: DType) -> Num {
        if let Some(v) = self.int {
            // A 16-bit float is rounded to by way of f32.
            return if dtype.is_integer() {
                saturated(dtype, v)
            } else {
                Num::exact(rounded(dtype, v as f32))
            };
        }
        if dtype.is_integer() {
            // Saturates; NaN gives 0.
            let whole = |v: f64| v.round_ties_even() as i32;
            let (v, e) = (f64::from(self.v), self.e);
            return if whole(v - e) == whole(v + e) { saturated(dtype, whole(v)) } else { Num::UNKNOWN };
        }
        if self.is_unknown() || dtype == DType::F32 {
            return self;
        }
        let v = rounded(dtype, self.v);
        if self.e == 0.0 {
            return Num::exact(v);
        }
        self.spread(v, |x| rounded(dtype, x))
    }

    /// The result `v` with the error that `f` makes of this number's error.
    fn spread(self, v: f32, f: impl Fn(f32) -> f32) -> Num {
        let mut e = 0f64;
        for end in self.ends() {
            let at = f(end);
            if at.is_nan() != v.is_nan() || at.is_infinite() != v.is_infinite() {
                return Num::UNKNOWN;
            }
            if at.is_finite() {
                e = e.max((f64::from(at) - f64::from(v)).abs());
            } else if at.is_infinite() && at != v {
                return Num::UNKNOWN;
            }
        }
        // An end may lie on one step of a function with steps: stay fuzzy.
        Num { int: None, v, e: e.max(SIGN_OF_ZERO) }
    }

    /// Applies an op of the table to f32.
    pub fn unary(self, op: MapUnary) -> Num {
        if let Some(v) = self.int {
            return match op {
                MapUnary::Abs => Num::whole(v.wrapping_abs()),
                MapUnary::Neg => Num::whole(v.wrapping_neg()),
                _ => Num::UNKNOWN,
            };
        }
        if self.is_unknown() {
            return self;
        }
        let f = |x: f32| recipe::unary(&mut Scalars, op, x);
        let v = f(self.v);
        match op {
            MapUnary::Abs | MapUnary::Neg | MapUnary::Relu => return Num { int: None, v, e: self.e },
            MapUnary::Exp2
            | MapUnary::Exp
            | MapUnary::Log2
            | MapUnary::Log
            | MapUnary::Sqrt
            | MapUnary::Rsqrt
            | MapUnary::Recip
            | MapUnary::Sigmoid
            | MapUnary::Silu
            | MapUnary::Tanh
            | MapUnary::Gelu => {}
        }
        // Near the end of the range the last places decide whether a result is finite.
        let near = 16.0 * HALF_ULP * f64::from(self.v).abs();
        let near = if self.v.is_finite() { near } else { 0.0 };
        let border = Num { int: None, v: self.v, e: self.e + near }.spread(v, f);
        if border.is_unknown() {
            return border;
        }
        if !v.is_finite() {
            return Num::exact(v);
        }
        let own = if self.e == 0.0 { 0.0 } else { self.spread(v, f).e * 1.5 };
        let ulps = f64::from(op.ulp() + 1) * 4.0 * HALF_ULP * f64::from(v).abs();
        Num::with(v.into(), own + ulps + FLUSH)
    }

    /// Applies an op of the table to f32.
    pub fn binary(self, op: MapBinary, b: Num) -> Num {
        let a = self;
        if let (Some(a), Some(b)) = (a.int, b.int) {
            return match op {
                MapBinary::Add => Num::whole(a.wrapping_add(b)),
                MapBinary::Sub => Num::whole(a.wrapping_sub(b)),
                MapBinary::Mul => Num::whole(a.wrapping_mul(b)),
                MapBinary::Min => Num::whole(a.min(b)),
                MapBinary::Max => Num::whole(a.max(b)),
                MapBinary::Div => Num::UNKNOWN,
            };
        }
        if op == MapBinary::Div {
            return a.binary(MapBinary::Mul, b.unary(MapUnary::Recip));
        }
        if a.is_unknown() || b.is_unknown() {
            return Num::UNKNOWN;
        }
        let v = recipe::binary(&mut Scalars, op, a.v, b.v);
        let (av, bv) = (f64::from(a.v).abs(), f64::from(b.v).abs());
        let exact = a.e == 0.0 && b.e == 0.0;
        match op {
            MapBinary::Min | MapBinary::Max => {
                let e = if a.v.is_nan() {
                    b.e
                } else if b.v.is_nan() {
                    a.e
                } else {
                    a.e.max(b.e)
                };
                let zeros = a.v == 0.0 && b.v == 0.0 && a.v.to_bits() != b.v.to_bits();
                return Num { int: None, v, e: if zeros { e.max(SIGN_OF_ZERO) } else { e } };
            }
            MapBinary::Add | MapBinary::Sub | MapBinary::Mul | MapBinary::Div => {}
        }
        if exact {
            return Num::exact(v);
        }
        if !(a.v.is_finite() && b.v.is_finite()) {
            // A value that is not finite is exact. An infinity times something near 0 is open.
            let near_zero = |x: Num| x.v.is_finite() && f64::from(x.v).abs() <= x.e;
            let open = op == MapBinary::Mul && !v.is_nan() && (near_zero(a) || near_zero(b));
            let open = open || (v.is_nan() && !a.v.is_nan() && !b.v.is_nan());
            return if open { Num::UNKNOWN } else { Num::exact(v) };
        }
        let e = if op == MapBinary::Mul { av * b.e + bv * a.e + a.e * b.e } else { a.e + b.e };
        if v.is_infinite() {
            return Num::UNKNOWN;
        }
        Num::with(v.into(), e + 2.0 * HALF_ULP * f64::from(v).abs() + SIGN_OF_ZERO)
    }

    /// Divides as scalars do: IEEE.
    pub fn divided(self, b: Num) -> Num {
        if self.e == 0.0 && b.e == 0.0 {
            return Num::exact(self.v / b.v);
        }
        let q = self.binary(MapBinary::Div, b);
        Num { int: None, v: if q.is_unknown() { q.v } else { self.v / b.v }, e: q.e }
    }

    /// True when a correct device may give the element `found`.
    pub fn admits_element(self, found: Num) -> bool {
        match self.int {
            Some(v) => found.int == Some(v),
            None => self.admits(found.v),
        }
    }

    /// True when a correct device may give `found`.
    pub fn admits(self, found: f32) -> bool {
        if self.is_unknown() || (self.v.is_nan() && found.is_nan()) {
            return true;
        }
        if self.e == 0.0 {
            return self.v.to_bits() == found.to_bits();
        }
        self.v == found || (f64::from(self.v) - f64::from(found)).abs() <= self.e * 1.001
    }
}

/// The sum of products, in any order: `start + a[0] * b[0] + …`.
pub fn dot(start: Num, pairs: impl Iterator<Item = (Num, Num)>) -> Num {
    if let Some(start) = start.int {
        // Exact products, and sums that wrap.
        let product = |(a, b): (Num, Num)| Some(a.int?.wrapping_mul(b.int?));
        let sum = pairs.map(product).try_fold(start, |sum, p| Some(sum.wrapping_add(p?)));
        return sum.map_or(Num::UNKNOWN, Num::whole);
    }
    let (mut sum, mut size, mut e, mut count) = (f64::from(start.v), 0f64, start.e, 1.0);
    if start.is_unknown() {
        return start;
    }
    size += if start.v.is_finite() { sum.abs() } else { 0.0 };
    for (a, b) in pairs {
        if a.is_unknown() || b.is_unknown() {
            return Num::UNKNOWN;
        }
        let product = f64::from(a.v) * f64::from(b.v);
        if product.is_finite() {
            size += product.abs();
            e += f64::from(a.v).abs() * b.e + f64::from(b.v).abs() * a.e + a.e * b.e;
        } else if a.e + b.e > 0.0 && !(a.v.is_nan() || b.v.is_nan()) {
            return Num::UNKNOWN;
        }
        sum += product;
        count += 1.0;
    }
    // A partial sum may overflow in one order and not in another.
    if size + e >= f64::from(f32::MAX) {
        return Num::UNKNOWN;
    }
    if !sum.is_finite() {
        return Num::exact(sum as f32);
    }
    Num::with(sum, e + count * HALF_ULP * (size + e) + 1e-37)
}

/// Reduces elements in an order that a device may choose in sums and products.
pub fn reduce_any_order(how: Reduction, elements: &[Num]) -> Num {
    let fold = |how: Reduction| {
        let first = elements.first().copied().unwrap_or(Num::exact(how.neutral()));
        elements.iter().skip(1).fold(first, |a, b| a.binary(how.combiner(), *b))
    };
    let whole = elements.iter().any(|x| x.int.is_some());
    match how {
        Reduction::Sum | Reduction::Prod if whole => fold(how),
        Reduction::Max | Reduction::Min => fold(how),
        Reduction::Sum => dot(Num::exact(-0.0), elements.iter().map(|x| (*x, Num::exact(1.0)))),
        Reduction::Prod => {
            let all = fold(how);
            let log = |x: &Num| f64::from(x.v).abs().log2();
            let (mut up, mut down) = (0.0, 0.0);
            for l in elements.iter().map(log).filter(|l| l.is_finite()) {
                if l > 0.0 { up += l } else { down += l }
            }
            let finite = elements.iter().all(|x| x.v.is_finite());
            let none_open = elements.iter().all(|x| x.e == 0.0);
            if up > 126.0 || down < -120.0 || (!finite && !none_open) {
                // NaN stays in every order if it is certain.
                let nan = elements.iter().any(|x| x.v.is_nan() && x.e == 0.0);
                return if nan && !all.is_unknown() { Num::exact(f32::NAN) } else { Num::UNKNOWN };
            }
            if !all.v.is_finite() || all.is_unknown() {
                return all;
            }
            let rounding = elements.len() as f64 * 2.0 * HALF_ULP * f64::from(all.v).abs();
            Num { int: None, v: all.v, e: all.e + rounding + if all.v == 0.0 { SIGN_OF_ZERO } else { 0.0 } }
        }
    }
}
