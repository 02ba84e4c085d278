//! Owns the emission of reductions.
//!
//! *Assumes* the register layouts of `lanes`. *Guarantees*: along rows, the elements of a lane are combined from left to
//! right before lanes are; along columns, rows are combined in order; a running value is the left operand of one last
//! combination, as `tile_ir::ops::reduce` says. *Not here*: what `max` makes of NaN (`tile_ir::map`).

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, GroupOperation, Op as Inst, Scope};
use tile_ir::ir::{Op, Reduction, ValueId};
use tile_ir::map;
use tile_ir::types::{Along, DType};

use crate::LowerError;
use crate::control::{Lowering, Value};
use crate::lanes::{LANES, Layout};
use crate::module::{Id, Ty};
use crate::ops::map::{CHUNK, Emitted, LANE};

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
                let mut m = Emitted::registers(&mut self.e);
                *register = map::binary(&mut m, how.combiner(), before, *register);
            }
        }
        self.set(result, Value::Vector(out));
        Ok(())
    }

    fn component(&mut self, chunk: Id, i: u32) -> Id {
        let ty = self.e.ty(LANE);
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
                    let next = self.component(chunk, i);
                    let mut m = Emitted::registers(&mut self.e);
                    so_far = Some(match so_far {
                        Some(before) => map::binary(&mut m, how.combiner(), before, next),
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
                sum = map::binary(&mut Emitted::chunks(&mut self.e), how.combiner(), sum, next);
            }
            rows.extend((0..8).map(|i| self.component(sum, i)));
        }
        rows.chunks(LANES as usize).map(|rows| self.reduce_lanes(how, rows)).collect()
    }

    /// Combines the lanes of up to 16 registers; lane `r` of the result has the value of register `r`.
    ///
    /// Intel's compiler joins the reductions of neighbouring rows into one tree (xe_facts 5).
    fn reduce_lanes(&mut self, how: Reduction, rows: &[Id]) -> Id {
        let inst = match how {
            Reduction::Max => Inst::GroupFMax,
            Reduction::Min => Inst::GroupFMin,
            Reduction::Sum => Inst::GroupFAdd,
            Reduction::Prod => return self.multiply_lanes(rows),
        };
        self.e.need(Capability::Groups);
        let scope = self.e.u32(Scope::Subgroup as u32);
        let ty = self.e.ty(LANE);
        let uniform: Vec<Id> = rows
            .iter()
            .map(|&row| {
                let operands = vec![
                    Operand::IdScope(scope),
                    Operand::GroupOperation(GroupOperation::Reduce),
                    Operand::IdRef(row),
                ];
                self.e.value(inst, ty, operands)
            })
            .collect();
        self.by_lane(uniform)
    }

    /// Lane `r` of the result has the uniform value `r`, by bits of the lane number: 4 comparisons serve all
    /// selections of a kernel.
    fn by_lane(&mut self, mut values: Vec<Id>) -> Id {
        let mut bit = 1;
        while values.len() > 1 {
            let odd = self.lane_has(bit);
            values = values
                .chunks(2)
                .map(|pair| match *pair {
                    [even, other] => self.select_lane(odd, other, even),
                    _ => pair[0],
                })
                .collect();
            bit *= 2;
        }
        values[0]
    }

    fn select_lane(&mut self, cond: Id, yes: Id, no: Id) -> Id {
        let ty = self.e.ty(LANE);
        self.e.value(Inst::Select, ty, [cond, yes, no].map(Operand::IdRef).to_vec())
    }

    /// `bool` per lane: the lane's number has this bit.
    fn lane_has(&mut self, bit: u32) -> Id {
        let lane = self.lane();
        let bits = self.e.and_u32(lane, bit);
        let zero = self.e.u32(0);
        self.e.pure(Inst::INotEqual, Ty::Bool, &[bits, zero])
    }

    /// Products have no group instruction before SPIR-V 1.3, so registers are folded: of a pair, the lanes without a bit
    /// keep one, those with it the other, until lane `r` has register `r`. Lanes are combined as the host does.
    fn multiply_lanes(&mut self, rows: &[Id]) -> Id {
        self.e.need(Capability::SubgroupShuffleINTEL);
        let mut rows = rows.to_vec();
        let mut distance = LANES / 2;
        while distance > 0 {
            let paired = rows.len() as u32 > distance;
            let (first, second) = rows.split_at(if paired { distance as usize } else { rows.len() });
            let folded = first.iter().enumerate().map(|(i, &a)| {
                let b = second.get(i).copied().unwrap_or(a);
                let (mine, other) = if a == b {
                    (a, a)
                } else {
                    let has = self.lane_has(distance);
                    (self.select_lane(has, b, a), self.select_lane(has, a, b))
                };
                let by = self.e.u32(distance);
                let ty = self.e.ty(LANE);
                let operands = [other, by].map(Operand::IdRef).to_vec();
                let there = self.e.value(Inst::SubgroupShuffleXorINTEL, ty, operands);
                map::binary(&mut Emitted::registers(&mut self.e), Reduction::Prod.combiner(), mine, there)
            });
            rows = folded.collect();
            distance /= 2;
        }
        rows[0]
    }
}
