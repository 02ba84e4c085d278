//! Owns the emission of reductions.
//!
//! *Assumes* the register layouts of `lanes`. *Guarantees*: along rows, the elements of a lane are combined from left to
//! right before lanes are; along columns, rows are combined in order; a running value is the left operand of one last
//! combination, as `tile_ir::ops::reduce` says. *Not here*: what `max` makes of NaN (`tile_ir::map`).

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Op as Inst};
use tile_ir::ir::{Op, Reduction, ValueId};
use tile_ir::types::{Along, DType};

use crate::LowerError;
use crate::control::{Lowering, Value};
use crate::lanes::{LANES, Layout};
use crate::module::{Id, Ty};
use crate::ops::map::{CHUNK, Form};

impl Lowering<'_> {
    /// `row_max`, `col_sum`, …
    pub(crate) fn lower_reduce(
        &mut self,
        op: &Op,
        how: Reduction,
        along: Along,
        tile: ValueId,
        running: Option<ValueId>,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let ty = self.tile_type(tile)?;
        let chunks = self.tile(tile)?;
        let layout = Layout::of(ty);
        let mut out = match along {
            Along::Rows => self.reduce_rows(how, &chunks, layout, ty.dtype),
            Along::Cols => self.reduce_cols(how, &chunks, layout, ty.dtype),
        };
        if let Some(running) = running {
            for (register, before) in out.iter_mut().zip(self.vector(running)?) {
                *register = self.binary_of(Form::Register, ty.dtype, how.combiner(), before, *register);
            }
        }
        self.set(result, Value::Vector(out));
        Ok(())
    }

    pub(super) fn component(&mut self, dtype: DType, chunk: Id, i: u32) -> Id {
        let ty = self.e.ty(Layout::register(dtype));
        self.e.value(Inst::CompositeExtract, ty, vec![Operand::IdRef(chunk), Operand::LiteralBit32(i)])
    }

    /// One value per column: rows in order, all in one lane.
    fn reduce_cols(&mut self, how: Reduction, chunks: &[Id], layout: Layout, dtype: DType) -> Vec<Id> {
        let mut out = vec![];
        for across in 0..layout.across() {
            let mut so_far = None;
            for down in 0..layout.down() {
                let chunk = self.widened(dtype, CHUNK, chunks[layout.index(down, across)]);
                for i in 0..8 {
                    let next = self.component(dtype, chunk, i);
                    so_far = Some(match so_far {
                        Some(before) => self.binary_of(Form::Register, dtype, how.combiner(), before, next),
                        None => next,
                    });
                }
            }
            out.extend(so_far);
        }
        out
    }

    /// One value per row: the columns of each lane from left to right, then the lanes.
    fn reduce_rows(&mut self, how: Reduction, chunks: &[Id], layout: Layout, dtype: DType) -> Vec<Id> {
        let mut rows = vec![];
        for down in 0..layout.down() {
            let mut sum = self.widened(dtype, CHUNK, chunks[layout.index(down, 0)]);
            for across in 1..layout.across() {
                let next = self.widened(dtype, CHUNK, chunks[layout.index(down, across)]);
                sum = self.binary_of(Form::Chunk, dtype, how.combiner(), sum, next);
            }
            rows.extend((0..8).map(|i| self.component(dtype, sum, i)));
        }
        rows.chunks(LANES as usize).map(|rows| self.reduce_lanes(how, dtype, rows)).collect()
    }

    /// Combines the lanes of 8 or 16 registers; lane `r` of the result has the value of register `r`.
    ///
    /// Two registers are folded into one at a time: the lanes without a bit keep the first, those with it the second.
    /// Measured with Intel's compiler on pvc and bmg: 91 instructions for 16 rows and 56 for 8. A group instruction per
    /// row, whose uniform results lanes then select, took 166 and 85 (the compiler did not join them into one tree),
    /// promises less about NaN, and does not exist for products before SPIR-V 1.3.
    pub(super) fn reduce_lanes(&mut self, how: Reduction, dtype: DType, rows: &[Id]) -> Id {
        let eight = rows.len() < LANES as usize;
        let mut rows = rows.to_vec();
        let mut distance = LANES / 2;
        while distance > 0 {
            let half = rows.len() / 2;
            rows = match half {
                0 => rows.iter().map(|&row| self.fold(how, dtype, [row, row], distance)).collect(),
                _ => (0..half).map(|i| self.fold(how, dtype, [rows[i], rows[i + half]], distance)).collect(),
            };
            distance /= 2;
        }
        let all = rows[0];
        if !eight {
            return all;
        }
        // Row r is in the lanes 2r and 2r + 1.
        let lane = self.lane();
        let from = self.e.mul_u32(lane, 2);
        let from = self.e.and_u32(from, LANES - 1);
        self.shuffled(Inst::SubgroupShuffleINTEL, dtype, all, from)
    }

    /// Combines each lane with the one at a distance: of `a` where the lane's number lacks that bit, of `b` where it has it.
    pub(super) fn fold(&mut self, how: Reduction, dtype: DType, [a, b]: [Id; 2], distance: u32) -> Id {
        let (mine, other) = if a == b {
            (a, a)
        } else {
            let lane = self.lane();
            let bits = self.e.and_u32(lane, distance);
            let zero = self.e.u32(0);
            let has = self.e.pure(Inst::INotEqual, Ty::Bool, &[bits, zero]);
            let ty = self.e.ty(Layout::register(dtype));
            let mut pick =
                |yes, no| self.e.value(Inst::Select, ty, [has, yes, no].map(Operand::IdRef).to_vec());
            (pick(b, a), pick(a, b))
        };
        let by = self.e.u32(distance);
        let there = self.shuffled(Inst::SubgroupShuffleXorINTEL, dtype, other, by);
        self.binary_of(Form::Register, dtype, how.combiner(), mine, there)
    }

    fn shuffled(&mut self, inst: Inst, dtype: DType, value: Id, by: Id) -> Id {
        self.e.need(Capability::SubgroupShuffleINTEL);
        let ty = self.e.ty(Layout::register(dtype));
        self.e.value(inst, ty, [value, by].map(Operand::IdRef).to_vec())
    }
}
