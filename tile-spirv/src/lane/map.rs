//! Owns element-wise ops, fills and conversions: the recipes of `tile_ir::map` over vectors.
//!
//! *Guarantees*: the result is rounded once; products and sums that a recipe keeps apart are rounded apart.
//! *Not here*: what an op computes (`tile_ir::map`), comparisons and masks (`selection`).

use rspirv::spirv::Op as Inst;
use tile_ir::ir::{Op, ValueId};
use tile_ir::map::{self, MapBinary, MapTernary, MapUnary};
use tile_ir::types::{Along, DType, Encoding, Type};

use super::slabs::{Slab, wide};
use crate::LowerError;
use crate::control::Lowering;
use crate::lanes::LANES;
use crate::module::Id;
use crate::ops::map::{Emitted, integer_binary, integer_unary};

/// The right operand of an op on a slab.
#[derive(Clone, Copy)]
pub(crate) enum Beside {
    /// A vector for every vector.
    Slab(Slab),
    /// One value in every component.
    All(Id),
    /// A vector of one element per row.
    Rows(Slab),
    /// A vector of one element per column.
    Cols(Slab),
}

impl Lowering<'_> {
    /// `zeros`.
    pub(crate) fn lane_zeros(&mut self, op: &Op) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let slab = self.new_slab(result)?;
        self.clear(slab)
    }

    /// `fill`.
    pub(crate) fn lane_fill(&mut self, op: &Op, value: ValueId) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let number = self.scalar(value)?;
        let slab = self.new_slab(result)?;
        let vector = self.filled(slab.dtype, number);
        self.each(slab.count(), |s, i| {
            s.put_vector(slab, i, vector);
            Ok(())
        })
    }

    /// `.to::<T>()`
    pub(crate) fn lane_convert(&mut self, op: &Op, value: ValueId) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let from = self.slab(value)?;
        let to = self.slab_over(result, value)?;
        if from.dtype == to.dtype && from.var == to.var {
            return Ok(());
        }
        self.each(from.count(), |s, i| {
            let x = s.get_vector(from, i);
            let y = s.converted(from.dtype, to.dtype, LANES, x);
            s.put_vector(to, i, y);
            Ok(())
        })
    }

    /// `.scale(s)`
    pub(crate) fn lane_scale(&mut self, op: &Op, value: ValueId, by: ValueId) -> Result<(), LowerError> {
        self.lane_binary(op, MapBinary::Mul, value, by)
    }

    /// `abs`, `exp2`, …
    pub(crate) fn lane_unary(&mut self, op: &Op, what: MapUnary, value: ValueId) -> Result<(), LowerError> {
        let result = self.result(op)?;
        if self.kernel.ty(result).scalar().is_some() {
            // Scalars are emitted when something needs them.
            return Ok(());
        }
        let from = self.slab(value)?;
        let to = self.slab_over(result, value)?;
        self.each(from.count(), |s, i| {
            let x = s.get_vector(from, i);
            let y = if from.dtype.is_integer() {
                integer_unary(&mut s.e, from.ty(), what, x)
            } else {
                map::unary(&mut Emitted::wide(&mut s.e, from.ty()), what, x)
            };
            let y = s.rounded_to(to.dtype, LANES, y);
            s.put_vector(to, i, y);
            Ok(())
        })
    }

    /// Combines two values of an element type, `n` of each.
    pub(crate) fn combined(&mut self, dtype: DType, n: u32, what: MapBinary, x: Id, y: Id) -> Id {
        let ty = wide(dtype, n);
        if dtype.is_integer() {
            return integer_binary(&mut self.e, ty, what, x, y);
        }
        map::binary(&mut Emitted::wide(&mut self.e, ty), what, x, y)
    }

    /// `add`, `mul`, … with a tile, vector or scalar on the right.
    pub(crate) fn lane_binary(
        &mut self,
        op: &Op,
        what: MapBinary,
        lhs: ValueId,
        rhs: ValueId,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let from = self.slab(lhs)?;
        let right = self.beside(lhs, rhs)?;
        self.inverted(what, right, |s, what, right| {
            let to = s.slab_over(result, lhs)?;
            s.each_vector(from, |s, [row, j, at]| {
                let x = s.get_vector(from, at);
                let y = s.beside_at(right, from.dtype, [row, j, at]);
                let z = s.combined(from.dtype, LANES, what, x, y);
                let z = s.rounded_to(to.dtype, LANES, z);
                s.put_vector(to, at, z);
                Ok(())
            })
        })
    }

    /// A divisor that serves many elements is inverted once: the recipe of a quotient is the product with the reciprocal, so
    /// this gives the same bits.
    fn inverted(
        &mut self,
        what: MapBinary,
        right: Beside,
        f: impl FnOnce(&mut Self, MapBinary, Beside) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        if what != MapBinary::Div {
            return f(self, what, right);
        }
        match right {
            Beside::Slab(_) => f(self, what, right),
            Beside::All(vector) => {
                let ty = wide(DType::F32, LANES);
                let inverse = map::unary(&mut Emitted::wide(&mut self.e, ty), MapUnary::Recip, vector);
                f(self, MapBinary::Mul, Beside::All(inverse))
            }
            Beside::Rows(of) | Beside::Cols(of) => self.scratch((of.dtype, 1, of.cols), |s, to| {
                s.each(of.count(), |s, i| {
                    let x = s.get_vector(of, i);
                    let y = map::unary(&mut Emitted::wide(&mut s.e, of.ty()), MapUnary::Recip, x);
                    s.put_vector(to, i, y);
                    Ok(())
                })?;
                let inverse =
                    if matches!(right, Beside::Rows(_)) { Beside::Rows(to) } else { Beside::Cols(to) };
                f(s, MapBinary::Mul, inverse)
            }),
        }
    }

    /// `fma`
    pub(crate) fn lane_ternary(
        &mut self,
        op: &Op,
        what: MapTernary,
        x: ValueId,
        [a, b]: [ValueId; 2],
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let from = self.slab(x)?;
        let (a, b) = (self.beside(x, a)?, self.beside(x, b)?);
        let to = self.slab_over(result, x)?;
        self.each_vector(from, |s, place| {
            let [x, a, b] = [
                s.get_vector(from, place[2]),
                s.beside_at(a, from.dtype, place),
                s.beside_at(b, from.dtype, place),
            ];
            let y = map::ternary(&mut Emitted::wide(&mut s.e, from.ty()), what, x, a, b);
            let y = s.rounded_to(to.dtype, LANES, y);
            s.put_vector(to, place[2], y);
            Ok(())
        })
    }

    /// The right operand of an op on a tile or vector.
    pub(crate) fn beside(&mut self, left: ValueId, right: ValueId) -> Result<Beside, LowerError> {
        let is_tile = self.kernel.ty(left).tile().is_some();
        Ok(match self.kernel.ty(right) {
            Type::Scalar(_) => {
                let dtype = self
                    .kernel
                    .ty(left)
                    .dtype()
                    .ok_or(LowerError::Malformed("a scalar is a left operand"))?;
                let number = self.scalar(right)?;
                Beside::All(self.spread_over(wide(dtype, LANES), number))
            }
            Type::Vector(v) if is_tile => match v.encoding {
                Encoding::Line(Along::Rows) => Beside::Rows(self.slab(right)?),
                Encoding::Line(Along::Cols) => Beside::Cols(self.slab(right)?),
                Encoding::Wide => return Err(LowerError::Malformed("a wide vector meets a tile")),
            },
            Type::Tile(_) | Type::Vector(_) => Beside::Slab(self.slab(right)?),
        })
    }

    /// What stands beside the vector at a place, for elements of a type.
    pub(crate) fn beside_at(&mut self, right: Beside, dtype: DType, [row, j, at]: [Id; 3]) -> Id {
        match right {
            Beside::Slab(slab) => self.get_vector(slab, at),
            Beside::All(vector) => vector,
            Beside::Rows(slab) => {
                let element = self.get_element(slab, row);
                self.spread_over(wide(dtype, LANES), element)
            }
            Beside::Cols(slab) => self.get_vector(slab, j),
        }
    }

    /// The numbers `0..16`, the first component's first.
    pub(crate) fn lane_numbers(&mut self) -> Id {
        let parts: Vec<Id> = (0..LANES).map(|i| self.e.u32(i)).collect();
        self.e.pure(Inst::CompositeConstruct, wide(DType::I32, LANES), &parts)
    }
}
