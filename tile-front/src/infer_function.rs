//! Owns the inlining of device functions: binding their generics by the arguments, and walking their bodies.
//!
//! *Guarantees*: a body sees its own parameters and nothing of its caller; what it gives back is typed in the
//! caller's terms. *Not here*: what a function is (`function`).

use std::borrow::Cow;

use proc_macro2::{Ident, Span as TokenSpan};

use crate::ast::{
    DTypeRef, Expr, ExprKind, FunctionArg, FunctionCall, GenericArg, GenericKind, SizeRef, TypeRef,
};
use crate::function::{Function, FunctionParam, Pass};
use crate::infer::{CALL, Infer, bounds_of};
use crate::instance::{Binding, Value};
use crate::value::{
    Ends, SymTile, SymVector, Val, Var, Want, sym_tile, sym_type, sym_vector, value_id, with_id,
};
use tile_ir::error::Code;

/// How many ops a kernel may have when a further function is inlined.
const MAX_INLINED: u64 = 65_536;

/// What a generic parameter of the callee is in the caller's terms.
#[derive(Clone, Debug)]
enum Term {
    Type(DTypeRef),
    Size(SizeRef),
    Flag,
}

/// The generics of a call as far as they are known.
struct Terms<'f> {
    function: &'f Function,
    found: Vec<(String, Term, Value)>,
}

impl Infer<'_> {
    /// Types a call of a device function by walking its body.
    pub(crate) fn call_function(&mut self, call: &FunctionCall, e: &Expr) -> Option<Val> {
        let functions = self.functions;
        let function = functions.get(*self.calls.get(call.index)?)?;
        if self.sampling {
            return self.sample_call(call, function);
        }
        self.emitted.0 += 1;
        if self.emitted.0 > MAX_INLINED {
            let message = format!(
                "a kernel has at most {MAX_INLINED} ops once its device functions are inlined; here it has more"
            );
            return self.too_large(e.span, message, "call fewer functions, or call them in a loop");
        }
        self.passed_once(call)?;
        let mut terms = Terms { function, found: vec![] };
        if !call.generics.is_empty() && call.generics.len() != function.generics.len() {
            let message = format!(
                "`{}` has {} generic parameters; here {} are given",
                function.name,
                function.generics.len(),
                call.generics.len()
            );
            return self.error(
                Code::Generics,
                e.span,
                message,
                "give all, or none where the arguments fix them",
            );
        }
        for (given, param) in call.generics.iter().zip(&function.generics) {
            let (term, value) = match (param.kind, given) {
                (GenericKind::Type(_), GenericArg::Type(d)) => {
                    (Term::Type(d.clone()), Value::Type(self.binding.dtype(d)?))
                }
                (GenericKind::Size, GenericArg::Size(s)) => {
                    (Term::Size(s.clone()), Value::Size(u64::from(self.binding.size(s)?)))
                }
                (GenericKind::Flag, GenericArg::Flag(b)) => (Term::Flag, Value::Flag(*b)),
                (GenericKind::Flag, GenericArg::FlagParam(name)) => {
                    (Term::Flag, Value::Flag(self.binding.flag(name)?))
                }
                (GenericKind::Type(_) | GenericKind::Size | GenericKind::Flag, _) => {
                    return self.error(
                        Code::Generics,
                        e.span,
                        format!(
                            "`{}` of `{}` is {}; here the argument is another",
                            param.name,
                            function.name,
                            match param.kind {
                                GenericKind::Type(_) => "an element type",
                                GenericKind::Size => "a size",
                                GenericKind::Flag => "a switch",
                            }
                        ),
                        "give the arguments in the order of the function's generic parameters",
                    );
                }
            };
            terms.found.push((param.name.to_string(), term, value));
        }
        if call.args.len() != function.params.len() {
            let message = format!(
                "`{}` takes {} arguments; here it has {}",
                function.name,
                function.params.len(),
                call.args.len()
            );
            return self.error(
                Code::Arguments,
                e.span,
                message,
                &format!("its form is `{}`", form(function)),
            );
        }
        let mut vars = vec![];
        let mut globals = vec![];
        for ((name, param), arg) in function.params.iter().zip(&call.args) {
            let val = self.argument(&mut terms, name, param, arg)?;
            if let (FunctionParam::Global(dtype), Val::Global(id)) = (param, &val) {
                globals.push((*id, dtype.clone()));
            }
            vars.push(Var { name: name.clone(), val });
        }
        let inner = self.bind_terms(&terms, e.span)?;
        // The body sees its own parameters only.
        let outer_binding = core::mem::replace(&mut self.binding, Cow::Owned(inner));
        let outer_vars = core::mem::replace(&mut self.vars, vars);
        let outer_loops = core::mem::take(&mut self.loops);
        let outer_types = self.global_types.clone();
        let outer_bounds = core::mem::replace(&mut self.bounds, bounds_of(&function.generics));
        self.global_types.extend(globals);
        let outer_calls = core::mem::replace(&mut self.calls, function.calls.clone());
        self.depth += 1;
        self.nesting += CALL - 1;
        let result = self.function_body(function);
        self.depth -= 1;
        self.nesting -= CALL - 1;
        self.calls = outer_calls;
        let inner_vars = core::mem::replace(&mut self.vars, outer_vars);
        self.loops = outer_loops;
        self.global_types = outer_types;
        self.bounds = outer_bounds;
        self.binding = outer_binding;
        for (i, arg) in call.args.iter().enumerate() {
            let name = match (arg, &function.params[i].1) {
                (FunctionArg::Mutable(name), _)
                | (FunctionArg::Given(name), FunctionParam::Registers(_, Pass::Mutable)) => name,
                (FunctionArg::Given(_) | FunctionArg::Reference(_) | FunctionArg::Value(_), _) => continue,
            };
            if let (Some(id), Some(old)) =
                (inner_vars.get(i).and_then(|v| value_id(&v.val)), self.lookup(name))
            {
                self.set(name, with_id(&old, id));
            }
        }
        let val = result?;
        Some(terms.in_callers_terms(val))
    }

    /// Reports a kernel that inlining makes too large, once.
    pub(crate) fn too_large<T>(&mut self, span: TokenSpan, message: String, help: &str) -> Option<T> {
        if self.diags.list().iter().any(|d| d.code == Code::Inlining) {
            return None;
        }
        self.error(Code::Inlining, span, message, help)
    }

    /// What is passed by `&mut` is not passed a second time in one call.
    fn passed_once(&mut self, call: &FunctionCall) -> Option<()> {
        let name_of = |arg: &FunctionArg| match arg {
            FunctionArg::Mutable(name) | FunctionArg::Given(name) => Some(name.clone()),
            FunctionArg::Reference(e) | FunctionArg::Value(e) => match &e.kind {
                ExprKind::Name(name) => Some(name.clone()),
                _ => None,
            },
        };
        for (i, arg) in call.args.iter().enumerate() {
            let FunctionArg::Mutable(name) = arg else { continue };
            let again = call
                .args
                .iter()
                .enumerate()
                .filter(|(j, _)| *j != i)
                .find_map(|(_, other)| name_of(other).filter(|n| n == name));
            if let Some(again) = again {
                return self.error(
                    Code::Arguments,
                    again.span(),
                    format!("a variable passed by `&mut` is passed once; here `{name}` is passed twice"),
                    "pass a value of its own, such as `&x.scale(1.0)`",
                );
            }
        }
        Some(())
    }

    /// Evaluates an argument and types it as the parameter's type, in the callee's terms.
    fn argument(
        &mut self,
        terms: &mut Terms<'_>,
        name: &Ident,
        param: &FunctionParam,
        arg: &FunctionArg,
    ) -> Option<Val> {
        let function = &terms.function.name;
        let (span, val, pass) = match arg {
            FunctionArg::Mutable(name) => (name.span(), self.lookup(name)?, Pass::Mutable),
            // rustc knows whether the reference is mutable.
            FunctionArg::Given(name) => {
                let pass = match param {
                    FunctionParam::Registers(_, Pass::Mutable) => Pass::Mutable,
                    FunctionParam::Registers(..) | FunctionParam::Scalar(_) | FunctionParam::Global(_) => {
                        Pass::Reference
                    }
                };
                (name.span(), self.lookup(name)?, pass)
            }
            FunctionArg::Reference(e) => (e.span, self.expr(e, Want::Any)?, Pass::Reference),
            FunctionArg::Value(e) => {
                let want = match param {
                    FunctionParam::Scalar(s) => Want::Scalar(*s),
                    FunctionParam::Registers(..) | FunctionParam::Global(_) => Want::Any,
                };
                (e.span, self.expr(e, want)?, Pass::Value)
            }
        };
        match (param, val) {
            (FunctionParam::Scalar(s), val) => {
                let id = self.scalar(val, *s, span)?;
                Some(Val::Scalar(id, *s))
            }
            (FunctionParam::Global(dtype), Val::Global(id)) => {
                let of = self.global_types.get(&id).cloned();
                if let (Some(of), Some((value, _))) = (of, self.kernel.global(id)) {
                    let met = terms.meet(dtype.clone().into(), Term::Type(of), Value::Type(value));
                    self.agreed(met, span)?;
                }
                Some(Val::Global(id))
            }
            (FunctionParam::Registers(TypeRef::Tile(want), wanted), Val::Tile(id, found))
                if *wanted == pass =>
            {
                let sym = sym_tile(want);
                let c = self.concrete(&found)?;
                let meets = [
                    (Slot::from(sym.dtype.clone()), Term::Type(found.dtype.clone()), Value::Type(c.dtype)),
                    (
                        Slot::from(sym.rows.clone()),
                        Term::Size(found.rows.clone()),
                        Value::Size(c.rows.into()),
                    ),
                    (
                        Slot::from(sym.cols.clone()),
                        Term::Size(found.cols.clone()),
                        Value::Size(c.cols.into()),
                    ),
                ];
                for (slot, term, value) in meets {
                    let met = terms.meet(slot, term, value);
                    self.agreed(met, span)?;
                }
                if sym.role != found.role {
                    let why = format!(
                        "`{name}` of `{function}` has the role `{}`; here it has `{}`",
                        sym.role, found.role
                    );
                    return self.clash(span, &why).map(|()| Val::Unit);
                }
                Some(Val::Tile(id, sym))
            }
            (FunctionParam::Registers(TypeRef::Vector(want), wanted), Val::Vector(id, found))
                if *wanted == pass =>
            {
                let sym = sym_vector(want);
                let c = self.concrete_vector(&found)?;
                let meets = [
                    (Slot::from(sym.dtype.clone()), Term::Type(found.dtype.clone()), Value::Type(c.dtype)),
                    (Slot::from(sym.len.clone()), Term::Size(found.len.clone()), Value::Size(c.len.into())),
                ];
                for (slot, term, value) in meets {
                    let met = terms.meet(slot, term, value);
                    self.agreed(met, span)?;
                }
                if sym.encoding != found.encoding {
                    let why = format!(
                        "`{name}` of `{function}` is a `{}` vector; here it is `{}`",
                        sym.encoding.name(),
                        found.encoding.name()
                    );
                    return self.clash(span, &why).map(|()| Val::Unit);
                }
                Some(Val::Vector(id, sym))
            }
            (FunctionParam::Registers(_, wanted), val @ (Val::Tile(..) | Val::Vector(..)))
                if *wanted != pass =>
            {
                let how = |pass: Pass| match pass {
                    Pass::Value => ("by value", "`x`"),
                    Pass::Reference => ("by reference", "`&x`"),
                    Pass::Mutable => ("by mutable reference", "`&mut x`"),
                };
                let ((needed, write), (found, _)) = (how(*wanted), how(pass));
                let what = self.name_of(&val);
                let message =
                    format!("`{name}` of `{function}` is passed {needed}; here {what} is passed {found}");
                self.error(Code::Arguments, span, message, &format!("write {write}"))
            }
            (_, other) => {
                let found = self.name_of(&other);
                self.error(
                    Code::Mismatch,
                    span,
                    format!("`{name}` of `{function}` is `{}`; here it is {found}", shown(param)),
                    "the function's signature fixes the types of its arguments",
                )
            }
        }
    }

    fn agreed(&mut self, met: Result<(), String>, span: TokenSpan) -> Option<()> {
        met.or_else(|why| self.clash(span, &why).ok_or(())).ok()
    }

    fn clash<T>(&mut self, span: TokenSpan, why: &str) -> Option<T> {
        self.error(Code::Mismatch, span, why, "the function's signature fixes the types of its arguments")
    }

    /// The callee's binding: every generic parameter has a value.
    fn bind_terms(&mut self, terms: &Terms<'_>, span: TokenSpan) -> Option<Binding> {
        let mut values = vec![];
        for param in &terms.function.generics {
            let name = param.name.to_string();
            let Some((_, term, value)) = terms.found.iter().find(|(n, ..)| *n == name) else {
                if terms.function.derives.iter().any(|(n, _)| *n == name) {
                    let message = format!(
                        "the arguments do not fix the derived size `{name}` of `{}`",
                        terms.function.name
                    );
                    return self.error(
                        Code::Generics,
                        span,
                        message,
                        "write the generic arguments, `f::<M, HALF>(..)`, with a size that the kernel derives likewise",
                    );
                }
                let message = format!("the arguments do not fix `{name}` of `{}`", terms.function.name);
                return self.error(
                    Code::Generics,
                    span,
                    message,
                    "write the generic arguments: `f::<..>(..)`",
                );
            };
            if let (GenericKind::Type(bound), Value::Type(d)) = (param.kind, value)
                && !bound.admits(*d)
            {
                let message =
                    format!("`{name}` has the bound `{}`, which {d} does not satisfy", bound.name());
                return self.error(Code::Generics, span, message, bound.fact());
            }
            if let (GenericKind::Type(bound), Term::Type(DTypeRef::Param(given))) = (param.kind, term)
                && let Some(has) = self.bound_of(given)
                && has < bound
            {
                let message = format!(
                    "`{name}` of `{}` needs the bound `{}`; here it is `{given}`, which has `{}`",
                    terms.function.name,
                    bound.name(),
                    has.name()
                );
                let help = format!("write `{given}: {}`", bound.name());
                return self.error(Code::ElementBound, span, message, &help);
            }
            values.push((param.name.clone(), *value));
        }
        let binding = Binding { values, ..self.binding.clone().into_owned() };
        let function = &terms.function.name;
        for (name, expr) in &terms.function.derives {
            let given = binding.values.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
            let (message, help) = match (binding.eval(expr).map(Value::Size), given) {
                (Ok(needed), Some(given)) if needed == given => continue,
                (Ok(needed), given) => (
                    format!(
                        "the derived size `{name}` of `{function}` is {needed} in instance {}; here it is {}",
                        binding.name,
                        given.map(|v| v.to_string()).unwrap_or_default(),
                    ),
                    "derive the size in the kernel by the same formula",
                ),
                (Err(why), _) => (
                    format!(
                        "the derived size `{name}` of `{function}` has no value in {}: {why}",
                        binding.name
                    ),
                    "derive sizes in order, from sizes that the arguments fix or derived before",
                ),
            };
            return self.error(Code::Generics, span, message, help);
        }
        Some(binding)
    }

    fn function_body(&mut self, function: &Function) -> Option<Val> {
        let output = function.output.as_ref().map(sym_type);
        let want = output.as_ref().map_or(Want::Any, Want::of);
        let params = self.vars.len();
        let span = function.body.tail.as_ref().map_or(function.name.span(), |tail| tail.span);
        let (val, ends) = self.block_keeping(&function.body, want);
        self.vars.truncate(params);
        let val = val?;
        match &output {
            Some(sym) if ends == Ends::No => self.value_as(val, sym, span),
            Some(_) | None => Some(Val::Unit),
        }
    }
}

/// The type of a parameter as its function writes it.
fn shown(param: &FunctionParam) -> String {
    match param {
        FunctionParam::Registers(ty, pass) => {
            let pass = match pass {
                Pass::Value => "",
                Pass::Reference => "&",
                Pass::Mutable => "&mut ",
            };
            let ty = match ty {
                TypeRef::Tile(t) => sym_tile(t).to_string(),
                TypeRef::Vector(v) => {
                    let v = sym_vector(v);
                    format!("rv<{}, {}, {}>", v.dtype, v.len, v.encoding.name())
                }
                TypeRef::Scalar(s, _) => s.to_string(),
                TypeRef::Own(..) | TypeRef::Shared(_) | TypeRef::Tuple(..) => "another type".to_string(),
            };
            format!("{pass}{ty}")
        }
        FunctionParam::Scalar(s) => s.to_string(),
        FunctionParam::Global(dtype) => format!("&gl<{dtype}>"),
    }
}

/// How a function is called: its name with the types of its parameters.
fn form(function: &Function) -> String {
    let params: Vec<String> =
        function.params.iter().map(|(name, ty)| format!("{name}: {}", shown(ty))).collect();
    format!("{}({})", function.name, params.join(", "))
}

/// A place in the callee's signature that an argument fixes.
enum Slot {
    Param(String),
    Size(u64),
    Type(tile_ir::types::DType),
}

impl From<DTypeRef> for Slot {
    fn from(d: DTypeRef) -> Slot {
        match d {
            DTypeRef::Param(name) => Slot::Param(name.to_string()),
            DTypeRef::Fixed(d, _) => Slot::Type(d),
        }
    }
}

impl From<SizeRef> for Slot {
    fn from(s: SizeRef) -> Slot {
        match s {
            SizeRef::Param(name) => Slot::Param(name.to_string()),
            SizeRef::Literal(v, _) => Slot::Size(v),
        }
    }
}

impl Terms<'_> {
    /// Records or checks what an argument says of a place in the signature.
    fn meet(&mut self, slot: Slot, term: Term, value: Value) -> Result<(), String> {
        let agrees = match &slot {
            Slot::Param(name) => match self.found.iter().find(|(n, ..)| n == name) {
                None => {
                    self.found.push((name.clone(), term, value));
                    return Ok(());
                }
                Some((_, _, known)) if *known == value => return Ok(()),
                Some((_, _, known)) => {
                    let of = &self.function.name;
                    return Err(format!(
                        "`{name}` of `{of}` is {known} by the other arguments; here it is {value}"
                    ));
                }
            },
            Slot::Size(v) => value == Value::Size(*v),
            Slot::Type(d) => value == Value::Type(*d),
        };
        if agrees {
            return Ok(());
        }
        let needed = match slot {
            Slot::Param(name) => name,
            Slot::Size(v) => v.to_string(),
            Slot::Type(d) => d.to_string(),
        };
        Err(format!("`{}` needs {needed}; here it is {value}", self.function.name))
    }

    fn dtype(&self, d: DTypeRef) -> DTypeRef {
        if let DTypeRef::Param(name) = &d
            && let Some((_, Term::Type(t), _)) = self.found.iter().find(|(n, ..)| name == n)
        {
            return t.clone();
        }
        d
    }

    fn size(&self, s: SizeRef) -> SizeRef {
        if let SizeRef::Param(name) = &s
            && let Some((_, Term::Size(t), _)) = self.found.iter().find(|(n, ..)| name == n)
        {
            return t.clone();
        }
        s
    }

    /// A value the callee gives, with its type in the caller's terms.
    fn in_callers_terms(&self, val: Val) -> Val {
        match val {
            Val::Tile(id, t) => Val::Tile(
                id,
                SymTile {
                    dtype: self.dtype(t.dtype),
                    rows: self.size(t.rows),
                    cols: self.size(t.cols),
                    role: t.role,
                },
            ),
            Val::Vector(id, v) => Val::Vector(
                id,
                SymVector { dtype: self.dtype(v.dtype), len: self.size(v.len), encoding: v.encoding },
            ),
            Val::Tuple(parts) => {
                Val::Tuple(parts.into_iter().map(|part| self.in_callers_terms(part)).collect())
            }
            other @ (Val::Scalar(..)
            | Val::Int(_)
            | Val::Own(_)
            | Val::Shared(..)
            | Val::Global(_)
            | Val::Unit
            | Val::Broken) => other,
        }
    }
}
