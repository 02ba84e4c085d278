//! Owns coordinates: from values of kernel text to rows and columns in elements.
//!
//! A coordinate times its tile size never wraps where that would be seen: loads and stores use 32 bits if the
//! value's bound shows that the product stays small, and 64 bits clamped to [`OUTSIDE`] otherwise. Prefetches
//! have no effect to get wrong and always use 32 bits.
//!
//! *Guarantees*: a coordinate of a counter plus something that its loop does not change costs one addition in
//! the loop. *Not here*: what lies outside a plane (`edge`).

use rspirv::spirv::Op as Inst;
use tile_ir::ir::{Coord, OpKind, Unit, ValueId};
use tile_ir::scalar::Binary;

use crate::LowerError;
use crate::arith::{U32, U64};
use crate::control::{Lowering, Value};
use crate::module::{Emit, Id};

/// A row and column outside every plane: extents are at most 2^24 (SPV_INTEL_2d_block_io, restrictions). Far from
/// 2^31, so that the hardware's products with the element size stay positive.
pub(crate) const OUTSIDE: u32 = 1 << 25;

/// Coordinates up to here need no clamp.
const SMALL: u64 = 1 << 28;

/// Terms of a sum that are looked at one by one.
const TERMS: u32 = 8;

/// A coordinate along one axis: what the innermost loop moves, and the rest.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    moving: Option<Id>,
    fixed: Id,
}

impl Position {
    /// The position a u32 holds.
    pub(crate) fn at_id(fixed: Id) -> Position {
        Position { moving: None, fixed }
    }

    /// The coordinate `offset` elements further, as one u32.
    pub(crate) fn at(self, e: &mut Emit, offset: u32) -> Id {
        let fixed = e.add_u32(self.fixed, offset);
        match self.moving {
            Some(moving) => e.add(U32, moving, fixed),
            None => fixed,
        }
    }

    /// The position moved by a value.
    pub(crate) fn plus(self, e: &mut Emit, by: Id) -> Position {
        Position { fixed: e.add(U32, self.fixed, by), ..self }
    }

    /// The position, or one outside every plane unless `live`.
    pub(crate) fn only_if(self, e: &mut Emit, live: Id) -> Position {
        let outside = e.u32(OUTSIDE);
        Position { fixed: e.select(U32, live, self.fixed, outside), ..self }
    }
}

impl Lowering<'_> {
    /// `value * scale` for a load or store: exact, or at least [`OUTSIDE`].
    pub(crate) fn exact(&mut self, value: ValueId, scale: u32) -> Result<Position, LowerError> {
        if self.facts.bound(value).saturating_mul(u64::from(scale)) <= SMALL {
            return self.wrapping(value, scale);
        }
        let id = self.scalar(value)?;
        let e = &mut self.e;
        let wide = e.widen(id);
        let scale = e.u64(u64::from(scale));
        let product = e.mul(U64, wide, scale);
        let most = e.u64(u64::from(OUTSIDE));
        let clamped = e.min(U64, product, most);
        Ok(Position { moving: None, fixed: e.narrow(clamped) })
    }

    /// `value * scale`, wrapping.
    pub(crate) fn wrapping(&mut self, value: ValueId, scale: u32) -> Result<Position, LowerError> {
        let zero = self.e.u32(0);
        let mut sum = Position { moving: None, fixed: zero };
        let mut terms = vec![];
        self.terms(value, TERMS, &mut terms);
        for term in terms {
            match self.get(term) {
                Some(&Value::Counter(depth)) => {
                    let id = self.induction(depth, scale);
                    sum.moving = Some(match sum.moving {
                        Some(other) => self.e.add(U32, other, id),
                        None => id,
                    });
                }
                Some(Value::Scalar(_) | Value::Tile(_) | Value::Vector(_)) | None => {
                    let id = self.scalar(term)?;
                    let id = self.e.mul_u32(id, scale);
                    sum.fixed = self.e.add(U32, sum.fixed, id);
                }
            }
        }
        Ok(sum)
    }

    /// Splits a value into the terms of its sum, if a counter is among them.
    fn terms(&self, value: ValueId, budget: u32, out: &mut Vec<ValueId>) {
        if let Some((lhs, rhs)) = self.addends(value)
            && budget > 0
            && self.moves(value, TERMS)
        {
            self.terms(lhs, budget - 1, out);
            self.terms(rhs, budget - 1, out);
        } else {
            out.push(value);
        }
    }

    fn moves(&self, value: ValueId, budget: u32) -> bool {
        if matches!(self.get(value), Some(Value::Counter(_))) {
            return true;
        }
        budget > 0
            && self
                .addends(value)
                .is_some_and(|(lhs, rhs)| self.moves(lhs, budget - 1) || self.moves(rhs, budget - 1))
    }

    /// The two sides of a u32 addition.
    pub(crate) fn addends(&self, value: ValueId) -> Option<(ValueId, ValueId)> {
        match self.facts.def(value)?.kind {
            OpKind::Binary { op: Binary::Add, lhs, rhs } => Some((lhs, rhs)),
            _ => None,
        }
    }

    /// Elements per unit of a coordinate whose tile has this many of them.
    pub(crate) fn unit(at: &Coord, tile: u32) -> u32 {
        match at.unit {
            Unit::Tiles => tile,
            Unit::Elements => 1,
        }
    }

    /// The operand of a block message that says where.
    pub(crate) fn point(&mut self, x: Id, y: Id) -> Id {
        self.e.pure(Inst::CompositeConstruct, crate::module::Ty::IntVec(32, 2), &[x, y])
    }
}
