//! Owns the typed IR: kernels, regions, ops, values.
//!
//! A kernel body is a tree of regions in static single assignment form. `for` and `if` are ops that hold
//! regions; values that a loop changes are carried explicitly, values that an `if` gives are yielded.
//! *Guarantees* nothing by itself: `verify` turns a [`Kernel`] into a [`crate::verify::Verified`] one.
//! *Not here*: typing rules of single ops (`ops`), lowering.

mod group;
mod parts;
mod selection;
mod topk;
mod vector;

pub use group::{Barrier, GroupOp, Shared, SharedAt, SharedId, SharedType};
pub use parts::{Coord, Dim, LoadForm, Order, Peers, Place, Reduction, Unit};
pub use selection::{Logic, Selection};
pub use topk::{Running, TopK};
pub use vector::{Extreme, VectorOp};

use crate::error::Span;
use crate::map::{MapBinary, MapTernary, MapUnary};
use crate::scalar::{Binary, Compare, Const, Unary};
use crate::types::{Along, DType, ScalarType, Type};
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
    /// Shared tiles and vectors of a work-group, in the order they are made.
    pub shared: Vec<Shared>,
    /// True when the kernel is an `unsafe fn` and may store at any coordinate.
    pub unowned_stores: bool,
    /// True when the instance is for the host device alone, so that its tiles need not fit a GPU's registers.
    pub host_only: bool,
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

    /// A shared tile or vector, or `None` for bad indices.
    pub fn shared(&self, id: SharedId) -> Option<&Shared> {
        self.shared.get(id.0 as usize)
    }

    /// Bytes of shared memory of a work-group.
    pub fn shared_bytes(&self) -> u64 {
        self.shared.iter().fold(0, |sum, s| sum.saturating_add(s.ty.bytes()))
    }

    /// True when sub-groups of a work-group wait for each other.
    pub fn waits(&self) -> bool {
        let mut waits = false;
        self.body.walk(&mut |op| waits |= matches!(op.kind, OpKind::Group(GroupOp::Barrier(_))));
        waits
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
    /// The innermost loop ends; these are the values it carries.
    Break(Vec<ValueId>),
    /// The innermost loop goes on with its next iteration; these are the values it carries.
    Continue(Vec<ValueId>),
}

impl Exit {
    /// The values the exit hands on.
    pub fn values(&self) -> &[ValueId] {
        match self {
            Exit::Yield(values) | Exit::Break(values) | Exit::Continue(values) => values,
            Exit::Return => &[],
        }
    }
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
    /// A tile or vector with every element equal to an f32 scalar, rounded to the result's type.
    Fill {
        /// The value.
        value: ValueId,
    },
    /// An element-wise op of one tile or vector, or of an f32 scalar, giving its type. 16-bit elements are computed in f32
    /// and rounded once.
    MapUnary {
        /// The operation.
        op: MapUnary,
        /// Operand.
        value: ValueId,
    },
    /// An element-wise op of two operands, giving the left operand's type. The right operand has the same type; or it is an
    /// f32 scalar, used for every element; or, beside a tile, an f32 vector along its rows or columns, whose
    /// element belongs to the row or column.
    MapBinary {
        /// The operation.
        op: MapBinary,
        /// Left operand, a tile or vector.
        lhs: ValueId,
        /// Right operand.
        rhs: ValueId,
    },
    /// An element-wise op of three operands, giving the first one's type. Each of the others has the same type or is an f32
    /// scalar, used for every element.
    MapTernary {
        /// The operation.
        op: MapTernary,
        /// First operand, a tile or vector.
        x: ValueId,
        /// Second operand.
        a: ValueId,
        /// Third operand.
        b: ValueId,
    },
    /// Compares elements or chooses among them.
    Selection(Selection),
    /// Stores, reduces or re-encodes a vector, or finds the positions of a tile's extremes.
    Vector(VectorOp),
    /// Reduces a tile along its columns (giving one f32 per row) or rows (one f32 per column). The order of
    /// combination is fixed by the tile's shape: see `tile_ir::reduce`.
    Reduce {
        /// How elements combine.
        how: Reduction,
        /// What is left: `Rows` gives one element per row.
        along: Along,
        /// The tile.
        tile: ValueId,
        /// A running value to combine with, of the result's type.
        running: Option<ValueId>,
    },
    /// The largest elements of every row or column with their indices: two tiles.
    TopK(TopK),
    /// Loads a vector from consecutive elements of one row of a global; elements outside the plane are 0. In tile units,
    /// the row counts rows and the column counts vectors.
    LoadVector {
        /// The source.
        global: ParamId,
        /// Where.
        at: Coord,
    },
    /// Reads one element of a global as an f32 scalar; 0 outside the plane.
    LoadScalar {
        /// The source.
        global: ParamId,
        /// Where, in elements.
        at: Coord,
    },
    /// Replaces the elements at and after a column, or row, with a value: those whose index in the tile is not below
    /// `keep`.
    KeepFirst {
        /// The tile.
        tile: ValueId,
        /// The index that is compared: `Cols` masks columns.
        along: Along,
        /// How many columns (rows) stay, `u32`.
        keep: ValueId,
        /// What the others become, `f32`.
        fill: ValueId,
    },
    /// Keeps the elements on and below (`lower`) or on and above a diagonal; the others become `fill`. Element (r, c) of the
    /// tile is compared by `row_start + r` and `col_start + c`.
    Triangle {
        /// The tile.
        tile: ValueId,
        /// True keeps `column <= row`, false keeps `column >= row`.
        lower: bool,
        /// Index of the tile's first row, `u32`.
        row_start: ValueId,
        /// Index of the tile's first column, `u32`.
        col_start: ValueId,
        /// What the others become, `f32`.
        fill: ValueId,
    },
    /// Touches shared memory, or is executed by a whole work-group together.
    Group(GroupOp),
    /// The transpose of a tile, in the role `Row`.
    Transpose {
        /// The tile.
        tile: ValueId,
    },
    /// A part of a tile as a tile of its own, of the result's type.
    SubTile {
        /// The tile.
        tile: ValueId,
        /// Which part as (row, col), counted in parts.
        at: (u32, u32),
    },
    /// A tile with one part replaced.
    SetSubTile {
        /// The tile.
        tile: ValueId,
        /// What the part becomes.
        part: ValueId,
        /// Which part as (row, col), counted in parts.
        at: (u32, u32),
    },
    /// Stores the transpose of a tile; elements outside the plane are dropped. The coordinate counts tiles of the
    /// transposed shape.
    StoreTranspose {
        /// The destination.
        global: ParamId,
        /// The tile.
        tile: ValueId,
        /// Where.
        at: Coord,
    },
    /// Adds every element of a tile or vector to one of a global, each by itself in one indivisible step; elements
    /// outside the plane are dropped. The order of the additions is open.
    AtomicAdd {
        /// The destination.
        global: ParamId,
        /// The tile, or the vector that is added to consecutive elements of one row.
        value: ValueId,
        /// Where; for a vector as in `LoadVector`.
        at: Coord,
        /// True for a vector.
        vector: bool,
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
    /// Runs the body as long as the condition holds. Results are the carried values when it does not.
    While {
        /// Carried values before the first test.
        inits: Vec<ValueId>,
        /// Arguments: the carried values. Yields one `bool`.
        cond: Region,
        /// Arguments: the carried values. Yields the carried values.
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
            OpKind::Fill { .. } => "fill",
            OpKind::MapUnary { op, .. } => op.name(),
            OpKind::MapBinary { op, .. } => op.name(),
            OpKind::MapTernary { op, .. } => op.name(),
            OpKind::Selection(selection) => selection.name(),
            OpKind::Vector(op) => op.name(),
            OpKind::Reduce { along: Along::Rows, how, .. } => match how {
                Reduction::Max => "row_max",
                Reduction::Min => "row_min",
                Reduction::Sum => "row_sum",
                Reduction::Prod => "row_prod",
            },
            OpKind::Reduce { along: Along::Cols, how, .. } => match how {
                Reduction::Max => "col_max",
                Reduction::Min => "col_min",
                Reduction::Sum => "col_sum",
                Reduction::Prod => "col_prod",
            },
            OpKind::LoadVector { .. } => "load_vec",
            OpKind::LoadScalar { .. } => "load_scalar",
            OpKind::KeepFirst { along: Along::Cols, .. } => "keep_cols",
            OpKind::KeepFirst { along: Along::Rows, .. } => "keep_rows",
            OpKind::Triangle { lower: true, .. } => "tril",
            OpKind::Triangle { lower: false, .. } => "triu",
            OpKind::Group(op) => op.name(),
            OpKind::TopK(what) => what.name(),
            OpKind::Transpose { .. } => "transpose",
            OpKind::SubTile { .. } => "sub_tile",
            OpKind::SetSubTile { .. } => "set_sub_tile",
            OpKind::StoreTranspose { .. } => "store_transpose",
            OpKind::AtomicAdd { vector: false, .. } => "atomic_add",
            OpKind::AtomicAdd { vector: true, .. } => "atomic_add_vec",
            OpKind::For { .. } => "for",
            OpKind::While { .. } => "while",
            OpKind::If { .. } => "if",
        }
    }

    /// The regions the op holds.
    pub fn regions(&self) -> Vec<&Region> {
        match self {
            OpKind::For { body, .. } => vec![body],
            OpKind::While { cond, body, .. } => vec![cond, body],
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
            | OpKind::Scale { .. }
            | OpKind::Fill { .. }
            | OpKind::MapUnary { .. }
            | OpKind::MapBinary { .. }
            | OpKind::MapTernary { .. }
            | OpKind::Selection(_)
            | OpKind::Vector(_)
            | OpKind::Reduce { .. }
            | OpKind::LoadVector { .. }
            | OpKind::LoadScalar { .. }
            | OpKind::KeepFirst { .. }
            | OpKind::Triangle { .. }
            | OpKind::Group(_)
            | OpKind::TopK(_)
            | OpKind::Transpose { .. }
            | OpKind::SubTile { .. }
            | OpKind::SetSubTile { .. }
            | OpKind::StoreTranspose { .. }
            | OpKind::AtomicAdd { .. } => vec![],
        }
    }

    /// The values the op reads, those read inside its regions left out.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            OpKind::Const(_) | OpKind::Dim { .. } | OpKind::Place(_) | OpKind::Zeros => vec![],
            OpKind::Binary { lhs, rhs, .. } | OpKind::Compare { lhs, rhs, .. } => vec![*lhs, *rhs],
            OpKind::Unary { value, .. } | OpKind::Cast { value } => vec![*value],
            OpKind::OwnTile { order, .. } => match order {
                Order::Linear | Order::Upward => vec![],
                Order::Snake(width) => vec![*width],
            },
            OpKind::Load { at, .. } | OpKind::Prefetch { at, .. } => at.values().collect(),
            OpKind::Store { tile, at, .. }
            | OpKind::StoreTranspose { tile, at, .. }
            | OpKind::AtomicAdd { value: tile, at, .. } => {
                core::iter::once(*tile).chain(at.values()).collect()
            }
            OpKind::Transpose { tile } | OpKind::SubTile { tile, .. } => vec![*tile],
            OpKind::SetSubTile { tile, part, .. } => vec![*tile, *part],
            OpKind::Mma { acc, a, b } => vec![*acc, *a, *b],
            OpKind::Convert { tile } => vec![*tile],
            OpKind::Scale { tile, by } => vec![*tile, *by],
            OpKind::Fill { value } | OpKind::MapUnary { value, .. } => vec![*value],
            OpKind::MapBinary { lhs, rhs, .. } => vec![*lhs, *rhs],
            OpKind::MapTernary { x, a, b, .. } => vec![*x, *a, *b],
            OpKind::Selection(selection) => selection.operands(),
            OpKind::Vector(op) => op.operands(),
            OpKind::Reduce { tile, running, .. } => core::iter::once(*tile).chain(*running).collect(),
            OpKind::LoadVector { at, .. } | OpKind::LoadScalar { at, .. } => at.values().collect(),
            OpKind::KeepFirst { tile, keep, fill, .. } => vec![*tile, *keep, *fill],
            OpKind::Triangle { tile, row_start, col_start, fill, .. } => {
                vec![*tile, *row_start, *col_start, *fill]
            }
            OpKind::TopK(what) => what.operands(),
            OpKind::Group(op) => op.operands(),
            OpKind::For { lo, hi, inits, .. } => {
                let mut all = vec![*lo, *hi];
                all.extend(inits);
                all
            }
            OpKind::While { inits, .. } => inits.clone(),
            OpKind::If { cond, .. } => vec![*cond],
        }
    }
}
