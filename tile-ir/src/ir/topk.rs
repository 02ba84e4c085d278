//! Owns the op that keeps the largest elements of rows or columns: `row_topk`, `col_topk`.
//!
//! *Not here*: its typing rule (`ops::topk`), the order of elements as numbers (`topk`).

use super::ValueId;
use crate::types::Along;

/// What a top-k goes on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// Values, of the type of the op's first result.
    pub values: ValueId,
    /// Their indices, of the type of the second result. An element of index -1 is none: it ranks below every other.
    pub indices: ValueId,
    /// The index of the tile's first column (or row), `u32`, at most `tile_ir::topk::MAX_BASE`: a larger one counts as that.
    pub base: ValueId,
}

/// The `k` largest elements of every row or column, as two tiles: values, and their i32 indices, largest first.
///
/// Elements are ordered as `tile_ir::topk` says; of equal ones the lower index comes first, compared as `u32`. Only the first
/// `k` running elements count. Past the first `k` of a result, and where there are fewer elements, values are the least
/// (-inf, or the least i32) and indices -1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopK {
    /// `Rows` keeps the largest of every row, along the columns of the results; `Cols` those of every column, along the rows.
    pub along: Along,
    /// How many, 1 to 32.
    pub k: u32,
    /// The tile.
    pub tile: ValueId,
    /// What to go on from; without it, indices count from 0.
    pub running: Option<Running>,
}

impl TopK {
    /// The op's name in kernel source (where the form with a running value ends in `_with`) and in the text form.
    pub const fn name(&self) -> &'static str {
        match self.along {
            Along::Rows => "row_topk",
            Along::Cols => "col_topk",
        }
    }

    /// The values the op reads.
    pub fn operands(&self) -> Vec<ValueId> {
        let running = self.running.iter().flat_map(|r| [r.values, r.indices, r.base]);
        core::iter::once(self.tile).chain(running).collect()
    }
}
