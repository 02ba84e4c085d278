//! Owns inference of closures over elements: their bodies become element-wise ops on whole tiles or vectors.
//!
//! *Guarantees*: as `infer_map`; the result has the receiver's type, and is rounded to its element type once.
//! *Not here*: the tree (`closure`), the same for the executed copy (`print_closure`).

use proc_macro2::{Ident, Span as TokenSpan};

use crate::ast::{Bound, DTypeRef, Expr};
use crate::closure::{Closure, Each, EachKind, Form, Test, TestKind};
use crate::infer::Infer;
use crate::infer_selection::mask_of;
use crate::value::{SymTile, SymVector, Val, Want, value_id, with_id};
use tile_ir::error::Code;
use tile_ir::ir::{OpKind, Selection, ValueId};
use tile_ir::types::{DType, Role, ScalarType, Type};

/// The operands of a closure: its parameters, and what all its values are like.
struct Elements {
    params: Vec<Val>,
    scalar: ScalarType,
}

impl Infer<'_> {
    /// `x.map(|v| ..)`, `x.zip(&y, |a, b| ..)`
    pub(crate) fn closure(&mut self, e: &Expr, closure: &Closure, val: Val, name: &Ident) -> Option<Val> {
        let span = e.span;
        let scalar = self.element_scalar(&val, name, span);
        let mut inputs = vec![(val.clone(), span)];
        if let Some(other) = &closure.other {
            let found = self.expr(other, Want::Any)?;
            let of_other = self.element_scalar(&found, name, other.span)?;
            self.check_zipped(&val, &found, (scalar?, of_other), other.span)?;
            inputs.push((found, other.span));
        }
        let scalar = scalar?;
        for (_, written) in &closure.params {
            if let Some((ty, span)) = written
                && *ty != scalar
            {
                let message = format!("an element of this closure is {scalar}; here it is written {ty}");
                return self.error(Code::Closure, *span, message, "leave the type out: `|x|`");
            }
        }
        let params: Option<Vec<Val>> =
            inputs.into_iter().map(|(val, span)| self.widened(&val, scalar, span)).collect();
        let elements = Elements { params: params?, scalar };
        let out = self.each(&closure.body, &elements)?;
        let ty = self.type_of(&val)?;
        let id = value_id(&out)?;
        if self.kernel.ty(id) == ty {
            return Some(with_id(&val, id));
        }
        Some(with_id(&val, self.emit(OpKind::Convert { tile: id }, &[ty], span)[0]))
    }

    /// The type of an element in a closure over this value.
    fn element_scalar(&mut self, val: &Val, name: &Ident, span: TokenSpan) -> Option<ScalarType> {
        let (dtype, role) = match val {
            Val::Tile(_, sym) => (&sym.dtype, Some(sym.role)),
            Val::Vector(_, sym) => (&sym.dtype, None),
            other => {
                let found = self.name_of(other);
                let help = match other {
                    Val::Shared(..) => "load it first: `load_shared(&s, ..)`",
                    _ => "a closure computes the elements of tiles and vectors",
                };
                return self.error(Code::UnknownOp, span, format!("{found} has no `.{name}()`"), help);
            }
        };
        self.check_bound(&name.to_string(), &dtype.clone(), Bound::Element, span)?;
        let found = self.name_of(val);
        if let Some(Role::Vnni | Role::VnniT) = role {
            let message = format!("`{name}` works on `Row` and `Acc` tiles; here the tile is {found}");
            let help = "change the elements before packing: load the tile with `load`";
            return self.error(Code::MapOperand, span, message, help);
        }
        let (code, help) = match self.binding.dtype(dtype)? {
            DType::F32 | DType::Bf16 | DType::F16 => return Some(ScalarType::F32),
            DType::I32 => return Some(ScalarType::I32),
            DType::I8 | DType::U8 => (Code::ElementOp, "convert it first: `.to::<i32>()`"),
            DType::Bool => (Code::Mask, "a mask chooses elements: `mask.select(&x, 0.0)`"),
            DType::Tf32 => (Code::OperandOnly, "load the tensor as f32 for other work"),
        };
        let message = format!("a closure computes elements of floats and i32; here `{name}` meets {found}");
        self.error(code, span, message, help)
    }

    /// Two values of one shape, whose elements compute in one type.
    fn check_zipped(
        &mut self,
        val: &Val,
        other: &Val,
        (x, y): (ScalarType, ScalarType),
        span: TokenSpan,
    ) -> Option<()> {
        // But for the element type, which may differ.
        let like = |this: &Self, val: &Val| match val {
            Val::Tile(_, t) => this.concrete(t).map(|t| (Some(t.role), None, t.rows, t.cols)),
            Val::Vector(_, v) => this.concrete_vector(v).map(|v| (None, Some(v.encoding), v.len, 0)),
            _ => None,
        };
        if x != y || like(self, val) != like(self, other) {
            let (left, right) = (self.name_of(val), self.name_of(other));
            let message = format!(
                "`zip` takes two tiles or vectors of one shape and role, both of floats or both of i32; here they are {left} and {right}"
            );
            let help = match (val, other) {
                (Val::Tile(..), Val::Vector(..)) | (Val::Vector(..), Val::Tile(..)) => {
                    "a vector meets a tile in `x.add_row(&v)`, `x.mul_col(&v)` and their kin"
                }
                (Val::Tile(_, t), Val::Tile(_, u)) if t.role != u.role => {
                    "`.to::<f32>()` makes a `Row` tile of an accumulator"
                }
                _ if x != y => "convert one of them: `.to::<f32>()`",
                _ => "",
            };
            return self.error(Code::MapOperand, span, message, help);
        }
        let dtype = || DTypeRef::Fixed(DType::F32, span);
        match (val, other) {
            (Val::Tile(_, t), Val::Tile(_, u)) => {
                let (t, u) =
                    (SymTile { dtype: dtype(), ..t.clone() }, SymTile { dtype: dtype(), ..u.clone() });
                self.check_written(&u, &t, span)
            }
            (lhs, rhs) => self.check_beside(&Ident::new("zip", span), lhs, rhs, span),
        }
    }

    /// The value in the type that elements compute in.
    fn widened(&mut self, val: &Val, scalar: ScalarType, span: TokenSpan) -> Option<Val> {
        let wide = if scalar == ScalarType::I32 { DType::I32 } else { DType::F32 };
        let dtype = DTypeRef::Fixed(wide, span);
        let (val, ty) = match val {
            Val::Tile(id, sym) => {
                let sym = SymTile { dtype, ..sym.clone() };
                let ty = Type::Tile(self.concrete(&sym)?);
                (Val::Tile(*id, sym), ty)
            }
            Val::Vector(id, sym) => {
                let sym = SymVector { dtype, ..sym.clone() };
                let ty = Type::Vector(self.concrete_vector(&sym)?);
                (Val::Vector(*id, sym), ty)
            }
            _ => return None,
        };
        let tile = value_id(&val)?;
        if self.kernel.ty(tile) == ty {
            return Some(val);
        }
        Some(with_id(&val, self.emit(OpKind::Convert { tile }, &[ty], span)[0]))
    }

    /// Emits an op whose result is like the closure's parameters.
    fn element_op(&mut self, kind: OpKind, elements: &Elements, span: TokenSpan) -> Option<Val> {
        let like = elements.params.first()?;
        let ty = self.type_of(like)?;
        Some(with_id(like, self.emit(kind, &[ty], span)[0]))
    }

    /// The tile or vector of an expression of elements.
    fn each(&mut self, e: &Each, elements: &Elements) -> Option<Val> {
        self.deeper(e.span, |this| this.each_kind(e, elements))
    }

    fn each_kind(&mut self, e: &Each, elements: &Elements) -> Option<Val> {
        let span = e.span;
        let kind = match &e.kind {
            EachKind::Param(number) => return elements.params.get(*number).cloned(),
            EachKind::Uniform(_) => OpKind::Fill { value: self.operand_of(e, elements)? },
            EachKind::Unary(op, x) => OpKind::MapUnary { op: *op, value: self.each_id(x, elements)? },
            EachKind::Binary(op, operands) => {
                let [a, b] = &**operands;
                // Integers have no quotient, which is for the verifier to say of the op that is written.
                let turn = a.is_uniform() && (elements.scalar != ScalarType::I32 || op.takes_integers());
                match Form::of(*op, turn) {
                    Form::Turned(first, then) => {
                        let rhs = self.operand_of(a, elements);
                        let value = self.each_id(b, elements)?;
                        let first = self.element_op(OpKind::MapUnary { op: first, value }, elements, span)?;
                        OpKind::MapBinary { op: then, lhs: value_id(&first)?, rhs: rhs? }
                    }
                    Form::Plain => {
                        let lhs = self.each_id(a, elements);
                        let rhs = self.operand_of(b, elements);
                        OpKind::MapBinary { op: *op, lhs: lhs?, rhs: rhs? }
                    }
                }
            }
            EachKind::Ternary(op, operands) => {
                let [x, a, b] = &**operands;
                let x = self.each_id(x, elements);
                let (a, b) = (self.operand_of(a, elements), self.operand_of(b, elements));
                OpKind::MapTernary { op: *op, x: x?, a: a?, b: b? }
            }
            EachKind::Choose(test, branches) => {
                let [yes, no] = &**branches;
                let mask = self.element_mask(test, elements);
                let yes = self.each_id(yes, elements);
                let no = self.operand_of(no, elements);
                OpKind::Selection(Selection::Select { mask: mask?, yes: yes?, no: no? })
            }
        };
        self.element_op(kind, elements, span)
    }

    fn each_id(&mut self, e: &Each, elements: &Elements) -> Option<ValueId> {
        self.each(e, elements).as_ref().and_then(value_id)
    }

    /// An operand that may be a scalar.
    fn operand_of(&mut self, e: &Each, elements: &Elements) -> Option<ValueId> {
        let EachKind::Uniform(value) = &e.kind else { return self.each_id(e, elements) };
        let val = self.expr(value, Want::Scalar(elements.scalar))?;
        let help = match &val {
            Val::Tile(..) => "give it to the closure: `x.zip(&y, |a, b| ..)`",
            Val::Vector(..) if matches!(elements.params.first(), Some(Val::Vector(..))) => {
                "give it to the closure: `v.zip(&w, |a, b| ..)`"
            }
            Val::Vector(..) => "a vector meets a tile in `x.add_row(&v)`, `x.mul_col(&v)` and their kin",
            _ => return self.scalar(val, elements.scalar, value.span),
        };
        let message = format!(
            "a closure over elements uses scalars beside its parameters; here it is {}",
            self.name_of(&val)
        );
        self.error(Code::Closure, value.span, message, help)
    }

    /// The mask of a condition.
    fn element_mask(&mut self, test: &Test, elements: &Elements) -> Option<ValueId> {
        self.deeper(test.span, |this| this.element_mask_kind(test, elements))
    }

    fn element_mask_kind(&mut self, test: &Test, elements: &Elements) -> Option<ValueId> {
        let what = match &test.kind {
            TestKind::Compare(op, operands) => {
                let [lhs, rhs] = &**operands;
                let lhs = self.each_id(lhs, elements);
                let rhs = self.operand_of(rhs, elements);
                Selection::Compare { op: *op, lhs: lhs?, rhs: rhs? }
            }
            TestKind::Logic(op, sides) => {
                let [lhs, rhs] = &**sides;
                let (lhs, rhs) = (self.element_mask(lhs, elements), self.element_mask(rhs, elements));
                Selection::Logic { op: *op, lhs: lhs?, rhs: rhs? }
            }
            TestKind::Not(inner) => Selection::Not { mask: self.element_mask(inner, elements)? },
        };
        let ty = match mask_of(elements.params.first()?, test.span) {
            Val::Tile(_, sym) => Type::Tile(self.concrete(&sym)?),
            Val::Vector(_, sym) => Type::Vector(self.concrete_vector(&sym)?),
            _ => return None,
        };
        Some(self.emit(OpKind::Selection(what), &[ty], test.span)[0])
    }
}
