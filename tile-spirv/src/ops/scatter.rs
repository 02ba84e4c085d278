//! Owns stores that no block message does: transposed stores, stores of vectors and atomic adds, each lane at its own address.
//!
//! *Assumes* surfaces from `abi` and positions from `coord`. *Guarantees*: nothing outside the plane is touched.
//! *Not here*: the ragged edge of plain stores (`tail`).

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, MemoryAccess, Op as Inst, Scope, StorageClass};
use tile_ir::ir::{Coord, ParamId, ValueId};
use tile_ir::types::{Encoding, TileType, Type, VectorType};

use crate::LowerError;
use crate::abi::Surface;
use crate::arith::{U32, U64};
use crate::control::Lowering;
use crate::coord::Position;
use crate::lanes::{LANES, Layout};
use crate::module::{Id, Ty};
use crate::ops::map::LANE;

impl Lowering<'_> {
    /// `store_transpose`: lane `c` holds column `c` of the tile, which is a run of elements in row `c` of the output. Eight
    /// elements are one message part of 32 or 16 bytes per lane (xe_facts 7: 4 B alignment is enough).
    pub(crate) fn lower_store_transpose(
        &mut self,
        global: ParamId,
        tile: ValueId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let chunks = self.tile(tile)?;
        let tile = self.tile_type(tile)?;
        let surface = self.surface(global, at.batch, at.depth)?;
        let row = self.exact(at.row, Self::unit(at, tile.cols))?;
        let col = self.exact(at.col, Self::unit(at, tile.rows))?;
        let crosses = self.crosses(surface, col, tile.rows);
        let mut by_element = crosses;
        if self.may_be_odd(at, surface) {
            // A run that begins at an odd 16-bit element is not aligned to 4 bytes.
            let column = col.at(&mut self.e, 0);
            let odd = self.is_odd(column, surface);
            by_element = self.e.pure(Inst::LogicalOr, Ty::Bool, &[crosses, odd]);
        }
        let none = || Ok(Some(vec![]));
        self.branch(
            by_element,
            &[],
            |s| s.columns(&chunks, tile, surface, (row, col), true).and_then(|()| none()),
            |s| s.columns(&chunks, tile, surface, (row, col), false).and_then(|()| none()),
        )?;
        Ok(())
    }

    /// Every lane stores its columns of the tile, each as a run in a row of the output.
    fn columns(
        &mut self,
        chunks: &[Id],
        tile: TileType,
        surface: Surface,
        (row, col): (Position, Position),
        by_element: bool,
    ) -> Result<(), LowerError> {
        let layout = Layout::of(tile);
        let lane = self.lane();
        for across in 0..layout.across() {
            let line = row.plus(&mut self.e, lane).at(&mut self.e, LANES * across);
            let exists = self.e.compare(Inst::ULessThan, line, surface.rows);
            // A plane that does not exist has no columns.
            let none = self.e.u32(0);
            let any = self.e.compare(Inst::UGreaterThan, surface.cols, none);
            let exists = self.e.both_true(exists, any);
            self.branch(
                exists,
                &[],
                |s| {
                    let first = col.at(&mut s.e, 0);
                    let address = s.address(surface, line, first);
                    for down in 0..layout.down() {
                        let chunk = chunks[layout.index(down, across)];
                        let at = layout.chunk_rows() * down;
                        let offset = s.e.u64(u64::from(at * surface.esz));
                        let address = s.e.add(U64, address, offset);
                        if by_element {
                            s.store_run_by_element(chunk, tile, surface, (col, at), address)?;
                        } else {
                            s.store_run(chunk, tile, surface, address);
                        }
                    }
                    Ok(Some(vec![]))
                },
                |_| Ok(Some(vec![])),
            )?;
        }
        Ok(())
    }

    /// Stores the 8 components of a chunk one after the other in memory.
    pub(super) fn store_run(&mut self, chunk: Id, tile: TileType, surface: Surface, address: Id) {
        // As 32-bit words, whatever the elements: the message moves those (xe_facts 7).
        let ty = if surface.esz == 4 { Ty::Int8(32) } else { Ty::IntVec(32, 2 * surface.esz) };
        let value = match Layout::of(tile).chunk() {
            same if same == ty => chunk,
            _ => self.e.pure(Inst::Bitcast, ty, &[chunk]),
        };
        let to = self.pointer_as(ty, address);
        let access = [Operand::MemoryAccess(MemoryAccess::ALIGNED), Operand::LiteralBit32(4)];
        let operands = [to, value].into_iter().map(Operand::IdRef).chain(access).collect();
        self.e.effect(Inst::Store, operands);
    }

    pub(super) fn store_run_by_element(
        &mut self,
        chunk: Id,
        tile: TileType,
        surface: Surface,
        (col, at): (Position, u32),
        address: Id,
    ) -> Result<(), LowerError> {
        for i in 0..8 {
            let column = col.at(&mut self.e, at + i);
            let inside = self.e.compare(Inst::ULessThan, column, surface.cols);
            self.branch(
                inside,
                &[],
                |s| {
                    let offset = s.e.u64(u64::from(i * surface.esz));
                    let address = s.e.add(U64, address, offset);
                    s.store_component(chunk, (i, 0), tile, surface, address);
                    Ok(Some(vec![]))
                },
                |_| Ok(Some(vec![])),
            )?;
        }
        Ok(())
    }

    /// An address as a pointer.
    pub(super) fn pointer_as(&mut self, pointee: Ty, address: Id) -> Id {
        let e = &mut self.e;
        let pointee = e.ty(pointee);
        let pointer = e.pointer(StorageClass::CrossWorkgroup, pointee);
        e.pure_with(Inst::ConvertUToPtr, pointer, &[address], &[])
    }

    /// `atomic_add`, `atomic_add_vec`.
    pub(crate) fn lower_atomic_add(
        &mut self,
        global: ParamId,
        value: ValueId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        match self.kernel.ty(value) {
            Type::Tile(tile) => self.add_tile(global, value, tile, at),
            Type::Vector(vector) => self.add_vector(global, value, vector, at),
            Type::Scalar(_) => Err(LowerError::Malformed("a scalar is used as a tile")),
        }
    }

    fn add_tile(
        &mut self,
        global: ParamId,
        value: ValueId,
        tile: TileType,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let chunks = self.tile(value)?;
        let surface = self.surface(global, at.batch, at.depth)?;
        let row = self.exact(at.row, Self::unit(at, tile.rows))?;
        let col = self.exact(at.col, Self::unit(at, tile.cols))?;
        let layout = Layout::of(tile);
        let end = row.at(&mut self.e, tile.rows);
        let below = self.e.compare(Inst::UGreaterThan, end, surface.rows);
        for across in 0..layout.across() {
            let offset = self.e.u32(LANES * across);
            let column = self.lane_column(col, offset, 1);
            let mine = self.e.compare(Inst::ULessThan, column, surface.cols);
            let chunks: Vec<Id> = (0..layout.down()).map(|down| chunks[layout.index(down, across)]).collect();
            self.branch(
                mine,
                &[],
                |s| {
                    let top = row.at(&mut s.e, 0);
                    let address = s.address(surface, top, column);
                    // Two copies: only a tile at the last row needs a test per row.
                    s.branch(
                        below,
                        &[],
                        |s| {
                            s.add_column(&chunks, layout, surface, row, (address, true))
                                .map(|()| Some(vec![]))
                        },
                        |s| {
                            s.add_column(&chunks, layout, surface, row, (address, false))
                                .map(|()| Some(vec![]))
                        },
                    )?;
                    Ok(Some(vec![]))
                },
                |_| Ok(Some(vec![])),
            )?;
        }
        Ok(())
    }

    /// Adds this lane's elements of chunks that lie below each other.
    fn add_column(
        &mut self,
        chunks: &[Id],
        layout: Layout,
        surface: Surface,
        row: Position,
        (mut address, tested): (Id, bool),
    ) -> Result<(), LowerError> {
        let pitch = self.e.widen(surface.pitch);
        for (i, (chunk, component)) in
            chunks.iter().flat_map(|&chunk| (0..8).map(move |c| (chunk, c))).enumerate()
        {
            let ty = self.e.ty(layout.component());
            let value = self.e.pure_with(Inst::CompositeExtract, ty, &[chunk], &[component]);
            if tested {
                let line = row.at(&mut self.e, i as u32);
                let exists = self.e.compare(Inst::ULessThan, line, surface.rows);
                self.branch(
                    exists,
                    &[],
                    |s| {
                        s.add_to_memory(layout.component(), address, value);
                        Ok(Some(vec![]))
                    },
                    |_| Ok(Some(vec![])),
                )?;
            } else {
                self.add_to_memory(layout.component(), address, value);
            }
            address = self.e.add(U64, address, pitch);
        }
        Ok(())
    }

    fn add_vector(
        &mut self,
        global: ParamId,
        value: ValueId,
        vector: VectorType,
        at: &Coord,
    ) -> Result<(), LowerError> {
        self.scatter_vector(global, value, vector, at, |s, address, register| {
            s.add_to_memory(Layout::register(vector.dtype), address, register);
        })
    }

    /// `store_vec`.
    pub(crate) fn lower_store_vector(
        &mut self,
        global: ParamId,
        value: ValueId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let vector =
            self.kernel.ty(value).vector().ok_or(LowerError::Malformed("a value is used as a vector"))?;
        if vector.encoding == Encoding::Wide {
            return self.lower_store_wide(global, value, vector, at);
        }
        self.scatter_vector(global, value, vector, at, |s, address, register| {
            let bytes = vector.dtype.size_bytes();
            let ty = if bytes == 4 { Layout::register(vector.dtype) } else { Ty::Int(8 * bytes) };
            let value = s.narrowed(vector.dtype, LANE, register);
            let to = s.pointer_as(ty, address);
            let access = [Operand::MemoryAccess(MemoryAccess::ALIGNED), Operand::LiteralBit32(bytes)];
            let operands = [to, value].into_iter().map(Operand::IdRef).chain(access).collect();
            s.e.effect(Inst::Store, operands);
        })
    }

    /// Hands every lane that holds an element inside the plane its register and the element's address.
    fn scatter_vector(
        &mut self,
        global: ParamId,
        value: ValueId,
        vector: VectorType,
        at: &Coord,
        put: impl Fn(&mut Self, Id, Id),
    ) -> Result<(), LowerError> {
        let registers = self.vector(value)?;
        let surface = self.surface(global, at.batch, at.depth)?;
        let row = self.exact(at.row, 1)?.at(&mut self.e, 0);
        let col = self.exact(at.col, Self::unit(at, vector.len))?;
        let has_row = self.e.compare(Inst::ULessThan, row, surface.rows);
        for (i, register) in registers.into_iter().enumerate() {
            let first = LANES * i as u32;
            let offset = self.e.u32(first);
            let column = self.lane_column(col, offset, 1);
            let inside = self.e.compare(Inst::ULessThan, column, surface.cols);
            let mut mine = self.e.both_true(inside, has_row);
            if vector.len - first < LANES {
                // Lanes beyond the vector's end hold no element.
                let (lane, end) = (self.lane(), self.e.u32(vector.len - first));
                let has = self.e.compare(Inst::ULessThan, lane, end);
                mine = self.e.both_true(mine, has);
            }
            self.branch(
                mine,
                &[],
                |s| {
                    let address = s.address(surface, row, column);
                    put(s, address, register);
                    Ok(Some(vec![]))
                },
                |_| Ok(Some(vec![])),
            )?;
        }
        Ok(())
    }

    /// One indivisible addition in device memory, in no order with others.
    fn add_to_memory(&mut self, ty: Ty, address: Id, value: Id) {
        let add = if ty == Ty::Float(32) {
            // SPV_EXT_shader_atomic_float_add
            self.e.need(Capability::AtomicFloat32AddEXT);
            Inst::AtomicFAddEXT
        } else {
            Inst::AtomicIAdd
        };
        let to = self.pointer_as(ty, address);
        let (scope, relaxed) = (self.e.u32(Scope::Device as u32), self.e.int(U32, 0));
        let ty = self.e.ty(ty);
        let operands = [to, scope, relaxed, value].map(Operand::IdRef).to_vec();
        self.e.value(add, ty, operands);
    }
}
