//! Owns stores of a tile that crosses the last column of an output the hardware does not cut by itself.
//!
//! Two kinds of output get here (`edge`). A *wide* one has an odd number of 16-bit columns: block stores with the
//! width rounded down write all but the last column, which its lane then stores. A *narrow* one is less than 64 bytes
//! wide, so no block message may touch it: its at most 31 columns lie in the first two chunks of a row.
//!
//! *Guarantees*: nothing outside the plane is written; an output that is not live gets nothing.

use rspirv::dr::Operand;
use rspirv::spirv::{MemoryAccess, Op as Inst, StorageClass};
use tile_ir::types::{DType, TileType};

use crate::LowerError;
use crate::abi::Surface;
use crate::arith::{U32, U64};
use crate::control::Lowering;
use crate::coord::Position;
use crate::lanes::{LANES, Layout};
use crate::module::{Id, Ty};

impl Lowering<'_> {
    /// Stores a tile at an untrusted edge.
    pub(crate) fn tail_store(
        &mut self,
        chunks: &[Id],
        tile: TileType,
        surface: Surface,
        row: Position,
        col: Position,
    ) -> Result<(), LowerError> {
        let layout = Layout::of(tile);
        let wide = surface.wide;
        let narrow = self.e.not(wide);
        let column = |across: u32| -> Vec<Id> {
            (0..layout.down()).map(|down| chunks[layout.index(down, across)]).collect()
        };
        // f32 columns are 4 bytes, so a wide output of them is never odd.
        let odd = surface.esz < 4;
        let (mut first, mut at) = (column(0), self.e.u32(0));
        if odd {
            self.branch(
                wide,
                &[],
                |s| s.block_store(chunks, tile, surface, row, col).map(|()| Some(vec![])),
                |_| Ok(Some(vec![])),
            )?;
            (first, at) = self.last_column(chunks, layout, surface, col);
        }
        let lane_column = self.lane_column(col, at);
        let inside = self.e.compare(Inst::ULessThan, lane_column, surface.cols);
        let after = self.e.add_u32(lane_column, 1);
        let is_last = self.e.compare(Inst::IEqual, after, surface.cols);
        let mine = self.e.either_true(narrow, is_last);
        let mine = self.e.both_true(inside, mine);
        self.scatter(&first, tile, surface, row, lane_column, mine)?;
        if odd && layout.across() > 1 {
            let second = column(1);
            let offset = self.e.u32(LANES);
            let lane_column = self.lane_column(col, offset);
            let inside = self.e.compare(Inst::ULessThan, lane_column, surface.cols);
            let mine = self.e.both_true(inside, narrow);
            self.scatter(&second, tile, surface, row, lane_column, mine)?;
        }
        Ok(())
    }

    /// The chunks that hold the last column, and their offset in the tile; the first ones for a narrow output.
    fn last_column(
        &mut self,
        chunks: &[Id],
        layout: Layout,
        surface: Surface,
        col: Position,
    ) -> (Vec<Id>, Id) {
        let e = &mut self.e;
        let first = col.at(e, 1);
        let distance = e.sub(U32, surface.cols, first);
        let size = e.u32(LANES);
        let across = e.div(U32, distance, size);
        let zero = e.u32(0);
        let across = e.select(U32, surface.wide, across, zero);
        let ty = layout.chunk();
        let picked = (0..layout.down())
            .map(|down| {
                (1..layout.across()).fold(chunks[layout.index(down, 0)], |so_far, candidate| {
                    let number = e.u32(candidate);
                    let hit = e.compare(Inst::IEqual, across, number);
                    e.select_vector(ty, hit, chunks[layout.index(down, candidate)], so_far)
                })
            })
            .collect();
        (picked, e.mul(U32, across, size))
    }

    /// The column that this lane holds of the chunks at an offset.
    fn lane_column(&mut self, col: Position, offset: Id) -> Id {
        let lane = self.lane();
        let first = col.plus(&mut self.e, offset).at(&mut self.e, 0);
        self.e.add(U32, first, lane)
    }

    /// Every lane with `mine` stores its column of chunks that lie below each other.
    fn scatter(
        &mut self,
        chunks: &[Id],
        tile: TileType,
        surface: Surface,
        row: Position,
        column: Id,
        mine: Id,
    ) -> Result<(), LowerError> {
        let layout = Layout::of(tile);
        let bits = 8 * surface.esz;
        self.branch(
            mine,
            &[],
            |s| {
                let top = row.at(&mut s.e, 0);
                let e = &mut s.e;
                let pitch = e.widen(surface.pitch);
                let above = e.widen(top);
                let above = e.mul(U64, above, pitch);
                let x = e.add(U32, surface.x0, column);
                let x = e.widen(x);
                let esz = e.u64(u64::from(surface.esz));
                let x = e.mul(U64, x, esz);
                let base = e.pure(Inst::ConvertPtrToU, U64, &[surface.base]);
                let base = e.add(U64, base, above);
                let base = e.add(U64, base, x);
                for (down, &chunk) in chunks.iter().enumerate() {
                    for component in 0..8 {
                        let offset = layout.chunk_rows() * down as u32 + component;
                        let line = row.at(&mut s.e, offset);
                        let exists = s.e.compare(Inst::ULessThan, line, surface.rows);
                        s.branch(
                            exists,
                            &[],
                            |s| {
                                let e = &mut s.e;
                                let lines = e.u64(u64::from(offset));
                                let below = e.mul(U64, pitch, lines);
                                let address = e.add(U64, base, below);
                                let element = e.ty(Ty::Int(bits));
                                let pointer = e.pointer(StorageClass::CrossWorkgroup, element);
                                let to = e.pure_with(Inst::ConvertUToPtr, pointer, &[address], &[]);
                                let value = if tile.dtype == DType::F32 {
                                    let float = e.ty(Ty::Float(32));
                                    let v =
                                        e.pure_with(Inst::CompositeExtract, float, &[chunk], &[component]);
                                    e.pure(Inst::Bitcast, Ty::Int(32), &[v])
                                } else {
                                    e.pure_with(Inst::CompositeExtract, element, &[chunk], &[component])
                                };
                                e.effect(
                                    Inst::Store,
                                    vec![
                                        Operand::IdRef(to),
                                        Operand::IdRef(value),
                                        Operand::MemoryAccess(MemoryAccess::ALIGNED),
                                        Operand::LiteralBit32(surface.esz),
                                    ],
                                );
                                Ok(Some(vec![]))
                            },
                            |_| Ok(Some(vec![])),
                        )?;
                    }
                }
                Ok(Some(vec![]))
            },
            |_| Ok(Some(vec![])),
        )?;
        Ok(())
    }
}
