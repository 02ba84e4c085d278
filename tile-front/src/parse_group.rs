//! Owns the syntax of ops on shared memory, cooperative copies and barriers.
//!
//! *Not here*: other calls (`parse_call`), what the arguments are (`infer_group`).

use proc_macro2::Ident;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr as SynExpr, Token};

use crate::ast::{CallOp, Expr, ExprKind, GroupCall};
use crate::parse::{Parser, strip};
use tile_ir::error::Code;
use tile_ir::ir::{Barrier, LoadForm};

/// Ops of a work-group that are called by name, with their forms.
pub const GROUP_OPS: &[(&str, &str)] = &[
    ("shared", "shared()"),
    ("load_shared", "load_shared(&s, [row, col])"),
    ("load_transform_shared", "load_transform_shared(&s, [row, col])"),
    ("load_transpose_shared", "load_transpose_shared(&s, [row, col])"),
    ("load_vec_shared", "load_vec_shared(&s, i)"),
    ("store_shared", "store_shared(&mut s, &tile, [row, col])"),
    ("store_vec_shared", "store_vec_shared(&mut s, &v, i)"),
    ("load_coop", "load_coop(&mut s, a, [row, col])"),
    ("store_coop", "store_coop(c, &s, at)"),
    ("barrier", "barrier()"),
    ("barrier_arrive", "barrier_arrive()"),
    ("barrier_wait", "barrier_wait()"),
];

/// How many arguments such an op takes; `None` for other names.
pub fn group_arguments(name: &str) -> Option<usize> {
    let (_, form) = GROUP_OPS.iter().find(|(n, _)| *n == name)?;
    Some(match *form {
        f if f.ends_with("()") => 0,
        f if name.starts_with("load_") && name != "load_coop" && f.contains(',') => 2,
        _ => 3,
    })
}

/// Tells a call of `shared` the variable that a `let` binds it to.
pub(crate) fn name_shared(e: &mut Expr, variable: &Ident) {
    if let ExprKind::Paren(inner) = &mut e.kind {
        name_shared(inner, variable);
    } else if let ExprKind::Call(call) = &mut e.kind
        && let CallOp::Group(group) = &mut call.op
        && let GroupCall::Shared { name, .. } = &mut **group
    {
        *name = variable.to_string();
    }
}

impl Parser<'_> {
    /// Parses such a call, whose number of arguments is right.
    pub(crate) fn group_call(
        &mut self,
        name: &Ident,
        form: &str,
        args: &Punctuated<SynExpr, Token![,]>,
    ) -> Option<CallOp> {
        let text = name.to_string();
        if let Some(kind) = Barrier::ALL.iter().find(|b| b.name() == text) {
            return Some(CallOp::Group(Box::new(GroupCall::Barrier(*kind))));
        }
        let call = match text.as_str() {
            "shared" if self.in_function => {
                self.diags.push(
                    Code::SharedPlacement,
                    name.span(),
                    "shared memory is made at the top level of a kernel; here a device function makes it",
                    "make it in the kernel",
                );
                return None;
            }
            "shared" => {
                self.shared += 1;
                GroupCall::Shared { index: self.shared - 1, name: String::new() }
            }
            "load_coop" => {
                let (shared, global) = (self.shared_name(&args[0], form), self.global(&args[1], form));
                let at = self.at(&args[2], form);
                GroupCall::LoadCoop { shared: shared?, global: global?, at: at? }
            }
            "store_coop" => {
                let (global, shared) = (self.global(&args[0], form), self.shared_name(&args[1], form));
                let at = self.at(&args[2], form);
                GroupCall::StoreCoop { global: global?, shared: shared?, at: at? }
            }
            "store_shared" | "store_vec_shared" => {
                let (shared, value) = (self.shared_name(&args[0], form), self.tile_ref(&args[1], form));
                let at = self.shared_at(&text, &args[2], form);
                GroupCall::Store { shared: shared?, value: value?, at: at? }
            }
            _ => {
                let load = match text.as_str() {
                    "load_transform_shared" => LoadForm::Transform,
                    "load_transpose_shared" => LoadForm::Transpose,
                    _ => LoadForm::Plain,
                };
                let shared = self.shared_name(&args[0], form);
                let at = self.shared_at(&text, &args[1], form);
                GroupCall::Load { form: load, shared: shared?, at: at? }
            }
        };
        Some(CallOp::Group(Box::new(call)))
    }

    fn shared_name(&mut self, e: &SynExpr, form: &str) -> Option<Ident> {
        if let SynExpr::Reference(r) = strip(e)
            && let SynExpr::Path(p) = strip(&r.expr)
            && let Some(ident) = p.path.get_ident()
        {
            return Some(ident.clone());
        }
        self.arguments(e.span(), form, "shared memory is borrowed, by name")
    }

    /// A position: two parts in a tile, one in a vector.
    fn shared_at(&mut self, op: &str, e: &SynExpr, form: &str) -> Option<Vec<Expr>> {
        if op.contains("_vec_") {
            return Some(vec![self.parse_expr(e)?]);
        }
        match strip(e) {
            SynExpr::Array(a) if a.elems.len() == 2 => {
                let parts: Vec<Option<Expr>> = a.elems.iter().map(|e| self.parse_expr(e)).collect();
                parts.into_iter().collect()
            }
            other => {
                self.arguments(other.span(), form, "a position in shared memory is `[row, col]`, in tiles")
            }
        }
    }
}
