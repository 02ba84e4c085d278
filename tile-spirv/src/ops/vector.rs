//! Owns the emission of vectors in registers and of reads that no block message does: loads of vectors and scalars.
//!
//! *Assumes* surfaces from `abi` and positions from `coord`. *Guarantees*: an element outside the plane is 0, and no byte
//! outside it is read. *Not here*: arithmetic on vectors (`map`).

use rspirv::dr::Operand;
use rspirv::spirv::{MemoryAccess, Op as Inst};
use tile_ir::ir::{Coord, Op, ParamId, ValueId, VectorOp};
use tile_ir::map::{self, MapBinary};
use tile_ir::types::{DType, Encoding, VectorType};

use crate::LowerError;
use crate::abi::Surface;
use crate::arith::U32;
use crate::control::{Lowering, Value};
use crate::lanes::{LANES, Layout};
use crate::module::{Id, Ty};
use crate::ops::map::{Emitted, LANE};

impl Lowering<'_> {
    /// The registers of a vector.
    pub(crate) fn vector(&self, value: ValueId) -> Result<Vec<Id>, LowerError> {
        match self.get(value) {
            Some(Value::Vector(registers)) => Ok(registers.clone()),
            Some(Value::Scalar(_) | Value::Counter(_) | Value::Tile(_)) | None => {
                Err(LowerError::Malformed("a vector is not defined"))
            }
        }
    }

    /// An op on vectors of its own kind.
    pub(crate) fn lower_vector_op(&mut self, op: &Op, what: &VectorOp) -> Result<(), LowerError> {
        match what {
            VectorOp::Store { global, vector, at } => self.lower_store_vector(*global, *vector, at),
            VectorOp::Reduce { how, vector } => self.lower_reduce_vector(op, *how, *vector),
            VectorOp::Arg { how, vector } => self.lower_arg(op, *how, *vector),
            VectorOp::ArgLines { how, along, tile } => self.lower_arg_lines(op, *how, *along, *tile),
            VectorOp::Encode { vector, .. } => self.lower_encode(op, *vector),
        }
    }

    fn vector_type(&self, value: ValueId) -> Result<VectorType, LowerError> {
        self.kernel.ty(value).vector().ok_or(LowerError::Malformed("a value is used as a vector"))
    }

    /// `zeros` of a vector. Not the null constant: a loop is not worth a first run of its own for it.
    pub(crate) fn lower_zeros_vector(&mut self, result: ValueId, ty: VectorType) {
        let zero = self.e.int(Layout::register(ty.dtype), 0);
        self.set(result, Value::Vector(vec![zero; Layout::registers(ty)]));
    }

    /// `.to::<T>()` of a vector.
    pub(crate) fn lower_convert_vector(&mut self, result: ValueId, from: ValueId) -> Result<(), LowerError> {
        let (of, to) = (self.vector_type(from)?.dtype, self.vector_type(result)?.dtype);
        let mut registers = self.vector(from)?;
        if of != to {
            for r in &mut registers {
                let wide = self.across(LANE, of, to, *r);
                *r = self.rounded(to, LANE, wide);
            }
        }
        self.set(result, Value::Vector(registers));
        Ok(())
    }

    /// `.scale(s)` of a vector.
    pub(crate) fn lower_scale_vector(
        &mut self,
        result: ValueId,
        from: ValueId,
        by: ValueId,
    ) -> Result<(), LowerError> {
        let to = self.vector_type(result)?.dtype;
        let by = self.scalar(by)?;
        let mut out = vec![];
        for register in self.vector(from)? {
            let product = map::binary(&mut Emitted::registers(&mut self.e), MapBinary::Mul, register, by);
            out.push(self.rounded(to, LANE, product));
        }
        self.set(result, Value::Vector(out));
        Ok(())
    }

    /// `load_vec`.
    pub(crate) fn lower_load_vector(
        &mut self,
        op: &Op,
        global: ParamId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let ty = self.vector_type(result)?;
        if ty.encoding == Encoding::Wide {
            return self.lower_load_wide(result, ty, global, at);
        }
        let surface = self.surface(global, at.batch, at.depth)?;
        let row = self.exact(at.row, 1)?.at(&mut self.e, 0);
        let col = self.exact(at.col, Self::unit(at, ty.len))?;
        let has_row = self.e.compare(Inst::ULessThan, row, surface.rows);
        // A plane that does not exist has no columns.
        let none = self.e.u32(0);
        let has_columns = self.e.compare(Inst::UGreaterThan, surface.cols, none);
        let any = self.e.both_true(has_row, has_columns);
        let count = Layout::registers(ty);
        let shape = Layout::register(ty.dtype);
        let zeros = vec![self.e.int(shape, 0); count];
        let lane = self.lane();
        let registers = self
            .branch(
                any,
                &vec![shape; count],
                |s| {
                    let one = s.e.u32(1);
                    let last = s.e.sub(U32, surface.cols, one);
                    let mut out = vec![];
                    for first in (0..ty.len).step_by(LANES as usize) {
                        let column = col.plus(&mut s.e, lane).at(&mut s.e, first);
                        // Lanes beyond the vector's end hold whatever lies there in the row; nothing reads them.
                        let inside = s.e.compare(Inst::ULessThan, column, surface.cols);
                        // A lane outside reads the last column instead, so that all lanes read together.
                        let column = s.e.min(U32, column, last);
                        let value = s.read(surface, ty.dtype, row, column);
                        let zero = s.e.int(shape, 0);
                        out.push(s.e.select(shape, inside, value, zero));
                    }
                    Ok(Some(out))
                },
                |_| Ok(Some(zeros)),
            )?
            .ok_or(LowerError::Malformed("a branch has no way on"))?;
        self.set(result, Value::Vector(registers));
        Ok(())
    }

    /// `load_scalar`.
    pub(crate) fn lower_load_scalar(
        &mut self,
        op: &Op,
        global: ParamId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let dtype = self.global(global)?.dtype;
        let surface = self.surface(global, at.batch, at.depth)?;
        let row = self.exact(at.row, 1)?.at(&mut self.e, 0);
        let col = self.exact(at.col, 1)?.at(&mut self.e, 0);
        let has_row = self.e.compare(Inst::ULessThan, row, surface.rows);
        let has_column = self.e.compare(Inst::ULessThan, col, surface.cols);
        let inside = self.e.both_true(has_row, has_column);
        let shape = Layout::register(dtype);
        let zero = self.e.int(shape, 0);
        let ids = self
            .branch(
                inside,
                &[shape],
                |s| Ok(Some(vec![s.read(surface, dtype, row, col)])),
                |_| Ok(Some(vec![zero])),
            )?
            .ok_or(LowerError::Malformed("a branch has no way on"))?;
        self.bind(&[result], &ids);
        Ok(())
    }

    /// Reads the bits of an element, which must lie in the plane.
    pub(super) fn read_word(&mut self, surface: Surface, row: Id, col: Id) -> Id {
        let address = self.address(surface, row, col);
        let from = self.pointer_to(surface, address);
        let ty = self.e.ty(Ty::Int(8 * surface.esz));
        let operands = vec![
            Operand::IdRef(from),
            Operand::MemoryAccess(MemoryAccess::ALIGNED),
            Operand::LiteralBit32(surface.esz),
        ];
        self.e.value(Inst::Load, ty, operands)
    }

    /// Reads an element, which must lie in the plane, in the type it computes in.
    fn read(&mut self, surface: Surface, dtype: DType, row: Id, col: Id) -> Id {
        let bits = self.read_word(surface, row, col);
        match dtype {
            DType::F32 => self.e.pure(Inst::Bitcast, LANE, &[bits]),
            // No tensor holds masks.
            DType::I32 | DType::Bool => bits,
            DType::I8 => self.e.pure(Inst::SConvert, U32, &[bits]),
            DType::U8 => self.e.resize(U32, bits),
            DType::Bf16 | DType::F16 | DType::Tf32 => self.widened(dtype, LANE, bits),
        }
    }
}
