//! Owns loads and stores element by element, for what no block message can do: a last odd column, an output less
//! than 64 bytes wide, a 16-bit tile at an odd element.
//!
//! *Assumes*: the surface is live where these run. *Guarantees*: no byte outside the plane is touched.

use rspirv::dr::Operand;
use rspirv::spirv::{MemoryAccess, Op as Inst, StorageClass};
use tile_ir::ir::LoadForm;
use tile_ir::types::{DType, TileType};

use crate::LowerError;
use crate::abi::Surface;
use crate::arith::{U32, U64};
use crate::control::Lowering;
use crate::coord::Position;
use crate::lanes::{LANES, Layout};
use crate::module::{Id, Ty};

impl Lowering<'_> {
    /// Loads a 16-bit tile element by element; elements outside the plane, which must not be empty, are 0.
    pub(crate) fn gather(
        &mut self,
        tile: TileType,
        form: LoadForm,
        surface: Surface,
        row: Position,
        col: Position,
    ) -> Vec<Id> {
        let layout = Layout::of(tile);
        let lane = self.lane();
        let mut out = vec![0; layout.count()];
        for across in 0..layout.across() {
            for down in 0..layout.down() {
                let (y, x) = (layout.chunk_rows() * down, LANES * across);
                let parts: Vec<Id> = (0..8)
                    .map(|i| match form {
                        LoadForm::Plain => {
                            let r = row.at(&mut self.e, y + i);
                            let c = col.plus(&mut self.e, lane).at(&mut self.e, x);
                            self.element(surface, r, c)
                        }
                        LoadForm::Transform => {
                            let c = col.plus(&mut self.e, lane).at(&mut self.e, x);
                            let [low, high] = [0, 1].map(|half| {
                                let r = row.at(&mut self.e, y + 2 * i + half);
                                self.element(surface, r, c)
                            });
                            self.pair(low, high)
                        }
                        LoadForm::Transpose if !tile.role.is_right_operand() => {
                            let r = row.plus(&mut self.e, lane).at(&mut self.e, x);
                            let c = col.at(&mut self.e, y + i);
                            self.element(surface, r, c)
                        }
                        LoadForm::Transpose => {
                            let r = row.plus(&mut self.e, lane).at(&mut self.e, x);
                            let [low, high] = [0, 1].map(|half| {
                                let c = col.at(&mut self.e, y + 2 * i + half);
                                self.element(surface, r, c)
                            });
                            self.pair(low, high)
                        }
                    })
                    .collect();
                out[layout.index(down, across)] =
                    self.e.pure(Inst::CompositeConstruct, layout.chunk(), &parts);
            }
        }
        out
    }

    /// One 16-bit element, 0 outside the plane.
    fn element(&mut self, surface: Surface, row: Id, col: Id) -> Id {
        let e = &mut self.e;
        let one = e.u32(1);
        let (last_row, last_col) = (e.sub(U32, surface.rows, one), e.sub(U32, surface.cols, one));
        let has_row = e.compare(Inst::ULessThan, row, surface.rows);
        let has_col = e.compare(Inst::ULessThan, col, surface.cols);
        let inside = e.both_true(has_row, has_col);
        let (row, col) = (e.min(U32, row, last_row), e.min(U32, col, last_col));
        let address = self.address(surface, row, col);
        let from = self.pointer_to(surface, address);
        let e = &mut self.e;
        let ty = e.ty(Ty::Int(16));
        let operands = vec![
            Operand::IdRef(from),
            Operand::MemoryAccess(MemoryAccess::ALIGNED),
            Operand::LiteralBit32(2),
        ];
        let value = e.value(Inst::Load, ty, operands);
        let zero = e.int(Ty::Int(16), 0);
        e.select(Ty::Int(16), inside, value, zero)
    }

    fn pair(&mut self, low: Id, high: Id) -> Id {
        let e = &mut self.e;
        let (low, high) = (e.resize(U32, low), e.resize(U32, high));
        let by = e.u32(16);
        let high = e.pure(Inst::ShiftLeftLogical, U32, &[high, by]);
        e.pure(Inst::BitwiseOr, U32, &[low, high])
    }

    /// The address of an element.
    pub(crate) fn address(&mut self, surface: Surface, row: Id, col: Id) -> Id {
        let e = &mut self.e;
        let (pitch, row) = (e.widen(surface.pitch), e.widen(row));
        let above = e.mul(U64, row, pitch);
        let x = e.add(U32, surface.x0, col);
        let x = e.widen(x);
        let esz = e.u64(u64::from(surface.esz));
        let x = e.mul(U64, x, esz);
        let base = e.pure(Inst::ConvertPtrToU, U64, &[surface.base]);
        let base = e.add(U64, base, above);
        e.add(U64, base, x)
    }

    /// An address as a pointer to an integer of the element's size.
    pub(crate) fn pointer_to(&mut self, surface: Surface, address: Id) -> Id {
        let e = &mut self.e;
        let element = e.ty(Ty::Int(8 * surface.esz));
        let pointer = e.pointer(StorageClass::CrossWorkgroup, element);
        e.pure_with(Inst::ConvertUToPtr, pointer, &[address], &[])
    }

    /// Every lane with `mine` stores its column of chunks that lie below each other.
    pub(crate) fn scatter(
        &mut self,
        chunks: &[Id],
        tile: TileType,
        surface: Surface,
        row: Position,
        column: Id,
        mine: Id,
    ) -> Result<(), LowerError> {
        let rows = Layout::of(tile).chunk_rows();
        self.branch(
            mine,
            &[],
            |s| {
                let top = row.at(&mut s.e, 0);
                let mut address = s.address(surface, top, column);
                let pitch = s.e.widen(surface.pitch);
                for (down, &chunk) in chunks.iter().enumerate() {
                    for component in 0..8 {
                        let line = row.at(&mut s.e, rows * down as u32 + component);
                        let exists = s.e.compare(Inst::ULessThan, line, surface.rows);
                        s.branch(
                            exists,
                            &[],
                            |s| {
                                s.store_component(chunk, component, tile, surface, address);
                                Ok(Some(vec![]))
                            },
                            |_| Ok(Some(vec![])),
                        )?;
                        address = s.e.add(U64, address, pitch);
                    }
                }
                Ok(Some(vec![]))
            },
            |_| Ok(Some(vec![])),
        )?;
        Ok(())
    }

    pub(crate) fn store_component(
        &mut self,
        chunk: Id,
        component: u32,
        tile: TileType,
        surface: Surface,
        address: Id,
    ) {
        let to = self.pointer_to(surface, address);
        let e = &mut self.e;
        let value = if tile.dtype == DType::F32 {
            let float = e.ty(Ty::Float(32));
            let value = e.pure_with(Inst::CompositeExtract, float, &[chunk], &[component]);
            e.pure(Inst::Bitcast, U32, &[value])
        } else {
            let bits = e.ty(Ty::Int(8 * surface.esz));
            e.pure_with(Inst::CompositeExtract, bits, &[chunk], &[component])
        };
        let access = [Operand::MemoryAccess(MemoryAccess::ALIGNED), Operand::LiteralBit32(surface.esz)];
        let operands = [to, value].into_iter().map(Operand::IdRef).chain(access).collect();
        e.effect(Inst::Store, operands);
    }
}
