//! Owns the methods without operands that reduce vectors, find positions or change encodings, told apart by name.
//!
//! *Not here*: the others (`ast::Method`).

use tile_ir::ir::{Extreme, Reduction};
use tile_ir::types::Along;

/// A method without operands that gives a scalar of a vector, a vector of positions in a tile, or a vector in another encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorMethod {
    /// `v.reduce_sum()`
    Reduce(Reduction),
    /// `v.argmax()`
    Arg(Extreme),
    /// `x.row_argmax()`
    ArgLines(Extreme, Along),
    /// `v.to_per_row()`
    Encode(Along),
}

impl VectorMethod {
    /// What the method of a name is.
    pub fn from_name(name: &str) -> Option<VectorMethod> {
        let extreme = |name: &str| Extreme::ALL.iter().copied().find(|e| e.name() == name);
        if let Some(how) = extreme(name) {
            return Some(VectorMethod::Arg(how));
        }
        for (along, prefix) in [(Along::Rows, "row_"), (Along::Cols, "col_")] {
            if let Some(how) = name.strip_prefix(prefix).and_then(extreme) {
                return Some(VectorMethod::ArgLines(how, along));
            }
        }
        match name {
            "to_per_row" => return Some(VectorMethod::Encode(Along::Rows)),
            "to_per_col" => return Some(VectorMethod::Encode(Along::Cols)),
            _ => {}
        }
        let how = name.strip_prefix("reduce_")?;
        Reduction::ALL.iter().copied().find(|r| r.name() == how).map(VectorMethod::Reduce)
    }
}
