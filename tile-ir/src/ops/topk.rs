//! Owns the typing rule of `row_topk` and `col_topk`.
//!
//! *Not here*: what the op means (`ir::TopK`, `topk`).

use super::{Checked, check_shape, tile_of};
use crate::error::{Code, Diagnostic};
use crate::ir::{Kernel, Op, Running, TopK};
use crate::legal::Device;
use crate::topk::MAX_K;
use crate::types::{Along, DType, Role, ScalarType, TileType, Type};

pub(super) fn check(kernel: &Kernel, op: &Op, what: &TopK) -> Checked {
    checked(kernel, op, what).map(|()| Device::ALL.to_vec()).map_err(|d| vec![d])
}

fn checked(kernel: &Kernel, op: &Op, what: &TopK) -> Result<(), Diagnostic> {
    let name = what.name();
    let fail = |code, message: String, help: String| Err(Diagnostic::new(code, op.span, message, help));
    let shape = |message: String, help: String| fail(Code::TopKShape, message, help);
    let malformed = |message: String| {
        fail(Code::Structure, message, "this is a defect of the compiler; please report it".into())
    };
    let &[values, indices] = op.results.as_slice() else {
        return malformed(format!("`{name}` gives two tiles"));
    };
    let tile = tile_of(kernel, op, what.tile)?;
    let (values, indices) = (tile_of(kernel, op, values)?, tile_of(kernel, op, indices)?);
    if tile.role.is_right_operand() {
        return shape(
            format!("`{name}` works on `Row` and `Acc` tiles; here the tile is `{tile}`"),
            "load the tensor with `load`".into(),
        );
    }
    let (len, side, room) = match what.along {
        Along::Rows => (tile.cols, "columns", values.cols),
        Along::Cols => (tile.rows, "rows", values.rows),
    };
    let made = match what.along {
        Along::Rows => TileType { dtype: tile.dtype.wide(), cols: room, role: Role::Row, ..tile },
        Along::Cols => TileType { dtype: tile.dtype.wide(), rows: room, role: Role::Row, ..tile },
    };
    if (values, indices) != (made, TileType { dtype: DType::I32, ..made }) {
        return malformed(format!("`{name}` of `{tile}` does not give `{values}` and `{indices}`"));
    }
    if what.k == 0 || what.k > MAX_K {
        return shape(
            format!("`{name}` keeps 1 to {MAX_K} elements; here it is asked for {}", what.k),
            String::new(),
        );
    }
    check_shape(values, op)?;
    if room > MAX_K {
        return shape(
            format!("the results of `{name}` have at most {MAX_K} {side}; here they have {room}"),
            format!("`{name}::<{}>({})`", smallest(what.along, what.k), what.k),
        );
    }
    if what.k > room {
        return shape(
            format!(
                "the results of `{name}` have room for its elements; here {} elements are kept in {room} {side}",
                what.k
            ),
            format!("`{name}::<{}>({})`", smallest(what.along, what.k), what.k),
        );
    }
    match &what.running {
        None if what.k > len => shape(
            format!(
                "`{name}` keeps no more elements than there are; here it keeps {} of the {len} {side} of `{tile}`",
                what.k
            ),
            format!("keep {len}, or take a larger tile"),
        ),
        None => Ok(()),
        Some(running) => check_running(kernel, op, what, running, values),
    }
}

/// The smallest extent that a result with `k` elements has.
fn smallest(along: Along, k: u32) -> u32 {
    k.next_multiple_of(match along {
        Along::Rows => crate::legal::MMA_COLS,
        Along::Cols => crate::legal::MMA_ROWS,
    })
}

fn check_running(
    kernel: &Kernel,
    op: &Op,
    what: &TopK,
    running: &Running,
    values: TileType,
) -> Result<(), Diagnostic> {
    let name = what.name();
    let indices = TileType { dtype: DType::I32, ..values };
    for (which, id, wanted) in [("values", running.values, values), ("indices", running.indices, indices)] {
        let found = kernel.ty(id);
        if found != Type::Tile(wanted) {
            return Err(Diagnostic::new(
                Code::TopKRunning,
                op.span,
                format!("`{name}_with` goes on from {which} of type `{wanted}`; here they are `{found}`"),
                "pass what the same op gave, or make it: values of `fill(f32::NEG_INFINITY)`, indices of `fill(-1)`",
            ));
        }
    }
    if kernel.ty(running.base) != Type::Scalar(ScalarType::U32) {
        let message = format!("the base of `{name}_with` is a u32");
        return Err(Diagnostic::new(
            Code::Structure,
            op.span,
            message,
            "this is a defect of the compiler; please report it",
        ));
    }
    Ok(())
}
