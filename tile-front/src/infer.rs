//! Owns inference: one walk over the body of one instance, forward only, that types every expression and
//! builds the IR.
//!
//! A tile's type starts at a source (parameter, `zeros`, a load with a written type) and every op fixes the
//! type of its result, so nothing is ever inferred backwards. Alongside the concrete type, a tile carries its
//! type as written (`rt<A, BM, BK>`), from which `expand` makes the witnesses that rustc must accept.
//! *Guarantees*: without errors, a kernel that `tile_ir::verify` can check. *Not here*: calls (`infer_call`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, Span as TokenSpan};

use crate::ast::{Block, Bound, DTypeRef, Decl, Expr, ExprKind, GenericKind, GenericParam, ParamType};
use crate::diag::Diags;
use crate::function::Function;
use crate::instance::Binding;
use crate::value::{Ends, Frame, SymTile, SymType, SymVector, Val, Var, Want, value_id};
use tile_ir::error::{Code, Span};
use tile_ir::ir::{Access, Exit, Kernel, Op, OpKind, Param, ParamId, ParamKind, Region, ValueId};
use tile_ir::scalar::{Binary, Const, Unary, casts};
use tile_ir::types::{ScalarType, TileType, Type, VectorType};

/// How deep expressions may nest once device functions are inlined: within the stack of every thread that rustc runs
/// macros on.
const MAX_NESTING: u32 = 128;

/// How deep a call of a device function nests, in expressions: what its walk takes of the stack.
pub(crate) const CALL: u32 = 4;

/// Infers one instance.
pub struct Infer<'a> {
    pub(crate) binding: Cow<'a, Binding>,
    /// Every device function that the kernel reaches.
    pub(crate) functions: &'a [Function],
    /// Where the functions that the body at hand lists stand among them.
    pub(crate) calls: Vec<usize>,
    /// True where only the kinds of values matter.
    pub(crate) sampling: bool,
    /// How many expressions the walk is inside of.
    pub(crate) nesting: u32,
    /// How many device functions the walk is inside of.
    pub(crate) depth: u32,
    pub(crate) kernel: Kernel,
    pub(crate) diags: Diags,
    pub(crate) spans: Vec<TokenSpan>,
    /// Predicted types of the values bound by `let`, by expression id.
    pub(crate) witnesses: BTreeMap<u32, SymType>,
    /// Element-wise methods whose receiver is a scalar, by expression id.
    pub(crate) scalar_maps: BTreeSet<u32>,
    /// Element types of the global parameters, as written.
    pub(crate) global_types: BTreeMap<ParamId, DTypeRef>,
    /// The bounds of the element type parameters in scope.
    pub(crate) bounds: Vec<(Ident, Bound)>,
    /// Variables in scope, innermost last.
    pub(crate) vars: Vec<Var>,
    /// Ops of the regions being built, innermost last.
    pub(crate) ops: Vec<Vec<Op>>,
    /// The loops around the current point, innermost last.
    pub(crate) loops: Vec<Frame>,
    /// Values known at compile time; true for those that come from the counter of an unrolled loop.
    pub(crate) constants: BTreeMap<ValueId, (Const, bool)>,
    /// Number of ops so far, and that at the outermost unrolled loop around the current point.
    pub(crate) emitted: (u64, Option<u64>),
}

/// What inference gives: the unverified kernel, the errors, the tokens behind the IR's spans, and the
/// predicted types by expression id.
pub struct Inferred {
    /// The kernel; meaningless if there are errors.
    pub kernel: Kernel,
    /// The errors.
    pub diags: Diags,
    /// Tokens by [`Span`] number.
    pub spans: Vec<TokenSpan>,
    /// Predicted types of `let` values by expression id.
    pub witnesses: BTreeMap<u32, SymType>,
    /// Element-wise methods whose receiver is a scalar, by expression id.
    pub scalar_maps: BTreeSet<u32>,
}

/// Types the body of one instance and builds its IR.
pub fn infer(decl: &Decl, (functions, listed): (&[Function], &[usize]), binding: &Binding) -> Inferred {
    let mut this = Infer::new(decl, functions, listed, binding);
    this.declare_params(decl);
    this.block(&decl.body, Want::Any);
    this.kernel.body.ops = this.ops.pop().unwrap_or_default();
    Inferred {
        kernel: this.kernel,
        diags: this.diags,
        spans: this.spans,
        witnesses: this.witnesses,
        scalar_maps: this.scalar_maps,
    }
}

/// The bounds of the element type parameters among generic parameters.
pub(crate) fn bounds_of(generics: &[GenericParam]) -> Vec<(Ident, Bound)> {
    generics
        .iter()
        .filter_map(|g| match g.kind {
            GenericKind::Type(bound) => Some((g.name.clone(), bound)),
            GenericKind::Size | GenericKind::Flag => None,
        })
        .collect()
}

impl<'a> Infer<'a> {
    /// Starts a walk.
    pub(crate) fn new(
        decl: &Decl,
        functions: &'a [Function],
        listed: &[usize],
        binding: &'a Binding,
    ) -> Infer<'a> {
        let kernel = Kernel {
            name: decl.name.to_string(),
            instance: binding.name.clone(),
            params: vec![],
            subgroups: binding.subgroups,
            shared: vec![],
            unowned_stores: decl.is_unsafe,
            host_only: binding.host_only,
            values: vec![],
            body: Region { args: vec![], ops: vec![], exit: Exit::Return },
        };
        Infer {
            binding: Cow::Borrowed(binding),
            functions,
            calls: listed.to_vec(),
            sampling: false,
            nesting: 0,
            depth: 0,
            kernel,
            diags: Diags::default(),
            spans: vec![],
            witnesses: BTreeMap::new(),
            scalar_maps: BTreeSet::new(),
            global_types: BTreeMap::new(),
            bounds: bounds_of(&decl.generics),
            vars: vec![],
            ops: vec![vec![]],
            loops: vec![],
            constants: BTreeMap::new(),
            emitted: (0, None),
        }
    }
}

impl Infer<'_> {
    fn declare_params(&mut self, decl: &Decl) {
        for (i, p) in decl.params.iter().enumerate() {
            let kind = match &p.ty {
                ParamType::Global { dtype, mutable } => {
                    self.global_types.insert(ParamId(i as u32), dtype.clone());
                    let Some(dtype) = self.binding.dtype(dtype) else { continue };
                    let access = if *mutable { Access::Out } else { Access::In };
                    self.vars.push(Var { name: p.name.clone(), val: Val::Global(ParamId(i as u32)) });
                    ParamKind::Global { dtype, access }
                }
                ParamType::Scalar(ty) => {
                    let value = self.kernel.new_value(Type::Scalar(*ty));
                    self.vars.push(Var { name: p.name.clone(), val: Val::Scalar(value, *ty) });
                    ParamKind::Scalar { value, ty: *ty }
                }
            };
            self.kernel.params.push(Param { name: p.name.to_string(), kind });
        }
    }

    /// Makes an IR span for a token.
    pub(crate) fn span(&mut self, token: TokenSpan) -> Span {
        self.spans.push(token);
        Span(self.spans.len() as u32 - 1)
    }

    /// Appends an op with results of these types.
    pub(crate) fn emit(&mut self, kind: OpKind, types: &[Type], token: TokenSpan) -> Vec<ValueId> {
        let results: Vec<ValueId> = types.iter().map(|&t| self.kernel.new_value(t)).collect();
        let span = self.span(token);
        self.emitted.0 += 1;
        if let Some(ops) = self.ops.last_mut() {
            ops.push(Op { kind, results: results.clone(), span });
        }
        results
    }

    /// Appends an op with one scalar result.
    pub(crate) fn emit_scalar(&mut self, kind: OpKind, ty: ScalarType, token: TokenSpan) -> ValueId {
        self.emit(kind, &[Type::Scalar(ty)], token)[0]
    }

    pub(crate) fn error<T>(
        &mut self,
        code: Code,
        span: TokenSpan,
        message: impl Into<String>,
        help: &str,
    ) -> Option<T> {
        self.diags.push(code, span, message, help);
        None
    }

    /// The concrete type of a tile type, if its sizes have values.
    pub(crate) fn concrete(&self, t: &SymTile) -> Option<TileType> {
        Some(TileType {
            dtype: self.binding.dtype(&t.dtype)?,
            rows: self.binding.size(&t.rows)?,
            cols: self.binding.size(&t.cols)?,
            role: t.role,
        })
    }

    /// The concrete type of a vector type, if its length has a value.
    pub(crate) fn concrete_vector(&self, v: &SymVector) -> Option<VectorType> {
        Some(VectorType {
            dtype: self.binding.dtype(&v.dtype)?,
            len: self.binding.size(&v.len)?,
            encoding: v.encoding,
        })
    }

    /// Names a type in messages.
    pub(crate) fn name_of(&self, val: &Val) -> String {
        match val {
            Val::Scalar(_, ty) => ty.to_string(),
            Val::Int(_) => "an integer literal".into(),
            Val::Tile(_, t) => self.concrete(t).map_or("a tile".into(), |t| format!("`{t}`")),
            Val::Vector(_, v) => self.concrete_vector(v).map_or("a vector".into(), |v| format!("`{v}`")),
            Val::Own(_) => "the value of `own_tile`".into(),
            Val::Shared(_, s) => self.concrete_shared(s).map_or("shared memory".into(), |s| format!("`{s}`")),
            Val::Global(_) => "a `gl`".into(),
            Val::Tuple(_) => "several values".into(),
            Val::Unit | Val::Broken => "nothing".into(),
        }
    }

    pub(crate) fn lookup(&mut self, name: &Ident) -> Option<Val> {
        match self.vars.iter().rev().find(|v| v.name == *name) {
            Some(Var { val: Val::Broken, .. }) => None,
            Some(var) => Some(var.val.clone()),
            None => self.error(
                Code::FreeName,
                name.span(),
                format!("a kernel body uses only its parameters, its variables and literals; `{name}` is none of them"),
                "pass it as a scalar parameter, make it a `const` generic parameter, or write the literal",
            ),
        }
    }

    pub(crate) fn set(&mut self, name: &Ident, val: Val) {
        if let Some(var) = self.vars.iter_mut().rev().find(|v| v.name == *name) {
            var.val = val;
        }
    }

    /// Walks a block in a scope of its own; says how it ends.
    pub(crate) fn block(&mut self, block: &Block, want: Want<'_>) -> (Option<Val>, Ends) {
        let depth = self.vars.len();
        let out = self.block_keeping(block, want);
        self.vars.truncate(depth);
        out
    }

    /// Walks a block and leaves its variables in scope.
    pub(crate) fn block_keeping(&mut self, block: &Block, want: Want<'_>) -> (Option<Val>, Ends) {
        let mut ends = Ends::No;
        for stmt in &block.stmts {
            if ends != Ends::No {
                break;
            }
            ends = self.stmt(stmt);
        }
        let val = match &block.tail {
            Some(tail) if ends == Ends::No => match self.if_ending(tail, want) {
                Some((val, how)) => {
                    ends = how;
                    val
                }
                None => self.expr(tail, want),
            },
            Some(_) | None => Some(Val::Unit),
        };
        (val, ends)
    }

    /// Handles an `if` or a block that may end the block around it; `None` when `e` is something else.
    pub(crate) fn if_ending(&mut self, e: &Expr, want: Want<'_>) -> Option<(Option<Val>, Ends)> {
        match &e.kind {
            ExprKind::If { cond, then, otherwise } => {
                Some(self.if_expr(e, cond, then, otherwise.as_ref(), want))
            }
            ExprKind::Block(block) => Some(self.block(block, want)),
            _ => None,
        }
    }

    /// The value of an `if` or block that stands where a value is needed, which must go on.
    fn going_on(&mut self, e: &Expr, want: Want<'_>) -> Option<Val> {
        let (val, ends) = self.if_ending(e, want)?;
        if ends == Ends::No {
            return val;
        }
        self.error(
            Code::Construct,
            e.span,
            "an `if`, `match` or block that stands for a value has a way on; here every way leaves",
            "write it as a statement of its own",
        )
    }

    pub(crate) fn type_of(&self, val: &Val) -> Option<Type> {
        value_id(val).map(|id| self.kernel.ty(id))
    }

    /// The value of a condition known at compile time.
    pub(crate) fn known(&mut self, e: &Expr) -> Option<bool> {
        match &e.kind {
            ExprKind::Bool(b) => Some(*b),
            ExprKind::Flag(name) => self.binding.flag(name),
            ExprKind::SizeCompare(op, a, b) => self.binding.compare(*op, a, b).ok(),
            ExprKind::Paren(inner) => self.known(inner),
            ExprKind::Unary(Unary::Not, inner) => self.known(inner).map(|b| !b),
            ExprKind::Logic(and, a, b) => match (self.known(a), self.known(b)) {
                (Some(a), Some(b)) => Some(if *and { a && b } else { a || b }),
                (Some(_) | None, _) => None,
            },
            ExprKind::Int(..)
            | ExprKind::Float(_)
            | ExprKind::Name(_)
            | ExprKind::SizeCast(..)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Compare(..)
            | ExprKind::Cast(..)
            | ExprKind::Tuple(_)
            | ExprKind::Block(_)
            | ExprKind::If { .. }
            | ExprKind::Method { .. }
            | ExprKind::Call(_) => None,
        }
    }

    /// Types an expression.
    pub(crate) fn expr(&mut self, e: &Expr, want: Want<'_>) -> Option<Val> {
        self.deeper(e.span, |this| this.expr_kind(e, want))
    }

    /// Walks one expression deeper, within what the stack holds.
    pub(crate) fn deeper<T>(
        &mut self,
        span: TokenSpan,
        walk: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        if self.nesting >= MAX_NESTING {
            let message = format!(
                "expressions nest at most {MAX_NESTING} deep, those of inlined device functions included"
            );
            let help = "bind parts of the expression with `let`, or call fewer functions inside each other";
            return self.too_large(span, message, help);
        }
        self.nesting += 1;
        let val = walk(self);
        self.nesting -= 1;
        val
    }

    fn expr_kind(&mut self, e: &Expr, want: Want<'_>) -> Option<Val> {
        if let Some(known) = self.known(e) {
            return Some(self.constant(Const::Bool(known), e.span));
        }
        match &e.kind {
            ExprKind::Int(v, None) => Some(Val::Int(i128::from(*v))),
            ExprKind::Int(v, Some(ty)) => {
                let id = self.scalar(Val::Int(i128::from(*v)), *ty, e.span)?;
                Some(Val::Scalar(id, *ty))
            }
            ExprKind::Float(v) => Some(self.constant(Const::F32(v.to_bits()), e.span)),
            ExprKind::Bool(b) => Some(self.constant(Const::Bool(*b), e.span)),
            ExprKind::Flag(name) => self.binding.flag(name).map(|b| self.constant(Const::Bool(b), e.span)),
            ExprKind::Name(name) => self.lookup(name),
            ExprKind::SizeCompare(op, a, b) => match self.binding.compare(*op, a, b) {
                Ok(b) => Some(self.constant(Const::Bool(b), e.span)),
                Err(why) => self.error(Code::Literal, e.span, why, ""),
            },
            ExprKind::SizeCast(size, ty) => match self.binding.eval(size) {
                Ok(v) => match tile_ir::scalar::cast(Const::U64(v), *ty) {
                    Some(c) => Some(self.constant(c, e.span)),
                    None => {
                        self.error(Code::Mismatch, e.span, format!("a size does not convert to {ty}"), "")
                    }
                },
                Err(why) => self.error(Code::Literal, e.span, why, ""),
            },
            ExprKind::Paren(inner) => self.expr(inner, want),
            ExprKind::Block(_) | ExprKind::If { .. } => self.going_on(e, want),
            ExprKind::Tuple(parts) => {
                let wants: Vec<Want<'_>> = match want {
                    Want::Tuple(types) if types.len() == parts.len() => types.iter().map(Want::of).collect(),
                    Want::Any | Want::Scalar(_) | Want::Tile(_) | Want::Vector(_) | Want::Tuple(_) => {
                        vec![Want::Any; parts.len()]
                    }
                };
                let vals: Vec<_> = parts.iter().zip(wants).map(|(e, want)| self.expr(e, want)).collect();
                Some(Val::Tuple(vals.into_iter().collect::<Option<_>>()?))
            }
            ExprKind::Unary(op, inner) => self.unary(e, *op, inner, want),
            ExprKind::Binary(op, a, b) => {
                let (lhs, rhs, ty) = self.pair(a, b, want)?;
                if !op.takes(ty) {
                    return self.error(
                        Code::Mismatch,
                        e.span,
                        format!("`{}` is not defined on {ty}", op.name()),
                        "",
                    );
                }
                if let Some(c) = self.folded([lhs, rhs], |[a, b]| tile_ir::scalar::binary(*op, a, b), e.span)
                {
                    return Some(c);
                }
                Some(Val::Scalar(self.emit_scalar(OpKind::Binary { op: *op, lhs, rhs }, ty, e.span), ty))
            }
            ExprKind::Logic(and, a, b) => {
                let want = Want::Scalar(ScalarType::Bool);
                let (lhs, rhs, _) = self.pair(a, b, want)?;
                let op = if *and { Binary::And } else { Binary::Or };
                let ty = ScalarType::Bool;
                if let Some(c) = self.folded([lhs, rhs], |[a, b]| tile_ir::scalar::binary(op, a, b), e.span) {
                    return Some(c);
                }
                Some(Val::Scalar(self.emit_scalar(OpKind::Binary { op, lhs, rhs }, ty, e.span), ty))
            }
            ExprKind::Compare(op, a, b) => {
                let (lhs, rhs, ty) = self.pair(a, b, Want::Any)?;
                if !op.takes(ty) {
                    return self.error(
                        Code::Mismatch,
                        e.span,
                        format!("`{}` is not defined on {ty}", op.name()),
                        "",
                    );
                }
                let compare = |[a, b]: [Const; 2]| tile_ir::scalar::compare(*op, a, b).map(Const::Bool);
                if let Some(c) = self.folded([lhs, rhs], compare, e.span) {
                    return Some(c);
                }
                let kind = OpKind::Compare { op: *op, lhs, rhs };
                Some(Val::Scalar(self.emit_scalar(kind, ScalarType::Bool, e.span), ScalarType::Bool))
            }
            ExprKind::Cast(inner, ty, _) => {
                let val = self.expr(inner, Want::Any)?;
                match val {
                    // A literal before `as` has the type Rust gives it: the target for integers, else i32.
                    Val::Int(_) => {
                        let own = if ty.is_integer() { *ty } else { ScalarType::I32 };
                        let value = self.scalar(val, own, e.span)?;
                        let kind = OpKind::Cast { value };
                        Some(Val::Scalar(self.emit_scalar(kind, *ty, e.span), *ty))
                    }
                    Val::Scalar(value, from) if casts(from, *ty) => {
                        if let Some(c) = self.folded([value], |[a]| tile_ir::scalar::cast(a, *ty), e.span) {
                            return Some(c);
                        }
                        Some(Val::Scalar(self.emit_scalar(OpKind::Cast { value }, *ty, e.span), *ty))
                    }
                    other => {
                        let found = self.name_of(&other);
                        self.error(
                            Code::Mismatch,
                            e.span,
                            format!("`as` does not convert {found} to {ty}"),
                            "compare instead: `x != 0`",
                        )
                    }
                }
            }
            ExprKind::Method { receiver, method, name, .. } => self.method(e, receiver, method, name, want),
            ExprKind::Call(call) => self.call(call, e, want),
        }
    }

    fn unary(&mut self, e: &Expr, op: Unary, inner: &Expr, want: Want<'_>) -> Option<Val> {
        let val = self.expr(inner, want)?;
        match (op, val) {
            (Unary::Neg, Val::Int(v)) => Some(Val::Int(-v)),
            (op, Val::Scalar(value, ty)) if op.takes(ty) => {
                if let Some(c) = self.folded([value], |[a]| tile_ir::scalar::unary(op, a), e.span) {
                    return Some(c);
                }
                Some(Val::Scalar(self.emit_scalar(OpKind::Unary { op, value }, ty, e.span), ty))
            }
            (op, val @ Val::Int(_)) => match want {
                Want::Scalar(ty) if op.takes(ty) => {
                    let value = self.scalar(val, ty, inner.span)?;
                    Some(Val::Scalar(self.emit_scalar(OpKind::Unary { op, value }, ty, e.span), ty))
                }
                Want::Scalar(_) | Want::Any | Want::Tile(_) | Want::Vector(_) | Want::Tuple(_) => self.error(
                    Code::Literal,
                    inner.span,
                    "the literal's type is not known here",
                    "write it: `5u32`",
                ),
            },
            (op, other) => {
                let found = self.name_of(&other);
                self.error(Code::Mismatch, e.span, format!("`{}` is not defined on {found}", op.name()), "")
            }
        }
    }

    pub(crate) fn constant(&mut self, value: Const, span: TokenSpan) -> Val {
        let ty = value.ty();
        let id = self.emit_scalar(OpKind::Const(value), ty, span);
        self.constants.insert(id, (value, false));
        Val::Scalar(id, ty)
    }

    /// The result of a scalar op on constants, of which one at least comes from the counter of an unrolled loop.
    fn folded<const N: usize>(
        &mut self,
        operands: [ValueId; N],
        compute: impl Fn([Const; N]) -> Option<Const>,
        span: TokenSpan,
    ) -> Option<Val> {
        let known: Vec<(Const, bool)> =
            operands.iter().filter_map(|id| self.constants.get(id).copied()).collect();
        if !known.iter().any(|(_, unrolled)| *unrolled) {
            return None;
        }
        let consts: Vec<Const> = known.iter().map(|(c, _)| *c).collect();
        let value = compute(<[Const; N]>::try_from(consts).ok()?)?;
        let val = self.constant(value, span);
        if let Val::Scalar(id, _) = val {
            self.constants.insert(id, (value, true));
        }
        Some(val)
    }

    /// Types two operands that must have one scalar type; a literal takes the other's type.
    pub(crate) fn pair(
        &mut self,
        a: &Expr,
        b: &Expr,
        want: Want<'_>,
    ) -> Option<(ValueId, ValueId, ScalarType)> {
        let x = self.expr(a, want);
        let beside = match (&x, want) {
            (Some(Val::Scalar(_, s)), Want::Any) => Want::Scalar(*s),
            (_, want) => want,
        };
        let y = self.expr(b, beside);
        let (x, y) = (x?, y?);
        let ty = match (&x, &y, want) {
            (Val::Scalar(_, s), _, _) | (Val::Int(_), Val::Scalar(_, s), _) => *s,
            (Val::Int(_), Val::Int(_), Want::Scalar(s)) => s,
            (Val::Int(_), Val::Int(_), Want::Any | Want::Tile(_) | Want::Vector(_) | Want::Tuple(_)) => {
                return self.error(
                    Code::Literal,
                    a.span,
                    "the type of these literals is not known here; types are inferred forward only",
                    "write it on one of them: `0u32`",
                );
            }
            (
                other @ (Val::Tile(..)
                | Val::Vector(..)
                | Val::Own(_)
                | Val::Shared(..)
                | Val::Global(_)
                | Val::Tuple(_)
                | Val::Unit
                | Val::Broken),
                _,
                _,
            )
            | (
                Val::Int(_),
                other @ (Val::Tile(..)
                | Val::Vector(..)
                | Val::Own(_)
                | Val::Shared(..)
                | Val::Global(_)
                | Val::Tuple(_)
                | Val::Unit
                | Val::Broken),
                _,
            ) => {
                let found = self.name_of(other);
                return self.error(
                    Code::Mismatch,
                    a.span,
                    format!("operators work on scalars; here one side is {found}"),
                    "",
                );
            }
        };
        let lhs = self.scalar(x, ty, a.span);
        let rhs = self.scalar(y, ty, b.span);
        Some((lhs?, rhs?, ty))
    }
}
