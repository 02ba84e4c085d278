//! Owns the typing rules of element-wise ops, fills and masks. What they compute is [`crate::map`].

use super::{Checked, check_type, result};
use crate::error::{Code, Diagnostic};
use crate::ir::{Kernel, Op, OpKind};
use crate::legal::Device;
use crate::types::{Along, Encoding, ScalarType, Type, VectorType};

/// What the right operand of an element-wise op must be where it is not, and the fix.
pub(super) fn needs(lhs: Type, rhs: Type) -> (String, &'static str) {
    match (lhs, rhs) {
        (Type::Tile(t), Type::Vector(v)) => {
            let len = match v.encoding {
                Encoding::Line(Along::Rows) => t.rows,
                Encoding::Line(Along::Cols) => t.cols,
                Encoding::Wide => {
                    return (
                        "a vector with one element per row or column".into(),
                        "load it as `PerRow` or `PerCol`",
                    );
                }
            };
            let wide = t.dtype.wide();
            let needed = Type::Vector(VectorType { dtype: wide, len, ..v });
            let help = match (v.len == len, wide.is_integer()) {
                (true, false) => "convert the vector: `.to::<f32>()`",
                (true, true) => "convert the vector: `.to::<i32>()`",
                (false, _) => "reduce or load a vector of the tile's size",
            };
            (format!("`{needed}`"), help)
        }
        (Type::Tile(t), Type::Tile(u)) if (t.rows, t.cols) != (u.rows, u.cols) => {
            ("a tile of its own size".into(), "load or make both with one size")
        }
        (Type::Tile(t), Type::Tile(u)) if t.dtype == u.dtype => {
            ("a tile of its own role".into(), "`.to::<T>()` makes a `Row` tile of an `Acc` one")
        }
        (Type::Vector(v), Type::Vector(w)) if (v.len, v.encoding) != (w.len, w.encoding) => {
            ("a vector of its own length and encoding".into(), "load or make both with one length")
        }
        (Type::Tile(_) | Type::Vector(_), Type::Scalar(_)) => {
            let scalar = lhs.dtype().map_or(ScalarType::F32, |d| d.scalar());
            (format!("a scalar of {scalar}"), "convert the scalar with `as`")
        }
        (Type::Tile(_) | Type::Vector(_) | Type::Scalar(_), _) => {
            ("an operand of its own element type".into(), "convert one side with `.to::<T>()`")
        }
    }
}

/// True when an element-wise op of `lhs` takes `rhs` beside it.
pub(super) fn fits(lhs: Type, rhs: Type) -> bool {
    match (lhs, rhs) {
        (a, b) if a == b => a.dtype().is_some(),
        (Type::Tile(_) | Type::Vector(_), Type::Scalar(s)) => lhs.dtype().is_some_and(|d| d.scalar() == s),
        (Type::Tile(t), Type::Vector(v)) => {
            let needed = match v.encoding {
                Encoding::Line(Along::Rows) => Some(t.rows),
                Encoding::Line(Along::Cols) => Some(t.cols),
                Encoding::Wide => None,
            };
            v.dtype == t.dtype.wide() && Some(v.len) == needed
        }
        (Type::Tile(_) | Type::Vector(_) | Type::Scalar(_), _) => false,
    }
}

pub(super) fn check(kernel: &Kernel, op: &Op) -> Checked {
    let out = result(kernel, op)?;
    let fail = |code, message: String, help: &str| Err(vec![Diagnostic::new(code, op.span, message, help)]);
    check_type(out, op).map_err(|d| vec![d])?;
    if let Type::Tile(t) = out
        && t.role.is_right_operand()
        && !matches!(op.kind, OpKind::Fill { .. })
    {
        return fail(
            Code::MapOperand,
            format!("`{}` works on `Row` and `Acc` tiles; here the tile is `{t}`", op.kind.name()),
            "change the elements before packing: load the tile with `load`",
        );
    }
    let scalar = Type::Scalar(out.dtype().map_or(ScalarType::F32, |d| d.scalar()));
    if let Some(dtype) = out.dtype() {
        let floats_only = matches!(&op.kind, OpKind::MapUnary { op, .. } if !op.takes_integers())
            || matches!(&op.kind, OpKind::MapBinary { op, .. } if !op.takes_integers())
            || matches!(&op.kind, OpKind::MapTernary { op, .. } if !op.takes_integers());
        if floats_only && dtype.is_integer() {
            return fail(
                Code::ElementOp,
                format!("`{}` works on floats: bf16, f16, f32; here it is called on `{out}`", op.kind.name()),
                "convert first: `.to::<f32>()`",
            );
        }
    }
    match &op.kind {
        OpKind::Fill { value } => {
            if let Type::Tile(tile) = out {
                super::check_made(tile, op, true).map_err(|d| vec![d])?;
            }
            if kernel.ty(*value) != scalar || out.dtype().is_none() {
                return fail(
                    Code::MapOperand,
                    format!("`fill` takes {scalar} and gives a tile or vector, not {out}"),
                    "",
                );
            }
        }
        OpKind::MapUnary { op: what, value } => {
            if kernel.ty(*value) != out || (out.dtype().is_none() && out != scalar) {
                return fail(
                    Code::MapOperand,
                    format!(
                        "`{}` works on tiles, vectors and f32 scalars; here on {}",
                        what.name(),
                        kernel.ty(*value)
                    ),
                    "convert an integer scalar with `as f32`",
                );
            }
        }
        OpKind::MapBinary { op: what, lhs, rhs } => {
            let (lhs, rhs) = (kernel.ty(*lhs), kernel.ty(*rhs));
            if lhs != out || !fits(lhs, rhs) {
                let written = match rhs {
                    Type::Vector(v) if lhs.tile().is_some() => match v.encoding {
                        Encoding::Line(Along::Rows) => format!("{}_row", what.name()),
                        Encoding::Line(Along::Cols) => format!("{}_col", what.name()),
                        Encoding::Wide => what.name().to_string(),
                    },
                    Type::Vector(_) | Type::Tile(_) | Type::Scalar(_) => what.name().to_string(),
                };
                let (needs, help) = needs(lhs, rhs);
                return fail(
                    Code::MapOperand,
                    format!("`{}` of `{lhs}` takes {needs}; here it is `{rhs}`", written),
                    help,
                );
            }
        }
        OpKind::MapTernary { op: what, x, a, b } => {
            let lhs = kernel.ty(*x);
            for operand in [*a, *b].map(|v| kernel.ty(v)) {
                // A broadcast vector would need a name of its own for each operand it could stand for.
                let spread = lhs.tile().is_some() && operand.vector().is_some();
                if lhs != out || spread || !fits(lhs, operand) {
                    return fail(
                        Code::MapOperand,
                        format!(
                            "`{}` of `{lhs}` takes operands of its own type or f32 scalars; here one is `{operand}`",
                            what.name()
                        ),
                        if spread {
                            "spread the vector first: `zeros.add_row(&v)`"
                        } else {
                            "convert one side with `.to::<T>()`"
                        },
                    );
                }
            }
        }
        OpKind::KeepFirst { tile, keep, fill, .. } => {
            let fits = kernel.ty(*tile) == out
                && out.tile().is_some()
                && kernel.ty(*keep) == Type::Scalar(ScalarType::U32)
                && kernel.ty(*fill) == scalar;
            if !fits {
                return fail(
                    Code::MapOperand,
                    format!("`{}` takes a tile, a u32 and a value of the tile's elements", op.kind.name()),
                    "",
                );
            }
        }
        OpKind::Triangle { tile, row_start, col_start, fill, .. } => {
            let index = Type::Scalar(ScalarType::U32);
            let fits = kernel.ty(*tile) == out
                && out.tile().is_some()
                && kernel.ty(*row_start) == index
                && kernel.ty(*col_start) == index
                && kernel.ty(*fill) == scalar;
            if !fits {
                return fail(
                    Code::MapOperand,
                    format!("`{}` takes a tile, two u32 and a value of the tile's elements", op.kind.name()),
                    "",
                );
            }
        }
        OpKind::Const(_)
        | OpKind::Binary { .. }
        | OpKind::Unary { .. }
        | OpKind::Compare { .. }
        | OpKind::Cast { .. }
        | OpKind::Dim { .. }
        | OpKind::Place(_)
        | OpKind::OwnTile { .. }
        | OpKind::Zeros
        | OpKind::Load { .. }
        | OpKind::Prefetch { .. }
        | OpKind::Store { .. }
        | OpKind::Mma { .. }
        | OpKind::Convert { .. }
        | OpKind::Scale { .. }
        | OpKind::Reduce { .. }
        | OpKind::Selection(_)
        | OpKind::Vector(_)
        | OpKind::LoadVector { .. }
        | OpKind::LoadScalar { .. }
        | OpKind::Group(_)
        | OpKind::Transpose { .. }
        | OpKind::TopK(_)
        | OpKind::SubTile { .. }
        | OpKind::SetSubTile { .. }
        | OpKind::StoreTranspose { .. }
        | OpKind::AtomicAdd { .. }
        | OpKind::While { .. }
        | OpKind::For { .. }
        | OpKind::If { .. } => {
            return fail(Code::Structure, format!("`{}` is not element-wise", op.kind.name()), "");
        }
    }
    Ok(Device::ALL.to_vec())
}
