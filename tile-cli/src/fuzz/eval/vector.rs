//! Owns the meaning of stores and reductions of vectors, and of positions of extremes.

use tile_ir::ir::{Extreme, VectorOp};
use tile_ir::types::Along;

use super::{End, Eval, Grid, Stop, UNDEFINED, Val, float};
use crate::fuzz::host;
use crate::fuzz::number::{Num, reduce_any_order};

/// The first index of the best element; unknown when correct devices may disagree. NaN is the worst.
fn position(how: Extreme, elements: &[Num]) -> Num {
    let better = |a: &Num, b: &Num| match (a.int, b.int) {
        (Some(a), Some(b)) => {
            if how == Extreme::Max {
                a > b
            } else {
                a < b
            }
        }
        (Some(_), None) | (None, Some(_)) | (None, None) => {
            (b.v.is_nan() && !a.v.is_nan()) || if how == Extreme::Max { a.v > b.v } else { a.v < b.v }
        }
    };
    if elements.iter().any(|x| x.is_unknown()) {
        return Num::UNKNOWN;
    }
    let mut best = 0;
    for (i, x) in elements.iter().enumerate() {
        if better(x, &elements[best]) {
            best = i;
        }
    }
    let top = elements[best];
    let open = elements.iter().enumerate().any(|(i, x)| {
        let error = x.e + top.e;
        i != best && error > 0.0 && (f64::from(x.v) - f64::from(top.v)).abs() <= error * 1.001
    });
    if open { Num::UNKNOWN } else { Num::whole(best as i32) }
}

impl Eval<'_> {
    /// An op on vectors that has no result.
    pub(super) fn vector_effect(&mut self, what: &VectorOp) -> Result<End, Stop> {
        let VectorOp::Store { global, vector, at } = what else { return Err(UNDEFINED) };
        let grid = self.grid(*vector)?;
        let ([batch, depth, row, col], _) = self.origin(at, (1, grid.cols))?;
        let tensor = self.tensors.get_mut(global.0 as usize).and_then(Option::as_mut);
        let tensor = tensor.ok_or(Stop::Malformed("a tensor was expected"))?;
        for (i, value) in (0u64..).zip(&grid.data) {
            tensor.set([batch, depth, row, col + i], *value);
        }
        Ok(End::Yield(vec![]))
    }

    /// A scalar made of a vector.
    pub(super) fn vector_scalar(&mut self, what: &VectorOp) -> Result<Val, Stop> {
        match what {
            VectorOp::Reduce { how, vector } => {
                let grid = self.grid(*vector)?;
                let reduced = reduce_any_order(*how, &grid.data);
                self.agrees(host::refute_reduce(*how, Along::Rows, grid.cols, &grid.data, &[reduced]))?;
                Ok(float(reduced))
            }
            VectorOp::Arg { how, vector } => match position(*how, &self.grid(*vector)?.data) {
                at if at.is_unknown() => Err(Stop::Ambiguous),
                at => Ok(float(at)),
            },
            VectorOp::Store { .. } | VectorOp::ArgLines { .. } | VectorOp::Encode { .. } => Err(UNDEFINED),
        }
    }

    /// A vector made of a tile or of a vector.
    pub(super) fn vector_grid(&self, what: &VectorOp) -> Result<Grid, Stop> {
        match what {
            VectorOp::ArgLines { how, along, tile } => {
                let g = self.grid(*tile)?;
                let rows = g.data.len() / g.cols;
                let data: Vec<Num> = match along {
                    Along::Rows => (0..rows).map(|r| position(*how, g.row(r))).collect(),
                    Along::Cols => (0..g.cols)
                        .map(|c| {
                            let column: Vec<Num> = g.data.iter().skip(c).step_by(g.cols).copied().collect();
                            position(*how, &column)
                        })
                        .collect(),
                };
                Ok(Grid { cols: data.len(), data })
            }
            VectorOp::Encode { vector, .. } => Ok(Grid::clone(&*self.grid(*vector)?)),
            VectorOp::Store { .. } | VectorOp::Reduce { .. } | VectorOp::Arg { .. } => Err(UNDEFINED),
        }
    }
}
