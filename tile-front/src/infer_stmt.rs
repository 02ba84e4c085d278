//! Owns inference of statements: what `let` binds and predicts, what an assignment changes.
//!
//! *Not here*: control flow (`infer_control`), expressions (`infer`).

use proc_macro2::Ident;

use crate::ast::{Expr, SizeRef, Stmt, TypeRef};
use crate::infer::Infer;
use crate::value::{Ends, Frame, SymType, Val, Var, Want, sym_tile, sym_type, sym_vector};
use tile_ir::error::Code;
use tile_ir::ir::OpKind;
use tile_ir::scalar::Binary;

impl Infer<'_> {
    /// Walks a statement; says whether it ended the block.
    pub(crate) fn stmt(&mut self, stmt: &Stmt) -> Ends {
        match stmt {
            Stmt::Return(_) => return Ends::Return,
            Stmt::Break(span) | Stmt::Continue(span) if self.loops.is_empty() => {
                self.diags.push(
                    Code::LoopExit,
                    *span,
                    "`break` and `continue` stand in a loop; here there is none",
                    "put it into the loop it belongs to; `return` ends a kernel",
                );
            }
            Stmt::Break(span) | Stmt::Continue(span) if self.leaves_unrolled() => {
                self.diags.push(
                    Code::Unroll,
                    *span,
                    "an unrolled loop is left, and goes on, as constants decide; here a condition known only at run \
                     time does",
                    "remove `#[unroll]`, or put the rest of the body under the opposite condition",
                );
            }
            Stmt::Break(_) => return Ends::Break,
            Stmt::Continue(_) => return Ends::Continue,
            Stmt::While { cond, body, span } => self.while_loop(cond, body, *span),
            Stmt::Let { name, ty, value, .. } => {
                if let Some(val) = self.let_value(name, ty.as_ref(), value) {
                    self.vars.push(Var { name: name.clone(), val });
                } else {
                    // Later uses must not complain a second time: give the variable the type that was written.
                    self.declare_broken(name, ty.as_ref());
                }
            }
            Stmt::LetTuple { names, ty, value } => self.let_tuple(names, ty.as_ref(), value),
            Stmt::Assign { name, op, value } => self.assign(name, *op, value),
            Stmt::For { counter, lo, hi, step, body, unroll: true, span } if !self.sampling => {
                return self.unrolled_loop(counter.as_ref(), lo, hi, step.as_ref(), body, *span);
            }
            Stmt::For { counter, lo, hi, step, body, unroll: _, span } => {
                self.for_loop(counter.as_ref(), lo, hi, step.as_ref(), body, *span);
            }
            Stmt::Expr(e) => {
                if let Some((_, ends)) = self.if_ending(e, Want::Any) {
                    return ends;
                }
                self.expr(e, Want::Any);
            }
        }
        Ends::No
    }

    /// Keeps the predicted type of a `let` of the kernel itself; a device function is checked where it stands.
    pub(crate) fn witness(&mut self, value: &Expr, ty: SymType) {
        if self.depth == 0 {
            self.witnesses.insert(value.id, ty);
        }
    }

    pub(crate) fn declare_broken(&mut self, name: &Ident, ty: Option<&TypeRef>) {
        let val = ty.map_or(Val::Broken, |ty| self.stand_in(ty));
        self.vars.push(Var { name: name.clone(), val });
    }

    /// True where a `break` or `continue` would leave an unrolled run at run time.
    fn leaves_unrolled(&self) -> bool {
        matches!(self.loops.last(), Some(Frame::Unrolled(depth)) if self.ops.len() > *depth)
    }

    /// Binds the values of a device function.
    fn let_tuple(&mut self, names: &[Option<Ident>], ty: Option<&TypeRef>, value: &Expr) {
        let sym = ty.map(sym_type);
        let want = sym.as_ref().map_or(Want::Any, Want::of);
        let found = self.expr(value, want);
        let found = match (found, &sym) {
            (Some(val), Some(sym)) => self.value_as(val, sym, value.span),
            (found, _) => found,
        };
        let parts = match found {
            Some(Val::Tuple(parts)) if parts.len() == names.len() => Some(parts),
            Some(other) => {
                let found = match &other {
                    Val::Tuple(parts) => format!("{} values", parts.len()),
                    other => self.name_of(other),
                };
                let message = format!("this pattern binds {} values; here it is given {found}", names.len());
                self.error(Code::Mismatch, value.span, message, "bind one variable for each value")
            }
            None => None,
        };
        for (i, name) in names.iter().enumerate() {
            let val = parts.as_ref().and_then(|p| p.get(i)).cloned();
            let val = match val {
                Some(Val::Int(_)) => {
                    let message =
                        "the type of this literal is not known here; types are inferred forward only";
                    self.diags.push(Code::Literal, value.span, message, "write it: `5u32`");
                    Val::Broken
                }
                Some(val) => val,
                None => Val::Broken,
            };
            if let Some(name) = name {
                self.vars.push(Var { name: name.clone(), val });
            }
        }
    }

    pub(crate) fn let_value(&mut self, name: &Ident, ty: Option<&TypeRef>, value: &Expr) -> Option<Val> {
        match ty {
            Some(TypeRef::Scalar(s, _)) => {
                let val = self.expr(value, Want::Scalar(*s))?;
                let id = self.scalar(val, *s, value.span)?;
                Some(Val::Scalar(id, *s))
            }
            Some(TypeRef::Tile(t)) => {
                let sym = sym_tile(t);
                if self.concrete(&sym).is_none() {
                    return self.error(Code::TileShape, t.span, "a tile's sizes fit 32 bits", "");
                }
                let val = self.expr(value, Want::Tile(&sym))?;
                self.tile_as(val, &sym, value.span)
            }
            Some(TypeRef::Vector(v)) => {
                let sym = sym_vector(v);
                if self.concrete_vector(&sym).is_none() {
                    return self.error(Code::VectorLength, v.span, "a vector's length fits 32 bits", "");
                }
                let val = self.expr(value, Want::Vector(&sym))?;
                self.vector_as(val, &sym, value.span)
            }
            Some(TypeRef::Shared(s)) => self.let_shared(name, s, value),
            Some(TypeRef::Own(rows, cols, span)) => {
                let val = self.expr(value, Want::Any)?;
                let Val::Own(owned) = &val else {
                    let found = self.name_of(&val);
                    return self.error(
                        Code::Mismatch,
                        *span,
                        format!("`Own` is the value of `own_tile`; here it is {found}"),
                        "",
                    );
                };
                let size = |s: &SizeRef| self.binding.size(s);
                if (size(rows), size(cols)) != (size(&owned.rows), size(&owned.cols)) {
                    return self.error(
                        Code::Mismatch,
                        *span,
                        "the written tile size differs from that of `own_tile`",
                        "",
                    );
                }
                Some(val)
            }
            Some(TypeRef::Tuple(_, span)) => self.error(
                Code::Construct,
                *span,
                "a variable holds one value; here its type is that of several",
                "bind one variable for each: `let (x, y) = f(..);`",
            ),
            None => {
                let val = self.expr(value, Want::Any)?;
                match &val {
                    Val::Scalar(_, s) => self.witness(value, SymType::Scalar(*s)),
                    Val::Tile(_, t) => self.witness(value, SymType::Tile(t.clone())),
                    Val::Vector(_, v) => self.witness(value, SymType::Vector(v.clone())),
                    Val::Own(o) => {
                        self.witness(value, SymType::Own(o.rows.clone(), o.cols.clone()));
                    }
                    Val::Int(_) => {
                        return self.error(
                            Code::Literal,
                            value.span,
                            format!(
                                "the type of `{name}` is not known here; types are inferred forward only"
                            ),
                            "write it: `let x: u32 = ..` or `5u32`",
                        );
                    }
                    Val::Tuple(_) => {
                        return self.error(
                            Code::Construct,
                            value.span,
                            format!("a variable holds one value; here `{name}` would hold several"),
                            "bind one variable for each: `let (x, y) = f(..);`",
                        );
                    }
                    Val::Shared(..) => {
                        return self.error(
                            Code::SharedPlacement,
                            value.span,
                            "shared memory keeps its name; here it would get another",
                            "use it by the name it was made with",
                        );
                    }
                    Val::Global(_) | Val::Unit | Val::Broken => {
                        let found = self.name_of(&val);
                        return self.error(
                            Code::Construct,
                            value.span,
                            format!("a variable holds a scalar, a tile or an owned position; here it would hold {found}"),
                            "use the parameter's own name",
                        );
                    }
                }
                Some(val)
            }
        }
    }

    pub(crate) fn assign(&mut self, name: &Ident, op: Option<Binary>, value: &Expr) {
        let Some(old) = self.lookup(name) else { return };
        let new = match (&old, op) {
            (Val::Scalar(id, s), op) => {
                let Some(val) = self.expr(value, Want::Scalar(*s)) else { return };
                let Some(rhs) = self.scalar(val, *s, value.span) else { return };
                match op {
                    None => Some(Val::Scalar(rhs, *s)),
                    Some(op) => {
                        let lhs = *id;
                        Some(Val::Scalar(
                            self.emit_scalar(OpKind::Binary { op, lhs, rhs }, *s, name.span()),
                            *s,
                        ))
                    }
                }
            }
            (Val::Tile(_, t), None) => {
                let t = t.clone();
                let Some(val) = self.expr(value, Want::Tile(&t)) else { return };
                self.tile_as(val, &t, value.span)
            }
            (Val::Vector(_, v), None) => {
                let v = v.clone();
                let Some(val) = self.expr(value, Want::Vector(&v)) else { return };
                self.vector_as(val, &v, value.span)
            }
            (Val::Tile(..) | Val::Vector(..), Some(_)) => self.error(
                Code::Construct,
                name.span(),
                "compound assignment works on scalars; here the variable is a tile or vector",
                "use its ops, such as `x = x.add(&y);`",
            ),
            (
                Val::Own(_)
                | Val::Shared(..)
                | Val::Global(_)
                | Val::Tuple(_)
                | Val::Unit
                | Val::Broken
                | Val::Int(_),
                _,
            ) => {
                let found = self.name_of(&old);
                self.error(
                    Code::Construct,
                    name.span(),
                    format!("{found} cannot be assigned"),
                    "bind a new variable with `let`",
                )
            }
        };
        if let Some(new) = new {
            self.set(name, new);
        }
    }
}
