//! Owns reductions, in the order that `tile_ir::ops::reduce` describes and the host has.

use rspirv::spirv::Op as Inst;
use tile_ir::ir::{Op, Reduction, ValueId};
use tile_ir::types::{Along, DType};

use super::slabs::{Slab, wide};
use crate::LowerError;
use crate::arith::U32;
use crate::control::Lowering;
use crate::lanes::LANES;
use crate::module::{Id, Ty};

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
                let mut one = s.fold_components(how, from.dtype, all, LANES);
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

    /// Combines the first `n` components of a vector, a power of two, by halves.
    fn fold_components(&mut self, how: Reduction, dtype: DType, vector: Id, mut n: u32) -> Id {
        let mut all = vector;
        while n > 1 {
            n /= 2;
            let ty = wide(dtype, n);
            let (low, high) = (self.components_of(ty, all, 0), self.components_of(ty, all, n));
            all = self.combined(dtype, n, how.combiner(), low, high);
        }
        all
    }

    /// As many components of a vector as a type has, from a number on.
    pub(crate) fn components_of(&mut self, ty: Ty, vector: Id, from: u32) -> Id {
        let n = ty.components();
        let ty = self.e.ty(ty);
        if n == 1 {
            return self.e.pure_with(Inst::CompositeExtract, ty, &[vector], &[from]);
        }
        let numbers: Vec<u32> = (from..from + n).collect();
        self.e.pure_with(Inst::VectorShuffle, ty, &[vector, vector], &numbers)
    }

    /// The first `n` components of a vector and the others of another.
    pub(crate) fn first_components(&mut self, ty: Ty, n: u32, first: Id, others: Id) -> Id {
        let numbers: Vec<u32> = (0..LANES).map(|i| if i < n { i } else { LANES + i }).collect();
        let ty = self.e.ty(ty);
        self.e.pure_with(Inst::VectorShuffle, ty, &[first, others], &numbers)
    }

    /// `reduce_max`, `reduce_sum`, …
    pub(crate) fn lane_reduce_vector(
        &mut self,
        op: &Op,
        how: Reduction,
        vector: ValueId,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let from = self.slab(vector)?;
        let (whole, rest) = (from.cols / LANES, from.cols % LANES);
        let first = self.e.u32(0);
        let mut all = self.reduce_vectors(how, from, (first, 1), whole.max(1))?;
        if whole > 0 && rest > 0 {
            let at = self.e.u32(whole);
            let last = self.get_vector(from, at);
            let both = self.combined(from.dtype, LANES, how.combiner(), all, last);
            all = self.first_components(from.ty(), rest, both, all);
        }
        let one = self.fold_components(how, from.dtype, all, from.cols.min(LANES));
        self.bind(&[result], &[one]);
        Ok(())
    }
}
