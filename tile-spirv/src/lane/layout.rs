//! Owns ops that move elements: transposes, parts of tiles, changes of encoding.

use rspirv::spirv::Op as Inst;
use tile_ir::ir::{Op, ValueId};

use super::slabs::Slab;
use crate::LowerError;
use crate::arith::U32;
use crate::control::Lowering;
use crate::lanes::LANES;
use crate::module::{Id, Ty};

impl Lowering<'_> {
    /// `to_per_row`, `to_per_col`: both encodings lie in memory alike.
    pub(crate) fn lane_encode(&mut self, op: &Op, vector: ValueId) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let from = self.slab(vector)?;
        let to = self.slab_over(result, vector)?;
        if from.var == to.var { Ok(()) } else { self.copy_slab(from, to) }
    }

    /// `transpose`
    pub(crate) fn lane_transpose(&mut self, op: &Op, tile: ValueId) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let from = self.slab(tile)?;
        let to = self.new_slab(result)?;
        self.transpose_slab(from, to)
    }

    /// Writes the transpose of a slab to another, in blocks of 16 x 16; the last ones may be half.
    pub(crate) fn transpose_slab(&mut self, from: Slab, to: Slab) -> Result<(), LowerError> {
        let (down, across) = (from.rows / LANES, from.cols / LANES);
        let (rows_left, cols_left) = (from.rows % LANES, from.cols % LANES);
        let blocks = |s: &mut Self, block: Id, rows: u32| -> Result<(), LowerError> {
            if across > 0 {
                s.each(across, |s, j| {
                    s.transpose_block((from, to), (block, j), (rows, LANES));
                    Ok(())
                })?;
            }
            if cols_left > 0 {
                let j = s.e.u32(across);
                s.transpose_block((from, to), (block, j), (rows, cols_left));
            }
            Ok(())
        };
        if down > 0 {
            self.each(down, |s, block| blocks(s, block, LANES))?;
        }
        if rows_left > 0 {
            let block = self.e.u32(down);
            blocks(self, block, rows_left)?;
        }
        Ok(())
    }

    /// The block of number (down, across), of which `rows x cols` are there.
    fn transpose_block(
        &mut self,
        (from, to): (Slab, Slab),
        (down, across): (Id, Id),
        (rows, cols): (u32, u32),
    ) {
        let top = self.e.mul_u32(down, LANES);
        let zero = self.e.null(from.ty());
        let mut block = vec![];
        for i in 0..LANES {
            if i >= rows {
                block.push(zero);
                continue;
            }
            let row = self.e.add_u32(top, i);
            let first = self.e.mul_u32(row, from.across());
            let at = self.e.add(U32, first, across);
            block.push(self.get_vector(from, at));
        }
        self.transpose_vectors(from.ty(), &mut block);
        let left = self.e.mul_u32(across, LANES);
        for (i, vector) in (0..cols).zip(block) {
            let row = self.e.add_u32(left, i);
            let first = self.e.mul_u32(row, to.across());
            let at = self.e.add(U32, first, down);
            self.put_vector(to, at, vector);
        }
    }

    /// Component `r` of vector `c` becomes what component `c` of vector `r` was: a bit of the number of the vector changes
    /// places with the same bit of the number of the component, one bit after the other.
    fn transpose_vectors(&mut self, ty: Ty, vectors: &mut [Id]) {
        let ty = self.e.ty(ty);
        for distance in [8, 4, 2, 1] {
            for low in (0..vectors.len()).filter(|i| i & distance as usize == 0) {
                let high = low | distance as usize;
                let pair = [vectors[low], vectors[high]];
                let mut taken = |bit: u32| {
                    // Of components with the bit the second vector's, of others the first's.
                    let numbers: Vec<u32> = (0..LANES)
                        .map(|i| {
                            let component = if bit == 0 { i & !distance } else { i | distance };
                            if i & distance == 0 { component } else { LANES + component }
                        })
                        .collect();
                    self.e.pure_with(Inst::VectorShuffle, ty, &pair, &numbers)
                };
                (vectors[low], vectors[high]) = (taken(0), taken(1));
            }
        }
    }

    /// Copies `rows x cols` of a slab to another: a row and vector of each to begin at.
    fn copy_part(
        &mut self,
        (from, from_row, from_vector): (Slab, u32, u32),
        (to, to_row, to_vector): (Slab, u32, u32),
        (rows, across): (u32, u32),
    ) -> Result<(), LowerError> {
        self.each(rows, |s, row| {
            let first = |s: &mut Self, slab: Slab, row_0: u32, vector: u32| {
                let at = s.e.add_u32(row, row_0);
                let at = s.e.mul_u32(at, slab.across());
                s.e.add_u32(at, vector)
            };
            let source = first(s, from, from_row, from_vector);
            let target = first(s, to, to_row, to_vector);
            s.each_of_few(across, |s, j| {
                let (a, b) = (s.e.add(U32, source, j), s.e.add(U32, target, j));
                let vector = s.get_vector(from, a);
                s.put_vector(to, b, vector);
                Ok(())
            })
        })
    }

    /// `sub_tile`
    pub(crate) fn lane_sub_tile(
        &mut self,
        op: &Op,
        tile: ValueId,
        (down, right): (u32, u32),
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let from = self.slab(tile)?;
        let to = self.new_slab(result)?;
        if !to.cols.is_multiple_of(LANES) && to.cols != from.cols {
            return self.copy_elements((from, down * to.rows, right * to.cols), (to, 0, 0), to);
        }
        let first = right * to.across();
        self.copy_part((from, down * to.rows, first), (to, 0, 0), (to.rows, to.across()))
    }

    /// `set_sub_tile`
    pub(crate) fn lane_set_sub_tile(
        &mut self,
        op: &Op,
        tile: ValueId,
        part: ValueId,
        (down, right): (u32, u32),
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let (old, part) = (self.slab(tile)?, self.slab(part)?);
        let new = self.slab_over(result, tile)?;
        if new.var != old.var {
            self.copy_part((old, 0, 0), (new, 0, 0), (old.rows, old.across()))?;
        }
        if !part.cols.is_multiple_of(LANES) && part.cols != old.cols {
            return self.copy_elements((part, 0, 0), (new, down * part.rows, right * part.cols), part);
        }
        let first = right * part.across();
        self.copy_part((part, 0, 0), (new, down * part.rows, first), (part.rows, part.across()))
    }

    /// Copies the elements of a part whose rows are no whole vectors.
    fn copy_elements(
        &mut self,
        (from, from_row, from_col): (Slab, u32, u32),
        (to, to_row, to_col): (Slab, u32, u32),
        part: Slab,
    ) -> Result<(), LowerError> {
        self.each(part.rows, |s, row| {
            s.each(part.cols, |s, col| {
                let (r, c) = (s.e.add_u32(row, from_row), s.e.add_u32(col, from_col));
                let source = s.index(from, r, c);
                let (r, c) = (s.e.add_u32(row, to_row), s.e.add_u32(col, to_col));
                let target = s.index(to, r, c);
                let element = s.get_element(from, source);
                s.put_element(to, target, element);
                Ok(())
            })
        })
    }
}
