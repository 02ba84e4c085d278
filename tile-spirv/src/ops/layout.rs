//! Owns the emission of ops that move elements in registers: `transpose`, `sub_tile`, `set_sub_tile`.
//!
//! *Assumes* the register layouts of `lanes`. *Guarantees*: parts of tiles are names for registers and cost nothing.

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Op as Inst};
use tile_ir::ir::{Op, ValueId};

use crate::LowerError;
use crate::control::{Lowering, Value};
use crate::lanes::{LANES, Layout};
use crate::module::{Id, Ty};

impl Lowering<'_> {
    /// `transpose`: block by block of 16 x 16.
    pub(crate) fn lower_transpose(&mut self, op: &Op, tile: ValueId) -> Result<(), LowerError> {
        let (result, to) = self.tile_result(op)?;
        let (from, chunks) = (Layout::of(self.tile_type(tile)?), self.tile(tile)?);
        let to = Layout::of(to);
        let mut out = vec![0; to.count()];
        for across in 0..from.across() {
            for block in 0..from.down() / 2 {
                let halves = [0, 1].map(|half| chunks[from.index(2 * block + half, across)]);
                let rows = halves.into_iter().flat_map(|chunk| (0..8).map(move |i| (chunk, i)));
                let rows = rows.map(|(chunk, i)| self.part_of(from, chunk, i)).collect();
                for (half, rows) in self.transposed(from.component(), rows).chunks(8).enumerate() {
                    let at = to.index(2 * across + half as u32, block);
                    out[at] = self.e.pure(Inst::CompositeConstruct, to.chunk(), rows);
                }
            }
        }
        self.set(result, Value::Tile(out));
        Ok(())
    }

    fn part_of(&mut self, layout: Layout, chunk: Id, i: u32) -> Id {
        let ty = self.e.ty(layout.component());
        self.e.pure_with(Inst::CompositeExtract, ty, &[chunk], &[i])
    }

    /// Lane `r` of register `c` becomes what lane `c` of register `r` was.
    ///
    /// A bit of the number of the register changes places with the same bit of the number of the lane, one bit after the
    /// other: two registers that differ in the bit exchange half of their lanes.
    fn transposed(&mut self, ty: Ty, mut rows: Vec<Id>) -> Vec<Id> {
        let lane = self.lane();
        let mut distance = LANES / 2;
        while distance > 0 {
            let bits = self.e.and_u32(lane, distance);
            let zero = self.e.u32(0);
            let has = self.e.pure(Inst::INotEqual, Ty::Bool, &[bits, zero]);
            for low in (0..rows.len()).filter(|i| i & distance as usize == 0) {
                let high = low | distance as usize;
                let (a, b) = (rows[low], rows[high]);
                let given = self.e.select(ty, has, a, b);
                let taken = self.exchanged(ty, given, distance);
                rows[low] = self.e.select(ty, has, taken, a);
                rows[high] = self.e.select(ty, has, b, taken);
            }
            distance /= 2;
        }
        rows
    }

    fn exchanged(&mut self, ty: Ty, value: Id, distance: u32) -> Id {
        self.e.need(Capability::SubgroupShuffleINTEL);
        let by = self.e.u32(distance);
        let ty = self.e.ty(ty);
        self.e.value(Inst::SubgroupShuffleXorINTEL, ty, [value, by].map(Operand::IdRef).to_vec())
    }

    /// `sub_tile`
    pub(crate) fn lower_sub_tile(
        &mut self,
        op: &Op,
        tile: ValueId,
        at: (u32, u32),
    ) -> Result<(), LowerError> {
        let (result, part) = self.tile_result(op)?;
        let (whole, chunks) = (Layout::of(self.tile_type(tile)?), self.tile(tile)?);
        let part = Layout::of(part);
        let mut out = vec![0; part.count()];
        for (inner, outer) in part.places_in(whole, at) {
            out[inner] = chunks[outer];
        }
        self.set(result, Value::Tile(out));
        Ok(())
    }

    /// `set_sub_tile`
    pub(crate) fn lower_set_sub_tile(
        &mut self,
        op: &Op,
        tile: ValueId,
        part: ValueId,
        at: (u32, u32),
    ) -> Result<(), LowerError> {
        let (result, whole) = self.tile_result(op)?;
        let mut chunks = self.tile(tile)?;
        let (layout, new) = (Layout::of(self.tile_type(part)?), self.tile(part)?);
        for (inner, outer) in layout.places_in(Layout::of(whole), at) {
            chunks[outer] = new[inner];
        }
        self.set(result, Value::Tile(chunks));
        Ok(())
    }
}
