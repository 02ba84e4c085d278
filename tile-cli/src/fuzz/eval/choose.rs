//! Owns the meaning of comparisons, masks, selection and positions, and how operands stand beside a tile.
//!
//! A mask is a grid of the integers 0 and 1, or of unknowns where correct devices may disagree.

use tile_ir::ir::{Logic, Selection, ValueId};
use tile_ir::map::MapTernary;
use tile_ir::scalar::Compare;
use tile_ir::types::{Along, Type};

use super::{Eval, Stop, Val, number};
use crate::fuzz::number::{Num, dot};

/// Applies an op of three operands to f32.
pub(super) fn ternary(op: MapTernary, x: Num, a: Num, b: Num) -> Num {
    match op {
        MapTernary::Fma => {
            if [x, a, b].iter().any(|n| n.is_unknown()) {
                return Num::UNKNOWN;
            }
            let exact = [x, a, b].iter().all(|n| n.e == 0.0);
            let finite = [x, a, b].iter().all(|n| n.v.is_finite());
            match (exact, finite) {
                (true, _) => Num::exact(x.v.mul_add(a.v, b.v)),
                (false, true) => dot(b, std::iter::once((x, a))),
                (false, false) => Num::UNKNOWN,
            }
        }
    }
}

/// Compares two elements; `None` when correct devices may disagree.
fn compared(op: Compare, a: Num, b: Num) -> Option<bool> {
    let ordering = match (a.int, b.int) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (Some(_), None) | (None, Some(_)) | (None, None) => {
            if a.is_unknown() || b.is_unknown() {
                return None;
            }
            let close = (f64::from(a.v) - f64::from(b.v)).abs() <= (a.e + b.e) * 1.001;
            if close && a.e + b.e > 0.0 {
                return None;
            }
            a.v.partial_cmp(&b.v)
        }
    };
    Some(match op {
        Compare::Eq => ordering.is_some_and(|o| o.is_eq()),
        Compare::Ne => ordering.is_none_or(|o| o.is_ne()),
        Compare::Lt => ordering.is_some_and(|o| o.is_lt()),
        Compare::Le => ordering.is_some_and(|o| o.is_le()),
        Compare::Gt => ordering.is_some_and(|o| o.is_gt()),
        Compare::Ge => ordering.is_some_and(|o| o.is_ge()),
    })
}

fn truth(value: Option<bool>) -> Num {
    value.map_or(Num::UNKNOWN, |v| Num::whole(v.into()))
}

fn is_true(mask: Num) -> Option<bool> {
    mask.int.map(|v| v != 0)
}

impl Eval<'_> {
    /// The right operand of an element-wise op for each of `len` elements of a tile or vector of type `ty`.
    pub(super) fn beside(&self, rhs: ValueId, ty: Type, len: usize) -> Result<Vec<Num>, Stop> {
        let cols = ty.tile().map_or(len, |t| t.cols as usize);
        Ok(match (self.get(rhs)?, self.kernel.ty(rhs), ty) {
            (Val::Scalar(c, e), ..) => vec![number(*c, *e)?; len],
            (Val::Grid(g), Type::Vector(v), Type::Tile(_)) => match v.encoding.along() {
                Some(Along::Rows) => (0..len).map(|i| g.data[i / cols]).collect(),
                Some(Along::Cols) => (0..len).map(|i| g.data[i % cols]).collect(),
                None => return Err(Stop::Malformed("a wide vector meets a tile")),
            },
            (Val::Grid(g), ..) => g.data.clone(),
        })
    }

    /// Whether a mask is true anywhere, as far as correct devices agree.
    pub(super) fn any(&self, mask: ValueId) -> Result<bool, Stop> {
        let mask = self.grid(mask)?;
        if mask.data.iter().any(|m| is_true(*m) == Some(true)) {
            return Ok(true);
        }
        if mask.data.iter().all(|m| is_true(*m) == Some(false)) { Ok(false) } else { Err(Stop::Ambiguous) }
    }

    /// What an op of selection gives: `len` elements of type `ty`.
    pub(super) fn selected(&self, what: &Selection, ty: Type, len: usize) -> Result<Vec<Num>, Stop> {
        Ok(match what {
            Selection::Compare { op, lhs, rhs } => {
                let left = self.grid(*lhs)?;
                let right = self.beside(*rhs, self.kernel.ty(*lhs), len)?;
                left.data.iter().zip(right).map(|(a, b)| truth(compared(*op, *a, b))).collect()
            }
            Selection::Logic { op, lhs, rhs } => {
                let (left, right) = (self.grid(*lhs)?, self.grid(*rhs)?);
                let each = left.data.iter().zip(&right.data);
                each.map(|(a, b)| {
                    truth(match (op, is_true(*a), is_true(*b)) {
                        (Logic::And, Some(false), _) | (Logic::And, _, Some(false)) => Some(false),
                        (Logic::Or, Some(true), _) | (Logic::Or, _, Some(true)) => Some(true),
                        (Logic::And, Some(a), Some(b)) => Some(a & b),
                        (Logic::Or, Some(a), Some(b)) => Some(a | b),
                        (Logic::Xor, Some(a), Some(b)) => Some(a ^ b),
                        (Logic::And | Logic::Or | Logic::Xor, _, _) => None,
                    })
                })
                .collect()
            }
            Selection::Not { mask } => {
                self.grid(*mask)?.data.iter().map(|m| truth(is_true(*m).map(|m| !m))).collect()
            }
            Selection::Any { .. } => return Err(Stop::Malformed("`any` gives a scalar")),
            Selection::Select { mask, yes, no } => {
                let (mask, yes) = (self.grid(*mask)?, self.grid(*yes)?);
                let dtype = ty.dtype().ok_or(Stop::Malformed("a tile was expected"))?;
                let no = self.beside(*no, ty, len)?;
                let each = mask.data.iter().zip(&yes.data).zip(no);
                each.map(|((mask, yes), no)| match is_true(*mask) {
                    Some(true) => *yes,
                    Some(false) => no.to(dtype),
                    None => Num::UNKNOWN,
                })
                .collect()
            }
            Selection::Iota { along, start } => {
                let (c, e) = self.scalar(*start)?;
                let start = number(c, e)?;
                let cols = ty.tile().map_or(len, |t| t.cols as usize);
                let position = |i: usize| match (ty, along) {
                    (Type::Tile(_), Along::Rows) => i / cols,
                    (Type::Tile(_) | Type::Vector(_) | Type::Scalar(_), _) => i % cols,
                };
                (0..len)
                    .map(|i| match start.int {
                        Some(v) => Num::whole(v.wrapping_add(position(i) as i32)),
                        None => start.binary(tile_ir::map::MapBinary::Add, Num::exact(position(i) as f32)),
                    })
                    .collect()
            }
        })
    }
}
