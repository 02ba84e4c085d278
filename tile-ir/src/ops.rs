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
pub mod topk;
pub mod vector;

use crate::error::{Code, Diagnostic};
use crate::ir::{Kernel, Op, OpKind};
use crate::legal::{self, Arithmetic, Device, MMA_COLS, MMA_ROWS};
use crate::types::{Along, DType, Encoding, Role, TileType, Type, WIDE_UNIT};

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
    if let Some(broken) = element_rule(kernel, op).or_else(|| vector::check_wide(kernel, op)) {
        return Err(vec![broken]);
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
        OpKind::TopK(what) => topk::check(kernel, op, what),
        OpKind::Vector(what) => vector::check(kernel, op, what),
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

/// The rule of the table of element types: which ops exist for the types among an op's operands and results.
fn element_rule(kernel: &Kernel, op: &Op) -> Option<Diagnostic> {
    let moved = match &op.kind {
        OpKind::Load { .. } | OpKind::Mma { .. } => return None,
        OpKind::Zeros | OpKind::Store { .. } | OpKind::Convert { .. } | OpKind::LoadScalar { .. } => true,
        OpKind::LoadVector { .. }
        | OpKind::Scale { .. }
        | OpKind::Fill { .. }
        | OpKind::MapUnary { .. }
        | OpKind::MapBinary { .. }
        | OpKind::MapTernary { .. }
        | OpKind::Selection(_)
        | OpKind::Vector(_)
        | OpKind::Group(_)
        | OpKind::Reduce { .. }
        | OpKind::KeepFirst { .. }
        | OpKind::Triangle { .. }
        | OpKind::TopK(_)
        | OpKind::Transpose { .. }
        | OpKind::SubTile { .. }
        | OpKind::SetSubTile { .. }
        | OpKind::StoreTranspose { .. }
        | OpKind::AtomicAdd { .. } => false,
        OpKind::Const(_)
        | OpKind::Binary { .. }
        | OpKind::Unary { .. }
        | OpKind::Compare { .. }
        | OpKind::Cast { .. }
        | OpKind::Dim { .. }
        | OpKind::Place(_)
        | OpKind::OwnTile { .. }
        | OpKind::Prefetch { .. }
        | OpKind::For { .. }
        | OpKind::While { .. }
        | OpKind::If { .. } => return None,
    };
    let types = op.kind.operands().into_iter().chain(op.results.iter().copied());
    for ty in types.filter_map(|v| kernel.values.get(v.0 as usize).copied()) {
        let Some(dtype) = ty.dtype() else { continue };
        if dtype == DType::Bool {
            continue;
        }
        let row = legal::element_type(dtype);
        if !row.tensors {
            return Some(Diagnostic::new(
                Code::OperandOnly,
                op.span,
                format!(
                    "tiles of {dtype} are loaded from tensors of {} and multiplied, nothing else; here `{}` meets `{ty}`",
                    dtype.in_memory(),
                    op.kind.name()
                ),
                format!("load the tensor as {} for other work", dtype.in_memory()),
            ));
        }
        if row.arithmetic == Arithmetic::None && (!moved || ty.vector().is_some()) {
            return Some(Diagnostic::new(
                Code::ElementOp,
                op.span,
                format!(
                    "`{}` does not exist for {dtype}, which is loaded, stored, converted and multiplied; here it meets `{ty}`",
                    op.kind.name()
                ),
                format!("convert a tile first: `.to::<{}>()`", dtype.wide()),
            ));
        }
    }
    None
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

/// The next size that is a whole number of units, at least one; for the advice of messages.
pub(crate) fn whole_units(size: u32, unit: u32) -> u64 {
    u64::from(size.div_ceil(unit).max(1)) * u64::from(unit)
}

/// Checks that a tile's size is a multiple of what the hardware works on.
///
/// # Errors
/// [`Code::TileShape`] with the size found.
pub fn check_shape(tile: TileType, op: &Op) -> Result<(), Diagnostic> {
    let row = legal::element_type(tile.dtype);
    // One matrix instruction consumes so many elements along K, which are the rows of a right operand.
    let rows_of = if tile.role.is_right_operand() { row.mma_k.unwrap_or(16) } else { MMA_ROWS };
    let cols_of = if tile.role.is_right_operand() { MMA_COLS } else { row.cols };
    if tile.rows == 0 || !tile.rows.is_multiple_of(rows_of) {
        let who =
            if tile.role.is_right_operand() { "a packed right operand's rows" } else { "a tile's rows" };
        return Err(Diagnostic::new(
            Code::TileShape,
            op.span,
            format!("{who} must be a multiple of {rows_of}; here `{tile}` has {}", tile.rows),
            format!("use {} rows", whole_units(tile.rows, rows_of)),
        ));
    }
    if tile.cols == 0 || !tile.cols.is_multiple_of(cols_of) {
        let whose = if cols_of == MMA_COLS {
            "a tile's columns".to_string()
        } else {
            format!("the columns of a tile of {}", tile.dtype)
        };
        return Err(Diagnostic::new(
            Code::TileShape,
            op.span,
            format!("{whose} must be a multiple of {cols_of}; here `{tile}` has {}", tile.cols),
            format!("use {} columns", whole_units(tile.cols, cols_of)),
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
        Type::Vector(v)
            if v.dtype != DType::Bool && legal::element_type(v.dtype).arithmetic == Arithmetic::None =>
        {
            Err(Diagnostic::new(
                Code::ElementOp,
                op.span,
                format!("vectors are of bf16, f16, f32 or i32; here `{v}` is one of {}", v.dtype),
                "load the elements as a tile and convert it",
            ))
        }
        Type::Vector(v) => {
            // A vector along rows belongs to tiles of so many rows, one along columns to tiles of so many columns.
            let unit = match v.encoding {
                Encoding::Line(Along::Rows) => MMA_ROWS,
                Encoding::Line(Along::Cols) => MMA_COLS,
                Encoding::Wide => WIDE_UNIT,
            };
            if v.len == 0 || !v.len.is_multiple_of(unit) {
                return Err(Diagnostic::new(
                    Code::VectorLength,
                    op.span,
                    format!(
                        "the length of a `{}` vector must be a multiple of {unit}; here `{v}` has {}",
                        v.encoding.name(),
                        v.len
                    ),
                    format!("use {} elements", whole_units(v.len, unit)),
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
    legal::element_type(dtype).mma_k.is_some()
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
