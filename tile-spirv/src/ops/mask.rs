//! Owns the emission of masks: columns or rows from an index on, and the triangles of a matrix.
//!
//! *Assumes* the register layouts of `lanes`. *Guarantees*: indices are compared without wrapping, whatever the
//! operands; the bits of elements that stay are not touched. *Not here*: the edge of a plane (`edge`).

use rspirv::spirv::Op as Inst;
use tile_ir::ir::{Op, ValueId};
use tile_ir::types::{Along, TileType};

use crate::LowerError;
use crate::arith::{U32, U64};
use crate::control::{Lowering, Value};
use crate::coord::Position;
use crate::lanes::{LANES, Layout, in_words};
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
        match along {
            Along::Cols => self.masked_tile(op, tile, fill, |s, _, _, across| {
                let lane = s.lane();
                let column = s.e.add_u32(lane, LANES * across);
                let stays = s.e.compare(Inst::ULessThan, column, keep);
                s.splat(Ty::Bool8, stays)
            }),
            Along::Rows => self.keep_rows(op, tile, keep, fill),
        }
    }

    /// Rows are the same in all lanes, so a tile that keeps all of its rows takes one branch and no mask.
    fn keep_rows(&mut self, op: &Op, tile: ValueId, keep: Id, fill: ValueId) -> Result<(), LowerError> {
        let (result, ty) = self.tile_result(op)?;
        let (layout, whole) = (Layout::of(ty), self.tile(tile)?);
        let number = self.scalar(fill)?;
        let rows = self.e.u32(ty.rows);
        let cut = self.e.compare(Inst::ULessThan, keep, rows);
        if let Some(words) = self.words.get(&tile).cloned() {
            let packed = Layout::of(in_words(ty));
            let types = vec![packed.chunk(); packed.count()];
            let kept = words.clone();
            let words = self
                .branch(
                    cut,
                    &types,
                    |s| Ok(Some(s.kept_words(&words, ty, keep, number))),
                    |_| Ok(Some(kept)),
                )?
                .ok_or(LowerError::Malformed("a branch has no way on"))?;
            self.set_words(result, ty, words);
            return Ok(());
        }
        let types = vec![layout.chunk(); layout.count()];
        let chunks = self
            .branch(
                cut,
                &types,
                |s| {
                    let fill = s.filled_chunk(ty, number);
                    let mut chunks = whole.clone();
                    for across in 0..layout.across() {
                        for down in 0..layout.down() {
                            let rows = s.numbers(layout.chunk_rows() * down);
                            let keep = s.splat(Ty::Int8(32), keep);
                            let stays = s.e.pure(Inst::ULessThan, Ty::Bool8, &[rows, keep]);
                            let at = layout.index(down, across);
                            chunks[at] = s.e.pure(Inst::Select, layout.chunk(), &[stays, chunks[at], fill]);
                        }
                    }
                    Ok(Some(chunks))
                },
                |_| Ok(Some(whole.clone())),
            )?
            .ok_or(LowerError::Malformed("a branch has no way on"))?;
        self.set(result, Value::Tile(chunks));
        Ok(())
    }

    /// Words of two rows each, the rows from `keep` on filled with a number.
    fn kept_words(&mut self, words: &[Id], ty: TileType, keep: Id, number: Id) -> Vec<Id> {
        let packed = Layout::of(in_words(ty));
        let fill = self.filled_chunk(ty, number);
        let half = self.part_of(Layout::of(ty), fill, 0);
        let both = self.e.pure(Inst::CompositeConstruct, Ty::IntVec(16, 2), &[half, half]);
        let both = self.e.pure(Inst::Bitcast, U32, &[both]);
        let fill = self.splat(packed.chunk(), both);
        let mut out = words.to_vec();
        for across in 0..packed.across() {
            for down in 0..packed.down() {
                let first = self.e.u32(0);
                let first = Position::at_id(first);
                let inside = self.words_mask(keep, first, packed.chunk_rows() * down, 32, 2);
                let outside = self.e.pure(Inst::Not, packed.chunk(), &[inside]);
                let at = packed.index(down, across);
                let kept = self.e.pure(Inst::BitwiseAnd, packed.chunk(), &[out[at], inside]);
                let filled = self.e.pure(Inst::BitwiseAnd, packed.chunk(), &[fill, outside]);
                out[at] = self.e.pure(Inst::BitwiseOr, packed.chunk(), &[kept, filled]);
            }
        }
        out
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
