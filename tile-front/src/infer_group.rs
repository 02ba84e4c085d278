//! Owns inference of ops on shared memory, cooperative copies and barriers.
//!
//! *Guarantees*: shared memory is made at the top level and has the type that is written; every op gets shared memory where
//! it needs some. Rules about shapes, roles, and who reaches a barrier are left to the IR verifier, whose they are.
//! *Not here*: other calls (`infer_call`).

use proc_macro2::{Ident, Span as TokenSpan};

use crate::ast::{At, Call, CallOp, Expr, ExprKind, GroupCall, SharedRef};
use crate::infer::Infer;
use crate::value::{SymShared, Val, Want, sym_shared};
use tile_ir::error::Code;
use tile_ir::ir::{GroupOp, LoadForm, OpKind, Shared, SharedAt, SharedId, SharedType};
use tile_ir::types::{ScalarType, Type};

/// How to make shared memory, for messages.
const HOW: &str = "write `let mut s: st<T, ROWS, COLS> = shared();` or `let mut v: sv<T, LEN> = shared();`";

impl Infer<'_> {
    /// Types `let s: st<..> = shared();`.
    pub(crate) fn let_shared(&mut self, name: &Ident, written: &SharedRef, value: &Expr) -> Option<Val> {
        let Some(call) = shared_call(value) else {
            return self.error(
                Code::SharedPlacement,
                value.span,
                "shared memory is what `shared()` makes; here another value is bound",
                HOW,
            );
        };
        let span = call.name.span();
        if self.depth > 0 || self.ops.len() > 1 || !self.loops.is_empty() {
            return self.error(
                Code::SharedPlacement,
                span,
                "`shared` stands at the top level of a kernel; here it is inside a branch or loop",
                "move it before the branch or loop: it is there for the whole kernel anyway",
            );
        }
        let sym = sym_shared(written);
        let Some(ty) = self.concrete_shared(&sym) else {
            return self.error(Code::SharedShape, written.span, "sizes of shared memory fit 32 bits", "");
        };
        let id = SharedId(self.kernel.shared.len() as u32);
        let at = self.span(written.span);
        self.kernel.shared.push(Shared { name: name.to_string(), ty, span: at });
        Some(Val::Shared(id, sym))
    }

    /// The concrete type of shared memory, if its sizes have values.
    pub(crate) fn concrete_shared(&self, s: &SymShared) -> Option<SharedType> {
        let (dtype, cols) = (self.binding.dtype(&s.dtype)?, self.binding.size(&s.cols)?);
        Some(match &s.rows {
            Some(rows) => SharedType::Tile { dtype, rows: self.binding.size(rows)?, cols },
            None => SharedType::Vector { dtype, len: cols },
        })
    }

    fn shared(&mut self, name: &Ident) -> Option<(SharedId, SymShared)> {
        match self.lookup(name)? {
            Val::Shared(id, sym) => Some((id, sym)),
            other => {
                let found = self.name_of(&other);
                self.error(
                    Code::Arguments,
                    name.span(),
                    format!("shared memory is needed; `{name}` is {found}"),
                    HOW,
                )
            }
        }
    }

    fn shared_at(&mut self, at: &[Expr]) -> Option<SharedAt> {
        let mut ids = vec![];
        for part in at {
            let val = self.expr(part, Want::Scalar(ScalarType::U32));
            ids.push(val.and_then(|v| self.scalar(v, ScalarType::U32, part.span)));
        }
        match ids.as_slice() {
            [col] => Some(SharedAt { row: None, col: (*col)? }),
            [row, col] => Some(SharedAt { row: Some((*row)?), col: (*col)? }),
            _ => None,
        }
    }

    /// Types a call of such an op.
    pub(crate) fn group_call(&mut self, call: &Call, group: &GroupCall, want: Want<'_>) -> Option<Val> {
        let span = call.name.span();
        match group {
            GroupCall::Shared { .. } => self.error(
                Code::SharedPlacement,
                span,
                "shared memory is bound by a `let` with a written type; here it has none",
                HOW,
            ),
            GroupCall::Barrier(kind) => {
                self.emit(OpKind::Group(GroupOp::Barrier(*kind)), &[], span);
                Some(Val::Unit)
            }
            GroupCall::Load { form, shared, at } => self.load_shared(call, *form, shared, at, want),
            GroupCall::Store { shared, value, at } => {
                let (shared, at) = (self.shared(shared), self.shared_at(at));
                let val = self.expr(value, Want::Any)?;
                let ((id, sym), at) = (shared?, at?);
                let (value, dtype) = match val {
                    Val::Tile(v, t) => (v, t.dtype),
                    Val::Vector(v, t) => (v, t.dtype),
                    other => {
                        let found = self.name_of(&other);
                        let message = format!("`{}` stores a tile or vector; here it is {found}", call.name);
                        return self.error(Code::SharedAccess, value.span, message, "");
                    }
                };
                self.check_shared_element(&dtype, &sym, span)?;
                self.emit(OpKind::Group(GroupOp::Store { shared: id, value, at }), &[], span);
                Some(Val::Unit)
            }
            GroupCall::LoadCoop { shared, global, at } => {
                let (shared, global) = (self.shared(shared), self.param(global));
                let ((id, sym), global) = (shared?, global?);
                if let (At::Own(_), Some(rows)) = (at, &sym.rows) {
                    self.check_owned(at, rows, &sym.cols, false)?;
                }
                self.check_shared_global(&sym, global, span)?;
                let at = self.coord(at)?;
                self.emit(OpKind::Group(GroupOp::LoadCoop { shared: id, global, at }), &[], span);
                Some(Val::Unit)
            }
            GroupCall::StoreCoop { global, shared, at } => {
                let (shared, global) = (self.shared(shared), self.param(global));
                let ((id, sym), global) = (shared?, global?);
                if let At::List { span, .. } = at {
                    return self.error(
                        Code::UnownedStore,
                        *span,
                        "`store_coop` goes to the tiles that the sub-groups own, which is the value of `own_tile`; here it is a list",
                        "write `store_coop(c, &s, at)`",
                    );
                }
                self.check_shared_global(&sym, global, span)?;
                let at = self.coord(at)?;
                self.emit(OpKind::Group(GroupOp::StoreCoop { global, shared: id, at }), &[], span);
                Some(Val::Unit)
            }
        }
    }

    fn load_shared(
        &mut self,
        call: &Call,
        form: LoadForm,
        shared: &Ident,
        at: &[Expr],
        want: Want<'_>,
    ) -> Option<Val> {
        let span = call.name.span();
        let vector = call.name == "load_vec_shared";
        let (shared, at) = (self.shared(shared), self.shared_at(at));
        let ((id, sym), at) = (shared?, at?);
        let kind = OpKind::Group(GroupOp::Load { shared: id, at, form });
        match want {
            Want::Tile(tile) if !vector => {
                self.check_shared_element(&tile.dtype, &sym, span)?;
                let ty = Type::Tile(self.concrete(tile)?);
                Some(Val::Tile(self.emit(kind, &[ty], span)[0], tile.clone()))
            }
            Want::Vector(v) if vector => {
                self.check_shared_element(&v.dtype, &sym, span)?;
                let ty = Type::Vector(self.concrete_vector(v)?);
                Some(Val::Vector(self.emit(kind, &[ty], span)[0], v.clone()))
            }
            Want::Tile(_) => self.error(
                Code::SharedAccess,
                span,
                "`load_vec_shared` gives a vector; here a tile is asked for",
                "use `load_shared`",
            ),
            Want::Vector(_) => {
                let message = format!("`{}` gives a tile; here a vector is asked for", call.name);
                self.error(Code::SharedAccess, span, message, "use `load_vec_shared`")
            }
            Want::Any | Want::Scalar(_) | Want::Tuple(_) => {
                let written = if vector { "rv<T, LEN, PerCol>" } else { "rt<T, ROWS, COLS>" };
                self.error(
                    Code::UntypedSource,
                    span,
                    format!("a source of a tile or vector has a written type; here `{}` has none", call.name),
                    &format!("bind it first: `let x: {written} = {}(..);`", call.name),
                )
            }
        }
    }

    /// The element type of what moves and of its shared memory agree in every instance or in none.
    fn check_shared_element(
        &mut self,
        moved: &crate::ast::DTypeRef,
        s: &SymShared,
        span: TokenSpan,
    ) -> Option<()> {
        if !self.dtypes_meet(moved, &s.dtype) {
            return Some(());
        }
        let rule = format!(
            "what is moved must have the element type of its shared memory in every instance; here they are `{moved}` and `{}`",
            s.dtype
        );
        self.refuse_meeting(Code::SharedAccess, span, &rule, "write the same parameter in both types")
    }

    fn check_shared_global(
        &mut self,
        s: &SymShared,
        global: tile_ir::ir::ParamId,
        span: TokenSpan,
    ) -> Option<()> {
        match self.global_types.get(&global).cloned() {
            Some(of) => self.check_shared_element(&of, s, span),
            None => Some(()),
        }
    }
}

/// The call of `shared` that an expression is.
fn shared_call(e: &Expr) -> Option<&Call> {
    match &e.kind {
        ExprKind::Paren(inner) => shared_call(inner),
        ExprKind::Call(call) => match &call.op {
            CallOp::Group(group) if matches!(**group, GroupCall::Shared { .. }) => Some(call),
            _ => None,
        },
        _ => None,
    }
}
