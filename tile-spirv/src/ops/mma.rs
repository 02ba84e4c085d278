//! Owns the emission of ops on tiles in registers: `zeros`, matrix multiplication, conversion, scaling. Those that also
//! work on vectors hand them to `vector`.
//!
//! *Assumes* the register layouts of `lanes`. *Guarantees*: operands go from loads to matrix instructions and from
//! conversions to stores without a move.

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, MatrixMultiplyAccumulateOperands, Op as Inst};
use tile_ir::ir::{Op, ValueId};
use tile_ir::legal;
use tile_ir::types::{DType, TileType};

use crate::LowerError;
use crate::control::{Lowering, Value};
use crate::lanes::Layout;
use crate::module::Id;
use crate::ops::map::CHUNK;

impl Lowering<'_> {
    /// The type of a tile value.
    pub(crate) fn tile_type(&self, value: ValueId) -> Result<TileType, LowerError> {
        self.held(value).tile().ok_or(LowerError::Malformed("a scalar is used as a tile"))
    }

    /// The one result of an op and its tile type.
    pub(crate) fn tile_result(&self, op: &Op) -> Result<(ValueId, TileType), LowerError> {
        match op.results[..] {
            [result] => Ok((result, self.tile_type(result)?)),
            _ => Err(LowerError::Malformed("a tile op has one result")),
        }
    }

    /// `zeros`: constants, so that a matrix instruction reads a null operand and no register is cleared.
    pub(crate) fn lower_zeros(&mut self, op: &Op) -> Result<(), LowerError> {
        let result = self.result(op)?;
        if let Some(v) = self.held(result).vector() {
            self.lower_zeros_vector(result, v);
            return Ok(());
        }
        let (result, tile) = self.tile_result(op)?;
        let layout = Layout::of(tile);
        let zero = self.e.null(layout.chunk());
        self.set(result, Value::Tile(vec![zero; layout.count()]));
        Ok(())
    }

    /// `acc + a * b`. Columns run outside rows, so that neighbouring instructions share the right operand and the
    /// hardware reads it once (xe_facts 3, `{Atomic}` macros with source read suppression).
    pub(crate) fn lower_mma(
        &mut self,
        op: &Op,
        acc: ValueId,
        a: ValueId,
        b: ValueId,
    ) -> Result<(), LowerError> {
        let (result, tile) = self.tile_result(op)?;
        let (left, right) = (self.tile_type(a)?, self.tile_type(b)?);
        let row = legal::mma(left.dtype, right.dtype, tile.dtype)
            .ok_or(LowerError::Malformed("no matrix instruction for the operands"))?;
        self.e.need(Capability::SubgroupMatrixMultiplyAccumulateINTEL);
        let mut chunks = self.tile(acc)?;
        let late = self.late.remove(&b);
        let x = self.tile(a)?;
        let y = if late.is_some() { vec![] } else { self.tile(b)? };
        let (of_acc, of_a, of_b) = (Layout::of(tile), Layout::of(left), Layout::of(right));
        let ty = self.e.ty(of_acc.chunk());
        let k = self.e.u32(row.k);
        let flags = MatrixMultiplyAccumulateOperands::from_bits_truncate(row.flags);
        for step in 0..of_b.down() {
            let x: Vec<Id> =
                (0..of_acc.down()).map(|down| self.operand(of_a, left, x[of_a.index(down, step)])).collect();
            for across in 0..of_acc.across() {
                let y = match &late {
                    Some(late) => self.late_chunk(late, step, across)?,
                    None => y[of_b.index(step, across)],
                };
                let y = self.operand(of_b, right, y);
                for down in 0..of_acc.down() {
                    let at = of_acc.index(down, across);
                    let mut operands: Vec<Operand> =
                        [k, x[down as usize], y, chunks[at]].map(Operand::IdRef).to_vec();
                    operands.push(Operand::MatrixMultiplyAccumulateOperands(flags));
                    chunks[at] = self.e.value(Inst::SubgroupMatrixMultiplyAccumulateINTEL, ty, operands);
                }
            }
        }
        self.set(result, Value::Tile(chunks));
        Ok(())
    }

    /// A chunk as a matrix instruction takes it. Elements of tf32 are still those of the f32 tensor and are rounded to
    /// nearest even here: the extension leaves open what the instruction makes of the bits that tf32 has not. Rounding them
    /// where they are loaded kept both forms alive and spilled (1,024 bytes on pvc for 32x64x16).
    fn operand(&mut self, layout: Layout, tile: TileType, chunk: Id) -> Id {
        if tile.dtype != DType::Tf32 {
            return chunk;
        }
        self.e.need(Capability::TensorFloat32RoundingINTEL);
        let ty = self.e.ty(layout.chunk());
        self.e.value(Inst::RoundFToTF32INTEL, ty, vec![Operand::IdRef(chunk)])
    }

    /// `.to::<T>()`: chunk by chunk, since `Acc` and `Row` tiles put the same element in the same lane.
    pub(crate) fn lower_convert(&mut self, op: &Op, tile: ValueId) -> Result<(), LowerError> {
        let result = self.result(op)?;
        if self.held(result).vector().is_some() {
            return self.lower_convert_vector(result, tile);
        }
        let (result, to) = self.tile_result(op)?;
        let from = self.tile_type(tile)?;
        let chunks = self.tile(tile)?;
        if from.dtype == to.dtype {
            self.set(result, Value::Tile(chunks));
            return Ok(());
        }
        let wide = match from.dtype {
            DType::I8 | DType::U8 => self.unpacked_bytes(&chunks, from),
            DType::Bf16 | DType::F16 | DType::F32 | DType::I32 | DType::Tf32 | DType::Bool => {
                chunks.into_iter().map(|chunk| self.widened(from.dtype, CHUNK, chunk)).collect()
            }
        };
        // Every 16-bit value is an f32, so going through it rounds once.
        let wide: Vec<Id> =
            wide.into_iter().map(|chunk| self.across(CHUNK, from.dtype, to.dtype, chunk)).collect();
        let chunks = match to.dtype {
            DType::I8 | DType::U8 => self.packed_bytes(&wide, to),
            DType::Bf16 | DType::F16 | DType::F32 | DType::I32 | DType::Tf32 | DType::Bool => {
                wide.into_iter().map(|chunk| self.narrowed(to.dtype, CHUNK, chunk)).collect()
            }
        };
        self.set(result, Value::Tile(chunks));
        Ok(())
    }

    /// `.scale(s)`.
    pub(crate) fn lower_scale(&mut self, op: &Op, tile: ValueId, by: ValueId) -> Result<(), LowerError> {
        let result = self.result(op)?;
        if self.held(result).vector().is_some() {
            return self.lower_scale_vector(result, tile, by);
        }
        let (result, ty) = self.tile_result(op)?;
        let chunks = self.tile(tile)?;
        let by = self.scalar(by)?;
        let factor = self.e.pure(Inst::CompositeConstruct, CHUNK, &[by; 8]);
        let mut scaled = vec![];
        for chunk in chunks {
            let x = self.widened(ty.dtype, CHUNK, chunk);
            let shape = self.e.ty(CHUNK);
            let y = self.e.value(Inst::FMul, shape, vec![Operand::IdRef(x), Operand::IdRef(factor)]);
            scaled.push(self.narrowed(ty.dtype, CHUNK, y));
        }
        let chunks = scaled;
        self.set(result, Value::Tile(chunks));
        Ok(())
    }
}
