//! The front end of the kernel language: parse (syn) → infer (to verified IR) → lower → expand (quote).
//!
//! A macro sees only tokens, so it predicts types and rustc proves them: the expansion holds the user's function
//! (for type checking and the editor), an executable copy with absolute paths and witnesses of every inferred
//! type, and per instance the device modules. This crate is a plain library, so all of it is tested without a
//! proc macro; `tile-macros` is a shim over [`tile_kernel`].
//!
//! *Guarantees*: never panics on any input; all errors of a kernel are reported together; the user's item is
//! always emitted beside them. *Not here*: what an op means (`tile-ir`), how it is emitted (`tile-spirv`).
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::panic)]

mod assigned;
mod ast;
mod attr;
mod decl;
mod diag;
mod expand;
mod infer;
mod infer_call;
mod infer_control;
mod instance;
mod parse;
mod parse_call;
mod print;

pub use expand::Compiled;
pub use parse_call::{METHODS, OPS};

use std::collections::BTreeMap;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::ItemFn;

use crate::ast::Decl;
use crate::attr::Attr;
use crate::diag::{Diag, Diags};
use crate::infer::SymType;
use tile_ir::error::{Code, Diagnostic};

/// A kernel taken through every stage.
struct Pipeline {
    decl: Decl,
    attr: Attr,
    compiled: Vec<Compiled>,
    witnesses: BTreeMap<u32, SymType>,
}

/// Expands `#[tile_kernel(attr)] item`.
pub fn tile_kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    if let Some(span) = parse::too_deep(&item).or_else(|| parse::too_deep(&attr)) {
        let mut diags = Diags::default();
        diags.push(
            Code::Construct,
            span,
            "brackets or operators nest too deep for a kernel",
            "split the expression with `let`",
        );
        let errors = diags.compile_errors(false);
        return quote! { #errors #item };
    }
    let parsed = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(parsed) => parsed,
        Err(error) => {
            let mut diags = Diags::default();
            let is_fn = item.clone().into_iter().any(|t| t.to_string() == "fn");
            if is_fn {
                diags.push(Code::Item, error.span(), error.to_string(), "");
            } else {
                diags.push(
                    Code::Item,
                    Span::call_site(),
                    "`#[tile_kernel]` goes on a function",
                    "move it to the kernel's `fn`",
                );
            }
            let errors = diags.compile_errors(false);
            return quote! { #errors #item };
        }
    };
    let kept = expand::keep_item(&parsed);
    let (pipeline, diags) = compile(attr.clone(), &parsed);
    let Some(pipeline) = pipeline else {
        let errors = diags.compile_errors(false);
        return quote! { #errors #kept };
    };
    let krate = &pipeline.attr.krate;
    let private = quote!(#krate::__private);
    // With errors that rustc words better, the executable copy is emitted for it to judge; with others it is
    // left out, since it would only repeat them.
    let rustc_checks = diags.list().iter().any(Diag::rustc_reports);
    let errors = diags.compile_errors(rustc_checks);
    if !diags.is_empty() && !rustc_checks {
        return quote! { #errors #kept };
    }
    let derived: Vec<_> = pipeline.attr.derives.iter().map(|(name, _)| name.clone()).collect();
    let expansion = expand::Expansion {
        item: &parsed,
        decl: &pipeline.decl,
        attr: attr.to_string(),
        printer: print::Printer { private: &private, witnesses: &pipeline.witnesses },
        compiled: if diags.is_empty() { &pipeline.compiled } else { &[] },
        derived: &derived,
    };
    let module = expansion.module();
    quote! { #errors #kept #module }
}

/// Compiles a kernel from text, as `KernelInfo` keeps it.
///
/// # Errors
/// The messages of all broken rules.
pub fn compile_source(attr: &str, source: &str) -> Result<Vec<Compiled>, Vec<String>> {
    let tokens = |text: &str| text.parse::<TokenStream>().map_err(|e| vec![e.to_string()]);
    let source = tokens(source)?;
    if parse::too_deep(&source).is_some() {
        return Err(vec!["brackets or operators nest too deep for a kernel".into()]);
    }
    let item = syn::parse2::<ItemFn>(source).map_err(|e| vec![e.to_string()])?;
    let (pipeline, diags) = compile(tokens(attr)?, &item);
    match pipeline {
        Some(p) if diags.is_empty() => Ok(p.compiled),
        Some(_) | None => Err(diags.list().iter().map(Diag::text).collect()),
    }
}

/// Runs the stages; each collects all its errors, and the next runs only on a clean result.
fn compile(attr: TokenStream, item: &ItemFn) -> (Option<Pipeline>, Diags) {
    let mut diags = Diags::default();
    let attr = attr::parse_attr(attr, &mut diags);
    let decl = decl::parse_decl(item, &mut diags);
    let Some(mut decl) = decl else { return (None, diags) };
    let mut parser = parse::Parser::new(&decl.generics, &mut diags);
    parser.is_unsafe = decl.is_unsafe;
    let body = parser.block(&item.block);
    decl.exprs = parser.exprs;
    decl.body = body;
    let Some(attr) = attr else { return (None, diags) };
    let bindings = instance::bind_all(&attr, &decl, &mut diags);
    if !diags.is_empty() {
        return (None, diags);
    }
    let mut compiled = vec![];
    let mut witnesses = BTreeMap::new();
    for binding in bindings {
        let inferred = infer::infer(&decl, &binding);
        for (id, sym) in inferred.witnesses {
            witnesses.entry(id).or_insert(sym);
        }
        if !inferred.diags.is_empty() {
            diags.append(inferred.diags);
            continue;
        }
        let at = |d: Diagnostic| Diag {
            code: d.code,
            span: match d.code {
                Code::Attribute => binding.span,
                _ => inferred.spans.get(d.span.0 as usize).copied().unwrap_or(decl.name.span()),
            },
            message: format!("in instance {}: {}", binding.name, d.message),
            help: d.help,
        };
        match tile_ir::verify::verify(inferred.kernel) {
            Err(broken) => broken.into_iter().for_each(|d| diags.add(at(d))),
            Ok(kernel) => match tile_spirv::lower(&kernel) {
                Ok(modules) => compiled.push(Compiled { binding, kernel, modules }),
                Err(e) => diags.push(
                    Code::Structure,
                    decl.name.span(),
                    format!("in instance {}: {e}", binding.name),
                    "",
                ),
            },
        }
    }
    (Some(Pipeline { decl, attr, compiled, witnesses }), diags)
}
