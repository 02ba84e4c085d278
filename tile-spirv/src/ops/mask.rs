//! Owns the emission of masks: columns or rows from an index on, and the triangles of a matrix.
//!
//! *Assumes* the register layouts of `lanes`. *Guarantees*: indices are compared without wrapping, whatever the
//! operands; the bits of elements that stay are not touched. *Not here*: the edge of a plane (`edge`).

use rspirv::spirv::Op as Inst;
use tile_ir::ir::{Op, ValueId};
use tile_ir::types::Along;

use crate::LowerError;
use crate::arith::{U32, U64};
use crate::control::{Lowering, Value};
use crate::lanes::{LANES, Layout};
use crate::module::{Id, Ty};

/// Further from the diagonal than any element of a tile is from its first.
const FAR: u64 = 1 << 30;

impl Lowering<'_> {
    /// `keep_cols`, `keep_rows`.
    pub(crate) fn lower_keep_first(
        &mut self,
        op: &Op,
        tile: ValueId,
        along: Along,
        keep: ValueId,
        fill: ValueId,
    ) -> Result<(), LowerError> {
        let keep = self.scalar(keep)?;
        self.masked_tile(op, tile, fill, |s, layout, down, across| match along {
            Along::Cols => {
                let lane = s.lane();
                let column = s.e.add_u32(lane, LANES * across);
                let stays = s.e.compare(Inst::ULessThan, column, keep);
                s.splat(Ty::Bool8, stays)
            }
            Along::Rows => {
                let rows = s.numbers(layout.chunk_rows() * down);
                let keep = s.splat(Ty::Int8(32), keep);
                s.e.pure(Inst::ULessThan, Ty::Bool8, &[rows, keep])
            }
        })
    }

    /// `tril`, `triu`.
    pub(crate) fn lower_triangle(
        &mut self,
        op: &Op,
        tile: ValueId,
        lower: bool,
        starts: (ValueId, ValueId),
        fill: ValueId,
    ) -> Result<(), LowerError> {
        let (distance, stays) = self.triangle(lower, starts)?;
        let lane = self.lane();
        let from_diagonal = self.e.sub(U32, lane, distance);
        let from_diagonal = self.splat(Ty::Int8(32), from_diagonal);
        self.masked_tile(op, tile, fill, |s, layout, down, across| {
            // Column 16 across + lane against row: lane - distance against row - 16 across.
            let rows = s.numbers((layout.chunk_rows() * down).wrapping_sub(LANES * across));
            s.e.pure(stays, Ty::Bool8, &[from_diagonal, rows])
        })
    }

    /// A distance, and the comparison of c - r with it that holds for the elements (r, c) of a tile which stay.
    pub(crate) fn triangle(
        &mut self,
        lower: bool,
        (row_start, col_start): (ValueId, ValueId),
    ) -> Result<(Id, Inst), LowerError> {
        let (row, col) = (self.scalar(row_start)?, self.scalar(col_start)?);
        // Element (r, c) lies on the diagonal when c - r is this distance. It needs 33 bits; bounding it far outside the
        // tile changes no comparison and lets the rest be 32 bits.
        let e = &mut self.e;
        let (row, col) = (e.widen(row), e.widen(col));
        let distance = e.sub(U64, row, col);
        let (low, high) = (e.u64(FAR.wrapping_neg()), e.u64(FAR));
        let below = e.pure(Inst::SLessThan, Ty::Bool, &[distance, low]);
        let distance = e.select(U64, below, low, distance);
        let above = e.pure(Inst::SGreaterThan, Ty::Bool, &[distance, high]);
        let distance = e.select(U64, above, high, distance);
        let stays = if lower { Inst::SLessThanEqual } else { Inst::SGreaterThanEqual };
        Ok((e.narrow(distance), stays))
    }

    /// Replaces the elements that a mask per chunk (by block of rows and of columns) does not keep.
    fn masked_tile(
        &mut self,
        op: &Op,
        tile: ValueId,
        fill: ValueId,
        mut mask: impl FnMut(&mut Self, Layout, u32, u32) -> Id,
    ) -> Result<(), LowerError> {
        let (result, ty) = self.tile_result(op)?;
        let mut chunks = self.tile(tile)?;
        let number = self.scalar(fill)?;
        let fill = self.filled_chunk(ty, number);
        let layout = Layout::of(ty);
        for across in 0..layout.across() {
            for down in 0..layout.down() {
                let stays = mask(self, layout, down, across);
                let at = layout.index(down, across);
                chunks[at] = self.e.pure(Inst::Select, layout.chunk(), &[stays, chunks[at], fill]);
            }
        }
        self.set(result, Value::Tile(chunks));
        Ok(())
    }

    /// The constants `first`, `first + 1`, … `first + 7`, wrapping.
    fn numbers(&mut self, first: u32) -> Id {
        let parts: Vec<Id> = (0..8).map(|i| self.e.u32(first.wrapping_add(i))).collect();
        self.e.pure(Inst::CompositeConstruct, Ty::Int8(32), &parts)
    }
}
