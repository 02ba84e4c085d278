//! Owns the rules about where vectors are stored.
//!
//! A sub-group owns one tile of M x N. Of any output it may store, without meeting another sub-group, one vector of N elements
//! along columns to row `at.row()`, as the `at.col()`-th of that row; or one of M elements along rows to row `at.col()`, as the
//! `at.row()`-th: both places name one tile. An output takes one of the two, or tiles.

use super::Verifier;
use crate::error::Code;
use crate::ir::{Access, Coord, GroupOp, Op, OpKind, ParamId, Unit, VectorOp};
use crate::types::{Along, Encoding, VectorType};

/// How an output is touched.
#[derive(Clone, Copy)]
enum Way {
    Tiles,
    Vectors(Encoding),
}

impl Way {
    const fn text(self) -> &'static str {
        match self {
            Way::Tiles => "tiles",
            Way::Vectors(Encoding::Line(Along::Rows)) => "`PerRow` vectors",
            Way::Vectors(Encoding::Line(Along::Cols)) => "`PerCol` vectors",
            Way::Vectors(Encoding::Wide) => "`Wide` vectors",
        }
    }

    /// The lines that the places lie along: wide vectors have those of `PerCol` vectors. Tiles have none.
    const fn places(self) -> Option<Along> {
        match self {
            Way::Tiles => None,
            Way::Vectors(Encoding::Line(along)) => Some(along),
            Way::Vectors(Encoding::Wide) => Some(Along::Cols),
        }
    }
}

impl<'a> Verifier<'a> {
    /// A safe kernel stores a vector at the place in its output that belongs to the owned tile.
    pub(super) fn check_vector(&mut self, op: &'a Op, what: &VectorOp) {
        let VectorOp::Store { global, vector, at } = what else { return };
        let Some(v) = self.kernel.ty(*vector).vector() else { return };
        if self.kernel.unowned_stores || self.is_owned_line(at, v) {
            return;
        }
        let name = self.kernel.params.get(global.0 as usize).map_or("", |p| p.name.as_str());
        let side = match v.encoding {
            Encoding::Line(Along::Rows) => "rows",
            Encoding::Line(Along::Cols) | Encoding::Wide => "columns",
        };
        self.report(
            Code::UnownedStore,
            op.span,
            format!(
                "a safe kernel stores a vector only where its sub-group owns a tile with as many {side}; this store of `{v}` to \
                 `{name}` does not go to the place of one"
            ),
            "store at the value of `own_tile::<ROWS, COLS>(..)`, or mark the kernel `unsafe fn` and use `store_vec_at`",
        );
    }

    /// True when `at` is the place of such a vector that belongs to an `own_tile`.
    fn is_owned_line(&self, at: &Coord, v: VectorType) -> bool {
        self.owned.iter().any(|o| {
            let [batch, depth, row, col] = o.results[..] else { return false };
            let (line, place, len) = match v.encoding {
                Encoding::Line(Along::Rows) => (col, row, o.tile.0),
                Encoding::Line(Along::Cols) | Encoding::Wide => (row, col, o.tile.1),
            };
            v.len == len
                && at.batch == Some(batch)
                && at.depth == Some(depth)
                && at.row == line
                && at.col == place
                && at.unit == Unit::Tiles
        })
    }

    /// Refuses outputs that are touched in two ways, one of them vectors, at the op that makes it two.
    pub(super) fn check_ways(&mut self) {
        let kernel = self.kernel;
        if kernel.unowned_stores {
            return;
        }
        let mut ways: Vec<Option<Way>> = vec![None; kernel.params.len()];
        let mut mixed = vec![];
        kernel.body.walk(&mut |op| {
            let Some((global, way)) = way_of(op, |v| kernel.ty(v).vector()) else { return };
            if let Some(first) = ways.get_mut(global.0 as usize)
                && first.get_or_insert(way).places() != way.places()
                && matches!(kernel.global(global), Some((_, Access::Out)))
            {
                mixed.push((global, op.span, op.kind.name(), way, first.unwrap_or(way)));
            }
        });
        for (global, span, name, way, first) in mixed {
            let param = kernel.params.get(global.0 as usize).map_or("", |p| p.name.as_str());
            self.report(
                Code::StoreWays,
                span,
                format!(
                    "an output takes tiles, or `PerCol` vectors, or `PerRow` vectors, since a part of one meets others of \
                     another sub-group; here `{name}` uses `{param}` for {}, and before it was used for {}",
                    way.text(),
                    first.text()
                ),
                "use a second output",
            );
        }
    }
}

fn way_of(op: &Op, vector: impl Fn(crate::ir::ValueId) -> Option<VectorType>) -> Option<(ParamId, Way)> {
    if let OpKind::Vector(VectorOp::Store { global, vector: v, .. }) = &op.kind {
        return vector(*v).map(|v| (*global, Way::Vectors(v.encoding)));
    }
    if let OpKind::Store { global, .. }
    | OpKind::StoreTranspose { global, .. }
    | OpKind::Load { global, .. }
    | OpKind::Group(GroupOp::StoreCoop { global, .. }) = &op.kind
    {
        return Some((*global, Way::Tiles));
    }
    None
}
