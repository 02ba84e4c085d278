//! Owns the typing rules of the ops on vectors: stores, reductions, positions of extremes, changes of encoding, and what an
//! extreme and its position are.
//!
//! `reduce_sum` and its kin combine the elements of a vector of N as `row_sum` does those of a row of N columns: see
//! [`super::reduce`].
//!
//! The position of the largest element is the first index at which the largest stands, in the order of `max`: NaN loses to every
//! number, so it is found only where all are NaN, and then at index 0; the two zeros are equal. This is the element that
//! `row_max` gives (and not what PyTorch's `argmax` does, which gives the first NaN). So for the smallest.

use super::memory::{check_coord, output_of};
use super::{Checked, check_type, result};
use crate::error::{Code, Diagnostic};
use crate::ir::{Coord, Kernel, Op, OpKind, ParamId, Selection, ValueId, VectorOp};
use crate::legal::Device;
use crate::types::{Along, DType, Encoding, Type, VectorType};

pub(super) fn check(kernel: &Kernel, op: &Op, what: &VectorOp) -> Checked {
    check_one(kernel, op, what).map(|()| Device::ALL.to_vec()).map_err(|d| vec![d])
}

fn check_one(kernel: &Kernel, op: &Op, what: &VectorOp) -> Result<(), Diagnostic> {
    let name = what.name();
    let out = || result(kernel, op).map_err(|mut all| all.swap_remove(0));
    let gives = |wanted: Type| match out()? {
        given if given == wanted => Ok(()),
        given => {
            let message = format!("`{name}` gives `{wanted}`; here it is `{given}`");
            Err(Diagnostic::new(Code::Mismatch, op.span, message, ""))
        }
    };
    match what {
        VectorOp::Store { global, vector, at } => check_store(kernel, op, *global, *vector, at),
        VectorOp::Reduce { vector, .. } | VectorOp::Arg { vector, .. } => {
            let v = vector_of(kernel, op, *vector, "reduce a tile first: `x.row_sum()`, `x.col_max()`")?;
            check_type(Type::Vector(v), op)?;
            let dtype = if matches!(what, VectorOp::Arg { .. }) { DType::I32 } else { v.dtype };
            gives(Type::Scalar(dtype.scalar()))
        }
        VectorOp::ArgLines { along, tile, .. } => {
            let Some(tile) = kernel.ty(*tile).tile().filter(|t| !t.role.is_right_operand()) else {
                return Err(Diagnostic::new(
                    Code::ReduceOperand,
                    op.span,
                    format!("`{name}` reduces `Row` and `Acc` tiles; here it is `{}`", kernel.ty(*tile)),
                    "load the tile with `load`",
                ));
            };
            let len = match along {
                Along::Rows => tile.rows,
                Along::Cols => tile.cols,
            };
            let wanted = Type::Vector(VectorType { dtype: DType::I32, len, encoding: (*along).into() });
            gives(wanted)?;
            check_type(wanted, op)
        }
        VectorOp::Encode { vector, to } => {
            let v = vector_of(kernel, op, *vector, "")?;
            if v.encoding == Encoding::Line(*to) {
                return Err(Diagnostic::new(
                    Code::Encoding,
                    op.span,
                    format!("`{name}` changes a vector of the other encoding; here it is `{v}`"),
                    "use the vector as it is",
                ));
            }
            let wanted = Type::Vector(VectorType { encoding: (*to).into(), ..v });
            gives(wanted)?;
            check_type(wanted, op)
        }
    }
}

/// Checks that a wide vector meets only ops that leave its elements where they are, reduce it or store it.
pub(super) fn check_wide(kernel: &Kernel, op: &Op) -> Option<Diagnostic> {
    let refuses = matches!(
        op.kind,
        OpKind::AtomicAdd { .. }
            | OpKind::Group(_)
            | OpKind::Selection(Selection::Iota { .. })
            | OpKind::Vector(VectorOp::Encode { .. } | VectorOp::ArgLines { .. })
    );
    let values = op.kind.operands().into_iter().chain(op.results.iter().copied());
    let mut types = values.filter_map(|v| kernel.values.get(v.0 as usize)?.vector());
    let wide = types.find(|v| v.encoding == Encoding::Wide)?;
    refuses.then(|| {
        Diagnostic::new(
            Code::Wide,
            op.span,
            format!(
                "a wide vector is loaded, computed with element by element, reduced and stored; here `{}` meets `{wide}`",
                op.kind.name()
            ),
            "load the elements as a `PerRow` or `PerCol` vector for other work",
        )
    })
}

fn vector_of(kernel: &Kernel, op: &Op, value: ValueId, help: &str) -> Result<VectorType, Diagnostic> {
    kernel.ty(value).vector().ok_or_else(|| {
        Diagnostic::new(
            Code::ReduceOperand,
            op.span,
            format!("`{}` takes a vector; here it is `{}`", op.kind.name(), kernel.ty(value)),
            help,
        )
    })
}

fn check_store(
    kernel: &Kernel,
    op: &Op,
    global: ParamId,
    vector: ValueId,
    at: &Coord,
) -> Result<(), Diagnostic> {
    let dtype = output_of(kernel, op, global)?;
    check_coord(kernel, op, at)?;
    let ty = kernel.ty(vector);
    let Some(v) = ty.vector().filter(|v| v.dtype == dtype) else {
        let help = if ty.vector().is_some() {
            format!("convert it first: `.to::<{dtype}>()`")
        } else {
            "a tile goes with `store`, a vector with `store_vec`".to_string()
        };
        return Err(Diagnostic::new(
            Code::StoreVector,
            op.span,
            format!("`store_vec` stores a vector of {dtype} to a tensor of {dtype}; here it is `{ty}`"),
            help,
        ));
    };
    check_type(Type::Vector(v), op)
}
