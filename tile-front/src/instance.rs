//! Owns instances: binding the attribute's entries to the function's generic parameters.
//!
//! *Guarantees*: a [`Binding`] gives every generic parameter, derived sizes included, one value of its kind.
//! *Not here*: what the body does with them (`infer`).

use proc_macro2::Ident;

use crate::ast::{DTypeRef, Decl, GenericKind, GenericParam, SizeExpr, SizeRef};
use crate::attr::{Arg, Attr, Entry};
use crate::diag::Diags;
use crate::parse::{Parser, size_span};
use tile_ir::error::Code;
use tile_ir::scalar::{Binary, Compare};
use tile_ir::types::DType;

/// The value of a generic parameter in one instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// An element type.
    Type(DType),
    /// A size.
    Size(u64),
    /// A switch.
    Flag(bool),
}

impl core::fmt::Display for Value {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Value::Type(d) => d.fmt(f),
            Value::Size(n) => n.fmt(f),
            Value::Flag(b) => b.fmt(f),
        }
    }
}

/// One instance: a value for every generic parameter.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Parameter names with their values, in the order of the function's generics.
    pub values: Vec<(Ident, Value)>,
    /// How many of `values`, in order of the listed generics, were listed (the rest are derived).
    pub listed: Vec<Value>,
    /// The instance's name, `<bf16, f32, 32, 64>`.
    pub name: String,
    /// Sub-groups of a work-group as (rows, cols).
    pub subgroups: (u32, u32),
    /// The instance is for the host device alone.
    pub host_only: bool,
    /// Where the entry was written.
    pub span: proc_macro2::Span,
}

impl Binding {
    fn get(&self, name: &Ident) -> Option<Value> {
        self.values.iter().find(|(n, _)| n == name).map(|(_, v)| *v)
    }

    /// The value of an element type.
    pub fn dtype(&self, dtype: &DTypeRef) -> Option<DType> {
        match dtype {
            DTypeRef::Fixed(d, _) => Some(*d),
            DTypeRef::Param(name) => match self.get(name)? {
                Value::Type(d) => Some(d),
                Value::Size(_) | Value::Flag(_) => None,
            },
        }
    }

    /// The value of a size in a type, if it fits 32 bits.
    pub fn size(&self, size: &SizeRef) -> Option<u32> {
        let value = match size {
            SizeRef::Literal(v, _) => *v,
            SizeRef::Param(name) => match self.get(name)? {
                Value::Size(v) => v,
                Value::Type(_) | Value::Flag(_) => return None,
            },
        };
        u32::try_from(value).ok()
    }

    /// The value of a switch.
    pub fn flag(&self, name: &Ident) -> Option<bool> {
        match self.get(name)? {
            Value::Flag(b) => Some(b),
            Value::Type(_) | Value::Size(_) => None,
        }
    }

    /// Computes a size expression as `usize` arithmetic.
    ///
    /// # Errors
    /// What is wrong with it: overflow, a subtraction below zero, a division by zero.
    pub fn eval(&self, e: &SizeExpr) -> Result<u64, String> {
        match e {
            SizeExpr::Literal(v, _) => Ok(*v),
            SizeExpr::Param(name) => match self.get(name) {
                Some(Value::Size(v)) => Ok(v),
                Some(Value::Type(_) | Value::Flag(_)) | None => Err(format!("`{name}` has no value yet")),
            },
            SizeExpr::Op(op, a, b, _) => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                let shift = u32::try_from(b).ok();
                let value = match op {
                    Binary::Add => a.checked_add(b),
                    Binary::Sub => a.checked_sub(b),
                    Binary::Mul => a.checked_mul(b),
                    Binary::Div => a.checked_div(b),
                    Binary::Rem => a.checked_rem(b),
                    Binary::And => Some(a & b),
                    Binary::Or => Some(a | b),
                    Binary::Xor => Some(a ^ b),
                    Binary::Shl => shift.and_then(|n| a.checked_shl(n)),
                    Binary::Shr => shift.and_then(|n| a.checked_shr(n)),
                    Binary::Min => Some(a.min(b)),
                    Binary::Max => Some(a.max(b)),
                };
                value.ok_or_else(|| format!("`{}` of {a} and {b} is not a size", op.name()))
            }
        }
    }

    /// Compares two size expressions.
    ///
    /// # Errors
    /// As [`Binding::eval`].
    pub fn compare(&self, op: Compare, a: &SizeExpr, b: &SizeExpr) -> Result<bool, String> {
        let (a, b) = (self.eval(a)?, self.eval(b)?);
        Ok(match op {
            Compare::Eq => a == b,
            Compare::Ne => a != b,
            Compare::Lt => a < b,
            Compare::Le => a <= b,
            Compare::Gt => a > b,
            Compare::Ge => a >= b,
        })
    }
}

/// Binds every entry; entries that do not fit are reported and left out.
pub fn bind_all(attr: &Attr, decl: &Decl, diags: &mut Diags) -> Vec<Binding> {
    let derives = parse_derives(&attr.derives, &decl.generics, diags);
    let mut out: Vec<Binding> = vec![];
    for entry in &attr.entries {
        let Some(binding) = bind(entry, decl, &derives, diags) else { continue };
        if out.iter().any(|b| b.listed == binding.listed) {
            diags.push(
                Code::DuplicateInstance,
                entry.span,
                format!("each instance is listed once; {} stands here a second time", binding.name),
                "delete this entry or change its sizes",
            );
            continue;
        }
        out.push(binding);
    }
    out
}

/// Reads the derived sizes of a kernel or device function.
pub fn parse_derives(
    derives: &[(Ident, syn::Expr)],
    generics: &[GenericParam],
    diags: &mut Diags,
) -> Vec<(Ident, SizeExpr)> {
    let mut out = vec![];
    for (name, expr) in derives {
        let declared = generics.iter().any(|g| g.name == *name && g.kind == GenericKind::Size);
        if !declared {
            diags.push(
                Code::Generics,
                name.span(),
                format!("a derived size is a `const` parameter of the function; `{name}` is none"),
                format!("add `const {name}: usize` to the function's generic parameters"),
            );
            continue;
        }
        let size = Parser::new(generics, diags).size(expr);
        match size {
            Some(size) => out.push((name.clone(), size)),
            None => diags.push(
                Code::Generics,
                name.span(),
                "a derived size is computed from `const usize` parameters and literals with the integer operators, `min` and `max`",
                format!("write it like `{name} = BM / 2`"),
            ),
        }
    }
    out
}

fn bind(entry: &Entry, decl: &Decl, derives: &[(Ident, SizeExpr)], diags: &mut Diags) -> Option<Binding> {
    let listed: Vec<_> =
        decl.generics.iter().filter(|g| !derives.iter().any(|(n, _)| *n == g.name)).collect();
    if entry.args.len() != listed.len() {
        let names: Vec<String> = listed.iter().map(|g| g.name.to_string()).collect();
        diags.push(
            Code::Generics,
            entry.span,
            format!(
                "an instance gives one argument per generic parameter, <{}>; here there are {}",
                names.join(", "),
                entry.args.len()
            ),
            "list them in the function's order; sizes of `derive(..)` are left out",
        );
        return None;
    }
    let mut values = vec![];
    let mut ok = true;
    for (arg, param) in entry.args.iter().zip(&listed) {
        let value = match (param.kind, arg) {
            (GenericKind::Type(bound), Arg::Name(name)) => match DType::from_name(&name.to_string()) {
                Some(d) if bound.admits(d) => Some(Value::Type(d)),
                Some(d) => {
                    diags.push(
                        Code::Generics,
                        name.span(),
                        format!(
                            "`{}` has the bound `{}`, which {d} does not satisfy",
                            param.name,
                            bound.name()
                        ),
                        bound.fact(),
                    );
                    ok = false;
                    None
                }
                None => None,
            },
            (GenericKind::Size, Arg::Size(v, _)) => Some(Value::Size(*v)),
            (GenericKind::Flag, Arg::Flag(b, _)) => Some(Value::Flag(*b)),
            (GenericKind::Type(_) | GenericKind::Size | GenericKind::Flag, _) => None,
        };
        match value {
            Some(v) => values.push((param.name.clone(), v)),
            None if !ok => {}
            None => {
                let wants = match param.kind {
                    GenericKind::Type(_) => "an element type (bf16, f16, f32, i8, u8, i32)",
                    GenericKind::Size => "an integer literal",
                    GenericKind::Flag => "`true` or `false`",
                };
                diags.push(
                    Code::Generics,
                    arg.span(),
                    format!("`{}` takes {wants}; here it is `{}`", param.name, arg.text()),
                    "give the arguments in the order of the function's generic parameters",
                );
                ok = false;
            }
        }
    }
    if !ok {
        return None;
    }
    let texts: Vec<String> = values.iter().map(|(_, v)| v.to_string()).collect();
    let mut binding = Binding {
        listed: values.iter().map(|(_, v)| *v).collect(),
        values,
        name: format!("<{}>", texts.join(", ")),
        subgroups: entry.subgroups,
        host_only: entry.host_only,
        span: entry.span,
    };
    for (name, expr) in derives {
        match binding.eval(expr) {
            Ok(v) => binding.values.push((name.clone(), Value::Size(v))),
            Err(why) => {
                diags.push(
                    Code::Generics,
                    size_span(expr),
                    format!("the derived size `{name}` has no value in {}: {why}", binding.name),
                    "derive sizes in order, from sizes listed or derived before",
                );
                return None;
            }
        }
    }
    Some(binding)
}
