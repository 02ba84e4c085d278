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
mod by_name;
mod closure;
mod collect;
mod decl;
mod diag;
mod expand;
mod function;
mod infer;
mod infer_as;
mod infer_call;
mod infer_closure;
mod infer_control;
mod infer_function;
mod infer_group;
mod infer_layout;
mod infer_map;
mod infer_sample;
mod infer_selection;
mod infer_stmt;
mod infer_topk;
mod infer_vector;
mod instance;
mod methods;
mod parse;
mod parse_call;
mod parse_closure;
mod parse_group;
mod parse_layout;
mod parse_match;
mod parse_stmt;
mod parse_topk;
mod print;
mod print_closure;
mod print_group;
mod print_topk;
mod value;

pub use expand::Compiled;
pub use parse_call::{METHODS, OPS};
pub use parse_closure::CLOSURE_METHODS;
pub use parse_group::GROUP_OPS;
pub use tile_spirv::{Absent, Module};

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote;
use syn::ItemFn;

use crate::ast::Decl;
use crate::attr::Attr;
use crate::collect::Plan;
use crate::diag::{Diag, Diags};
use crate::function::Callee;
use crate::value::SymType;
use tile_ir::error::{Code, Diagnostic};

/// A kernel taken as far through the stages as its errors allow.
struct Pipeline {
    /// The signature, and the body if it parsed.
    decl: Decl,
    /// The attribute; `None` if it did not parse.
    attr: Option<Attr>,
    compiled: Vec<Compiled>,
    witnesses: BTreeMap<u32, SymType>,
    scalar_maps: BTreeSet<u32>,
    /// The functions of `fns(..)`, as the executable copy calls them.
    callees: Vec<Callee>,
    /// A device function has mistakes.
    broken: bool,
}

/// Expands `#[tile_kernel(attr)] item`.
///
/// A kernel that lists device functions is expanded in steps: the first asks the macro beside the first function for
/// its tokens, which come back through [`tile_kernel_collect`]; the last step has those of every function it reaches.
pub fn tile_kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    collect_kernel(attr, item, &[])
}

/// Goes on with the expansion of a kernel that lists device functions: the input is the attribute, the kernel and
/// the functions collected so far, each in braces.
pub fn tile_kernel_collect(input: TokenStream) -> TokenStream {
    let mut groups = braced(input);
    let (Some(attr), Some(item)) = (groups.next(), groups.next()) else { return TokenStream::new() };
    let answers: Vec<TokenStream> = groups.collect();
    collect_kernel(attr, item, &answers)
}

fn collect_kernel(attr: TokenStream, item: TokenStream, answers: &[TokenStream]) -> TokenStream {
    if let Ok(parsed) = syn::parse2::<Attr>(attr.clone())
        && let Some(next) = Plan::of(&paths(&parsed.functions), answers).next
    {
        let krate = &parsed.krate;
        return quote! {
            #next::__tokens! { #krate::__private::tile_kernel_collect, { #attr } { #item } #({ #answers })* }
        };
    }
    expand_kernel(attr, item, answers)
}

/// The contents of the braces.
fn braced(input: TokenStream) -> impl Iterator<Item = TokenStream> {
    input.into_iter().filter_map(|t| match t {
        TokenTree::Group(g) => Some(g.stream()),
        TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    })
}

fn paths(paths: &[syn::Path]) -> Vec<TokenStream> {
    paths.iter().map(|path| quote!(#path)).collect()
}

/// Expands `#[tile_fn(attr)] item`.
pub fn tile_fn(attr: TokenStream, item: TokenStream) -> TokenStream {
    function::tile_fn(attr, item)
}

/// Makes the executable copy of a device function that calls others: the input is the function and those collected so
/// far, each in braces.
pub fn tile_fn_collect(input: TokenStream) -> TokenStream {
    let answers: Vec<TokenStream> = braced(input).collect();
    function::tile_fn_collect(&answers)
}

/// Expands a kernel whose device functions are known.
fn expand_kernel(attr: TokenStream, item: TokenStream, answers: &[TokenStream]) -> TokenStream {
    if let Some(span) = parse::too_deep(&item).or_else(|| parse::too_deep(&attr)) {
        let mut diags = Diags::default();
        diags.push(
            Code::Construct,
            span,
            "brackets or operators nest too deep for a kernel",
            "split the expression with `let`",
        );
        let errors = diags.compile_errors();
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
            let errors = diags.compile_errors();
            return quote! { #errors #item };
        }
    };
    let (pipeline, diags) = compile(attr.clone(), &parsed, answers);
    let krate = pipeline.attr.as_ref().map_or_else(attr::default_crate, |a| a.krate.clone());
    let private = quote!(#krate::__private);
    let derived: Vec<_> =
        pipeline.attr.iter().flat_map(|a| a.derives.iter().map(|(name, _)| name.clone())).collect();
    let expansion = expand::Expansion {
        item: &parsed,
        decl: &pipeline.decl,
        attr: attr.to_string(),
        printer: print::Printer {
            private: &private,
            witnesses: &pipeline.witnesses,
            scalar_maps: &pipeline.scalar_maps,
            callees: &pipeline.callees,
            references: &[],
        },
        function_tokens: answers,
        compiled: if diags.is_empty() { &pipeline.compiled } else { &[] },
        derived: &derived,
    };
    // The mistakes of a device function are reported where it stands.
    if pipeline.broken {
        let (kept, module) = (expand::keep_unchecked(&parsed), expansion.broken_module());
        return quote! { #kept #module };
    }
    if diags.is_empty() {
        let (kept, module) = (expand::keep_item(&parsed), expansion.module());
        let paths = pipeline.attr.iter().flat_map(|a| &a.functions);
        let uses = paths.zip(&pipeline.callees).map(|(path, f)| {
            let alias = &f.alias;
            quote! { #[doc(hidden)] #[allow(unused_imports)] use #path as #alias; }
        });
        return quote! { #kept #(#uses)* #module };
    }
    // Each mistake is reported once, here: rustc judges neither copy of a body that has errors, and what calls
    // the kernel's launchers still finds them.
    let (errors, kept) = (diags.compile_errors(), expand::keep_unchecked(&parsed));
    let module = expansion.broken_module();
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
    // The kernel, then its device functions.
    let file = syn::parse2::<syn::File>(source).map_err(|e| vec![e.to_string()])?;
    let mut items = file.items.into_iter();
    let Some(syn::Item::Fn(item)) = items.next() else {
        return Err(vec!["the source is not a function".into()]);
    };
    let functions: Vec<TokenStream> = items.map(|i| quote!(#i)).collect();
    let attr = tokens(attr)?;
    let listed = syn::parse2::<Attr>(attr.clone()).map(|a| a.functions).unwrap_or_default();
    let answers = collect::replay(&listed, &functions);
    let (pipeline, mut diags) = compile(attr, &item, &answers);
    if pipeline.broken && diags.is_empty() {
        match Plan::of(&paths(&listed), &answers).cycle() {
            Some(cycle) => function::refuse_cycle(&cycle, Span::call_site(), &mut diags),
            None => {
                let message = "the functions of `fns(..)` stand behind the kernel; here one is missing";
                diags.push(Code::Attribute, Span::call_site(), message, "");
            }
        }
    }
    if diags.is_empty() { Ok(pipeline.compiled) } else { Err(diags.list().iter().map(Diag::text).collect()) }
}

/// Runs the stages; each collects all its errors, and the next runs only on a clean result.
fn compile(attr: TokenStream, item: &ItemFn, answers: &[TokenStream]) -> (Pipeline, Diags) {
    let mut diags = Diags::default();
    let attr = attr::parse_attr(attr, &mut diags);
    let mut decl = decl::parse_decl(item, &mut diags);
    let listed = attr.as_ref().map(|a| a.functions.as_slice()).unwrap_or_default();
    let names = function::names(listed, &mut diags);
    let plan = Plan::of(&paths(listed), answers);
    let broken = plan.broken || plan.cycle().is_some();
    let functions = function::parse_all(&plan, decl.name.span(), &mut diags);
    let callees = function::callees(&decl.name, &names, &plan.listed, &functions);
    let mut parser = parse::Parser::new(&decl.generics, &mut diags);
    parser.functions = &names;
    parser.is_unsafe = decl.is_unsafe;
    let body = parser.block(&item.block);
    let block = &item.block;
    parse_stmt::check_attributes(&quote!(#block), parser.diags);
    decl.exprs = parser.exprs;
    decl.body = body;
    let bindings = attr.as_ref().map(|a| instance::bind_all(a, &decl, &mut diags)).unwrap_or_default();
    let mut compiled = vec![];
    let mut witnesses = BTreeMap::new();
    let mut scalar_maps = BTreeSet::new();
    if !diags.is_empty() || broken {
        return (Pipeline { decl, attr, compiled, witnesses, scalar_maps, callees, broken }, diags);
    }
    for binding in bindings {
        let inferred = infer::infer(&decl, (&functions, &plan.listed), &binding);
        for (id, sym) in inferred.witnesses {
            witnesses.entry(id).or_insert(sym);
        }
        scalar_maps.extend(inferred.scalar_maps);
        if !inferred.diags.is_empty() {
            diags.append_instance(inferred.diags.list().to_vec());
            continue;
        }
        let at = |d: Diagnostic| Diag {
            code: d.code,
            span: match d.code {
                Code::Attribute => binding.span,
                _ => inferred.spans.get(d.span.0 as usize).copied().unwrap_or(decl.name.span()),
            },
            message: match binding.listed.as_slice() {
                [] => d.message,
                _ => format!("in instance {}: {}", binding.name, d.message),
            },
            help: d.help,
        };
        match tile_ir::verify::verify(inferred.kernel) {
            Err(broken) => diags.append_instance(broken.into_iter().map(at).collect()),
            // An instance for the host alone has no device module.
            Ok(kernel) if binding.host_only => {
                compiled.push(Compiled { binding, kernel, modules: vec![], absent: vec![] });
            }
            Ok(kernel) => match tile_spirv::compile(&kernel) {
                Ok(tile_spirv::Lowered { modules, absent }) => {
                    compiled.push(Compiled { binding, kernel, modules, absent });
                }
                Err(e) => diags.push(
                    Code::Structure,
                    decl.name.span(),
                    format!("in instance {}: {e}", binding.name),
                    "",
                ),
            },
        }
    }
    (Pipeline { decl, attr, compiled, witnesses, scalar_maps, callees, broken }, diags)
}
