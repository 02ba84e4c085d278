//! Owns stores of a tile that crosses the last column of an output the hardware does not cut by itself.
//!
//! Two kinds of output get here (`edge`). The rows of a *wide* one are no multiple of 4 bytes: block stores with the
//! width rounded down write all but the last columns, and the lanes of the chunks that hold them store theirs. A
//! *narrow* one is less than 64 bytes wide, so no block message may touch it: its at most 31 columns of 16 bits, or 63
//! of 8, lie in the first two chunks of a row.
//!
//! *Guarantees*: nothing outside the plane is written; an output that is not live gets nothing.

use rspirv::spirv::Op as Inst;
use tile_ir::types::TileType;

use crate::LowerError;
use crate::abi::Surface;
use crate::arith::U32;
use crate::control::Lowering;
use crate::coord::Position;
use crate::lanes::Layout;
use crate::module::Id;

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
        self.scatter_columns(&first, tile, surface, (row, col), at, None)?;
        if odd && layout.across() > 1 {
            let narrow = self.e.not(wide);
            let second = column(1);
            let offset = self.e.u32(layout.chunk_cols());
            self.scatter_columns(&second, tile, surface, (row, col), offset, Some(narrow))?;
        }
        Ok(())
    }

    /// Stores a tile element by element.
    pub(crate) fn lanewise_store(
        &mut self,
        chunks: &[Id],
        tile: TileType,
        surface: Surface,
        row: Position,
        col: Position,
    ) -> Result<(), LowerError> {
        let layout = Layout::of(tile);
        for across in 0..layout.across() {
            let column: Vec<Id> = (0..layout.down()).map(|down| chunks[layout.index(down, across)]).collect();
            let offset = self.e.u32(layout.chunk_cols() * across);
            self.scatter_columns(&column, tile, surface, (row, col), offset, None)?;
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
        let size = e.u32(layout.chunk_cols());
        let across = e.div(U32, distance, size);
        let zero = e.u32(0);
        // A tile that begins beyond the last column has none of it; the distance would wrap around to it.
        let starts_inside = e.compare(Inst::ULessThanEqual, first, surface.cols);
        let has_last = e.both_true(surface.wide, starts_inside);
        let across = e.select(U32, has_last, across, zero);
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

    /// The first column that this lane holds of the chunks at an offset, where a lane holds `per` of them.
    pub(crate) fn lane_column(&mut self, col: Position, offset: Id, per: u32) -> Id {
        let lane = self.lane();
        let lane = self.e.mul_u32(lane, per);
        let first = col.plus(&mut self.e, offset).at(&mut self.e, 0);
        self.e.add(U32, first, lane)
    }
}
