//! Owns the positions of extremes. Elements are compared by the keys of `ops::vector_reduce`.
//!
//! *Guarantees*: of equal elements the first, NaN behind every number, as `tile_ir::ops::vector` defines. *Not here*: the
//! largest of many (`topk`).

use rspirv::spirv::Op as Inst;
use tile_ir::ir::{Extreme, Op, ValueId};
use tile_ir::types::{Along, DType};

use super::selection::WORDS;
use super::slabs::{Slab, wide};
use crate::LowerError;
use crate::arith::U32;
use crate::control::Lowering;
use crate::lanes::LANES;
use crate::module::Id;
use crate::ops::vector_reduce::{LEAST, SIZE};

impl Lowering<'_> {
    /// `argmax`, `argmin` of a vector.
    pub(crate) fn lane_arg(&mut self, op: &Op, how: Extreme, vector: ValueId) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let from = self.slab(vector)?;
        let (whole, rest) = (from.cols / LANES, from.cols % LANES);
        let (zero, lanes) = (self.e.u32(0), self.lane_numbers());
        let mut best = None;
        if whole > 0 {
            best = Some(self.best_in(how, from, (zero, 1), whole, |s, i| s.column_numbers(lanes, i))?);
        }
        if rest > 0 {
            // The components behind the last element hold none: they lose to a NaN as well.
            let at = self.e.u32(whole);
            let x = self.get_vector(from, at);
            let key = self.keys(WORDS, how, from.dtype, x);
            let (least, none) = (self.number(WORDS, LEAST), self.number(WORDS, SIZE));
            let index = self.column_numbers(lanes, at);
            let next =
                [(key, least), (index, none)].map(|(is, not)| self.first_components(WORDS, rest, is, not));
            best = Some(match best {
                Some(best) => self.better(WORDS, best, next),
                None => next,
            });
        }
        let best = best.ok_or(LowerError::Malformed("a vector has no elements"))?;
        let index = self.first_best(best);
        self.bind(&[result], &[index]);
        Ok(())
    }

    /// `row_argmax`, `col_argmin`, …
    pub(crate) fn lane_arg_lines(
        &mut self,
        op: &Op,
        how: Extreme,
        along: Along,
        tile: ValueId,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let from = self.slab(tile)?;
        let to = self.new_slab(result)?;
        let across = from.across();
        let lanes = self.lane_numbers();
        match along {
            Along::Rows => self.each(from.rows, |s, row| {
                let first = s.e.mul_u32(row, across);
                let best = s.best_in(how, from, (first, 1), across, |s, i| s.column_numbers(lanes, i))?;
                let index = s.first_best(best);
                s.put_element(to, row, index);
                Ok(())
            }),
            Along::Cols => self.each(across, |s, j| {
                let row = |s: &mut Self, i| s.spread_over(WORDS, i);
                let [_, index] = s.best_in(how, from, (j, across), from.rows, row)?;
                s.put_vector(to, j, index);
                Ok(())
            }),
        }
    }

    /// In each component the best key of `count` vectors (the first number, and the step to the next), and the index of that
    /// vector.
    fn best_in(
        &mut self,
        how: Extreme,
        from: Slab,
        (first, step): (Id, u32),
        count: u32,
        mut index: impl FnMut(&mut Self, Id) -> Id,
    ) -> Result<[Id; 2], LowerError> {
        let zero = self.e.u32(0);
        let x = self.get_vector(from, first);
        let start = [self.keys(WORDS, how, from.dtype, x), index(self, zero)];
        if count == 1 {
            return Ok(start);
        }
        let (one, end) = (self.e.u32(1), self.e.u32(count));
        let best = self.carried_through((one, end), &start.map(|id| (WORDS, id)), |s, i, so_far| {
            let distance = s.e.mul_u32(i, step);
            let at = s.e.add(U32, first, distance);
            let x = s.get_vector(from, at);
            let next = [s.keys(WORDS, how, from.dtype, x), index(s, i)];
            Ok(s.better(WORDS, [so_far[0], so_far[1]], next).to_vec())
        })?;
        Ok([best[0], best[1]])
    }

    /// The index beside the best key of all components, of equal keys the least.
    fn first_best(&mut self, mut best: [Id; 2]) -> Id {
        let mut n = LANES;
        while n > 1 {
            n /= 2;
            let ty = wide(DType::I32, n);
            let [[low, high], [at, other]] = best.map(|v| [0, n].map(|from| self.components_of(ty, v, from)));
            let larger = self.e.pure(Inst::SGreaterThan, ty.bools(), &[high, low]);
            let wins = self.comes_first(ty, larger, (high, other), (low, at));
            best = [(high, low), (other, at)].map(|(yes, no)| self.e.select(ty, wins, yes, no));
        }
        best[1]
    }
}
