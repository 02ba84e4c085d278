//! Owns the emission of ops that move elements in registers: `transpose`, `sub_tile`, `set_sub_tile`.
//!
//! *Assumes* the register layouts of `lanes`. *Guarantees*: parts of tiles are names for registers and cost nothing.

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Op as Inst};
use tile_ir::ir::{Op, ValueId};

use crate::LowerError;
use crate::control::{Lowering, Value};
use crate::lanes::Layout;
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

    pub(crate) fn part_of(&mut self, layout: Layout, chunk: Id, i: u32) -> Id {
        let ty = self.e.ty(layout.component());
        self.e.pure_with(Inst::CompositeExtract, ty, &[chunk], &[i])
    }

    /// Lane `r` of register `c` becomes what lane `c` of register `r` was.
    ///
    /// A bit of the number of the register changes places with the same bit of the number of the lane, one bit after the
    /// other: two registers that differ in the bit exchange half of their lanes. Measured with Intel's compiler on pvc and
    /// bmg, per 16 x 16 elements: 208 instructions for 32 bits and 140 for 16 bits (200 without the pairs).
    pub(crate) fn transposed(&mut self, ty: Ty, mut rows: Vec<Id>) -> Vec<Id> {
        if ty == Ty::Int(16) {
            return self.transposed_pairs(&rows);
        }
        for distance in [8, 4, 2, 1] {
            self.exchange(ty, &mut rows, distance);
        }
        rows
    }

    /// The same for 16 bits: a word holds the registers `r` and `r + 8`, so that one exchange serves both.
    fn transposed_pairs(&mut self, rows: &[Id]) -> Vec<Id> {
        let (word, pair) = (Ty::Int(32), Ty::IntVec(16, 2));
        let mut words: Vec<Id> = (0..8)
            .map(|i| {
                let both = self.e.pure(Inst::CompositeConstruct, pair, &[rows[i], rows[i + 8]]);
                self.e.pure(Inst::Bitcast, word, &[both])
            })
            .collect();
        for distance in [4, 2, 1] {
            self.exchange(word, &mut words, distance);
        }
        let has = self.lanes_with(8);
        let mut out = vec![0; 16];
        for (i, mine) in words.into_iter().enumerate() {
            let there = self.exchanged(word, mine, 8);
            let [mine, there] = [mine, there].map(|w| {
                let both = self.e.pure(Inst::Bitcast, pair, &[w]);
                let half = self.e.ty(Ty::Int(16));
                [0, 1].map(|h| self.e.pure_with(Inst::CompositeExtract, half, &[both], &[h]))
            });
            out[i] = self.e.select(Ty::Int(16), has, there[1], mine[0]);
            out[i + 8] = self.e.select(Ty::Int(16), has, mine[1], there[0]);
        }
        out
    }

    /// Registers that differ in a bit of their number exchange lanes: afterwards that bit is one of the lane's number.
    fn exchange(&mut self, ty: Ty, rows: &mut [Id], distance: u32) {
        let has = self.lanes_with(distance);
        for low in (0..rows.len()).filter(|i| i & distance as usize == 0) {
            let high = low | distance as usize;
            let (a, b) = (rows[low], rows[high]);
            let given = self.e.select(ty, has, a, b);
            let taken = self.exchanged(ty, given, distance);
            rows[low] = self.e.select(ty, has, taken, a);
            rows[high] = self.e.select(ty, has, b, taken);
        }
    }

    /// `bool`: the number of the lane has this bit.
    fn lanes_with(&mut self, bit: u32) -> Id {
        let lane = self.lane();
        let bits = self.e.and_u32(lane, bit);
        let zero = self.e.u32(0);
        self.e.pure(Inst::INotEqual, Ty::Bool, &[bits, zero])
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
