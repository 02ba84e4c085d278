//! Owns inference of control flow: what a loop or branch carries, and the regions it becomes.
//!
//! Variables of an outer scope that a body assigns are carried: a loop receives and yields them, a branch
//! yields them. *Not here*: statements and expressions (`infer`).

use proc_macro2::{Ident, Span as TokenSpan};

use crate::assigned::assigned;
use crate::ast::{Block, Expr, SizeExpr};
use crate::infer::Infer;
use crate::value::{Val, Var, Want, value_id, with_id};
use tile_ir::error::Code;
use tile_ir::ir::{Exit, Op, OpKind, Region, ValueId};
use tile_ir::types::{ScalarType, Type};

/// One way of an `if`, walked.
struct Branch {
    val: Option<Val>,
    returned: bool,
    yields: Vec<ValueId>,
    ops: Vec<Op>,
}

impl Infer<'_> {
    /// Walks a `for`.
    pub(crate) fn for_loop(
        &mut self,
        counter: Option<&Ident>,
        lo: &Expr,
        hi: &Expr,
        step: Option<&SizeExpr>,
        body: &Block,
        span: TokenSpan,
    ) {
        let bounds = self.pair(lo, hi, Want::Any);
        let step = match step {
            None => 1,
            Some(e) => match self.binding.eval(e).map(u32::try_from) {
                Ok(Ok(v)) if v > 0 => v,
                Ok(Ok(_) | Err(_)) | Err(_) => {
                    self.diags.push(
                        Code::Literal,
                        crate::parse::size_span(e),
                        "a step is 1 to 4294967295",
                        "",
                    );
                    return;
                }
            },
        };
        let Some((lo, hi, ty)) = bounds else { return };
        if !ty.is_integer() {
            self.diags.push(Code::Mismatch, span, format!("a loop counts with integers; here with {ty}"), "");
            return;
        }
        let carried: Vec<(Ident, Val)> = self.carried(&[body]);
        let inits: Vec<ValueId> = carried.iter().filter_map(|(_, v)| value_id(v)).collect();
        let mut args = vec![self.kernel.new_value(Type::Scalar(ty))];
        let depth = self.vars.len();
        for (name, val) in &carried {
            let fresh = self.fresh_like(val);
            args.extend(value_id(&fresh));
            self.set(name, fresh);
        }
        self.ops.push(vec![]);
        if let Some(counter) = counter {
            self.vars.push(Var { name: counter.clone(), val: Val::Scalar(args[0], ty) });
        }
        let (_, returned) = self.block(body, Want::Any);
        self.vars.truncate(depth);
        let ops = self.ops.pop().unwrap_or_default();
        if returned {
            self.error::<()>(
                Code::Construct,
                span,
                "a loop body that always returns runs at most once",
                "put the `return` under a condition, or drop the loop",
            );
            return;
        }
        let yields: Vec<ValueId> =
            carried.iter().filter_map(|(n, _)| self.lookup(n)).filter_map(|v| value_id(&v)).collect();
        let types: Vec<Type> = inits.iter().map(|&v| self.kernel.ty(v)).collect();
        let body = Region { args, ops, exit: Exit::Yield(yields) };
        let results = self.emit(OpKind::For { lo, hi, step, inits, body }, &types, span);
        self.assign_results(&carried, &results);
    }

    /// Outer variables that the blocks assign, with their current values, in order of declaration.
    fn carried(&mut self, blocks: &[&Block]) -> Vec<(Ident, Val)> {
        let names = assigned(blocks);
        let mut out: Vec<(Ident, Val)> = vec![];
        for var in self.vars.iter().rev() {
            if names.contains(&var.name.to_string())
                && !out.iter().any(|(n, _)| *n == var.name)
                && value_id(&var.val).is_some()
            {
                out.push((var.name.clone(), var.val.clone()));
            }
        }
        out.reverse();
        out
    }

    fn fresh_like(&mut self, val: &Val) -> Val {
        match val {
            Val::Scalar(_, s) => Val::Scalar(self.kernel.new_value(Type::Scalar(*s)), *s),
            Val::Tile(id, t) => {
                let ty = self.kernel.ty(*id);
                Val::Tile(self.kernel.new_value(ty), t.clone())
            }
            Val::Int(_) | Val::Own(_) | Val::Global(_) | Val::Unit | Val::Broken => val.clone(),
        }
    }

    fn assign_results(&mut self, carried: &[(Ident, Val)], results: &[ValueId]) {
        for ((name, val), &id) in carried.iter().zip(results) {
            self.set(name, with_id(val, id));
        }
    }

    /// Walks an `if`. The second result is true when both ways return.
    pub(crate) fn if_expr(
        &mut self,
        e: &Expr,
        cond: &Expr,
        then: &Block,
        otherwise: Option<&Block>,
        want: Want<'_>,
    ) -> (Option<Val>, bool) {
        if let Some(known) = self.known(cond) {
            return match (known, otherwise) {
                (true, _) => self.block(then, want),
                (false, Some(block)) => self.block(block, want),
                (false, None) => (Some(Val::Unit), false),
            };
        }
        let Some(cond) = self
            .expr(cond, Want::Scalar(ScalarType::Bool))
            .and_then(|v| self.scalar(v, ScalarType::Bool, cond.span))
        else {
            return (None, false);
        };
        let empty = Block::default();
        let blocks = [then, otherwise.unwrap_or(&empty)];
        let carried = self.carried(&blocks);
        let mut branches = vec![];
        for block in blocks {
            self.ops.push(vec![]);
            let (val, returned) = self.block(block, want);
            let yields: Vec<ValueId> =
                carried.iter().filter_map(|(n, _)| self.lookup(n)).filter_map(|v| value_id(&v)).collect();
            for (name, val) in &carried {
                self.set(name, val.clone());
            }
            let ops = self.ops.pop().unwrap_or_default();
            branches.push(Branch { val, returned, yields, ops });
        }
        // An untyped literal as the value of a branch takes the type of the other branch, or the wanted one.
        let other = branches.iter().find_map(|b| match b.val {
            Some(Val::Scalar(_, s)) => Some(s),
            _ => None,
        });
        let literal = match want {
            Want::Scalar(s) => Some(s),
            Want::Any | Want::Tile(_) => other,
        };
        let mut regions = vec![];
        let mut values = vec![];
        let mut ends = vec![];
        for Branch { mut val, returned, mut yields, mut ops } in branches {
            if let (Some(v @ Val::Int(_)), Some(s)) = (&val, literal) {
                let v = v.clone();
                self.ops.push(ops);
                val = self.scalar(v, s, e.span).map(|id| Val::Scalar(id, s));
                ops = self.ops.pop().unwrap_or_default();
            }
            yields.extend(val.as_ref().and_then(value_id));
            let exit = if returned { Exit::Return } else { Exit::Yield(yields) };
            regions.push(Region { args: vec![], ops, exit });
            values.push(val);
            ends.push(returned);
        }
        let (Some(otherwise), Some(then)) = (regions.pop(), regions.pop()) else { return (None, false) };
        let (Some(b), Some(a)) = (values.pop().flatten(), values.pop().flatten()) else {
            return (None, false);
        };
        let result = match (&a, &b, ends[0], ends[1]) {
            (_, _, true, true) => Val::Unit,
            (_, b, true, false) => b.clone(),
            (a, _, false, true) => a.clone(),
            (a, b, false, false) => {
                if self.type_of(a) != self.type_of(b) {
                    let (a, b) = (self.name_of(a), self.name_of(b));
                    let message =
                        format!("the branches of an `if` give one type; here they give {a} and {b}");
                    let help = "convert one of them, as in `x as u32` or `tile.to::<T>()`";
                    return (self.error(Code::Mismatch, e.span, message, help), false);
                }
                if let (Val::Tile(_, x), Val::Tile(_, y)) = (&a, &b)
                    && self.check_written(y, x, e.span).is_none()
                {
                    return (None, false);
                }
                a.clone()
            }
        };
        let mut types: Vec<Type> = carried.iter().filter_map(|(_, v)| self.type_of(v)).collect();
        types.extend(self.type_of(&result));
        let results = self.emit(OpKind::If { cond, then, otherwise }, &types, e.span);
        self.assign_results(&carried, &results);
        let val = match (self.type_of(&result), results.last()) {
            (Some(_), Some(&id)) => with_id(&result, id),
            (Some(_) | None, _) => result,
        };
        (Some(val), ends[0] && ends[1])
    }
}
