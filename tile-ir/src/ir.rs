//! Owns the typed IR: kernels, regions, ops, values.
//!
//! A kernel body is a tree of regions in static single assignment form. `for` and `if` are ops that hold
//! regions; values that a loop changes are carried explicitly, values that an `if` gives are yielded.
//! *Guarantees* nothing by itself: `verify` turns a [`Kernel`] into a [`crate::verify::Verified`] one.
//! *Not here*: typing rules of single ops (`ops`), lowering.

use crate::error::Span;
use crate::scalar::{Binary, Compare, Const, Unary};
use crate::types::{DType, Role, ScalarType, Type};
use core::fmt;

/// A value: the result of an op, a parameter, or an argument of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

impl fmt::Display for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// A kernel parameter, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParamId(pub u32);

impl fmt::Display for ParamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}

/// What a kernel may do with a global parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `&gl<T>`: loads and prefetches.
    In,
    /// `&mut gl<T>`: stores, and loads of the owned tile.
    Out,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A tensor in device memory.
    Global {
        /// Its element type.
        dtype: DType,
        /// What the kernel may do with it.
        access: Access,
    },
    /// A scalar; its value is an ordinary IR value.
    Scalar {
        /// The value that stands for the argument.
        value: ValueId,
        /// Its type.
        ty: ScalarType,
    },
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The name in the source.
    pub name: String,
    /// What it is.
    pub kind: ParamKind,
}

/// One instance of a kernel: every type, size and the work-group grid are fixed.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The function's name.
    pub name: String,
    /// The generic arguments as listed, such as `<bf16, f32, 32, 64>`.
    pub instance: String,
    /// Parameters in source order.
    pub params: Vec<Param>,
    /// Sub-groups of a work-group as (rows, cols).
    pub subgroups: (u32, u32),
    /// True when the kernel is an `unsafe fn` and may store at any coordinate.
    pub unowned_stores: bool,
    /// The type of every value, indexed by [`ValueId`].
    pub values: Vec<Type>,
    /// The program.
    pub body: Region,
}

impl Kernel {
    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> Type {
        self.values[value.0 as usize]
    }

    /// Makes a new value of a type.
    pub fn new_value(&mut self, ty: Type) -> ValueId {
        self.values.push(ty);
        ValueId(self.values.len() as u32 - 1)
    }

    /// The element type and access of a global parameter, or `None` for scalars and bad indices.
    pub fn global(&self, id: ParamId) -> Option<(DType, Access)> {
        match self.params.get(id.0 as usize)?.kind {
            ParamKind::Global { dtype, access } => Some((dtype, access)),
            ParamKind::Scalar { .. } => None,
        }
    }
}

/// A sequence of ops with one explicit exit.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Values the region receives: for a loop body the counter and then the carried values.
    pub args: Vec<ValueId>,
    /// The ops in order.
    pub ops: Vec<Op>,
    /// How the region ends.
    pub exit: Exit,
}

impl Region {
    /// Calls `f` on every op, those of nested regions included, in program order (an op before its regions).
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Op)) {
        for op in &self.ops {
            f(op);
            for region in op.kind.regions() {
                region.walk(f);
            }
        }
    }
}

/// How a region ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Control goes on after (or, in a loop, to the next iteration) with these values.
    Yield(Vec<ValueId>),
    /// The kernel ends for this sub-group.
    Return,
}

/// An op: what it does, the values it makes, where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// What the op does.
    pub kind: OpKind,
    /// The values it makes.
    pub results: Vec<ValueId>,
    /// Where it was written.
    pub span: Span,
}

/// A dimension of a global.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// Outer batch count.
    Batch,
    /// Inner batch count.
    Depth,
    /// Rows of a plane.
    Rows,
    /// Columns of a plane.
    Cols,
    /// Elements from one row to the next.
    Pitch,
}

impl Dim {
    /// Every dimension.
    pub const ALL: &'static [Dim] = &[Dim::Batch, Dim::Depth, Dim::Rows, Dim::Cols, Dim::Pitch];

    /// The method name in kernel source.
    pub const fn name(self) -> &'static str {
        match self {
            Dim::Batch => "batch",
            Dim::Depth => "depth",
            Dim::Rows => "rows",
            Dim::Cols => "cols",
            Dim::Pitch => "pitch",
        }
    }
}

/// A fact about where the sub-group stands in its work-group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Number of the sub-group, row by row.
    Id,
    /// Its row in the work-group's grid.
    Row,
    /// Its column in the work-group's grid.
    Col,
}

impl Place {
    /// Every fact.
    pub const ALL: &'static [Place] = &[Place::Id, Place::Row, Place::Col];

    /// The op's name in kernel source.
    pub const fn name(self) -> &'static str {
        match self {
            Place::Id => "subgroup_id",
            Place::Row => "subgroup_row",
            Place::Col => "subgroup_col",
        }
    }
}

/// The order in which work-groups walk over the tiles of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Row by row.
    Linear,
    /// In stacks of this many work-group columns, turning at both ends (keeps neighbours within a small
    /// region of the cache).
    Snake(ValueId),
}

/// The unit of a coordinate's row and column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Multiples of the tile's rows and columns.
    Tiles,
    /// Elements.
    Elements,
}

/// A position in a global. All four values are `u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Coord {
    /// Outer batch index; `None` is 0.
    pub batch: Option<ValueId>,
    /// Inner batch index; `None` is 0.
    pub depth: Option<ValueId>,
    /// Row, in `unit`.
    pub row: ValueId,
    /// Column, in `unit`.
    pub col: ValueId,
    /// What row and column count.
    pub unit: Unit,
}

impl Coord {
    /// The values of the coordinate.
    pub fn values(&self) -> impl Iterator<Item = ValueId> {
        [self.batch, self.depth, Some(self.row), Some(self.col)].into_iter().flatten()
    }
}

/// The hardware form of a load; it fixes which role the tile can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadForm {
    /// Plain: a `Row` tile, or `Acc` for f32.
    Plain,
    /// Packed while loading, from [K, N]: a `Vnni` tile.
    Transform,
    /// Transposed while loading, from [N, K]: a `VnniT` tile of shape K x N. Row and column of the
    /// coordinate count tiles of N rows and K columns of the tensor.
    Transpose,
}

impl LoadForm {
    /// Every form.
    pub const ALL: &'static [LoadForm] = &[LoadForm::Plain, LoadForm::Transform, LoadForm::Transpose];

    /// The op's name in kernel source.
    pub const fn name(self) -> &'static str {
        match self {
            LoadForm::Plain => "load",
            LoadForm::Transform => "load_transform",
            LoadForm::Transpose => "load_transpose",
        }
    }

    /// True when the form produces `role` for `dtype`.
    pub const fn gives(self, role: Role, dtype: DType) -> bool {
        match self {
            LoadForm::Plain => {
                matches!(role, Role::Row) || (matches!(role, Role::Acc) && matches!(dtype, DType::F32))
            }
            LoadForm::Transform => matches!(role, Role::Vnni) && dtype.size_bytes() == 2,
            LoadForm::Transpose => matches!(role, Role::VnniT) && dtype.size_bytes() == 2,
        }
    }
}

/// Which sub-groups of a work-group share a cooperative prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peers {
    /// Those in the same row of the work-group's grid (they use the same left operand).
    Row,
    /// Those in the same column (they use the same right operand).
    Col,
}

impl Peers {
    /// The name in kernel source.
    pub const fn name(self) -> &'static str {
        match self {
            Peers::Row => "Row",
            Peers::Col => "Col",
        }
    }

    /// How many sub-groups share, in a grid of `subgroups` (rows, cols).
    pub const fn count(self, subgroups: (u32, u32)) -> u32 {
        match self {
            Peers::Row => subgroups.1,
            Peers::Col => subgroups.0,
        }
    }
}

/// What an op does.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// A constant scalar.
    Const(Const),
    /// Scalar arithmetic.
    Binary {
        /// The operation.
        op: Binary,
        /// Left operand.
        lhs: ValueId,
        /// Right operand.
        rhs: ValueId,
    },
    /// Scalar negation or complement.
    Unary {
        /// The operation.
        op: Unary,
        /// Operand.
        value: ValueId,
    },
    /// Scalar comparison.
    Compare {
        /// The comparison.
        op: Compare,
        /// Left operand.
        lhs: ValueId,
        /// Right operand.
        rhs: ValueId,
    },
    /// Scalar conversion to the type of the result.
    Cast {
        /// Operand.
        value: ValueId,
    },
    /// A dimension of a global, `u32`.
    Dim {
        /// The global.
        global: ParamId,
        /// Which dimension.
        dim: Dim,
    },
    /// Where the sub-group stands, `u32`.
    Place(Place),
    /// The output tile this sub-group owns: four `u32` results batch, depth, row, col (in tiles).
    OwnTile {
        /// The output whose tiles are dealt out.
        global: ParamId,
        /// Tile size as (rows, cols).
        tile: (u32, u32),
        /// Order of the work-groups.
        order: Order,
    },
    /// A tile of zeros.
    Zeros,
    /// Loads a tile of the result's type; elements outside the plane are 0.
    Load {
        /// The source.
        global: ParamId,
        /// Where.
        at: Coord,
        /// The hardware form.
        form: LoadForm,
    },
    /// Warms the caches with a tile; has no other effect.
    Prefetch {
        /// The source.
        global: ParamId,
        /// Where.
        at: Coord,
        /// Tile size as (rows, cols).
        tile: (u32, u32),
        /// Who shares the work; `None` loads the whole tile.
        peers: Option<Peers>,
    },
    /// Stores a tile; elements outside the plane are dropped.
    Store {
        /// The destination.
        global: ParamId,
        /// The tile.
        tile: ValueId,
        /// Where.
        at: Coord,
    },
    /// `acc + a * b`, giving the new accumulator.
    Mma {
        /// Accumulator, M x N.
        acc: ValueId,
        /// Left operand, M x K.
        a: ValueId,
        /// Right operand, K x N.
        b: ValueId,
    },
    /// Converts a tile to the element type and role of the result.
    Convert {
        /// The tile.
        tile: ValueId,
    },
    /// Multiplies every element of an f32 tile by a scalar.
    Scale {
        /// The tile.
        tile: ValueId,
        /// The factor, `f32`.
        by: ValueId,
    },
    /// Runs the body for `lo`, `lo + step`, … below `hi`. Results are the carried values after the last run.
    For {
        /// First counter value; its type is the counter's (an integer type).
        lo: ValueId,
        /// Bound, exclusive.
        hi: ValueId,
        /// Step, at least 1.
        step: u32,
        /// Carried values before the first run.
        inits: Vec<ValueId>,
        /// Arguments: counter, then carried values. Yields the carried values.
        body: Region,
    },
    /// Runs one of two regions. Results are what that region yields.
    If {
        /// The condition, `bool`.
        cond: ValueId,
        /// Runs when true.
        then: Region,
        /// Runs when false.
        otherwise: Region,
    },
}

impl OpKind {
    /// The op's name in the text form.
    pub const fn name(&self) -> &'static str {
        match self {
            OpKind::Const(_) => "const",
            OpKind::Binary { op, .. } => op.name(),
            OpKind::Unary { op, .. } => op.name(),
            OpKind::Compare { op, .. } => op.name(),
            OpKind::Cast { .. } => "cast",
            OpKind::Dim { .. } => "dim",
            OpKind::Place(place) => place.name(),
            OpKind::OwnTile { .. } => "own_tile",
            OpKind::Zeros => "zeros",
            OpKind::Load { form, .. } => form.name(),
            OpKind::Prefetch { peers: None, .. } => "prefetch_load",
            OpKind::Prefetch { peers: Some(_), .. } => "prefetch_load_coop",
            OpKind::Store { .. } => "store",
            OpKind::Mma { .. } => "mma",
            OpKind::Convert { .. } => "to",
            OpKind::Scale { .. } => "scale",
            OpKind::For { .. } => "for",
            OpKind::If { .. } => "if",
        }
    }

    /// The regions the op holds.
    pub fn regions(&self) -> Vec<&Region> {
        match self {
            OpKind::For { body, .. } => vec![body],
            OpKind::If { then, otherwise, .. } => vec![then, otherwise],
            OpKind::Const(_)
            | OpKind::Binary { .. }
            | OpKind::Unary { .. }
            | OpKind::Compare { .. }
            | OpKind::Cast { .. }
            | OpKind::Dim { .. }
            | OpKind::Place(_)
            | OpKind::OwnTile { .. }
            | OpKind::Zeros
            | OpKind::Load { .. }
            | OpKind::Prefetch { .. }
            | OpKind::Store { .. }
            | OpKind::Mma { .. }
            | OpKind::Convert { .. }
            | OpKind::Scale { .. } => vec![],
        }
    }

    /// The values the op reads, those read inside its regions left out.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            OpKind::Const(_) | OpKind::Dim { .. } | OpKind::Place(_) | OpKind::Zeros => vec![],
            OpKind::Binary { lhs, rhs, .. } | OpKind::Compare { lhs, rhs, .. } => vec![*lhs, *rhs],
            OpKind::Unary { value, .. } | OpKind::Cast { value } => vec![*value],
            OpKind::OwnTile { order, .. } => match order {
                Order::Linear => vec![],
                Order::Snake(width) => vec![*width],
            },
            OpKind::Load { at, .. } | OpKind::Prefetch { at, .. } => at.values().collect(),
            OpKind::Store { tile, at, .. } => core::iter::once(*tile).chain(at.values()).collect(),
            OpKind::Mma { acc, a, b } => vec![*acc, *a, *b],
            OpKind::Convert { tile } => vec![*tile],
            OpKind::Scale { tile, by } => vec![*tile, *by],
            OpKind::For { lo, hi, inits, .. } => {
                let mut all = vec![*lo, *hi];
                all.extend(inits);
                all
            }
            OpKind::If { cond, .. } => vec![*cond],
        }
    }

    /// True when the op changes memory or the cache, so that it must stay even if nothing reads its results.
    pub const fn has_effect(&self) -> bool {
        matches!(
            self,
            OpKind::Store { .. } | OpKind::Prefetch { .. } | OpKind::For { .. } | OpKind::If { .. }
        )
    }
}
