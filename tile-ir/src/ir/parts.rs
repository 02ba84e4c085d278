//! Owns the parts of ops that are not values: dimensions, places, orders, coordinates, forms.
//!
//! *Not here*: the ops (`ir`).

use super::ValueId;
use crate::legal::{Arithmetic, element_type};
use crate::map::MapBinary;
use crate::types::{DType, Role};

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
    /// Row by row, from the last row of work-groups to the first.
    Upward,
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
    /// Plain: a `Row` tile, or `Acc` for f32 and i32.
    Plain,
    /// Packed while loading, from [K, N]: a `Vnni` tile.
    Transform,
    /// Transposed while loading, from [N, K]: a `VnniT` or `Row` tile of shape K x N. Row and column of the
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

    /// The rows and columns of the tensor that a tile of (rows, cols) covers.
    pub const fn window(self, (rows, cols): (u32, u32)) -> (u32, u32) {
        match self {
            LoadForm::Plain | LoadForm::Transform => (rows, cols),
            LoadForm::Transpose => (cols, rows),
        }
    }

    /// True when the form produces `role` for `dtype`.
    pub const fn gives(self, role: Role, dtype: DType) -> bool {
        match self {
            LoadForm::Plain => {
                matches!(role, Role::Row) || (matches!(role, Role::Acc) && dtype.accumulates())
            }
            LoadForm::Transform => matches!(role, Role::Vnni) && element_type(dtype).mma_k.is_some(),
            LoadForm::Transpose => match role {
                Role::Row => !matches!(element_type(dtype).arithmetic, Arithmetic::None),
                Role::VnniT => element_type(dtype).mma_k.is_some(),
                Role::Vnni | Role::Acc => false,
            },
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

/// How a reduction combines elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The largest element; NaN only if all are.
    Max,
    /// The smallest element; NaN only if all are.
    Min,
    /// The sum.
    Sum,
    /// The product.
    Prod,
}

impl Reduction {
    /// Every reduction.
    pub const ALL: &'static [Reduction] = &[Reduction::Max, Reduction::Min, Reduction::Sum, Reduction::Prod];

    /// The second part of the op's name: `row_max`, `col_sum`, …
    pub const fn name(self) -> &'static str {
        match self {
            Reduction::Max => "max",
            Reduction::Min => "min",
            Reduction::Sum => "sum",
            Reduction::Prod => "prod",
        }
    }

    /// The op that combines two elements.
    pub const fn combiner(self) -> MapBinary {
        match self {
            Reduction::Max => MapBinary::Max,
            Reduction::Min => MapBinary::Min,
            Reduction::Sum => MapBinary::Add,
            Reduction::Prod => MapBinary::Mul,
        }
    }

    /// The element that changes nothing. For `max` and `min` it is an infinity, which loses to every number.
    pub const fn neutral(self) -> f32 {
        match self {
            Reduction::Max => f32::NEG_INFINITY,
            Reduction::Min => f32::INFINITY,
            Reduction::Sum => 0.0,
            Reduction::Prod => 1.0,
        }
    }
}
