//! Owns the emission of reductions of vectors, of the positions of extremes, and of changes of encoding.
//!
//! A position is found by whole numbers. The *key* of an element orders as the op does: of two elements the better one has the larger
//! key, NaN has the least, and equal elements (the two zeros) have equal keys. The lanes then agree on the best key, and on the
//! lowest index that has it.
//!
//! *Assumes* the register layouts of `lanes`. *Guarantees*: a reduction combines elements in the order that
//! `tile_ir::ops::reduce` gives for one row; a scalar result is the same in every lane. *Not here*: reductions of tiles (`reduce`).

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Op as Inst, Scope};
use tile_ir::ir::{Extreme, Op, Reduction, ValueId};
use tile_ir::types::{Along, DType, Encoding, TileType, VectorType};

use crate::LowerError;
use crate::arith::U32;
use crate::control::{Lowering, Value};
use crate::lanes::{LANES, Layout};
use crate::module::{Id, Ty};
use crate::ops::map::{CHUNK, Form};

/// The key of what loses to everything.
pub(crate) const LEAST: u64 = 0x8000_0000;
/// All bits of an f32 but the sign; as an index, more than any.
pub(crate) const SIZE: u64 = 0x7fff_ffff;
/// The f32 whose size is above that of every number: infinity.
const INFINITY: u64 = 0x7f80_0000;

/// The keys of a chunk.
pub(super) const CHUNK_KEYS: Ty = Ty::Int8(32);

impl Lowering<'_> {
    fn vector_of(&self, value: ValueId) -> Result<VectorType, LowerError> {
        self.kernel.ty(value).vector().ok_or(LowerError::Malformed("a value is used as a vector"))
    }

    /// `to_per_row`, `to_per_col`: both encodings lie in registers alike.
    pub(crate) fn lower_encode(&mut self, op: &Op, vector: ValueId) -> Result<(), LowerError> {
        let (result, registers) = (self.result(op)?, self.vector(vector)?);
        self.set(result, Value::Vector(registers));
        Ok(())
    }

    /// `reduce_max`, `reduce_sum`, …
    pub(crate) fn lower_reduce_vector(
        &mut self,
        op: &Op,
        how: Reduction,
        vector: ValueId,
    ) -> Result<(), LowerError> {
        let (result, ty) = (self.result(op)?, self.vector_of(vector)?);
        let so_far = match ty.encoding {
            Encoding::Wide => self.reduced_wide(how, vector, ty)?,
            Encoding::Line(_) => self.reduced_line(how, vector, ty)?,
        };
        // Eight elements are in the lower lanes alone.
        let all = self.fold_lanes(how, ty.dtype, so_far, if ty.len < LANES { 4 } else { 8 });
        let scalar = self.first_lane(Layout::register(ty.dtype), all);
        self.bind(&[result], &[scalar]);
        Ok(())
    }

    /// The registers of a vector combined from left to right.
    fn reduced_line(&mut self, how: Reduction, vector: ValueId, ty: VectorType) -> Result<Id, LowerError> {
        let registers = self.vector(vector)?;
        let mut so_far = registers[0];
        for (i, &next) in (1u32..).zip(&registers[1..]) {
            let both = self.binary_of(Form::Register, ty.dtype, how.combiner(), so_far, next);
            so_far = match self.has_element(ty, i) {
                Some(has) => self.e.select(Layout::register(ty.dtype), has, both, so_far),
                None => both,
            };
        }
        Ok(so_far)
    }

    /// Combines each lane with those at a distance and at every half of it.
    fn fold_lanes(&mut self, how: Reduction, dtype: DType, register: Id, from: u32) -> Id {
        let mut all = register;
        let mut distance = from;
        while distance > 0 {
            all = self.fold(how, dtype, [all, all], distance);
            distance /= 2;
        }
        all
    }

    /// `bool`: this lane holds an element of register `i` of a vector; `None` where every lane does.
    fn has_element(&mut self, ty: VectorType, i: u32) -> Option<Id> {
        let left = ty.len - LANES * i;
        (left < LANES).then(|| {
            let (lane, end) = (self.lane(), self.e.u32(left));
            self.e.compare(Inst::ULessThan, lane, end)
        })
    }

    /// What lane 0 holds, in every lane: how Intel's compiler learns that a value is uniform. It costs no instruction (xe_facts 5).
    fn first_lane(&mut self, ty: Ty, value: Id) -> Id {
        self.lane_of(ty, value, 0)
    }

    /// What a lane holds, in every lane.
    pub(super) fn lane_of(&mut self, ty: Ty, value: Id, lane: u32) -> Id {
        self.e.need(Capability::Groups);
        let (scope, lane) = (self.e.u32(Scope::Subgroup as u32), self.e.u32(lane));
        let ty = self.e.ty(ty);
        self.e.value(
            Inst::GroupBroadcast,
            ty,
            vec![Operand::IdScope(scope), Operand::IdRef(value), Operand::IdRef(lane)],
        )
    }

    // ---- positions ----

    fn inst(&mut self, inst: Inst, ty: Ty, operands: &[Id]) -> Id {
        let ty = self.e.ty(ty);
        self.e.value(inst, ty, operands.iter().map(|&id| Operand::IdRef(id)).collect())
    }

    /// A number in every component of a type of keys.
    pub(crate) fn number(&mut self, ints: Ty, value: u64) -> Id {
        let one = self.e.int(U32, value);
        self.spread_over(ints, one)
    }

    /// The keys, integers of type `ints`, of elements in the type they compute in.
    pub(crate) fn keys(&mut self, ints: Ty, how: Extreme, dtype: DType, x: Id) -> Id {
        if dtype.is_integer() {
            return match how {
                Extreme::Max => x,
                // The complement turns the order round, without exception.
                Extreme::Min => self.inst(Inst::Not, ints, &[x]),
            };
        }
        let bools = ints.bools();
        let bits = self.inst(Inst::Bitcast, ints, &[x]);
        let (zero, size, least) = (self.number(ints, 0), self.number(ints, SIZE), self.number(ints, LEAST));
        let infinity = self.number(ints, INFINITY);
        let size = self.inst(Inst::BitwiseAnd, ints, &[bits, size]);
        let minus = self.inst(Inst::SNegate, ints, &[size]);
        let below = self.inst(Inst::SLessThan, bools, &[bits, zero]);
        let (yes, no) = match how {
            Extreme::Max => (minus, size),
            Extreme::Min => (size, minus),
        };
        let key = self.inst(Inst::Select, ints, &[below, yes, no]);
        let nan = self.inst(Inst::UGreaterThan, bools, &[size, infinity]);
        self.inst(Inst::Select, ints, &[nan, least, key])
    }

    /// The better of two keys and its index; the first where they are equal.
    pub(crate) fn better(&mut self, ints: Ty, [key, index]: [Id; 2], [next, at]: [Id; 2]) -> [Id; 2] {
        let wins = self.inst(Inst::SGreaterThan, ints.bools(), &[next, key]);
        [(next, key), (at, index)].map(|(yes, no)| self.inst(Inst::Select, ints, &[wins, yes, no]))
    }

    /// `argmax`, `argmin` of a vector.
    pub(crate) fn lower_arg(&mut self, op: &Op, how: Extreme, vector: ValueId) -> Result<(), LowerError> {
        let (result, ty) = (self.result(op)?, self.vector_of(vector)?);
        let (key, all) = match ty.encoding {
            Encoding::Wide => self.arg_wide(how, vector, ty)?,
            Encoding::Line(_) => self.arg_line(how, vector, ty)?,
        };
        let most = self.fold_lanes(Reduction::Max, DType::I32, key, LANES / 2);
        let mut lowest = None;
        for [key, index] in all {
            let next = self.candidate(key, most, index);
            lowest = Some(match lowest {
                Some(index) => {
                    self.binary_of(Form::Register, DType::I32, Reduction::Min.combiner(), index, next)
                }
                None => next,
            });
        }
        let lowest = lowest.ok_or(LowerError::Malformed("a vector has no registers"))?;
        let all = self.fold_lanes(Reduction::Min, DType::I32, lowest, LANES / 2);
        let scalar = self.first_lane(U32, all);
        self.bind(&[result], &[scalar]);
        Ok(())
    }

    /// The best key in each lane of a vector, and it with its index.
    fn arg_line(
        &mut self,
        how: Extreme,
        vector: ValueId,
        ty: VectorType,
    ) -> Result<(Id, Vec<[Id; 2]>), LowerError> {
        let mut best: Option<[Id; 2]> = None;
        for (i, x) in (0..).zip(self.vector(vector)?) {
            let mut key = self.keys(U32, how, ty.dtype, x);
            if let Some(held) = self.has_element(ty, i) {
                // Its index is beyond those of all elements, so it loses to a NaN as well.
                let least = self.e.int(U32, LEAST);
                key = self.e.select(U32, held, key, least);
            }
            let (lane, first) = (self.lane(), self.e.u32(LANES * i));
            let next = [key, self.e.add(U32, lane, first)];
            best = Some(match best {
                Some(best) => self.better(U32, best, next),
                None => next,
            });
        }
        let best = best.ok_or(LowerError::Malformed("a vector has no registers"))?;
        Ok((best[0], vec![best]))
    }

    /// A lane's index if its key is the best one, and otherwise more than any index.
    fn candidate(&mut self, key: Id, most: Id, index: Id) -> Id {
        let is_best = self.inst(Inst::IEqual, Ty::Bool, &[key, most]);
        let none = self.e.int(U32, SIZE);
        self.inst(Inst::Select, U32, &[is_best, index, none])
    }

    /// `row_argmax`, `col_argmin`, …
    pub(crate) fn lower_arg_lines(
        &mut self,
        op: &Op,
        how: Extreme,
        along: Along,
        tile: ValueId,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let ty = self.tile_type(tile)?;
        let chunks = self.tile(tile)?;
        let registers = match along {
            Along::Rows => self.arg_rows(how, &chunks, ty),
            Along::Cols => self.arg_cols(how, &chunks, ty)?,
        };
        self.set(result, Value::Vector(registers));
        Ok(())
    }

    /// The keys of a chunk.
    fn chunk_keys(&mut self, how: Extreme, dtype: DType, chunk: Id) -> Id {
        let elements = self.widened(dtype, CHUNK, chunk);
        self.keys(CHUNK_KEYS, how, dtype, elements)
    }

    /// The column of every row's extreme: the columns of each lane from left to right, then the lanes.
    fn arg_rows(&mut self, how: Extreme, chunks: &[Id], ty: TileType) -> Vec<Id> {
        let layout = Layout::of(ty);
        let (mut keys, mut indices) = (vec![], vec![]);
        for down in 0..layout.down() {
            let first = self.chunk_keys(how, ty.dtype, chunks[layout.index(down, 0)]);
            let mut best = [first, self.number(CHUNK_KEYS, 0)];
            for across in 1..layout.across() {
                let next = self.chunk_keys(how, ty.dtype, chunks[layout.index(down, across)]);
                let at = self.number(CHUNK_KEYS, u64::from(LANES * across));
                best = self.better(CHUNK_KEYS, best, [next, at]);
            }
            for i in 0..8 {
                keys.push(self.component(DType::I32, best[0], i));
                let left = self.component(DType::I32, best[1], i);
                let lane = self.lane();
                indices.push(self.e.add(U32, left, lane));
            }
        }
        let mut out = vec![];
        for (keys, indices) in keys.chunks(LANES as usize).zip(indices.chunks(LANES as usize)) {
            let most = self.reduce_lanes(Reduction::Max, DType::I32, keys);
            let mut candidates = vec![];
            for (row, (&key, &index)) in (0..).zip(keys.iter().zip(indices)) {
                let most = self.lane_of(U32, most, row);
                candidates.push(self.candidate(key, most, index));
            }
            out.push(self.reduce_lanes(Reduction::Min, DType::I32, &candidates));
        }
        out
    }

    /// The row of every column's extreme: rows in order, all in one lane.
    fn arg_cols(&mut self, how: Extreme, chunks: &[Id], ty: TileType) -> Result<Vec<Id>, LowerError> {
        let layout = Layout::of(ty);
        let mut out = vec![];
        for across in 0..layout.across() {
            let mut best: Option<[Id; 2]> = None;
            for down in 0..layout.down() {
                let keys = self.chunk_keys(how, ty.dtype, chunks[layout.index(down, across)]);
                for i in 0..8 {
                    let next = [self.component(DType::I32, keys, i), self.e.u32(8 * down + i)];
                    best = Some(match best {
                        Some(best) => self.better(U32, best, next),
                        None => next,
                    });
                }
            }
            out.push(best.ok_or(LowerError::Malformed("a tile has no rows"))?[1]);
        }
        Ok(out)
    }
}
