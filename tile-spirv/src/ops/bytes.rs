//! Owns the way between tiles of bytes and tiles of 32 bits: a chunk of bytes has two neighbouring columns in a lane, a
//! wide chunk one, so elements change lanes.
//!
//! *Assumes* the register layouts of `lanes`. *Guarantees*: unpacking extends by the type's sign; packing saturates.
//! *Not here*: conversions between 32-bit types (`map`).

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Op as Inst, OpenclStd100Op as Std};
use tile_ir::types::{DType, TileType};

use crate::arith::U32;
use crate::control::Lowering;
use crate::lanes::{LANES, Layout};
use crate::module::{Id, Ty};

/// Eight i32 per lane: a wide chunk.
const WIDE: Ty = Ty::Int8(32);

impl Lowering<'_> {
    /// Chunks of 8 x 16 integers of 32 bits from chunks of 8 x 32 bytes.
    pub(crate) fn unpacked_bytes(&mut self, chunks: &[Id], from: TileType) -> Vec<Id> {
        let wide = Layout::of(TileType { dtype: DType::I32, ..from });
        let layout = Layout::of(from);
        let mut out = vec![0; wide.count()];
        for across in 0..layout.across() {
            for down in 0..layout.down() {
                let chunk = chunks[layout.index(down, across)];
                for half in 0..2 {
                    out[wide.index(down, 2 * across + half)] = self.half_of_bytes(chunk, half, from.dtype);
                }
            }
        }
        out
    }

    /// Columns 0 to 15, or 16 to 31, of a chunk of bytes.
    fn half_of_bytes(&mut self, chunk: Id, half: u32, dtype: DType) -> Id {
        // Column c of the half is byte c % 2 of lane 8 * half + c / 2.
        let lane = self.lane();
        let from = self.e.shr_u32(lane, 1);
        let from = self.e.add_u32(from, LANES / 2 * half);
        let odd = self.e.and_u32(lane, 1);
        let low_bits = self.e.mul_u32(odd, 8);
        let signed = dtype == DType::I8;
        let top = self.e.u32(24);
        let up = self.e.sub(U32, top, low_bits);
        let parts: Vec<Id> = (0..8)
            .map(|i| {
                let pair = self.component_of(chunk, Ty::Int(16), i);
                let pair = self.e.resize(U32, pair);
                let pair = self.shuffled_word(pair, from);
                // The byte moves to the top and comes down with its sign, or with zeros.
                let high = self.e.pure(Inst::ShiftLeftLogical, U32, &[pair, up]);
                let down = if signed { Inst::ShiftRightArithmetic } else { Inst::ShiftRightLogical };
                self.e.pure(down, U32, &[high, top])
            })
            .collect();
        self.e.pure(Inst::CompositeConstruct, WIDE, &parts)
    }

    /// Chunks of 8 x 32 bytes from chunks of 8 x 16 integers of 32 bits, saturated.
    pub(crate) fn packed_bytes(&mut self, wide: &[Id], to: TileType) -> Vec<Id> {
        let of_wide = Layout::of(TileType { dtype: DType::I32, ..to });
        let layout = Layout::of(to);
        let (least, most) = if to.dtype == DType::I8 { (-128i32, 127) } else { (0, 255) };
        let (least, most) = (self.e.u32(least as u32), self.e.u32(most));
        let (least, most) = (self.splat(WIDE, least), self.splat(WIDE, most));
        let mut out = vec![0; layout.count()];
        for across in 0..layout.across() {
            for down in 0..layout.down() {
                let halves = [0, 1].map(|half| {
                    let chunk = wide[of_wide.index(down, 2 * across + half)];
                    self.e.opencl(Std::s_clamp as u32, WIDE, &[chunk, least, most])
                });
                out[layout.index(down, across)] = self.joined_bytes(halves);
            }
        }
        out
    }

    /// One chunk of bytes from its two halves.
    fn joined_bytes(&mut self, halves: [Id; 2]) -> Id {
        // Lane l gets columns 2l and 2l + 1, which the lanes of these numbers hold, from 16 on in the second half.
        let lane = self.lane();
        let twice = self.e.mul_u32(lane, 2);
        let first = self.e.and_u32(twice, LANES - 1);
        let second = self.e.add_u32(first, 1);
        let eight = self.e.u32(LANES / 2);
        let above = self.e.compare(Inst::UGreaterThanEqual, lane, eight);
        let (zero, sixteen, byte) = (self.e.u32(0), self.e.u32(16), self.e.u32(8));
        let skipped = self.e.select(U32, above, sixteen, zero);
        let parts: Vec<Id> = (0..8)
            .map(|i| {
                let [a, b] = halves.map(|half| self.component_of(half, U32, i));
                let a = self.e.and_u32(a, 0xFFFF);
                let b = self.e.pure(Inst::ShiftLeftLogical, U32, &[b, sixteen]);
                let both = self.e.pure(Inst::BitwiseOr, U32, &[a, b]);
                let [low, high] = [first, second].map(|from| {
                    let there = self.shuffled_word(both, from);
                    let there = self.e.pure(Inst::ShiftRightLogical, U32, &[there, skipped]);
                    self.e.and_u32(there, 0xFF)
                });
                let high = self.e.pure(Inst::ShiftLeftLogical, U32, &[high, byte]);
                let pair = self.e.pure(Inst::BitwiseOr, U32, &[low, high]);
                self.e.resize(Ty::Int(16), pair)
            })
            .collect();
        self.e.pure(Inst::CompositeConstruct, Ty::Int8(16), &parts)
    }

    fn component_of(&mut self, chunk: Id, ty: Ty, i: u32) -> Id {
        let ty = self.e.ty(ty);
        self.e.pure_with(Inst::CompositeExtract, ty, &[chunk], &[i])
    }

    /// The word that another lane holds.
    fn shuffled_word(&mut self, value: Id, from: Id) -> Id {
        self.e.need(Capability::SubgroupShuffleINTEL);
        let ty = self.e.ty(U32);
        self.e.value(Inst::SubgroupShuffleINTEL, ty, [value, from].map(Operand::IdRef).to_vec())
    }
}
