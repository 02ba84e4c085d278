//! Owns what inference knows of values: the type of an expression, the value of a variable, what a context wants.
//!
//! *Not here*: how they come about (`infer`).

use proc_macro2::Ident;

use crate::ast::{DTypeRef, SizeRef, TileRef, VectorRef};
use tile_ir::ir::{ParamId, ValueId};
use tile_ir::types::{Along, Role, ScalarType};

/// A tile's type as written, in terms of the kernel's generic parameters.
#[derive(Clone, Debug)]
pub struct SymTile {
    /// Element type.
    pub dtype: DTypeRef,
    /// Rows.
    pub rows: SizeRef,
    /// Columns.
    pub cols: SizeRef,
    /// Role.
    pub role: Role,
}

/// A vector's type as written.
#[derive(Clone, Debug)]
pub struct SymVector {
    /// Element type.
    pub dtype: DTypeRef,
    /// Number of elements.
    pub len: SizeRef,
    /// Encoding.
    pub along: Along,
}

/// A predicted type, from which a witness is made.
#[derive(Clone, Debug)]
pub enum SymType {
    /// A scalar.
    Scalar(ScalarType),
    /// A tile.
    Tile(SymTile),
    /// A vector.
    Vector(SymVector),
    /// The value of `own_tile`.
    Own(SizeRef, SizeRef),
}

/// The value of an expression or variable.
#[derive(Clone, Debug)]
pub enum Val {
    /// A scalar.
    Scalar(ValueId, ScalarType),
    /// An integer literal whose type the context decides.
    Int(i128),
    /// A tile.
    Tile(ValueId, SymTile),
    /// A vector.
    Vector(ValueId, SymVector),
    /// An owned position.
    Own(Owned),
    /// A global parameter.
    Global(ParamId),
    /// Nothing.
    Unit,
    /// The value of a variable whose definition was refused: what uses it is not refused again.
    Broken,
}

/// The value of `own_tile`.
#[derive(Clone, Debug)]
pub struct Owned {
    /// Batch, depth, row, column.
    pub ids: [ValueId; 4],
    /// The output.
    pub global: ParamId,
    /// Rows of the tile as written.
    pub rows: SizeRef,
    /// Columns of the tile as written.
    pub cols: SizeRef,
}

/// What the context wants of an expression.
#[derive(Clone, Copy, Debug)]
pub enum Want<'a> {
    /// Anything that types itself.
    Any,
    /// A scalar of this type.
    Scalar(ScalarType),
    /// A tile of this type; sources may take it.
    Tile(&'a SymTile),
    /// A vector of this type; sources may take it.
    Vector(&'a SymVector),
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Control goes on behind it.
    No,
    /// `return`
    Return,
    /// `break`
    Break,
    /// `continue`
    Continue,
}

/// A variable in scope.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    pub(crate) name: Ident,
    pub(crate) val: Val,
}

/// A tile's type as written.
pub fn sym_tile(t: &TileRef) -> SymTile {
    SymTile { dtype: t.dtype.clone(), rows: t.rows.clone(), cols: t.cols.clone(), role: t.role.role }
}

/// A vector's type as written.
pub fn sym_vector(v: &VectorRef) -> SymVector {
    SymVector { dtype: v.dtype.clone(), len: v.len.clone(), along: v.along }
}

/// The IR value of a scalar, tile or vector.
pub(crate) fn value_id(val: &Val) -> Option<ValueId> {
    match val {
        Val::Scalar(id, _) | Val::Tile(id, _) | Val::Vector(id, _) => Some(*id),
        Val::Int(_) | Val::Own(_) | Val::Global(_) | Val::Unit | Val::Broken => None,
    }
}

/// The same variable with another IR value.
pub(crate) fn with_id(val: &Val, id: ValueId) -> Val {
    match val {
        Val::Scalar(_, s) => Val::Scalar(id, *s),
        Val::Tile(_, t) => Val::Tile(id, t.clone()),
        Val::Vector(_, v) => Val::Vector(id, v.clone()),
        Val::Int(_) | Val::Own(_) | Val::Global(_) | Val::Unit | Val::Broken => val.clone(),
    }
}
