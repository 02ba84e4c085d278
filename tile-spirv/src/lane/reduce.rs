//! Owns reductions, in the order that `tile_ir::ops::reduce` describes and the host has.

use rspirv::dr::Operand;
use rspirv::spirv::Op as Inst;
use tile_ir::ir::{Op, Reduction, ValueId};
use tile_ir::types::{Along, DType};

use super::slabs::{Slab, wide};
use crate::LowerError;
use crate::arith::U32;
use crate::control::Lowering;
use crate::lanes::LANES;
use crate::module::Id;

impl Lowering<'_> {
    /// `row_max`, `col_sum`, …
    pub(crate) fn lane_reduce(
        &mut self,
        op: &Op,
        how: Reduction,
        along: Along,
        tile: ValueId,
        running: Option<ValueId>,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let from = self.slab(tile)?;
        let before = running.map(|r| self.slab(r)).transpose()?;
        let to = match running {
            Some(running) => self.slab_over(result, running)?,
            None => self.new_slab(result)?,
        };
        match along {
            Along::Rows => self.each(from.rows, |s, row| {
                let first = s.e.mul_u32(row, from.across());
                let all = s.reduce_vectors(how, from, (first, 1), from.across())?;
                let mut one = s.fold_components(how, from.dtype, all);
                if let Some(before) = before {
                    let old = s.get_element(before, row);
                    one = s.combined(to.dtype, 1, how.combiner(), old, one);
                }
                s.put_element(to, row, one);
                Ok(())
            }),
            Along::Cols => self.each(from.across(), |s, j| {
                let mut all = s.reduce_vectors(how, from, (j, from.across()), from.rows)?;
                if let Some(before) = before {
                    let old = s.get_vector(before, j);
                    all = s.combined(to.dtype, LANES, how.combiner(), old, all);
                }
                s.put_vector(to, j, all);
                Ok(())
            }),
        }
    }

    /// Combines `count` vectors of a slab, one after the other: the first number, and the step to the next.
    fn reduce_vectors(
        &mut self,
        how: Reduction,
        from: Slab,
        (first, step): (Id, u32),
        count: u32,
    ) -> Result<Id, LowerError> {
        let start = self.get_vector(from, first);
        let (one, end) = (self.e.u32(1), self.e.u32(count));
        if count == 1 {
            return Ok(start);
        }
        let all = self.carried_through((one, end), &[(from.ty(), start)], |s, i, so_far| {
            let distance = s.e.mul_u32(i, step);
            let at = s.e.add(U32, first, distance);
            let next = s.get_vector(from, at);
            Ok(vec![s.combined(from.dtype, LANES, how.combiner(), so_far[0], next)])
        })?;
        Ok(all[0])
    }

    /// Combines the components of a vector by halves.
    fn fold_components(&mut self, how: Reduction, dtype: DType, vector: Id) -> Id {
        let mut all = vector;
        let mut n = LANES;
        while n > 2 {
            n /= 2;
            let ty = self.e.ty(wide(dtype, n));
            let mut half = |from: u32| {
                let numbers: Vec<u32> = (from..from + n).collect();
                self.e.pure_with(Inst::VectorShuffle, ty, &[all, all], &numbers)
            };
            let (low, high) = (half(0), half(n));
            all = self.combined(dtype, n, how.combiner(), low, high);
        }
        let ty = self.e.ty(wide(dtype, 1));
        let [low, high] = [0, 1].map(|i| {
            self.e.value(Inst::CompositeExtract, ty, vec![Operand::IdRef(all), Operand::LiteralBit32(i)])
        });
        self.combined(dtype, 1, how.combiner(), low, high)
    }
}
