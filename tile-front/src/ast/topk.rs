//! Owns the syntax of a top-k.

use tile_ir::types::Along;

use super::{Expr, SizeExpr, SizeRef};

/// `x.row_topk::<P>(k)`, `x.col_topk::<P>(k)`, or, going on from others, `x.row_topk_with(k, &values, &indices, base)`.
#[derive(Clone, Debug)]
pub struct TopKCall {
    /// `Rows` for `row_topk`.
    pub along: Along,
    /// How many elements.
    pub k: SizeExpr,
    /// Where the results' extent comes from.
    pub from: TopKFrom,
}

/// What a top-k starts from, which fixes the extent of its results.
#[derive(Clone, Debug)]
pub enum TopKFrom {
    /// Nothing; the extent is written.
    Nothing(SizeRef),
    /// The values and indices of another top-k, and the index of the tile's first column or row.
    Running(Box<[Expr; 3]>),
}
