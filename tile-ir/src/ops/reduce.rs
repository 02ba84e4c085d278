//! Owns the typing rule of reductions, and the order in which they combine elements.
//!
//! A reduction along the columns of a tile with N columns (one result per row) combines, for each lane
//! `l < 16`, the elements of columns `l`, `l + 16`, `l + 32`, … from left to right, and then the 16 lanes by
//! halves: lane `l` with lane `l + 8`, then `l + 4`, `l + 2`, `l + 1`. A reduction along the rows (one result per
//! column) combines row 0, 1, 2, … in order. A running value is the left operand of one last combination.
//! Elements are f32, 16-bit ones exactly converted, or i32. All host SIMD levels keep this order bit for bit; a device
//! may combine lanes in another order, which shows in sums and products only.

use super::{Checked, check_type, result, tile_of};
use crate::error::{Code, Diagnostic};
use crate::ir::{Kernel, Op, OpKind};
use crate::legal::Device;
use crate::types::{Along, Type, VectorType};

pub(super) fn check(kernel: &Kernel, op: &Op) -> Checked {
    let out = result(kernel, op)?;
    let OpKind::Reduce { along, tile, running, .. } = &op.kind else {
        return Err(vec![Diagnostic::new(Code::Structure, op.span, "not a reduction", "")]);
    };
    let tile = tile_of(kernel, op, *tile).map_err(|d| vec![d])?;
    let fail =
        |message: String, help: &str| Err(vec![Diagnostic::new(Code::ReduceOperand, op.span, message, help)]);
    if tile.role.is_right_operand() {
        return fail(
            format!("`{}` reduces `Row` and `Acc` tiles; here the tile is `{tile}`", op.kind.name()),
            "load the tile with `load`",
        );
    }
    let len = match along {
        Along::Rows => tile.rows,
        Along::Cols => tile.cols,
    };
    let needed = Type::Vector(VectorType { dtype: tile.dtype.wide(), len, encoding: (*along).into() });
    if out != needed {
        return fail(format!("`{}` of `{tile}` gives `{needed}`; here it is `{out}`", op.kind.name()), "");
    }
    if let Some(found) = running.map(|r| kernel.ty(r)).filter(|found| *found != needed) {
        return fail(
            format!("`{}_with` of `{tile}` continues `{needed}`; here it is `{found}`", op.kind.name()),
            "a running value has the type of the result",
        );
    }
    check_type(out, op).map_err(|d| vec![d])?;
    Ok(Device::ALL.to_vec())
}
