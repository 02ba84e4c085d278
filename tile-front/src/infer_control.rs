//! Owns inference of control flow: what a loop or branch carries, and the regions it becomes.
//!
//! Variables of an outer scope that a body assigns are carried: a loop receives and yields them, a branch
//! yields them. *Not here*: statements and expressions (`infer`).

use proc_macro2::{Ident, Span as TokenSpan};

use crate::assigned::{assigned, assigned_in};
use crate::ast::{Block, Expr, SizeExpr};
use crate::infer::Infer;
use crate::value::{Ends, Frame, Val, Var, Want, value_id, value_ids, with_id, with_ids};
use tile_ir::error::Code;
use tile_ir::ir::{Exit, Op, OpKind, Region, ValueId};
use tile_ir::scalar::Const;
use tile_ir::types::{ScalarType, Type};

/// How many ops unrolled loops may make: some hundred times a large kernel, and far less than would exhaust a compiler.
const MAX_UNROLLED: u64 = 16_384;

/// One way of an `if`, walked.
struct Branch {
    val: Option<Val>,
    ends: Ends,
    exit: Exit,
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
        let Some(step) = self.step(step) else { return };
        let Some((lo, hi, ty)) = bounds else { return };
        if !ty.is_integer() {
            self.diags.push(Code::Mismatch, span, format!("a loop counts with integers; here with {ty}"), "");
            return;
        }
        let carried: Vec<(Ident, Val)> = self.carried(&[body]);
        let inits: Vec<ValueId> = carried.iter().filter_map(|(_, v)| value_id(v)).collect();
        let counter_value = self.kernel.new_value(Type::Scalar(ty));
        let counter = counter.map(|c| Var { name: c.clone(), val: Val::Scalar(counter_value, ty) });
        let Some(mut body) = self.loop_body(&carried, counter, body, span) else { return };
        body.args.insert(0, counter_value);
        let types: Vec<Type> = inits.iter().map(|&v| self.kernel.ty(v)).collect();
        let results = self.emit(OpKind::For { lo, hi, step, inits, body }, &types, span);
        self.assign_results(&carried, &results);
    }

    /// Writes the runs of a `for` out one after the other; says whether they end the block.
    pub(crate) fn unrolled_loop(
        &mut self,
        counter: Option<&Ident>,
        lo: &Expr,
        hi: &Expr,
        step: Option<&SizeExpr>,
        body: &Block,
        span: TokenSpan,
    ) -> Ends {
        let Some((first, end, ty)) = self.pair(lo, hi, Want::Any) else { return Ends::No };
        let Some(step) = self.step(step) else { return Ends::No };
        let (Some(from), Some(to)) = (self.known_integer(first), self.known_integer(end)) else {
            let at = if self.known_integer(first).is_none() { lo.span } else { hi.span };
            self.diags.push(
                Code::Unroll,
                at,
                "the bounds of an unrolled loop are known at compile time; here one is computed at run time",
                "write a literal or a size, `0..BM as u32`, or remove `#[unroll]`",
            );
            return Ends::No;
        };
        let errors = self.diags.list().len();
        let outermost = self.emitted.1.is_none();
        let start = *self.emitted.1.get_or_insert(self.emitted.0);
        let mut out = Ends::No;
        let mut value = from;
        while value < to {
            let Some(known) = constant_of(ty, value) else { break };
            let val = self.constant(known, span);
            if let Val::Scalar(id, _) = val {
                self.constants.insert(id, (known, true));
            }
            self.loops.push(Frame::Unrolled(self.ops.len()));
            let depth = self.vars.len();
            self.vars.extend(counter.map(|c| Var { name: c.clone(), val }));
            let (_, ends) = self.block(body, Want::Any);
            self.vars.truncate(depth);
            self.loops.pop();
            if self.emitted.0 - start > MAX_UNROLLED && self.diags.list().len() == errors {
                self.diags.push(
                    Code::Unroll,
                    span,
                    format!(
                        "the runs of unrolled loops make at most {MAX_UNROLLED} ops; here they make more by run \
                         {} of {}",
                        (value - from) / i128::from(step) + 1,
                        (to - from + i128::from(step) - 1) / i128::from(step),
                    ),
                    "remove `#[unroll]`, here or from a loop inside",
                );
            }
            // What is wrong in one run is wrong in all.
            if self.diags.list().len() > errors || matches!(ends, Ends::Return | Ends::Break) {
                out = if ends == Ends::Return { Ends::Return } else { Ends::No };
                break;
            }
            value += i128::from(step);
        }
        if outermost {
            self.emitted.1 = None;
        }
        out
    }

    /// The value of an integer that is known at compile time.
    pub(crate) fn known_integer(&self, id: ValueId) -> Option<i128> {
        self.constants.get(&id).and_then(|(c, _)| integer(*c))
    }

    /// The step of a loop.
    fn step(&mut self, step: Option<&SizeExpr>) -> Option<u32> {
        let Some(e) = step else { return Some(1) };
        match self.binding.eval(e).map(u32::try_from) {
            Ok(Ok(v)) if v > 0 => Some(v),
            Ok(Ok(_) | Err(_)) | Err(_) => {
                self.error(Code::Literal, crate::parse::size_span(e), "a step is 1 to 4294967295", "")
            }
        }
    }

    /// Walks a `while`.
    pub(crate) fn while_loop(&mut self, cond: &Expr, body: &Block, span: TokenSpan) {
        if let Some(name) = assigned_in(cond).first() {
            self.diags.push(
                Code::Construct,
                cond.span,
                format!("the condition of a `while` changes nothing; here it assigns `{name}`"),
                "assign in the body: `while true { .. if !go_on { break; } }`",
            );
            return;
        }
        let carried: Vec<(Ident, Val)> = self.carried(&[body]);
        let inits: Vec<ValueId> = carried.iter().filter_map(|(_, v)| value_id(v)).collect();
        let args = self.receive(&carried);
        // A `break` in a condition has no loop to leave yet.
        let outer = core::mem::take(&mut self.loops);
        self.ops.push(vec![]);
        let test = self
            .expr(cond, Want::Scalar(ScalarType::Bool))
            .and_then(|v| self.scalar(v, ScalarType::Bool, cond.span));
        let ops = self.ops.pop().unwrap_or_default();
        self.loops = outer;
        let Some(test) = test else { return };
        let cond = Region { args, ops, exit: Exit::Yield(vec![test]) };
        let Some(body) = self.loop_body(&carried, None, body, span) else { return };
        let types: Vec<Type> = inits.iter().map(|&v| self.kernel.ty(v)).collect();
        let results = self.emit(OpKind::While { inits, cond, body }, &types, span);
        self.assign_results(&carried, &results);
    }

    /// Gives the carried variables new values, which a region receives as arguments.
    fn receive(&mut self, carried: &[(Ident, Val)]) -> Vec<ValueId> {
        let mut args = vec![];
        for (name, val) in carried {
            let fresh = self.fresh_like(val);
            args.extend(value_id(&fresh));
            self.set(name, fresh);
        }
        args
    }

    /// Walks the body of a loop; its region receives the carried values.
    fn loop_body(
        &mut self,
        carried: &[(Ident, Val)],
        counter: Option<Var>,
        body: &Block,
        span: TokenSpan,
    ) -> Option<Region> {
        let args = self.receive(carried);
        let places =
            carried.iter().filter_map(|(n, _)| self.vars.iter().rposition(|v| v.name == *n)).collect();
        self.loops.push(Frame::Carries(places));
        self.ops.push(vec![]);
        let depth = self.vars.len();
        self.vars.extend(counter);
        let (_, ends) = self.block(body, Want::Any);
        self.vars.truncate(depth);
        let ops = self.ops.pop().unwrap_or_default();
        let exit = self.exit(Ends::No);
        self.loops.pop();
        if matches!(ends, Ends::Return | Ends::Break) {
            return self.error(
                Code::Construct,
                span,
                "a loop body that always ends the loop runs at most once",
                "put the `return` or `break` under a condition, or use `if`",
            );
        }
        Some(Region { args, ops, exit })
    }

    /// The exit for a way a block ends, with the values the innermost loop carries at this point.
    fn exit(&self, ends: Ends) -> Exit {
        let places = match self.loops.last() {
            Some(Frame::Carries(places)) => places.as_slice(),
            Some(Frame::Unrolled(_)) | None => &[],
        };
        let values =
            places.iter().filter_map(|&i| self.vars.get(i)).filter_map(|v| value_id(&v.val)).collect();
        match ends {
            Ends::No => Exit::Yield(values),
            Ends::Return => Exit::Return,
            Ends::Break => Exit::Break(values),
            Ends::Continue => Exit::Continue(values),
        }
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
            Val::Vector(id, v) => {
                let ty = self.kernel.ty(*id);
                Val::Vector(self.kernel.new_value(ty), v.clone())
            }
            Val::Int(_)
            | Val::Own(_)
            | Val::Shared(..)
            | Val::Global(_)
            | Val::Tuple(_)
            | Val::Unit
            | Val::Broken => val.clone(),
        }
    }

    /// A value with its untyped literals given the wanted type, or the type that another branch gives in their place.
    fn settled(&mut self, val: Val, others: &[Val], want: Want<'_>, span: TokenSpan) -> Option<Val> {
        match val {
            Val::Int(_) => {
                let other = others.iter().find_map(|o| match o {
                    Val::Scalar(_, s) => Some(*s),
                    _ => None,
                });
                let ty = match want {
                    Want::Scalar(s) => Some(s),
                    Want::Any | Want::Tile(_) | Want::Vector(_) | Want::Tuple(_) => other,
                };
                match ty {
                    Some(s) => self.scalar(val, s, span).map(|id| Val::Scalar(id, s)),
                    None => Some(val),
                }
            }
            Val::Tuple(parts) => {
                let mut out = vec![];
                for (i, part) in parts.into_iter().enumerate() {
                    let beside: Vec<Val> = others
                        .iter()
                        .filter_map(|o| match o {
                            Val::Tuple(parts) => parts.get(i).cloned(),
                            _ => None,
                        })
                        .collect();
                    let want = match want {
                        Want::Tuple(types) => types.get(i).map_or(Want::Any, Want::of),
                        Want::Any | Want::Scalar(_) | Want::Tile(_) | Want::Vector(_) => Want::Any,
                    };
                    out.push(self.settled(part, &beside, want, span));
                }
                Some(Val::Tuple(out.into_iter().collect::<Option<_>>()?))
            }
            other => Some(other),
        }
    }

    fn types_of(&self, val: &Val) -> Vec<Type> {
        value_ids(val).into_iter().map(|id| self.kernel.ty(id)).collect()
    }

    fn assign_results(&mut self, carried: &[(Ident, Val)], results: &[ValueId]) {
        for ((name, val), &id) in carried.iter().zip(results) {
            self.set(name, with_id(val, id));
        }
    }

    /// Walks an `if`; says how the block around it ends, which it does when both ways end.
    pub(crate) fn if_expr(
        &mut self,
        e: &Expr,
        cond: &Expr,
        then: &Block,
        otherwise: Option<&Block>,
        want: Want<'_>,
    ) -> (Option<Val>, Ends) {
        if let Some(known) = self.known(cond).filter(|_| !self.sampling) {
            return match (known, otherwise) {
                (true, _) => self.block(then, want),
                (false, Some(block)) => self.block(block, want),
                (false, None) => (Some(Val::Unit), Ends::No),
            };
        }
        let Some(cond) = self
            .expr(cond, Want::Scalar(ScalarType::Bool))
            .and_then(|v| self.scalar(v, ScalarType::Bool, cond.span))
        else {
            return (None, Ends::No);
        };
        // Constants of unrolled loops decide as switches do: the other way leaves no ops.
        if let Some((Const::Bool(known), true)) = self.constants.get(&cond).copied() {
            return match (known, otherwise) {
                (true, _) => self.block(then, want),
                (false, Some(block)) => self.block(block, want),
                (false, None) => (Some(Val::Unit), Ends::No),
            };
        }
        let empty = Block::default();
        let blocks = [then, otherwise.unwrap_or(&empty)];
        let carried = self.carried(&blocks);
        let mut branches = vec![];
        for block in blocks {
            self.ops.push(vec![]);
            let (val, ends) = self.block(block, want);
            let yields: Vec<ValueId> =
                carried.iter().filter_map(|(n, _)| self.lookup(n)).filter_map(|v| value_id(&v)).collect();
            let exit = self.exit(ends);
            for (name, val) in &carried {
                self.set(name, val.clone());
            }
            let ops = self.ops.pop().unwrap_or_default();
            branches.push(Branch { val, ends, exit, yields, ops });
        }
        // An untyped literal in the value of a branch takes the wanted type, or that of the other branch.
        let vals: Vec<Val> = branches.iter().filter_map(|b| b.val.clone()).collect();
        let mut regions = vec![];
        let mut values = vec![];
        let mut ends = vec![];
        for Branch { mut val, ends: how, exit, mut yields, mut ops } in branches {
            if how == Ends::No
                && let Some(v) = val
            {
                self.ops.push(ops);
                val = self.settled(v, &vals, want, e.span);
                ops = self.ops.pop().unwrap_or_default();
            }
            yields.extend(val.as_ref().map(value_ids).unwrap_or_default());
            let exit = if how == Ends::No { Exit::Yield(yields) } else { exit };
            regions.push(Region { args: vec![], ops, exit });
            values.push(val);
            ends.push(how);
        }
        let (Some(otherwise), Some(then)) = (regions.pop(), regions.pop()) else { return (None, Ends::No) };
        let (Some(b), Some(a)) = (values.pop().flatten(), values.pop().flatten()) else {
            return (None, Ends::No);
        };
        let result = match (&a, &b, ends[0] == Ends::No, ends[1] == Ends::No) {
            (_, _, false, false) => Val::Unit,
            (_, b, false, true) => b.clone(),
            (a, _, true, false) => a.clone(),
            (a, b, true, true) => {
                if literals(a) || literals(b) {
                    let message =
                        "the type of these literals is not known here; types are inferred forward only";
                    return (
                        self.error(Code::Literal, e.span, message, "write it on one of them: `0u32`"),
                        Ends::No,
                    );
                }
                if self.types_of(a) != self.types_of(b) {
                    let (a, b) = (self.name_of(a), self.name_of(b));
                    let message =
                        format!("the branches of an `if` give one type; here they give {a} and {b}");
                    let help = "convert one of them, as in `x as u32` or `tile.to::<T>()`";
                    return (self.error(Code::Mismatch, e.span, message, help), Ends::No);
                }
                if let (Val::Tile(_, x), Val::Tile(_, y)) = (&a, &b)
                    && self.check_written(y, x, e.span).is_none()
                {
                    return (None, Ends::No);
                }
                a.clone()
            }
        };
        let mut types: Vec<Type> = carried.iter().filter_map(|(_, v)| self.type_of(v)).collect();
        let own = self.types_of(&result);
        types.extend(&own);
        let results = self.emit(OpKind::If { cond, then, otherwise }, &types, e.span);
        self.assign_results(&carried, &results);
        let val = with_ids(&result, &mut results[results.len() - own.len()..].iter().copied());
        // What follows is unreachable when both ways end. A way that goes on with the loop keeps it from ending always.
        let how = match (ends[0], ends[1]) {
            (_, Ends::No) => Ends::No,
            (_, Ends::Continue) => Ends::Continue,
            (first, Ends::Return | Ends::Break) => first,
        };
        (Some(val), how)
    }
}

/// The value of an integer constant.
fn integer(c: Const) -> Option<i128> {
    match c {
        Const::U32(v) => Some(v.into()),
        Const::I32(v) => Some(v.into()),
        Const::U64(v) => Some(v.into()),
        Const::F32(_) | Const::Bool(_) => None,
    }
}

/// An integer as a constant of a type.
fn constant_of(ty: ScalarType, value: i128) -> Option<Const> {
    match ty {
        ScalarType::U32 => u32::try_from(value).ok().map(Const::U32),
        ScalarType::I32 => i32::try_from(value).ok().map(Const::I32),
        ScalarType::U64 => u64::try_from(value).ok().map(Const::U64),
        ScalarType::F32 | ScalarType::Bool => None,
    }
}

/// True when the type of a literal in the value is not known.
fn literals(val: &Val) -> bool {
    match val {
        Val::Int(_) => true,
        Val::Tuple(parts) => parts.iter().any(literals),
        _ => false,
    }
}
