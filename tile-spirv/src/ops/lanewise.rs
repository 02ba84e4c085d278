//! Owns loads and stores element by element, for what no block message can do: last columns beside a multiple of 4
//! bytes, an output less than 64 bytes wide, a tile of 8 or 16 bits at an element beside such a multiple.
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
use crate::lanes::Layout;
use crate::module::{Id, Ty};

impl Lowering<'_> {
    /// Loads a tile of 8 or 16 bits element by element; elements outside the plane, which must not be empty, are 0.
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
                let (y, x) = (layout.chunk_rows() * down, layout.chunk_cols() * across);
                let per = 4 / surface.esz;
                let parts: Vec<Id> = (0..8)
                    .map(|i| match form {
                        LoadForm::Plain => {
                            let r = row.at(&mut self.e, y + i);
                            let first = self.e.mul_u32(lane, layout.per_lane());
                            let parts: Vec<Id> = (0..layout.per_lane())
                                .map(|sub| {
                                    let c = col.plus(&mut self.e, first).at(&mut self.e, x + sub);
                                    self.element(surface, r, c)
                                })
                                .collect();
                            self.packed(surface, &parts)
                        }
                        LoadForm::Transform => {
                            let c = col.plus(&mut self.e, lane).at(&mut self.e, x);
                            let parts: Vec<Id> = (0..per)
                                .map(|part| {
                                    let r = row.at(&mut self.e, y + per * i + part);
                                    self.element(surface, r, c)
                                })
                                .collect();
                            self.packed(surface, &parts)
                        }
                        LoadForm::Transpose if !tile.role.is_right_operand() => {
                            let r = row.plus(&mut self.e, lane).at(&mut self.e, x);
                            let c = col.at(&mut self.e, y + i);
                            self.element(surface, r, c)
                        }
                        LoadForm::Transpose => {
                            let r = row.plus(&mut self.e, lane).at(&mut self.e, x);
                            let parts: Vec<Id> = (0..per)
                                .map(|part| {
                                    let c = col.at(&mut self.e, y + per * i + part);
                                    self.element(surface, r, c)
                                })
                                .collect();
                            self.packed(surface, &parts)
                        }
                    })
                    .collect();
                out[layout.index(down, across)] =
                    self.e.pure(Inst::CompositeConstruct, layout.chunk(), &parts);
            }
        }
        out
    }

    /// One element of 8 or 16 bits, 0 outside the plane.
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
        let word = Ty::Int(8 * surface.esz);
        let ty = e.ty(word);
        let operands = vec![
            Operand::IdRef(from),
            Operand::MemoryAccess(MemoryAccess::ALIGNED),
            Operand::LiteralBit32(surface.esz),
        ];
        let value = e.value(Inst::Load, ty, operands);
        let zero = e.int(word, 0);
        e.select(word, inside, value, zero)
    }

    /// Elements side by side in one word, the first in its lowest bits.
    fn packed(&mut self, surface: Surface, parts: &[Id]) -> Id {
        if let [single] = parts {
            return *single;
        }
        let e = &mut self.e;
        let ty = Ty::Int(8 * surface.esz * parts.len() as u32);
        let mut out = None;
        for (i, &part) in (0..).zip(parts) {
            let mut word = e.resize(ty, part);
            if let Some(before) = out {
                let by = e.int(ty, u64::from(8 * surface.esz * i));
                word = e.pure(Inst::ShiftLeftLogical, ty, &[word, by]);
                word = e.pure(Inst::BitwiseOr, ty, &[before, word]);
            }
            out = Some(word);
        }
        out.unwrap_or_else(|| e.int(ty, 0))
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

    /// Every lane stores those of its columns of chunks that lie below each other which are inside the plane, if `only`
    /// holds. The chunks begin at `offset` in the tile.
    pub(crate) fn scatter_columns(
        &mut self,
        chunks: &[Id],
        tile: TileType,
        surface: Surface,
        (row, col): (Position, Position),
        offset: Id,
        only: Option<Id>,
    ) -> Result<(), LowerError> {
        let per = Layout::of(tile).per_lane();
        for sub in 0..per {
            let column = self.lane_column(col, offset, per);
            let column = self.e.add_u32(column, sub);
            let mut mine = self.e.compare(Inst::ULessThan, column, surface.cols);
            if let Some(only) = only {
                mine = self.e.both_true(mine, only);
            }
            self.scatter(chunks, tile, surface, row, (column, sub), mine)?;
        }
        Ok(())
    }

    /// Every lane with `mine` stores one column of chunks that lie below each other: the one of number `sub` that its
    /// components hold.
    fn scatter(
        &mut self,
        chunks: &[Id],
        tile: TileType,
        surface: Surface,
        row: Position,
        (column, sub): (Id, u32),
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
                                s.store_component(chunk, (component, sub), tile, surface, address);
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
        (component, sub): (u32, u32),
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
            let per = Layout::of(tile).per_lane();
            let held = Ty::Int(8 * surface.esz * per);
            let bits = e.ty(held);
            let mut word = e.pure_with(Inst::CompositeExtract, bits, &[chunk], &[component]);
            if sub > 0 {
                let by = e.int(held, u64::from(8 * surface.esz * sub));
                word = e.pure(Inst::ShiftRightLogical, held, &[word, by]);
            }
            if per > 1 { e.resize(Ty::Int(8 * surface.esz), word) } else { word }
        };
        let access = [Operand::MemoryAccess(MemoryAccess::ALIGNED), Operand::LiteralBit32(surface.esz)];
        let operands = [to, value].into_iter().map(Operand::IdRef).chain(access).collect();
        e.effect(Inst::Store, operands);
    }
}
