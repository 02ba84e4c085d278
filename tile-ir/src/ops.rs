//! Owns the typing rules of the single ops, one file per family.
//!
//! *Assumes*: operands are defined (the verifier checked). *Guarantees*: [`check`] accepts an op only if every
//! rule about its own operands and results holds, and then says which devices have what it needs.
//! *Not here*: rules about where an op stands (`verify`).

pub mod group;
pub mod layout;
pub mod list;
pub mod map;
pub mod memory;
pub mod mma;
pub mod reduce;
pub mod scalar;
pub mod selection;

use crate::error::{Code, Diagnostic};
use crate::ir::{Kernel, Op, OpKind};
use crate::legal::{Device, MMA_COLS, MMA_ROWS};
use crate::types::{DType, Role, TileType, Type};

/// What a rule says of an op: the devices that have it, or the rules it breaks.
pub type Checked = Result<Vec<Device>, Vec<Diagnostic>>;

/// Checks the typing rule of one op. `for` and `if` have none of their own; the verifier checks them.
///
/// # Errors
/// Every rule the op breaks.
pub fn check(kernel: &Kernel, op: &Op) -> Checked {
    let chooses = matches!(op.kind, OpKind::Selection(_));
    if !chooses && op.kind.regions().is_empty() {
        selection::check_no_mask(kernel, op).map_err(|d| vec![d])?;
    }
    match &op.kind {
        OpKind::Const(_)
        | OpKind::Binary { .. }
        | OpKind::Unary { .. }
        | OpKind::Compare { .. }
        | OpKind::Cast { .. }
        | OpKind::Dim { .. }
        | OpKind::Place(_) => scalar::check(kernel, op),
        OpKind::OwnTile { .. }
        | OpKind::Load { .. }
        | OpKind::Prefetch { .. }
        | OpKind::Store { .. }
        | OpKind::StoreTranspose { .. }
        | OpKind::AtomicAdd { .. }
        | OpKind::LoadVector { .. }
        | OpKind::LoadScalar { .. } => memory::check(kernel, op),
        OpKind::Fill { .. }
        | OpKind::MapUnary { .. }
        | OpKind::MapBinary { .. }
        | OpKind::MapTernary { .. }
        | OpKind::KeepFirst { .. }
        | OpKind::Triangle { .. } => map::check(kernel, op),
        OpKind::Reduce { .. } => reduce::check(kernel, op),
        OpKind::Selection(what) => selection::check(kernel, op, what),
        OpKind::Group(what) => group::check(kernel, op, what),
        OpKind::Transpose { .. } | OpKind::SubTile { .. } | OpKind::SetSubTile { .. } => {
            layout::check(kernel, op)
        }
        OpKind::Zeros | OpKind::Mma { .. } | OpKind::Convert { .. } | OpKind::Scale { .. } => {
            mma::check(kernel, op)
        }
        OpKind::For { .. } | OpKind::While { .. } | OpKind::If { .. } => Ok(Device::ALL.to_vec()),
    }
}

/// The single result's type, if the op has exactly one result.
pub(crate) fn result(kernel: &Kernel, op: &Op) -> Result<Type, Vec<Diagnostic>> {
    match op.results.as_slice() {
        [one] if (one.0 as usize) < kernel.values.len() => Ok(kernel.ty(*one)),
        _ => Err(vec![Diagnostic::new(
            Code::Structure,
            op.span,
            format!("`{}` must have one result", op.kind.name()),
            "this is a defect of the compiler; please report it",
        )]),
    }
}

/// Checks that a tile's size is a multiple of what the hardware works on.
///
/// # Errors
/// [`Code::TileShape`] with the size found.
pub fn check_shape(tile: TileType, op: &Op) -> Result<(), Diagnostic> {
    // One matrix instruction consumes 16 elements of a 16-bit type along K, which are the rows of a right operand.
    let rows_of = if tile.role.is_right_operand() { 16 } else { MMA_ROWS };
    if tile.rows == 0 || !tile.rows.is_multiple_of(rows_of) {
        let who =
            if tile.role.is_right_operand() { "a packed right operand's rows" } else { "a tile's rows" };
        return Err(Diagnostic::new(
            Code::TileShape,
            op.span,
            format!("{who} must be a multiple of {rows_of}; here `{tile}` has {}", tile.rows),
            format!("use {} rows", tile.rows.div_ceil(rows_of).max(1) * rows_of),
        ));
    }
    if tile.cols == 0 || !tile.cols.is_multiple_of(MMA_COLS) {
        return Err(Diagnostic::new(
            Code::TileShape,
            op.span,
            format!("a tile's columns must be a multiple of {MMA_COLS}; here `{tile}` has {}", tile.cols),
            format!("use {} columns", tile.cols.div_ceil(MMA_COLS).max(1) * MMA_COLS),
        ));
    }
    Ok(())
}

/// Checks the size of a tile or vector; scalars have none.
///
/// # Errors
/// [`Code::TileShape`] or [`Code::VectorLength`] with the size found.
pub fn check_type(ty: Type, op: &Op) -> Result<(), Diagnostic> {
    match ty {
        Type::Tile(tile) => check_shape(tile, op),
        Type::Scalar(_) => Ok(()),
        Type::Vector(v) => {
            // A vector along rows belongs to tiles of so many rows, one along columns to tiles of so many columns.
            let unit = match v.along {
                crate::types::Along::Rows => MMA_ROWS,
                crate::types::Along::Cols => MMA_COLS,
            };
            if v.len == 0 || !v.len.is_multiple_of(unit) {
                return Err(Diagnostic::new(
                    Code::VectorLength,
                    op.span,
                    format!(
                        "the length of a `{}` vector must be a multiple of {unit}; here `{v}` has {}",
                        v.along.name(),
                        v.len
                    ),
                    format!("use {} elements", v.len.div_ceil(unit).max(1) * unit),
                ));
            }
            Ok(())
        }
    }
}

/// The tile type of an operand, or a structural complaint.
pub(crate) fn tile_of(kernel: &Kernel, op: &Op, value: crate::ir::ValueId) -> Result<TileType, Diagnostic> {
    kernel.ty(value).tile().ok_or_else(|| {
        Diagnostic::new(
            Code::Structure,
            op.span,
            format!("`{}` needs a tile", op.kind.name()),
            "this is a defect of the compiler; please report it",
        )
    })
}

/// Checks that a source that takes nothing from memory makes the tile; `packed` are those that make packed right operands.
///
/// # Errors
/// [`Code::LoadForm`] with the tile asked for.
fn check_made(tile: TileType, op: &Op, packed: bool) -> Result<(), Diagnostic> {
    let makes = match tile.role {
        Role::Row => true,
        Role::Acc => tile.dtype.accumulates(),
        Role::Vnni => packed && mma_operand(tile.dtype),
        Role::VnniT => false,
    };
    if makes {
        return Ok(());
    }
    let and = if packed { ", and `Vnni` tiles of operands of a matrix instruction" } else { "" };
    Err(Diagnostic::new(
        Code::LoadForm,
        op.span,
        format!(
            "`{}` makes `Row` tiles, `Acc` tiles of f32 and i32{and}; here `{tile}` is asked for",
            op.kind.name()
        ),
        match tile.role {
            Role::Acc => "an accumulator is f32 or i32",
            Role::Row | Role::Vnni | Role::VnniT => how_to_get(tile.role),
        },
    ))
}

/// True for the element types of operands of some matrix instruction.
fn mma_operand(dtype: DType) -> bool {
    crate::legal::MMAS.iter().any(|row| row.operand == dtype)
}

/// The written form of a role in messages: what to call to get it.
pub(crate) const fn how_to_get(role: Role) -> &'static str {
    match role {
        Role::Row => "load it with `load`",
        Role::Vnni => "load it with `load_transform`",
        Role::VnniT => "load it with `load_transpose` and use `mma_ABt`",
        Role::Acc => "make it with `zeros`",
    }
}
