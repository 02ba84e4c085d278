//! Owns inference of comparisons, masks, choices, positions and element-wise ops of three operands.
//!
//! *Guarantees*: operands are tiles, vectors or scalars where the op takes such; whether their types fit is the IR
//! verifier's rule. *Not here*: other element-wise ops (`infer_map`).

use proc_macro2::Ident;

use crate::ast::{Bound, Call, Choose, DTypeRef, Expr, Operand};
use crate::infer::Infer;
use crate::value::{SymTile, SymVector, Val, Want, value_id};
use tile_ir::error::Code;
use tile_ir::ir::{OpKind, Selection, ValueId};
use tile_ir::types::{Along, DType, Role, ScalarType, Type};

impl Infer<'_> {
    /// Types a method that compares or chooses.
    pub(crate) fn choose(
        &mut self,
        e: &Expr,
        choose: Choose,
        operands: &[Operand],
        val: Val,
        name: &Ident,
    ) -> Option<Val> {
        let (Val::Tile(receiver, _) | Val::Vector(receiver, _)) = &val else {
            let found = self.name_of(&val);
            let help = match choose {
                Choose::Compare(op, _) => format!("scalars have operators: `x {} y`", operator(op)),
                Choose::Ternary(_) => "scalars have operators: `x * a + b`".to_string(),
                Choose::Logic(_) | Choose::Not | Choose::Any => {
                    "scalars have the operators `&&`, `||`, `^` and `!`".to_string()
                }
                Choose::Select => "choose between scalars with `if c { a } else { b }`".to_string(),
            };
            return self.error(Code::UnknownOp, e.span, format!("{found} has no `.{name}()`"), &help);
        };
        let receiver = *receiver;
        match (choose, operands) {
            (Choose::Ternary(op), [a, b]) => {
                let (a, b) = (self.beside(name, &val, a, None), self.beside(name, &val, b, None));
                self.like(&val, OpKind::MapTernary { op, x: receiver, a: a?, b: b? }, e)
            }
            (Choose::Compare(op, along), [other]) => {
                let rhs = self.beside(name, &val, other, along)?;
                let mask = mask_of(&val, e.span);
                self.typed(&mask, Selection::Compare { op, lhs: receiver, rhs }, e)
            }
            (Choose::Logic(op), [other]) => {
                let (rhs, _) = self.registers(name, other)?;
                self.like(&val, OpKind::Selection(Selection::Logic { op, lhs: receiver, rhs }), e)
            }
            (Choose::Not, []) => self.like(&val, OpKind::Selection(Selection::Not { mask: receiver }), e),
            (Choose::Any, []) => {
                let kind = OpKind::Selection(Selection::Any { mask: receiver });
                let ty = ScalarType::Bool;
                Some(Val::Scalar(self.emit(kind, &[Type::Scalar(ty)], e.span)[0], ty))
            }
            (Choose::Select, [yes, no]) => {
                let (id, yes_val) = self.registers(name, yes)?;
                let (Operand::Reference(at) | Operand::Value(at)) = yes;
                if let Val::Tile(_, SymTile { dtype, .. }) | Val::Vector(_, SymVector { dtype, .. }) =
                    &yes_val
                {
                    self.check_bound("select", dtype, Bound::Element, at.span)?;
                }
                self.check_beside(name, &val, &yes_val, at.span)?;
                let no = self.beside(name, &yes_val, no, None)?;
                let kind = OpKind::Selection(Selection::Select { mask: receiver, yes: id, no });
                self.like(&yes_val, kind, e)
            }
            // The parser counted the operands.
            (
                Choose::Ternary(_)
                | Choose::Compare(..)
                | Choose::Logic(_)
                | Choose::Not
                | Choose::Any
                | Choose::Select,
                _,
            ) => None,
        }
    }

    /// An operand that is a tile or vector, by reference.
    fn registers(&mut self, name: &Ident, operand: &Operand) -> Option<(ValueId, Val)> {
        let (Operand::Reference(e) | Operand::Value(e)) = operand;
        let val = self.expr(e, Want::Any)?;
        let by_value = matches!(operand, Operand::Value(_));
        match &val {
            Val::Tile(id, _) | Val::Vector(id, _) if !by_value => Some((*id, val)),
            _ => {
                let found = self.name_of(&val);
                let passed = if by_value { ", by value" } else { "" };
                self.error(
                    Code::Select,
                    e.span,
                    format!("`{name}` takes a tile or vector by reference; here it is {found}{passed}"),
                    &format!(
                        "write `mask.{name}(&x, ..)`; only the last operand of `select` may be a number"
                    ),
                )
            }
        }
    }

    /// Emits an op whose result has a type as written.
    fn typed(&mut self, like: &Val, what: Selection, e: &Expr) -> Option<Val> {
        match like {
            Val::Tile(_, sym) => {
                let ty = Type::Tile(self.concrete(sym)?);
                Some(Val::Tile(self.emit(OpKind::Selection(what), &[ty], e.span)[0], sym.clone()))
            }
            Val::Vector(_, sym) => {
                let ty = Type::Vector(self.concrete_vector(sym)?);
                Some(Val::Vector(self.emit(OpKind::Selection(what), &[ty], e.span)[0], sym.clone()))
            }
            _ => None,
        }
    }

    /// Types `iota`, `iota_rows`, `iota_cols`.
    pub(crate) fn iota(
        &mut self,
        call: &Call,
        along: Option<Along>,
        start: &Expr,
        want: Want<'_>,
    ) -> Option<Val> {
        let span = call.name.span();
        let (along, dtype) = match (along, want) {
            (Some(along), Want::Tile(sym)) => (along, &sym.dtype),
            (None, Want::Vector(sym)) => match sym.encoding.along() {
                Some(along) => (along, &sym.dtype),
                None => {
                    let message =
                        "`iota` counts along the rows or columns of tiles; here a wide vector is asked for";
                    return self.error(Code::Wide, span, message, "write `rv<f32, N, PerCol>`");
                }
            },
            (None, Want::Tile(_)) => {
                return self.error(
                    Code::Iota,
                    span,
                    "`iota` gives a vector; here a tile is asked for",
                    "write `iota_rows(start)` or `iota_cols(start)`",
                );
            }
            (Some(_), Want::Vector(_)) => {
                return self.error(
                    Code::Iota,
                    span,
                    format!("`{}` gives a tile; here a vector is asked for", call.name),
                    "write `iota(start)`",
                );
            }
            (Some(_) | None, Want::Any | Want::Scalar(_) | Want::Tuple(_)) => {
                return self.source(want, &call.name, OpKind::Zeros);
            }
        };
        // No bound promises that positions fit; of another type, the verifier refuses the tile or vector.
        if let DTypeRef::Param(name) = dtype {
            let message = format!(
                "`{}` counts in f32 or i32; here it counts in the type parameter `{name}`",
                call.name
            );
            return self.error(
                Code::Iota,
                span,
                message,
                &format!("write `f32` in its type, and convert: `.to::<{name}>()`"),
            );
        }
        let scalar = match self.binding.dtype(dtype)? {
            DType::Bool => ScalarType::F32,
            dtype => dtype.scalar(),
        };
        let val = self.expr(start, Want::Scalar(scalar))?;
        let start = self.scalar(val, scalar, start.span)?;
        self.source(want, &call.name, OpKind::Selection(Selection::Iota { along, start }))
    }
}

/// The type of the mask that belongs to a tile or vector; the value is not the mask's.
pub(crate) fn mask_of(val: &Val, span: proc_macro2::Span) -> Val {
    let dtype = DTypeRef::Fixed(DType::Bool, span);
    match val {
        Val::Tile(id, sym) => Val::Tile(*id, SymTile { dtype, role: Role::Row, ..sym.clone() }),
        Val::Vector(id, sym) => Val::Vector(*id, SymVector { dtype, ..sym.clone() }),
        other => {
            debug_assert!(value_id(other).is_none(), "only tiles and vectors are compared");
            other.clone()
        }
    }
}

/// How Rust writes a comparison.
const fn operator(op: tile_ir::scalar::Compare) -> &'static str {
    use tile_ir::scalar::Compare;
    match op {
        Compare::Eq => "==",
        Compare::Ne => "!=",
        Compare::Lt => "<",
        Compare::Le => "<=",
        Compare::Gt => ">",
        Compare::Ge => ">=",
    }
}
