//! Owns matrix multiplication: a broadcast multiply-add per element of the left operand.
//!
//! A block of 8 rows and up to 3 vectors of the accumulator stays in registers while K runs upwards: with 16 or 24
//! accumulators, a CPU with 32 vector registers spills none and has more multiply-adds per load than it needs.
//!
//! *Guarantees*: each element's sum runs upwards along K, in one fused multiply-add each (integers wrap), which are the bits
//! of the host.

use rspirv::spirv::{Op as Inst, OpenclStd100Op as Std};
use tile_ir::ir::{Op, ValueId};

use super::slabs::Slab;
use crate::LowerError;
use crate::arith::U32;
use crate::control::Lowering;
use crate::module::Id;

/// Rows of a block.
const ROWS: u32 = 8;

impl Lowering<'_> {
    /// `acc + a * b`.
    pub(crate) fn lane_mma(
        &mut self,
        op: &Op,
        acc: ValueId,
        a: ValueId,
        b: ValueId,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let (old, a, b) = (self.slab(acc)?, self.slab(a)?, self.slab(b)?);
        let new = self.slab_over(result, acc)?;
        let across = old.across();
        let width = [3, 2].into_iter().find(|w| across.is_multiple_of(*w)).unwrap_or(1);
        self.each(old.rows / ROWS, |s, down| {
            let row = s.e.mul_u32(down, ROWS);
            s.each(across / width, |s, block| {
                let first = s.e.mul_u32(block, width);
                s.block_of_products((old, new), (a, b), (row, first), width)
            })
        })
    }

    /// The block of 8 rows from `row` on and `width` vectors from number `first` on.
    fn block_of_products(
        &mut self,
        (old, new): (Slab, Slab),
        (a, b): (Slab, Slab),
        (row, first): (Id, Id),
        width: u32,
    ) -> Result<(), LowerError> {
        let mut places = vec![];
        for i in 0..ROWS {
            let line = self.e.add_u32(row, i);
            let start = self.e.mul_u32(line, old.across());
            let start = self.e.add(U32, start, first);
            for j in 0..width {
                places.push(self.e.add_u32(start, j));
            }
        }
        let ty = old.ty();
        let sums: Vec<_> = places.iter().map(|&at| (ty, self.get_vector(old, at))).collect();
        let (zero, end) = (self.e.u32(0), self.e.u32(a.cols));
        let sums = self.carried_through((zero, end), &sums, |s, k, sums| {
            let start = s.e.mul_u32(k, b.across());
            let start = s.e.add(U32, start, first);
            let right: Vec<Id> = (0..width)
                .map(|j| {
                    let at = s.e.add_u32(start, j);
                    s.get_vector(b, at)
                })
                .collect();
            let mut next = vec![];
            for (i, sums) in (0..ROWS).zip(sums.chunks(width as usize)) {
                let line = s.e.add_u32(row, i);
                let at = s.index(a, line, k);
                let left = s.get_element(a, at);
                let left = s.spread_over(ty, left);
                for (&sum, &right) in sums.iter().zip(&right) {
                    next.push(s.multiplied(old, left, right, sum));
                }
            }
            Ok(next)
        })?;
        for (&at, &sum) in places.iter().zip(&sums) {
            self.put_vector(new, at, sum);
        }
        Ok(())
    }

    fn multiplied(&mut self, acc: Slab, left: Id, right: Id, sum: Id) -> Id {
        let ty = acc.ty();
        if acc.dtype.is_integer() {
            let product = self.e.pure(Inst::IMul, ty, &[left, right]);
            return self.e.pure(Inst::IAdd, ty, &[sum, product]);
        }
        self.e.opencl_once(Std::fma as u32, ty, &[left, right, sum])
    }
}
