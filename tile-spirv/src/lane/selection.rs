//! Owns comparisons, masks, choices and positions. A mask is 0 or all ones per element.
//!
//! *Guarantees*: 16-bit elements are compared as their exact f32; indices are compared without wrapping.

use rspirv::spirv::Op as Inst;
use tile_ir::ir::{Logic, Op, Selection, ValueId};
use tile_ir::scalar::Compare;
use tile_ir::types::Along;

use super::map::Beside;
use super::slabs::Slab;
use crate::LowerError;
use crate::arith::U32;
use crate::control::Lowering;
use crate::lanes::LANES;
use crate::module::{Id, Ty};
use crate::ops::selection::comparison;

/// Integers of a mask's vector.
pub(crate) const WORDS: Ty = Ty::IntVec(32, LANES);
/// Truth values of a vector.
pub(crate) const BOOLS: Ty = Ty::BoolVec(LANES);

impl Lowering<'_> {
    /// Comparisons, masks, choices, positions.
    pub(crate) fn lane_selection(&mut self, op: &Op, what: &Selection) -> Result<(), LowerError> {
        let result = self.result(op)?;
        match what {
            Selection::Compare { op, lhs, rhs } => self.lane_compare(result, *op, *lhs, *rhs),
            Selection::Logic { op, lhs, rhs } => {
                let (x, y) = (self.slab(*lhs)?, self.slab(*rhs)?);
                let to = self.slab_over(result, *lhs)?;
                let inst = match op {
                    Logic::And => Inst::BitwiseAnd,
                    Logic::Or => Inst::BitwiseOr,
                    Logic::Xor => Inst::BitwiseXor,
                };
                self.each(x.count(), |s, i| {
                    let (a, b) = (s.get_vector(x, i), s.get_vector(y, i));
                    let mask = s.e.pure(inst, WORDS, &[a, b]);
                    s.put_vector(to, i, mask);
                    Ok(())
                })
            }
            Selection::Not { mask } => {
                let x = self.slab(*mask)?;
                let to = self.slab_over(result, *mask)?;
                self.each(x.count(), |s, i| {
                    let a = s.get_vector(x, i);
                    let mask = s.e.pure(Inst::Not, WORDS, &[a]);
                    s.put_vector(to, i, mask);
                    Ok(())
                })
            }
            Selection::Select { mask, yes, no } => self.lane_select(result, *mask, *yes, *no),
            Selection::Iota { along, start } => self.lane_iota(result, *along, *start),
            Selection::Any { mask } => self.lane_any(result, *mask),
        }
    }

    /// `any`. A vector of 8 rows has components beyond its elements.
    fn lane_any(&mut self, result: ValueId, mask: ValueId) -> Result<(), LowerError> {
        let from = self.slab(mask)?;
        let (zero, end) = (self.e.u32(0), self.e.u32(from.count()));
        let zeros = self.e.null(WORDS);
        let rest = from.cols % LANES;
        let parts: Vec<Id> =
            (0..LANES).map(|i| self.e.u32(if rest == 0 || i < rest { u32::MAX } else { 0 })).collect();
        let last = self.e.pure(Inst::CompositeConstruct, WORDS, &parts);
        let sum = self.carried_through((zero, end), &[(WORDS, zeros)], |s, i, so_far| {
            let mut words = s.get_vector(from, i);
            if rest > 0 {
                // Tiles have whole vectors, so this is the last of a vector's.
                let next = s.e.add_u32(i, 1);
                let is_last = s.e.compare(Inst::IEqual, next, end);
                let is_last = s.spread_over(BOOLS, is_last);
                let kept = s.e.pure(Inst::BitwiseAnd, WORDS, &[words, last]);
                words = s.e.pure(Inst::Select, WORDS, &[is_last, kept, words]);
            }
            Ok(vec![s.e.pure(Inst::BitwiseOr, WORDS, &[so_far[0], words])])
        })?;
        let bools = self.e.pure(Inst::INotEqual, BOOLS, &[sum[0], zeros]);
        let any = self.e.pure(Inst::Any, Ty::Bool, &[bools]);
        self.bind(&[result], &[any]);
        Ok(())
    }

    /// A mask from truth values.
    fn mask_from(&mut self, bools: Id) -> Id {
        let ones = self.e.u32(u32::MAX);
        let (ones, zeros) = (self.spread_over(WORDS, ones), self.e.null(WORDS));
        self.e.pure(Inst::Select, WORDS, &[bools, ones, zeros])
    }

    fn lane_compare(
        &mut self,
        result: ValueId,
        op: Compare,
        lhs: ValueId,
        rhs: ValueId,
    ) -> Result<(), LowerError> {
        let from = self.slab(lhs)?;
        let right = self.beside(lhs, rhs)?;
        let to = self.new_slab(result)?;
        let inst = comparison(op, from.dtype.is_integer());
        self.each_vector(from, |s, place| {
            let x = s.get_vector(from, place[2]);
            let y = s.beside_at(right, from.dtype, place);
            let bools = s.e.pure(inst, BOOLS, &[x, y]);
            let mask = s.mask_from(bools);
            s.put_vector(to, place[2], mask);
            Ok(())
        })
    }

    fn lane_select(
        &mut self,
        result: ValueId,
        mask: ValueId,
        yes: ValueId,
        no: ValueId,
    ) -> Result<(), LowerError> {
        let (mask, from) = (self.slab(mask)?, self.slab(yes)?);
        let other = if self.kernel.ty(no).scalar().is_some() {
            let number = self.scalar(no)?;
            Beside::All(self.filled(from.dtype, number))
        } else {
            Beside::Slab(self.slab(no)?)
        };
        let to = self.slab_over(result, yes)?;
        let zeros = self.e.null(WORDS);
        self.each(from.count(), |s, i| {
            let (words, x) = (s.get_vector(mask, i), s.get_vector(from, i));
            let y = s.beside_at(other, from.dtype, [i; 3]);
            let bools = s.e.pure(Inst::INotEqual, BOOLS, &[words, zeros]);
            let chosen = s.e.pure(Inst::Select, from.ty(), &[bools, x, y]);
            s.put_vector(to, i, chosen);
            Ok(())
        })
    }

    /// `iota`: the index is exact in f32, so that adding the start rounds once.
    fn lane_iota(&mut self, result: ValueId, along: Along, start: ValueId) -> Result<(), LowerError> {
        let start = self.scalar(start)?;
        let to = self.new_slab(result)?;
        let is_vector = self.kernel.ty(result).vector().is_some();
        let start = self.spread_over(to.ty(), start);
        let lanes = self.lane_numbers();
        self.each_vector(to, |s, [row, j, at]| {
            let index = if along == Along::Rows && !is_vector {
                s.spread_over(WORDS, row)
            } else {
                s.column_numbers(lanes, j)
            };
            let number = if to.dtype.is_integer() {
                s.e.pure(Inst::IAdd, WORDS, &[start, index])
            } else {
                let index = s.e.pure(Inst::ConvertUToF, to.ty(), &[index]);
                s.e.pure(Inst::FAdd, to.ty(), &[start, index])
            };
            s.put_vector(to, at, number);
            Ok(())
        })
    }

    /// The columns of the vector of number `j` in a row.
    pub(crate) fn column_numbers(&mut self, lanes: Id, j: Id) -> Id {
        let first = self.e.mul_u32(j, LANES);
        let first = self.spread_over(WORDS, first);
        self.e.pure(Inst::IAdd, WORDS, &[first, lanes])
    }

    /// `keep_cols`, `keep_rows`.
    pub(crate) fn lane_keep_first(
        &mut self,
        op: &Op,
        tile: ValueId,
        along: Along,
        keep: ValueId,
        fill: ValueId,
    ) -> Result<(), LowerError> {
        let keep = self.scalar(keep)?;
        let keep = self.spread_over(WORDS, keep);
        let lanes = self.lane_numbers();
        self.kept_where(op, tile, fill, |s, row, j| {
            let index = match along {
                Along::Rows => s.spread_over(WORDS, row),
                Along::Cols => s.column_numbers(lanes, j),
            };
            s.e.pure(Inst::ULessThan, BOOLS, &[index, keep])
        })
    }

    /// `tril`, `triu`.
    pub(crate) fn lane_triangle(
        &mut self,
        op: &Op,
        tile: ValueId,
        lower: bool,
        starts: (ValueId, ValueId),
        fill: ValueId,
    ) -> Result<(), LowerError> {
        let (distance, stays) = self.triangle(lower, starts)?;
        let lanes = self.lane_numbers();
        self.kept_where(op, tile, fill, |s, row, j| {
            // Column c against row r: c - r against the distance.
            let diagonal = s.e.add(U32, row, distance);
            let diagonal = s.spread_over(WORDS, diagonal);
            let columns = s.column_numbers(lanes, j);
            s.e.pure(stays, BOOLS, &[columns, diagonal])
        })
    }

    /// Replaces the elements that a mask per vector does not keep.
    fn kept_where(
        &mut self,
        op: &Op,
        tile: ValueId,
        fill: ValueId,
        mut stays: impl FnMut(&mut Self, Id, Id) -> Id,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let number = self.scalar(fill)?;
        let from: Slab = self.slab(tile)?;
        let other = self.filled(from.dtype, number);
        let to = self.slab_over(result, tile)?;
        self.each_vector(from, |s, [row, j, at]| {
            let bools = stays(s, row, j);
            let x = s.get_vector(from, at);
            let chosen = s.e.pure(Inst::Select, from.ty(), &[bools, x, other]);
            s.put_vector(to, at, chosen);
            Ok(())
        })
    }
}
