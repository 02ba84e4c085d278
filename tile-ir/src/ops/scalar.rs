//! Owns the typing rules of scalar ops. Their meaning is the table in [`crate::scalar`].

use super::{Checked, result};
use crate::error::{Code, Diagnostic};
use crate::ir::{Kernel, Op, OpKind};
use crate::legal::Device;
use crate::scalar::casts;
use crate::types::{ScalarType, Type};

pub(super) fn check(kernel: &Kernel, op: &Op) -> Checked {
    let given = result(kernel, op)?;
    let fail = |message: String| {
        Err(vec![Diagnostic::new(Code::Mismatch, op.span, message, "convert one side with `as`")])
    };
    let expected = match &op.kind {
        OpKind::Const(value) => value.ty(),
        OpKind::Dim { .. } | OpKind::Place(_) => ScalarType::U32,
        OpKind::Binary { op: what, lhs, rhs } => match (kernel.ty(*lhs), kernel.ty(*rhs)) {
            (Type::Scalar(a), Type::Scalar(b)) if a == b && what.takes(a) => a,
            (a, b) => return fail(format!("`{}` is not defined on {a} and {b}", what.name())),
        },
        OpKind::Compare { op: what, lhs, rhs } => match (kernel.ty(*lhs), kernel.ty(*rhs)) {
            (Type::Scalar(a), Type::Scalar(b)) if a == b && what.takes(a) => ScalarType::Bool,
            (a, b) => return fail(format!("`{}` is not defined on {a} and {b}", what.name())),
        },
        OpKind::Unary { op: what, value } => match kernel.ty(*value) {
            Type::Scalar(a) if what.takes(a) => a,
            other @ (Type::Scalar(_) | Type::Tile(_) | Type::Vector(_)) => {
                return fail(format!("`{}` is not defined on {other}", what.name()));
            }
        },
        OpKind::Cast { value } => match (kernel.ty(*value), given) {
            (Type::Scalar(from), Type::Scalar(to)) if casts(from, to) => to,
            (from, to) => return fail(format!("`as` does not convert {from} to {to}")),
        },
        OpKind::OwnTile { .. }
        | OpKind::Zeros
        | OpKind::Load { .. }
        | OpKind::Prefetch { .. }
        | OpKind::Store { .. }
        | OpKind::Mma { .. }
        | OpKind::Convert { .. }
        | OpKind::Scale { .. }
        | OpKind::Fill { .. }
        | OpKind::MapUnary { .. }
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
        | OpKind::Transpose { .. }
        | OpKind::TopK(_)
        | OpKind::SubTile { .. }
        | OpKind::SetSubTile { .. }
        | OpKind::StoreTranspose { .. }
        | OpKind::AtomicAdd { .. }
        | OpKind::While { .. }
        | OpKind::For { .. }
        | OpKind::If { .. } => return fail(format!("`{}` is not a scalar op", op.kind.name())),
    };
    if given != Type::Scalar(expected) {
        return fail(format!("`{}` gives {expected}, not {given}", op.kind.name()));
    }
    if let OpKind::Dim { global, .. } = &op.kind
        && kernel.global(*global).is_none()
    {
        return fail("a dimension is asked of something that is not a global".into());
    }
    Ok(Device::ALL.to_vec())
}
