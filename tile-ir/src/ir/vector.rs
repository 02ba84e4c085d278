//! Owns the ops on vectors beside loads and element-wise work: stores, reductions, positions of extremes, changes of encoding.
//!
//! *Not here*: their typing rules (`ops::vector`).

use super::{Coord, ParamId, Reduction, ValueId};
use crate::map::MapBinary;
use crate::types::Along;

/// Which extreme the position of is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The largest element.
    Max,
    /// The smallest element.
    Min,
}

impl Extreme {
    /// Both.
    pub const ALL: &'static [Extreme] = &[Extreme::Max, Extreme::Min];

    /// The last part of the op's name: `argmax`, `row_argmin`, …
    pub const fn name(self) -> &'static str {
        match self {
            Extreme::Max => "argmax",
            Extreme::Min => "argmin",
        }
    }

    /// The op that gives the extreme of two elements.
    pub const fn combiner(self) -> MapBinary {
        match self {
            Extreme::Max => MapBinary::Max,
            Extreme::Min => MapBinary::Min,
        }
    }
}

/// An op that stores, reduces or re-encodes a vector, or gives the positions of a tile's extremes as one.
#[derive(Clone, Debug, PartialEq)]
pub enum VectorOp {
    /// Stores a vector to consecutive elements of one row of a global; elements outside the plane are dropped. The
    /// coordinate is that of a load of the vector.
    Store {
        /// The destination.
        global: ParamId,
        /// The vector.
        vector: ValueId,
        /// Where.
        at: Coord,
    },
    /// Reduces a vector to one scalar of the type its elements compute in.
    Reduce {
        /// How elements combine.
        how: Reduction,
        /// The vector.
        vector: ValueId,
    },
    /// The index of a vector's extreme, `i32`: of the element that `max` or `min` of all would give, and of several the first.
    Arg {
        /// Which extreme.
        how: Extreme,
        /// The vector.
        vector: ValueId,
    },
    /// The column of the extreme of every row of a tile (`Rows`), or the row of that of every column, as a vector of i32.
    ArgLines {
        /// Which extreme.
        how: Extreme,
        /// What is left: `Rows` gives one index per row.
        along: Along,
        /// The tile.
        tile: ValueId,
    },
    /// The same elements in the encoding of the result.
    Encode {
        /// The vector.
        vector: ValueId,
        /// The encoding of the result.
        to: Along,
    },
}

impl VectorOp {
    /// The op's name in kernel source and in the text form.
    pub const fn name(&self) -> &'static str {
        match self {
            VectorOp::Store { .. } => "store_vec",
            VectorOp::Reduce { how, .. } => match how {
                Reduction::Max => "reduce_max",
                Reduction::Min => "reduce_min",
                Reduction::Sum => "reduce_sum",
                Reduction::Prod => "reduce_prod",
            },
            VectorOp::Arg { how, .. } => how.name(),
            VectorOp::ArgLines { along: Along::Rows, how, .. } => match how {
                Extreme::Max => "row_argmax",
                Extreme::Min => "row_argmin",
            },
            VectorOp::ArgLines { along: Along::Cols, how, .. } => match how {
                Extreme::Max => "col_argmax",
                Extreme::Min => "col_argmin",
            },
            VectorOp::Encode { to: Along::Rows, .. } => "to_per_row",
            VectorOp::Encode { to: Along::Cols, .. } => "to_per_col",
        }
    }

    /// The values the op reads.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            VectorOp::Store { vector, at, .. } => core::iter::once(*vector).chain(at.values()).collect(),
            VectorOp::Reduce { vector, .. }
            | VectorOp::Arg { vector, .. }
            | VectorOp::Encode { vector, .. } => vec![*vector],
            VectorOp::ArgLines { tile, .. } => vec![*tile],
        }
    }
}
