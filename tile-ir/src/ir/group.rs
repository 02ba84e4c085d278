//! Owns the parts of ops that a whole work-group takes part in: shared memory, cooperative copies, barriers.
//!
//! A shared tile or vector is memory of one work-group (SLM). Every sub-group of the work-group names the same elements;
//! what nobody stored is undefined. Nothing orders the accesses of two sub-groups but a barrier.
//!
//! *Not here*: their typing rules (`ops::group`), which sub-groups reach them (`uniform`).

use super::{Coord, LoadForm, ParamId, ValueId};
use crate::error::Span;
use crate::types::DType;
use core::fmt;

/// A shared tile or vector, by position in [`super::Kernel::shared`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SharedId(pub u32);

impl fmt::Display for SharedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.0)
    }
}

/// What a piece of shared memory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SharedType {
    /// `st<T, ROWS, COLS>`
    Tile {
        /// Element type.
        dtype: DType,
        /// Rows.
        rows: u32,
        /// Columns.
        cols: u32,
    },
    /// `sv<T, LEN>`
    Vector {
        /// Element type.
        dtype: DType,
        /// Number of elements.
        len: u32,
    },
}

impl SharedType {
    /// The element type.
    pub const fn dtype(self) -> DType {
        match self {
            SharedType::Tile { dtype, .. } | SharedType::Vector { dtype, .. } => dtype,
        }
    }

    /// Rows and columns; a vector is one row.
    pub const fn shape(self) -> (u32, u32) {
        match self {
            SharedType::Tile { rows, cols, .. } => (rows, cols),
            SharedType::Vector { len, .. } => (1, len),
        }
    }

    /// Bytes of shared memory.
    pub const fn bytes(self) -> u64 {
        let (rows, cols) = self.shape();
        (rows as u64 * cols as u64).saturating_mul(self.dtype().size_bytes() as u64)
    }
}

impl fmt::Display for SharedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SharedType::Tile { dtype, rows, cols } => write!(f, "st<{dtype}, {rows}, {cols}>"),
            SharedType::Vector { dtype, len } => write!(f, "sv<{dtype}, {len}>"),
        }
    }
}

/// A shared tile or vector of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// The variable's name.
    pub name: String,
    /// What it holds.
    pub ty: SharedType,
    /// Where it was made.
    pub span: Span,
}

/// A position in shared memory, `u32`, in units of the tile or vector that is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedAt {
    /// The row; `None` in a vector.
    pub row: Option<ValueId>,
    /// The column, or the position in a vector.
    pub col: ValueId,
}

impl SharedAt {
    /// The values of the position.
    pub fn values(&self) -> impl Iterator<Item = ValueId> {
        self.row.into_iter().chain([self.col])
    }
}

/// A kind of barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Barrier {
    /// Waits until every sub-group of the work-group is here; what they did before is visible after.
    Full,
    /// The first half: says that this sub-group is here, and goes on.
    Arrive,
    /// The second half: waits until every sub-group has arrived.
    Wait,
}

impl Barrier {
    /// Every kind.
    pub const ALL: &'static [Barrier] = &[Barrier::Full, Barrier::Arrive, Barrier::Wait];

    /// The op's name in kernel source.
    pub const fn name(self) -> &'static str {
        match self {
            Barrier::Full => "barrier",
            Barrier::Arrive => "barrier_arrive",
            Barrier::Wait => "barrier_wait",
        }
    }
}

/// An op on shared memory, or one that all sub-groups of a work-group execute together.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupOp {
    /// Loads a tile or vector of the result's type. A transposing load takes the tile whose transpose it gives.
    Load {
        /// The source.
        shared: SharedId,
        /// Where.
        at: SharedAt,
        /// How the tile comes into registers.
        form: LoadForm,
    },
    /// Stores a tile or vector.
    Store {
        /// The destination.
        shared: SharedId,
        /// The tile or vector.
        value: ValueId,
        /// Where.
        at: SharedAt,
    },
    /// Fills a shared tile from a global; elements outside the plane are 0. Each sub-group copies a part.
    LoadCoop {
        /// The destination.
        shared: SharedId,
        /// The source.
        global: ParamId,
        /// Where in the global, in units of the shared tile.
        at: Coord,
    },
    /// Stores a shared tile where the work-group owns the output: each sub-group stores the tile it owns; elements
    /// outside the plane are dropped.
    StoreCoop {
        /// The destination.
        global: ParamId,
        /// The source.
        shared: SharedId,
        /// The tile this sub-group owns.
        at: Coord,
    },
    /// A barrier.
    Barrier(Barrier),
}

impl GroupOp {
    /// The op's name in kernel source.
    pub const fn name(&self) -> &'static str {
        match self {
            GroupOp::Load { at: SharedAt { row: None, .. }, .. } => "load_vec_shared",
            GroupOp::Load { form: LoadForm::Plain, .. } => "load_shared",
            GroupOp::Load { form: LoadForm::Transform, .. } => "load_transform_shared",
            GroupOp::Load { form: LoadForm::Transpose, .. } => "load_transpose_shared",
            GroupOp::Store { at: SharedAt { row: None, .. }, .. } => "store_vec_shared",
            GroupOp::Store { .. } => "store_shared",
            GroupOp::LoadCoop { .. } => "load_coop",
            GroupOp::StoreCoop { .. } => "store_coop",
            GroupOp::Barrier(kind) => kind.name(),
        }
    }

    /// The values the op reads.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            GroupOp::Load { at, .. } => at.values().collect(),
            GroupOp::Store { value, at, .. } => core::iter::once(*value).chain(at.values()).collect(),
            GroupOp::LoadCoop { at, .. } | GroupOp::StoreCoop { at, .. } => at.values().collect(),
            GroupOp::Barrier(_) => vec![],
        }
    }
}
