//! Owns the typing rules of ops that move the elements of a tile in registers: `transpose`, `sub_tile`, `set_sub_tile`.
//!
//! *Not here*: loads and stores that transpose (`memory`).

use super::{Checked, check_shape, result, tile_of};
use crate::error::{Code, Diagnostic};
use crate::ir::{Kernel, Op, OpKind, ValueId};
use crate::legal::{Device, TRANSPOSE_UNIT};
use crate::types::{Role, TileType, Type};

pub(super) fn check(kernel: &Kernel, op: &Op) -> Checked {
    let Type::Tile(out) = result(kernel, op)? else {
        return Err(vec![malformed(op, format!("`{}` gives a tile", op.kind.name()))]);
    };
    let of = |value: ValueId| tile_of(kernel, op, value);
    let checked = if let OpKind::Transpose { tile } = &op.kind {
        of(*tile).and_then(|t| check_transpose(op, t, out))
    } else if let OpKind::SubTile { tile, at } = &op.kind {
        of(*tile).and_then(|whole| check_part(op, whole, out, *at))
    } else if let OpKind::SetSubTile { tile, part, at } = &op.kind {
        of(*tile).and_then(|whole| {
            if whole != out {
                return Err(malformed(op, format!("`set_sub_tile` of `{whole}` does not give `{out}`")));
            }
            check_part(op, whole, of(*part)?, *at)
        })
    } else {
        Err(malformed(op, format!("`{}` does not move elements", op.kind.name())))
    };
    checked.map(|()| Device::ALL.to_vec()).map_err(|d| vec![d])
}

fn malformed(op: &Op, message: String) -> Diagnostic {
    Diagnostic::new(Code::Structure, op.span, message, "this is a defect of the compiler; please report it")
}

fn check_transpose(op: &Op, tile: TileType, out: TileType) -> Result<(), Diagnostic> {
    if tile.role.is_right_operand() {
        return Err(Diagnostic::new(
            Code::TransposeShape,
            op.span,
            format!("`.transpose()` works on `Row` and `Acc` tiles; here the tile is `{tile}`"),
            "load the tensor with `load`, or transpose it while loading: `load_transpose`",
        ));
    }
    let wanted = TileType { rows: tile.cols, cols: tile.rows, role: Role::Row, ..tile };
    if out != wanted {
        return Err(Diagnostic::new(
            Code::TransposeShape,
            op.span,
            format!("the transpose of `{tile}` is `{wanted}`; here it is `{out}`"),
            "",
        ));
    }
    for (what, extent) in [("rows", tile.rows), ("columns", tile.cols)] {
        if !extent.is_multiple_of(TRANSPOSE_UNIT) {
            return Err(Diagnostic::new(
                Code::TransposeShape,
                op.span,
                format!(
                    "the rows and columns of a transposed tile are multiples of {TRANSPOSE_UNIT}; here `{tile}` has {extent} {what}"
                ),
                format!(
                    "use {} {what}, or transpose while loading: `load_transpose`",
                    super::whole_units(extent, TRANSPOSE_UNIT)
                ),
            ));
        }
    }
    check_shape(out, op)
}

fn check_part(op: &Op, whole: TileType, part: TileType, (row, col): (u32, u32)) -> Result<(), Diagnostic> {
    check_shape(part, op)?;
    if (part.dtype, part.role) != (whole.dtype, whole.role) {
        return Err(Diagnostic::new(
            Code::SubTile,
            op.span,
            format!(
                "a part of a tile has its element type and role; here the tile is `{whole}` and the part `{part}`"
            ),
            format!("use `rt<{}, {}, {}, {}>`", whole.dtype, part.rows, part.cols, whole.role),
        ));
    }
    let sides = [("rows", row, part.rows, whole.rows), ("columns", col, part.cols, whole.cols)];
    for (what, index, extent, of) in sides {
        let end = (u64::from(index) + 1) * u64::from(extent);
        if end > u64::from(of) {
            return Err(Diagnostic::new(
                Code::SubTile,
                op.span,
                format!(
                    "a part lies in its tile; here part {index} of {extent} {what} ends at {end}, and `{whole}` has {of} {what}"
                ),
                match of / extent {
                    0 => format!("use a part of at most {of} {what}"),
                    1 => format!("there is 1 such part along the {what}: part 0"),
                    parts => {
                        format!("there are {parts} such parts along the {what}: parts 0 to {}", parts - 1)
                    }
                },
            ));
        }
    }
    Ok(())
}
