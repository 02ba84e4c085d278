//! Owns what the executable copy of a device function must know of types without an instance: which of its methods
//! work on scalars, whose ops are the table's and not those of Rust's numbers.
//!
//! *Guarantees*: every way of the body is walked, whatever sizes and switches decide. *Not here*: errors, which are
//! reported where a kernel calls the function.

use std::collections::BTreeSet;

use crate::ast::{Block, Bound, Decl, FunctionArg, FunctionCall, GenericKind, TypeRef};
use crate::function::{Function, FunctionParam};
use crate::infer::Infer;
use crate::instance::{Binding, Value};
use crate::value::{Val, Var, Want, sym_tile, sym_vector};
use tile_ir::ir::ParamId;
use tile_ir::types::{DType, Type};

/// Learns which methods of a device function work on scalars, by walking it with stand-ins for its generics: the kinds
/// of values do not depend on them.
pub fn infer_sample(function: &Function, functions: &[Function]) -> BTreeSet<u32> {
    let values = function.generics.iter().map(|g| {
        let value = match g.kind {
            GenericKind::Type(Bound::MmaInput) => Value::Type(DType::Bf16),
            GenericKind::Type(Bound::Element | Bound::AnyElement) => Value::Type(DType::F32),
            GenericKind::Size => Value::Size(16),
            GenericKind::Flag => Value::Flag(false),
        };
        (g.name.clone(), value)
    });
    let binding = Binding {
        values: values.collect(),
        listed: vec![],
        name: function.name.to_string(),
        subgroups: (1, 1),
        host_only: true,
        span: function.name.span(),
    };
    let decl = Decl {
        name: function.name.clone(),
        is_unsafe: false,
        generics: function.generics.clone(),
        params: vec![],
        body: Block::default(),
        exprs: 0,
    };
    let mut this = Infer::new(&decl, functions, &function.calls, &binding);
    this.sampling = true;
    for (name, param) in &function.params {
        let val = match param {
            FunctionParam::Scalar(s) => Val::Scalar(this.kernel.new_value(Type::Scalar(*s)), *s),
            FunctionParam::Global(_) => Val::Global(ParamId(0)),
            FunctionParam::Registers(ty, _) => this.stand_in(ty),
        };
        this.vars.push(Var { name: name.clone(), val });
    }
    this.block(&function.body, Want::Any);
    this.scalar_maps
}

impl Infer<'_> {
    /// A value of a written type that no op made.
    pub(crate) fn stand_in(&mut self, ty: &TypeRef) -> Val {
        match ty {
            TypeRef::Scalar(s, _) => Val::Scalar(self.kernel.new_value(Type::Scalar(*s)), *s),
            TypeRef::Tile(t) => {
                let sym = sym_tile(t);
                match self.concrete(&sym) {
                    Some(c) => Val::Tile(self.kernel.new_value(Type::Tile(c)), sym),
                    None => Val::Broken,
                }
            }
            TypeRef::Vector(v) => {
                let sym = sym_vector(v);
                match self.concrete_vector(&sym) {
                    Some(c) => Val::Vector(self.kernel.new_value(Type::Vector(c)), sym),
                    None => Val::Broken,
                }
            }
            TypeRef::Tuple(parts, _) => Val::Tuple(parts.iter().map(|t| self.stand_in(t)).collect()),
            TypeRef::Own(..) | TypeRef::Shared(_) => Val::Broken,
        }
    }

    /// The value of a call as far as the callee's signature tells.
    pub(crate) fn sample_call(&mut self, call: &FunctionCall, function: &Function) -> Option<Val> {
        for (arg, (_, param)) in call.args.iter().zip(&function.params) {
            let want = match param {
                FunctionParam::Scalar(s) => Want::Scalar(*s),
                FunctionParam::Registers(..) | FunctionParam::Global(_) => Want::Any,
            };
            match arg {
                FunctionArg::Reference(e) | FunctionArg::Value(e) => {
                    self.expr(e, want);
                }
                FunctionArg::Mutable(_) | FunctionArg::Given(_) => {}
            }
        }
        Some(function.output.as_ref().map_or(Val::Unit, |ty| self.stand_in(ty)))
    }
}
