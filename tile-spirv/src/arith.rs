//! Owns the integer arithmetic of addresses and conditions: constants are folded, neutral operands vanish.
//!
//! *Guarantees*: a folded result equals what the instruction would compute (wrapping at the width).
//! *Not here*: scalar ops of kernel text (`scalar`).

use rspirv::spirv::Op;

use crate::module::{Emit, Id, Ty};

/// `u32`.
pub(crate) const U32: Ty = Ty::Int(32);
/// `u64`.
pub(crate) const U64: Ty = Ty::Int(64);

impl Emit {
    fn both(&self, a: Id, b: Id) -> Option<(u64, u64)> {
        Some((self.known(a)?, self.known(b)?))
    }

    fn wrap(ty: Ty, value: u64) -> u64 {
        if ty == U64 { value } else { value & u64::from(u32::MAX) }
    }

    /// `a + b`, wrapping.
    pub(crate) fn add(&mut self, ty: Ty, a: Id, b: Id) -> Id {
        match (self.both(a, b), self.known(a), self.known(b)) {
            (Some((x, y)), ..) => self.int(ty, Self::wrap(ty, x.wrapping_add(y))),
            (None, Some(0), _) => b,
            (None, _, Some(0)) => a,
            (None, ..) => self.pure(Op::IAdd, ty, &[a, b]),
        }
    }

    /// `a + constant`, wrapping, u32.
    pub(crate) fn add_u32(&mut self, a: Id, constant: u32) -> Id {
        let b = self.u32(constant);
        self.add(U32, a, b)
    }

    /// `a - b`, wrapping.
    pub(crate) fn sub(&mut self, ty: Ty, a: Id, b: Id) -> Id {
        match (self.both(a, b), self.known(b)) {
            (Some((x, y)), _) => self.int(ty, Self::wrap(ty, x.wrapping_sub(y))),
            (None, Some(0)) => a,
            (None, _) => self.pure(Op::ISub, ty, &[a, b]),
        }
    }

    /// `a * b`, wrapping.
    pub(crate) fn mul(&mut self, ty: Ty, a: Id, b: Id) -> Id {
        match (self.both(a, b), self.known(a), self.known(b)) {
            (Some((x, y)), ..) => self.int(ty, Self::wrap(ty, x.wrapping_mul(y))),
            (None, Some(0), _) | (None, _, Some(0)) => self.int(ty, 0),
            (None, Some(1), _) => b,
            (None, _, Some(1)) => a,
            (None, ..) => self.pure(Op::IMul, ty, &[a, b]),
        }
    }

    /// `a * constant`, wrapping, u32.
    pub(crate) fn mul_u32(&mut self, a: Id, constant: u32) -> Id {
        let b = self.u32(constant);
        self.mul(U32, a, b)
    }

    /// `a / b`, unsigned. The caller knows that `b` is not 0.
    pub(crate) fn div(&mut self, ty: Ty, a: Id, b: Id) -> Id {
        match (self.both(a, b), self.known(b)) {
            (Some((x, y)), _) if y != 0 => self.int(ty, x / y),
            (None, Some(1)) => a,
            (Some(_) | None, _) => self.pure(Op::UDiv, ty, &[a, b]),
        }
    }

    /// `a % b`, unsigned. The caller knows that `b` is not 0.
    pub(crate) fn rem(&mut self, ty: Ty, a: Id, b: Id) -> Id {
        match (self.both(a, b), self.known(b)) {
            (Some((x, y)), _) if y != 0 => self.int(ty, x % y),
            (None, Some(1)) => self.int(ty, 0),
            (Some(_) | None, _) => self.pure(Op::UMod, ty, &[a, b]),
        }
    }

    /// `ceil(a / constant)`, u32, without overflow.
    pub(crate) fn div_ceil_u32(&mut self, a: Id, constant: u32) -> Id {
        if constant <= 1 {
            return a;
        }
        if let Some(v) = self.known(a) {
            return self.u32((v as u32).div_ceil(constant));
        }
        let by = self.u32(constant);
        let whole = self.div(U32, a, by);
        let rest = self.rem(U32, a, by);
        let zero = self.u32(0);
        let more = self.pure(Op::INotEqual, Ty::Bool, &[rest, zero]);
        let plus = self.add_u32(whole, 1);
        self.select(U32, more, plus, whole)
    }

    /// `cond ? a : b`.
    pub(crate) fn select(&mut self, ty: Ty, cond: Id, a: Id, b: Id) -> Id {
        match self.known(cond) {
            _ if a == b => a,
            Some(0) => b,
            Some(_) => a,
            None => self.pure(Op::Select, ty, &[cond, a, b]),
        }
    }

    /// `cond ? a : b` on chunks, for one condition (before SPIR-V 1.4 a select of vectors takes a vector of `bool`).
    pub(crate) fn select_vector(&mut self, ty: Ty, cond: Id, a: Id, b: Id) -> Id {
        if a == b {
            return a;
        }
        let conds = self.pure(Op::CompositeConstruct, Ty::Bool8, &[cond; 8]);
        self.pure(Op::Select, ty, &[conds, a, b])
    }

    /// An unsigned comparison of two integers.
    pub(crate) fn compare(&mut self, op: Op, a: Id, b: Id) -> Id {
        let folded = self.both(a, b).and_then(|(x, y)| match op {
            Op::ULessThan => Some(x < y),
            Op::ULessThanEqual => Some(x <= y),
            Op::UGreaterThan => Some(x > y),
            Op::UGreaterThanEqual => Some(x >= y),
            Op::IEqual => Some(x == y),
            Op::INotEqual => Some(x != y),
            _ => None,
        });
        let same = match op {
            Op::IEqual if a == b => Some(true),
            Op::INotEqual | Op::ULessThan | Op::UGreaterThan if a == b => Some(false),
            _ => None,
        };
        match folded.or(same) {
            Some(v) => self.int(Ty::Bool, u64::from(v)),
            None => self.pure(op, Ty::Bool, &[a, b]),
        }
    }

    /// The smaller of two unsigned integers.
    pub(crate) fn min(&mut self, ty: Ty, a: Id, b: Id) -> Id {
        let less = self.compare(Op::ULessThan, a, b);
        self.select(ty, less, a, b)
    }

    /// The larger of two unsigned integers.
    pub(crate) fn max(&mut self, ty: Ty, a: Id, b: Id) -> Id {
        let greater = self.compare(Op::UGreaterThan, a, b);
        self.select(ty, greater, a, b)
    }

    /// Conjunction of two `bool`s.
    pub(crate) fn both_true(&mut self, a: Id, b: Id) -> Id {
        match (self.known(a), self.known(b)) {
            (Some(0), _) | (_, Some(0)) => self.int(Ty::Bool, 0),
            (Some(_), _) => b,
            (_, Some(_)) => a,
            (None, None) if a == b => a,
            (None, None) => self.pure(Op::LogicalAnd, Ty::Bool, &[a, b]),
        }
    }

    /// Complement of a `bool`.
    pub(crate) fn not(&mut self, a: Id) -> Id {
        match self.known(a) {
            Some(v) => self.int(Ty::Bool, u64::from(v == 0)),
            None => self.pure(Op::LogicalNot, Ty::Bool, &[a]),
        }
    }

    /// Zero-extends or truncates an integer of another width to this type.
    pub(crate) fn resize(&mut self, ty: Ty, a: Id) -> Id {
        match self.known(a) {
            Some(v) => self.int(ty, Self::wrap(ty, v)),
            None => self.pure(Op::UConvert, ty, &[a]),
        }
    }

    /// Zero-extends a u32 to 64 bits.
    pub(crate) fn widen(&mut self, a: Id) -> Id {
        self.resize(U64, a)
    }

    /// Truncates a u64 to 32 bits.
    pub(crate) fn narrow(&mut self, a: Id) -> Id {
        self.resize(U32, a)
    }

    /// Bitwise and of a u32 with a constant.
    pub(crate) fn and_u32(&mut self, a: Id, mask: u32) -> Id {
        match self.known(a) {
            Some(v) => self.u32(v as u32 & mask),
            None => {
                let mask = self.u32(mask);
                self.pure(Op::BitwiseAnd, U32, &[a, mask])
            }
        }
    }

    /// Shifts a u32 right by a constant.
    pub(crate) fn shr_u32(&mut self, a: Id, by: u32) -> Id {
        match self.known(a) {
            _ if by == 0 => a,
            Some(v) => self.u32((v as u32) >> by),
            None => {
                let by = self.u32(by);
                self.pure(Op::ShiftRightLogical, U32, &[a, by])
            }
        }
    }
}
