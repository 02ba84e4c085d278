//! Owns what inference knows of values: the type of an expression, the value of a variable, what a context wants.
//!
//! *Not here*: how they come about (`infer`).

use proc_macro2::Ident;

use crate::ast::{DTypeRef, SharedRef, SizeRef, TileRef, TypeRef, VectorRef};
use tile_ir::ir::{ParamId, SharedId, ValueId};
use tile_ir::types::{Encoding, Role, ScalarType};

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
    pub encoding: Encoding,
}

/// The type of shared memory as written.
#[derive(Clone, Debug)]
pub struct SymShared {
    /// Element type.
    pub dtype: DTypeRef,
    /// Rows; `None` for a vector.
    pub rows: Option<SizeRef>,
    /// Columns, or the length of a vector.
    pub cols: SizeRef,
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
    /// Shared memory.
    Shared(SymShared),
    /// Several values.
    Tuple(Vec<SymType>),
}

/// The type of shared memory as written.
pub fn sym_shared(s: &SharedRef) -> SymShared {
    SymShared { dtype: s.dtype.clone(), rows: s.rows.clone(), cols: s.cols.clone() }
}

/// A type as written.
pub fn sym_type(ty: &TypeRef) -> SymType {
    match ty {
        TypeRef::Tile(t) => SymType::Tile(sym_tile(t)),
        TypeRef::Vector(v) => SymType::Vector(sym_vector(v)),
        TypeRef::Scalar(s, _) => SymType::Scalar(*s),
        TypeRef::Own(rows, cols, _) => SymType::Own(rows.clone(), cols.clone()),
        TypeRef::Shared(s) => SymType::Shared(sym_shared(s)),
        TypeRef::Tuple(parts, _) => SymType::Tuple(parts.iter().map(sym_type).collect()),
    }
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
    /// Shared memory.
    Shared(SharedId, SymShared),
    /// A global parameter.
    Global(ParamId),
    /// Several values, as a device function gives them.
    Tuple(Vec<Val>),
    /// Nothing.
    Unit,
    /// The value of a variable whose definition was refused: what uses it is not refused again.
    Broken,
}

impl Val {
    /// The element type of a tile or vector.
    pub fn elements(&self) -> Option<DTypeRef> {
        match self {
            Val::Tile(_, sym) => Some(sym.dtype.clone()),
            Val::Vector(_, sym) => Some(sym.dtype.clone()),
            Val::Scalar(..)
            | Val::Int(_)
            | Val::Own(_)
            | Val::Shared(..)
            | Val::Global(_)
            | Val::Tuple(_)
            | Val::Unit
            | Val::Broken => None,
        }
    }
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
    /// Several values of these types.
    Tuple(&'a [SymType]),
}

impl<'a> Want<'a> {
    /// A value of a written type.
    pub fn of(ty: &'a SymType) -> Want<'a> {
        match ty {
            SymType::Scalar(s) => Want::Scalar(*s),
            SymType::Tile(t) => Want::Tile(t),
            SymType::Vector(v) => Want::Vector(v),
            SymType::Own(..) | SymType::Shared(_) => Want::Any,
            SymType::Tuple(parts) => Want::Tuple(parts),
        }
    }
}

/// A loop around the current point.
#[derive(Clone, Debug)]
pub enum Frame {
    /// A loop of the IR with the variables it carries, as indices into those in scope.
    Carries(Vec<usize>),
    /// A loop that is written out, with the number of open regions around it.
    Unrolled(usize),
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
    SymVector { dtype: v.dtype.clone(), len: v.len.clone(), encoding: v.encoding }
}

/// The IR value of a scalar, tile or vector.
pub(crate) fn value_id(val: &Val) -> Option<ValueId> {
    match val {
        Val::Scalar(id, _) | Val::Tile(id, _) | Val::Vector(id, _) => Some(*id),
        Val::Int(_)
        | Val::Own(_)
        | Val::Shared(..)
        | Val::Global(_)
        | Val::Tuple(_)
        | Val::Unit
        | Val::Broken => None,
    }
}

/// The same variable with another IR value.
pub(crate) fn with_id(val: &Val, id: ValueId) -> Val {
    match val {
        Val::Scalar(_, s) => Val::Scalar(id, *s),
        Val::Tile(_, t) => Val::Tile(id, t.clone()),
        Val::Vector(_, v) => Val::Vector(id, v.clone()),
        Val::Int(_)
        | Val::Own(_)
        | Val::Shared(..)
        | Val::Global(_)
        | Val::Tuple(_)
        | Val::Unit
        | Val::Broken => val.clone(),
    }
}

/// The IR values that a value stands for: one each for a scalar, tile or vector, those of its parts for a tuple.
pub(crate) fn value_ids(val: &Val) -> Vec<ValueId> {
    match val {
        Val::Tuple(parts) => parts.iter().flat_map(value_ids).collect(),
        other => value_id(other).into_iter().collect(),
    }
}

/// The same value with other IR values, in the order of [`value_ids`].
pub(crate) fn with_ids(val: &Val, ids: &mut impl Iterator<Item = ValueId>) -> Val {
    match val {
        Val::Tuple(parts) => Val::Tuple(parts.iter().map(|p| with_ids(p, ids)).collect()),
        other => match value_id(other).and_then(|_| ids.next()) {
            Some(id) => with_id(other, id),
            None => other.clone(),
        },
    }
}
