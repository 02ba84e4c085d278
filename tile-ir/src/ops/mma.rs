//! Owns the typing rules of ops on tiles in registers: `zeros`, matrix multiplication, conversion, scaling.

use super::{Checked, check_shape, how_to_get, result, tile_of};
use crate::error::{Code, Diagnostic};
use crate::ir::{Kernel, Op, OpKind, ValueId};
use crate::legal::{self, Device};
use crate::types::{DType, Role, ScalarType, TileType, Type, VectorType};

pub(super) fn check(kernel: &Kernel, op: &Op) -> Checked {
    let out = match result(kernel, op)? {
        Type::Tile(t) => t,
        // `zeros` and `.to::<T>()` also make vectors.
        Type::Vector(v) => return check_vector(kernel, op, v),
        Type::Scalar(s) => {
            return Err(vec![Diagnostic::new(
                Code::Mismatch,
                op.span,
                format!("`{}` gives a tile, not {s}", op.kind.name()),
                "write the tile's type",
            )]);
        }
    };
    check_shape(out, op).map_err(|d| vec![d])?;
    match &op.kind {
        OpKind::Zeros => {
            super::check_made(out, op, false).map_err(|d| vec![d])?;
            Ok(Device::ALL.to_vec())
        }
        OpKind::Mma { acc, a, b } => check_mma(kernel, op, out, *acc, *a, *b),
        OpKind::Convert { tile } => check_convert(kernel, op, out, *tile).map_err(|d| vec![d]),
        OpKind::Scale { tile, by } => {
            let from = tile_of(kernel, op, *tile).map_err(|d| vec![d])?;
            let by = kernel.ty(*by);
            if from != out || from.dtype != DType::F32 || by != Type::Scalar(ScalarType::F32) {
                return Err(vec![Diagnostic::new(
                    Code::ScaleType,
                    op.span,
                    format!(
                        "`.scale(s)` works on f32 tiles with an f32 factor; here a `{from}` is scaled by {by}"
                    ),
                    "scale the accumulator before converting it: `acc.scale(alpha).to::<T>()`",
                )]);
            }
            Ok(Device::ALL.to_vec())
        }
        OpKind::Const(_)
        | OpKind::Binary { .. }
        | OpKind::Unary { .. }
        | OpKind::Compare { .. }
        | OpKind::Cast { .. }
        | OpKind::Dim { .. }
        | OpKind::Place(_)
        | OpKind::OwnTile { .. }
        | OpKind::Load { .. }
        | OpKind::Prefetch { .. }
        | OpKind::Store { .. }
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
        | OpKind::If { .. } => Ok(Device::ALL.to_vec()),
    }
}

fn check_mma(kernel: &Kernel, op: &Op, out: TileType, acc: ValueId, a: ValueId, b: ValueId) -> Checked {
    let mut broken = vec![];
    let mut fail =
        |code, message: String, help: String| broken.push(Diagnostic::new(code, op.span, message, help));
    let tiles = [acc, a, b].map(|v| tile_of(kernel, op, v));
    let [Ok(acc), Ok(a), Ok(b)] = tiles else {
        return Err(tiles.into_iter().filter_map(Result::err).collect());
    };
    if a.role != Role::Row {
        fail(
            Code::OperandRole,
            format!("the left operand must have the role `Row`; here it has `{}`", a.role),
            how_to_get(Role::Row).into(),
        );
    }
    if !b.role.is_right_operand() {
        fail(
            Code::OperandRole,
            format!(
                "the right operand must be packed (`Vnni` or `VnniT`); here it has the role `{}`",
                b.role
            ),
            how_to_get(Role::Vnni).into(),
        );
    }
    if acc.role != Role::Acc {
        fail(
            Code::OperandRole,
            format!("the accumulator must have the role `Acc`; here it has `{}`", acc.role),
            how_to_get(Role::Acc).into(),
        );
    }
    if a.cols != b.rows {
        fail(
            Code::InnerDim,
            format!(
                "A's columns must equal B's rows; here A has {} columns and B has {} rows",
                a.cols, b.rows
            ),
            "A is M x K and B is K x N".into(),
        );
    }
    if (acc.rows, acc.cols) != (a.rows, b.cols) {
        fail(
            Code::InnerDim,
            format!(
                "the accumulator must be A's rows x B's columns, {}x{}; here it is {}x{}",
                a.rows, b.cols, acc.rows, acc.cols
            ),
            "A is M x K, B is K x N, the accumulator is M x N".into(),
        );
    }
    let instruction = legal::mma(a.dtype, b.dtype, acc.dtype);
    if instruction.is_none() {
        let have: Vec<String> =
            legal::MMAS.iter().map(|r| format!("{} x {} into {}", r.a, r.b, r.acc)).collect();
        fail(
            Code::OperandType,
            format!("no matrix instruction multiplies {} by {} into {}", a.dtype, b.dtype, acc.dtype),
            format!("there are: {}", have.join(", ")),
        );
    }
    if out != acc {
        fail(Code::Structure, "a multiplication must give its accumulator's type".into(), String::new());
    }
    match instruction {
        Some(row) if broken.is_empty() => Ok(row.devices.to_vec()),
        Some(_) | None => Err(broken),
    }
}

fn check_convert(kernel: &Kernel, op: &Op, out: TileType, tile: ValueId) -> Result<Vec<Device>, Diagnostic> {
    let from = tile_of(kernel, op, tile)?;
    let same_shape = (from.rows, from.cols) == (out.rows, out.cols);
    if from.role.is_right_operand() || out.role != Role::Row || !same_shape {
        return Err(Diagnostic::new(
            Code::Conversion,
            op.span,
            format!(
                "`.to::<T>()` converts an `Acc` or `Row` tile to a `Row` tile; here it would make `{out}` from `{from}`"
            ),
            "packed operands cannot be converted; load the tensor in the type you need",
        ));
    }
    Ok(Device::ALL.to_vec())
}

/// The rules of `zeros` and `.to::<T>()` on vectors.
fn check_vector(kernel: &Kernel, op: &Op, out: VectorType) -> Checked {
    super::check_type(Type::Vector(out), op).map_err(|d| vec![d])?;
    let fits = match &op.kind {
        OpKind::Zeros => true,
        OpKind::Convert { tile } => {
            kernel.ty(*tile).vector().is_some_and(|from| (from.len, from.encoding) == (out.len, out.encoding))
        }
        OpKind::Scale { tile, by } => {
            if out.dtype.is_integer() {
                return Err(vec![Diagnostic::new(
                    Code::ElementOp,
                    op.span,
                    format!("`.scale(s)` works on floats: bf16, f16, f32; here it is called on `{out}`"),
                    "multiply: `.mul(s)`",
                )]);
            }
            kernel.ty(*tile) == Type::Vector(out) && kernel.ty(*by) == Type::Scalar(ScalarType::F32)
        }
        OpKind::Const(_)
        | OpKind::Binary { .. }
        | OpKind::Unary { .. }
        | OpKind::Compare { .. }
        | OpKind::Cast { .. }
        | OpKind::Dim { .. }
        | OpKind::Place(_)
        | OpKind::OwnTile { .. }
        | OpKind::Load { .. }
        | OpKind::Prefetch { .. }
        | OpKind::Store { .. }
        | OpKind::Mma { .. }
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
        | OpKind::If { .. } => false,
    };
    if fits {
        return Ok(Device::ALL.to_vec());
    }
    Err(vec![Diagnostic::new(
        Code::Conversion,
        op.span,
        format!("`{}` does not make `{out}` from its operand", op.kind.name()),
        "a conversion keeps the length and the encoding of a vector",
    )])
}
