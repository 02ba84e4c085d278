//! Owns the emission of scalar ops, after the table in `tile_ir::scalar`.
//!
//! *Assumes*: operands have been emitted. *Guarantees*: no instruction whose result SPIR-V leaves undefined:
//! divisors are made non-zero, shift amounts stay below the width, conversions saturate.
//! *Not here*: what the ops mean.

use rspirv::spirv::{Decoration, Op as Inst, OpenclStd100Op};
use tile_ir::ir::{Op, OpKind, ValueId};
use tile_ir::map;
use tile_ir::scalar::{Binary, Compare, Const, Unary};
use tile_ir::types::ScalarType;

use crate::LowerError;
use crate::arith::{U32, U64};
use crate::control::{Lowering, scalar_ty};
use crate::module::{Id, Ty};
use crate::ops::map::Emitted;

impl Lowering<'_> {
    /// Emits a scalar op whose operands are there.
    pub(crate) fn lower_scalar(&mut self, op: &Op) -> Result<Id, LowerError> {
        match &op.kind {
            OpKind::Const(value) => Ok(self.constant(*value)),
            OpKind::Binary { op: what, lhs, rhs } => {
                let ty = self.scalar_type(*lhs)?;
                let (a, b) = (self.scalar(*lhs)?, self.scalar(*rhs)?);
                Ok(self.binary(*what, ty, a, b))
            }
            OpKind::Unary { op: what, value } => {
                let ty = self.scalar_type(*value)?;
                let a = self.scalar(*value)?;
                Ok(self.unary(*what, ty, a))
            }
            OpKind::Compare { op: what, lhs, rhs } => {
                let ty = self.scalar_type(*lhs)?;
                let (a, b) = (self.scalar(*lhs)?, self.scalar(*rhs)?);
                Ok(self.comparison(*what, ty, a, b))
            }
            OpKind::Cast { value } => {
                let from = self.scalar_type(*value)?;
                let to = match op.results.first() {
                    Some(&result) => self.scalar_type(result)?,
                    None => return Err(LowerError::Malformed("a cast has no result")),
                };
                let a = self.scalar(*value)?;
                self.cast(from, to, a)
            }
            OpKind::Dim { global, dim } => self.dim(*global, *dim),
            OpKind::Place(place) => Ok(self.place(*place)),
            OpKind::MapUnary { op: what, value } => {
                let a = self.scalar(*value)?;
                Ok(map::unary(&mut Emitted::scalars(&mut self.e, self.slabs.is_none()), *what, a))
            }
            OpKind::OwnTile { .. }
            | OpKind::Zeros
            | OpKind::Load { .. }
            | OpKind::Prefetch { .. }
            | OpKind::Store { .. }
            | OpKind::Mma { .. }
            | OpKind::Convert { .. }
            | OpKind::Scale { .. }
            | OpKind::Fill { .. }
            | OpKind::MapBinary { .. }
            | OpKind::MapTernary { .. }
            | OpKind::Selection(_)
            | OpKind::Vector(_)
            | OpKind::Reduce { .. }
            | OpKind::LoadVector { .. }
            | OpKind::LoadScalar { .. }
            | OpKind::KeepFirst { .. }
            | OpKind::Triangle { .. }
            | OpKind::Group(_)
            | OpKind::TopK(_)
            | OpKind::Transpose { .. }
            | OpKind::SubTile { .. }
            | OpKind::SetSubTile { .. }
            | OpKind::StoreTranspose { .. }
            | OpKind::AtomicAdd { .. }
            | OpKind::For { .. }
            | OpKind::While { .. }
            | OpKind::If { .. } => Err(LowerError::Malformed("a value is used where it is not defined")),
        }
    }

    fn scalar_type(&self, value: ValueId) -> Result<ScalarType, LowerError> {
        self.kernel.ty(value).scalar().ok_or(LowerError::Malformed("a tile is used as a scalar"))
    }

    fn constant(&mut self, value: Const) -> Id {
        match value {
            Const::U32(v) => self.e.u32(v),
            Const::I32(v) => self.e.u32(v as u32),
            Const::U64(v) => self.e.u64(v),
            Const::F32(bits) => self.e.int(Ty::Float(32), u64::from(bits)),
            Const::Bool(v) => self.e.int(Ty::Bool, u64::from(v)),
        }
    }

    fn binary(&mut self, op: Binary, ty: ScalarType, a: Id, b: Id) -> Id {
        match ty {
            ScalarType::F32 => self.float_binary(op, a, b),
            ScalarType::Bool => {
                let inst = match op {
                    Binary::And => Inst::LogicalAnd,
                    Binary::Or => Inst::LogicalOr,
                    // The verifier admits only and, or, xor on bool.
                    Binary::Xor
                    | Binary::Add
                    | Binary::Sub
                    | Binary::Mul
                    | Binary::Div
                    | Binary::Rem
                    | Binary::Shl
                    | Binary::Shr
                    | Binary::Min
                    | Binary::Max => Inst::LogicalNotEqual,
                };
                self.e.pure(inst, Ty::Bool, &[a, b])
            }
            ScalarType::U32 | ScalarType::U64 | ScalarType::I32 => self.integer_binary(op, ty, a, b),
        }
    }

    fn float_binary(&mut self, op: Binary, a: Id, b: Id) -> Id {
        let ty = Ty::Float(32);
        let inst = match op {
            Binary::Add => Inst::FAdd,
            Binary::Sub => Inst::FSub,
            Binary::Mul => Inst::FMul,
            // `min` and `max` give the operand that is not NaN (OpenCL extended instructions, fmin and fmax).
            Binary::Min => return self.e.opencl(OpenclStd100Op::fmin as u32, ty, &[a, b]),
            Binary::Max => return self.e.opencl(OpenclStd100Op::fmax as u32, ty, &[a, b]),
            // The verifier refuses the integer ops on f32.
            Binary::Div
            | Binary::Rem
            | Binary::And
            | Binary::Or
            | Binary::Xor
            | Binary::Shl
            | Binary::Shr => {
                self.e.divides = true;
                Inst::FDiv
            }
        };
        self.e.pure(inst, ty, &[a, b])
    }

    fn integer_binary(&mut self, op: Binary, ty: ScalarType, a: Id, b: Id) -> Id {
        let t = scalar_ty(ty);
        let signed = ty == ScalarType::I32;
        match op {
            Binary::Add => self.e.add(t, a, b),
            Binary::Sub => self.e.sub(t, a, b),
            Binary::Mul => self.e.mul(t, a, b),
            Binary::Div | Binary::Rem => self.divide(op == Binary::Rem, ty, a, b),
            Binary::And => self.e.pure(Inst::BitwiseAnd, t, &[a, b]),
            Binary::Or => self.e.pure(Inst::BitwiseOr, t, &[a, b]),
            Binary::Xor => self.e.pure(Inst::BitwiseXor, t, &[a, b]),
            Binary::Shl | Binary::Shr => {
                let top = u64::from(ty.bits() - 1);
                let amount = match self.e.known(b) {
                    Some(v) => self.e.int(t, v & top),
                    None => {
                        let mask = self.e.int(t, top);
                        self.e.pure(Inst::BitwiseAnd, t, &[b, mask])
                    }
                };
                let inst = match (op, signed) {
                    (Binary::Shl, _) => Inst::ShiftLeftLogical,
                    (_, true) => Inst::ShiftRightArithmetic,
                    (_, false) => Inst::ShiftRightLogical,
                };
                self.e.pure(inst, t, &[a, amount])
            }
            Binary::Min | Binary::Max if signed => {
                let inst = if op == Binary::Min { Inst::SLessThan } else { Inst::SGreaterThan };
                let first = self.e.pure(inst, Ty::Bool, &[a, b]);
                self.e.select(t, first, a, b)
            }
            Binary::Min => self.e.min(t, a, b),
            Binary::Max => self.e.max(t, a, b),
        }
    }

    /// Division by 0 gives 0; `i32::MIN / -1` wraps and its remainder is 0. Dividing by 1 instead gives that.
    fn divide(&mut self, remainder: bool, ty: ScalarType, a: Id, b: Id) -> Id {
        let t = scalar_ty(ty);
        let signed = ty == ScalarType::I32;
        let e = &mut self.e;
        let (zero, one) = (e.int(t, 0), e.int(t, 1));
        let by_zero = e.compare(Inst::IEqual, b, zero);
        let mut divisor = e.select(t, by_zero, one, b);
        if signed && e.known(b).is_none_or(|v| v as u32 == u32::MAX) {
            let (least, minus_one) = (e.u32(i32::MIN as u32), e.u32(u32::MAX));
            let is_least = e.compare(Inst::IEqual, a, least);
            let is_minus_one = e.compare(Inst::IEqual, b, minus_one);
            let wraps = e.both_true(is_least, is_minus_one);
            divisor = e.select(t, wraps, one, divisor);
        }
        let value = match (signed, remainder) {
            (false, false) => e.div(t, a, divisor),
            (false, true) => e.rem(t, a, divisor),
            (true, false) => e.pure(Inst::SDiv, t, &[a, divisor]),
            (true, true) => e.pure(Inst::SRem, t, &[a, divisor]),
        };
        e.select(t, by_zero, zero, value)
    }

    fn unary(&mut self, op: Unary, ty: ScalarType, a: Id) -> Id {
        match (op, ty) {
            (Unary::Neg, ScalarType::F32) => self.e.pure(Inst::FNegate, Ty::Float(32), &[a]),
            (Unary::Neg, _) => self.e.pure(Inst::SNegate, scalar_ty(ty), &[a]),
            (Unary::Not, ScalarType::Bool) => self.e.not(a),
            (Unary::Not, _) => self.e.pure(Inst::Not, scalar_ty(ty), &[a]),
        }
    }

    fn comparison(&mut self, op: Compare, ty: ScalarType, a: Id, b: Id) -> Id {
        let inst = match (ty, op) {
            (ScalarType::Bool, Compare::Eq) => Inst::LogicalEqual,
            (ScalarType::Bool, _) => Inst::LogicalNotEqual,
            (ScalarType::F32, Compare::Eq) => Inst::FOrdEqual,
            // Unordered: `!=` is the one comparison that NaN satisfies.
            (ScalarType::F32, Compare::Ne) => Inst::FUnordNotEqual,
            (ScalarType::F32, Compare::Lt) => Inst::FOrdLessThan,
            (ScalarType::F32, Compare::Le) => Inst::FOrdLessThanEqual,
            (ScalarType::F32, Compare::Gt) => Inst::FOrdGreaterThan,
            (ScalarType::F32, Compare::Ge) => Inst::FOrdGreaterThanEqual,
            (_, Compare::Eq) => Inst::IEqual,
            (_, Compare::Ne) => Inst::INotEqual,
            (ScalarType::I32, Compare::Lt) => Inst::SLessThan,
            (ScalarType::I32, Compare::Le) => Inst::SLessThanEqual,
            (ScalarType::I32, Compare::Gt) => Inst::SGreaterThan,
            (ScalarType::I32, Compare::Ge) => Inst::SGreaterThanEqual,
            (_, Compare::Lt) => Inst::ULessThan,
            (_, Compare::Le) => Inst::ULessThanEqual,
            (_, Compare::Gt) => Inst::UGreaterThan,
            (_, Compare::Ge) => Inst::UGreaterThanEqual,
        };
        self.e.pure(inst, Ty::Bool, &[a, b])
    }

    fn cast(&mut self, from: ScalarType, to: ScalarType, a: Id) -> Result<Id, LowerError> {
        use ScalarType::{Bool, F32, I32, U32 as Us, U64 as Ul};
        let t = scalar_ty(to);
        Ok(match (from, to) {
            (Bool, Bool) | (Us | I32, Us | I32) | (Ul, Ul) | (F32, F32) => a,
            (Bool, Us | I32 | Ul) => {
                let (one, zero) = (self.e.int(t, 1), self.e.int(t, 0));
                self.e.select(t, a, one, zero)
            }
            (Us, Ul) => self.e.widen(a),
            (I32, Ul) => self.e.pure(Inst::SConvert, U64, &[a]),
            (Ul, Us | I32) => self.e.narrow(a),
            (Us | Ul, F32) => self.e.pure(Inst::ConvertUToF, t, &[a]),
            (I32, F32) => self.e.pure(Inst::ConvertSToF, t, &[a]),
            (F32, Us | Ul) => self.saturating(Inst::ConvertFToU, t, a),
            (F32, I32) => self.saturating(Inst::ConvertFToS, U32, a),
            (Bool, F32) | (Us | I32 | Ul | F32, Bool) => {
                return Err(LowerError::Malformed("a cast Rust refuses"));
            }
        })
    }

    /// Float to integer: truncates and saturates; NaN gives 0, which the decoration alone leaves open.
    fn saturating(&mut self, inst: Inst, ty: Ty, a: Id) -> Id {
        let number = self.e.pure(Inst::FOrdEqual, Ty::Bool, &[a, a]);
        let id = self.e.pure(inst, ty, &[a]);
        self.e.decorate_once(id, Decoration::SaturatedConversion);
        let zero = self.e.int(ty, 0);
        self.e.select(ty, number, id, zero)
    }
}
