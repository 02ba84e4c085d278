//! Owns device functions: `#[tile_fn]`, their declaration, and what the attribute emits for them.
//!
//! A device function is inlined into the kernels that list it in `fns(..)`. Its tokens travel to other modules and
//! crates in a macro that stands beside it (`NAME::__tokens!`), which hands them to the kernel's attribute; its
//! executable copy stands there too (`NAME::body`), so that a kernel's executable copy calls it by an absolute path.
//! *Guarantees*: a [`Function`] has only parameters of the language and calls only ops. *Not here*: inlining
//! (`infer_function`).

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{FnArg, ItemFn, Pat, ReturnType, Safety, Type};

use crate::ast::{Block, DTypeRef, GenericKind, GenericParam, SizeExpr, TypeRef};
use crate::attr::FnAttr;
use crate::collect::{Plan, answer, at_home, inner, read};
use crate::decl::{parse_generics, parse_param_type, parse_type};
use crate::diag::Diags;
use crate::expand::keep_item;
use crate::infer_sample::infer_sample;
use crate::instance::parse_derives;
use crate::parse::{Parser, too_deep};
use crate::parse_stmt::check_attributes;
use crate::print::{Printer, context, parens, scalar_path};
use tile_ir::error::Code;
use tile_ir::types::ScalarType;

/// How a tile or vector is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// `x: rt<..>`
    Value,
    /// `x: &rt<..>`
    Reference,
    /// `x: &mut rt<..>`
    Mutable,
}

/// The type of a parameter of a device function.
#[derive(Clone, Debug)]
pub enum FunctionParam {
    /// A tile or vector.
    Registers(TypeRef, Pass),
    /// A scalar.
    Scalar(ScalarType),
    /// `&gl<T>`
    Global(DTypeRef),
}

/// A device function as declared.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Ident,
    /// Generic parameters in order.
    pub generics: Vec<GenericParam>,
    /// Parameters in order.
    pub params: Vec<(Ident, FunctionParam)>,
    /// The type of the value it gives, if any.
    pub output: Option<TypeRef>,
    /// Derived sizes, in order.
    pub derives: Vec<(Ident, SizeExpr)>,
    /// Where each function of its `fns(..)` stands among all.
    pub calls: Vec<usize>,
    /// The body.
    pub body: Block,
}

/// A function that an executable copy calls.
#[derive(Clone, Debug)]
pub struct Callee {
    /// Its module: beside the kernel that calls, inside the module of a function that calls.
    pub alias: Ident,
    /// True beside a kernel.
    pub beside: bool,
    /// Which parameters are tiles or vectors by value.
    pub moves: Vec<bool>,
}

/// Reads a device function. `None` when it cannot be one; the errors say why.
pub fn parse_function(item: &ItemFn, attr: &FnAttr, diags: &mut Diags) -> Option<Function> {
    let before = diags.list().len();
    let sig = &item.sig;
    let mut refuse = |span: Span, what: &str, help: &str| {
        diags.push(Code::Item, span, format!("a device function is a plain function; {what}"), help);
    };
    if let Some(token) = &sig.asyncness {
        refuse(token.span(), "here it is `async`", "remove `async`");
    }
    if let Some(token) = &sig.constness {
        refuse(token.span(), "here it is `const`", "remove `const`");
    }
    if let Safety::Unsafe(token) = &sig.safety {
        refuse(token.span(), "here it is `unsafe`", "remove `unsafe`; stores stand in the kernel");
    }
    if let Some(abi) = &sig.abi {
        refuse(abi.span(), "here it has an ABI", "remove `extern`");
    }
    if let Some(clause) = &sig.generics.where_clause {
        refuse(
            clause.where_token.span(),
            "here it has a `where` clause",
            "put the bounds on the generic parameters",
        );
    }
    let generics = parse_generics(item, diags);
    let mut params = vec![];
    for input in &sig.inputs {
        match input {
            FnArg::Receiver(r) => {
                diags.push(
                    Code::Item,
                    r.self_token.span(),
                    "a device function has no receiver",
                    "move it out of the `impl`",
                );
            }
            FnArg::Typed(arg) => {
                let Pat::Ident(name) = &*arg.pat else {
                    diags.push(
                        Code::Parameter,
                        arg.pat.span(),
                        "a parameter has a plain name",
                        "write `name: TYPE`",
                    );
                    continue;
                };
                if let Some(ty) = parse_param(&arg.ty, &generics, diags) {
                    params.push((name.ident.clone(), ty));
                }
            }
        }
    }
    let output = match &sig.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => match &**ty {
            Type::Tuple(t) if t.elems.is_empty() => None,
            Type::Path(_) | Type::Paren(_) | Type::Group(_) | Type::Tuple(_) => {
                Some(parse_type(ty, &generics, diags))
            }
            other => {
                diags.push(
                    Code::Construct,
                    other.span(),
                    "a device function gives a tile, a vector, a scalar, or a tuple of them; here it gives another type",
                    "give the value itself, or change a `&mut` parameter",
                );
                None
            }
        },
    };
    let derives = parse_derives(&attr.derives, &generics, diags);
    let functions = names(&attr.functions, diags);
    let mut parser = Parser::new(&generics, diags);
    parser.in_function = true;
    parser.own = Some(sig.ident.clone());
    parser.functions = &functions;
    parser.references = by_reference(&params).cloned().collect();
    let body = parser.block(&item.block);
    let block = &item.block;
    check_attributes(&quote!(#block), parser.diags);
    if diags.list().len() > before {
        return None;
    }
    let output = match output {
        None => None,
        Some(Some(TypeRef::Shared(shared))) => {
            diags.push(
                Code::Parameter,
                shared.span,
                "shared memory stays in its kernel; here a device function gives it",
                "make it in the kernel",
            );
            return None;
        }
        Some(parsed) => Some(parsed?),
    };
    Some(Function { name: sig.ident.clone(), generics, params, output, derives, calls: vec![], body })
}

/// The parameters that are tiles or vectors passed by reference.
fn by_reference(params: &[(Ident, FunctionParam)]) -> impl Iterator<Item = &Ident> {
    params.iter().filter_map(|(name, ty)| match ty {
        FunctionParam::Registers(_, Pass::Reference | Pass::Mutable) => Some(name),
        FunctionParam::Registers(_, Pass::Value) | FunctionParam::Scalar(_) | FunctionParam::Global(_) => {
            None
        }
    })
}

fn parse_param(ty: &Type, generics: &[GenericParam], diags: &mut Diags) -> Option<FunctionParam> {
    let (inner, pass) = match ty {
        Type::Reference(r) => {
            (&*r.elem, if r.mutability.is_some() { Pass::Mutable } else { Pass::Reference })
        }
        other => (other, Pass::Value),
    };
    let name = match inner {
        Type::Path(p) => crate::decl::path_name(&p.path).map(|i| i.to_string()).unwrap_or_default(),
        _ => String::new(),
    };
    if matches!(name.as_str(), "st" | "sv") {
        diags.push(
            Code::Parameter,
            ty.span(),
            "shared memory stays in its kernel; here a device function takes it",
            "load the tile in the kernel and pass it on: `f(&tile)`",
        );
        return None;
    }
    if matches!(name.as_str(), "rt" | "rv") {
        return parse_type(inner, generics, diags).map(|t| FunctionParam::Registers(t, pass));
    }
    let known = name == "gl" || (pass == Pass::Value && ScalarType::from_name(&name).is_some());
    if !known {
        diags.push(
            Code::Parameter,
            ty.span(),
            "this is not a parameter type of a device function",
            "a parameter is a tile `rt<..>` or vector `rv<..>` (by value, `&` or `&mut`), `&gl<T>`, or one of u32, i32, \
             u64, f32, bool",
        );
        return None;
    }
    match parse_param_type(ty, generics, diags)? {
        crate::ast::ParamType::Scalar(s) => Some(FunctionParam::Scalar(s)),
        crate::ast::ParamType::Global { dtype, mutable: false } => Some(FunctionParam::Global(dtype)),
        crate::ast::ParamType::Global { mutable: true, .. } => {
            diags.push(
                Code::Parameter,
                ty.span(),
                "a device function takes tensors as inputs only; here it is `&mut gl`",
                "return the tile and store it in the kernel",
            );
            None
        }
    }
}

/// Expands `#[tile_fn(attr)] item`.
pub fn tile_fn(attr: TokenStream, item: TokenStream) -> TokenStream {
    let mut diags = Diags::default();
    let Ok(parsed) = syn::parse2::<ItemFn>(item.clone()) else {
        diags.push(Code::Item, Span::call_site(), "`#[tile_fn]` goes on a function", "move it to the `fn`");
        let errors = diags.compile_errors();
        return quote! { #errors #item };
    };
    if let Some(span) = too_deep(&item) {
        diags.push(
            Code::Construct,
            span,
            "brackets or operators nest too deep for a kernel",
            "split the expression with `let`",
        );
    }
    let options = syn::parse2::<FnAttr>(attr.clone()).unwrap_or_else(|e| {
        crate::attr::report(e, &mut diags);
        FnAttr::default()
    });
    let function = if diags.is_empty() { parse_function(&parsed, &options, &mut diags) } else { None };
    let Some(function) = function else {
        // A kernel that lists it gets no tokens, and says nothing of a mistake that is reported here.
        let errors = diags.compile_errors();
        let kept = crate::expand::keep_unchecked(&parsed);
        let module = module(&parsed, &[], &TokenStream::new(), &TokenStream::new());
        return quote! { #errors #kept #module };
    };
    let answer = answer(&identity(&parsed), &attr, &parsed);
    let kept = keep_item(&parsed);
    let content = if options.functions.is_empty() {
        body(&parsed, &function, &[], &options.krate)
    } else {
        let krate = &options.krate;
        let first = inner(0);
        quote! { self::#first::__tokens! { #krate::__private::tile_fn_collect, { #answer } } }
    };
    let module = module(&parsed, &options.functions, &answer, &content);
    quote! { #kept #module }
}

/// Makes the executable copy of the first function, once the others have all functions that it reaches.
pub fn tile_fn_collect(answers: &[TokenStream]) -> TokenStream {
    let Some(own) = answers.first().and_then(read) else { return TokenStream::new() };
    let plan = Plan::of(&[quote!(self)], answers);
    let krate = &own.attr.krate;
    if let Some(next) = plan.next {
        return quote! {
            #next::__tokens! { #krate::__private::tile_fn_collect, #({ #answers })* }
        };
    }
    let mut diags = Diags::default();
    if let Some(cycle) = plan.cycle() {
        // Another function's cycle is reported where that stands.
        if cycle.first() == Some(&own.item.sig.ident.to_string())
            && let Some(path) = own.attr.functions.iter().find(|p| last(p).is_some_and(|n| *n == cycle[1]))
        {
            refuse_cycle(&cycle, path.span(), &mut diags);
        }
        return diags.compile_errors();
    }
    if plan.broken {
        return TokenStream::new();
    }
    let functions = parse_all(&plan, own.item.sig.ident.span(), &mut diags);
    match functions.first() {
        Some(function) if diags.is_empty() => body(&own.item, function, &functions, krate),
        Some(_) | None => TokenStream::new(),
    }
}

/// Reports a cycle of calls.
pub fn refuse_cycle(cycle: &[String], span: Span, diags: &mut Diags) {
    let way: Vec<String> = cycle.iter().map(|name| format!("`{name}`")).collect();
    diags.push(
        Code::Recursion,
        span,
        format!("device functions do not call themselves; here {}", way.join(" calls ")),
        "write the repetition as a `while` or `for`, which carry tiles, vectors and scalars",
    );
}

fn last(path: &syn::Path) -> Option<&Ident> {
    crate::decl::path_name(path)
}

/// What tells a function from all others: its text, where it stands, and in which crate.
fn identity(item: &ItemFn) -> String {
    let mut hasher = DefaultHasher::new();
    let place = format!("{:?}", item.sig.ident.span());
    let krate = std::env::var("CARGO_CRATE_NAME").unwrap_or_default();
    (quote!(#item).to_string(), place, krate).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The module beside a device function, with the macro that hands its tokens over.
fn module(
    item: &ItemFn,
    functions: &[syn::Path],
    tokens: &TokenStream,
    content: &TokenStream,
) -> TokenStream {
    let (vis, name, id) = (&item.vis, &item.sig.ident, identity(item));
    // Exported macros share one name space per crate; the hash keeps equal names of different modules apart.
    let hidden = format_ident!("__tile_fn_{}_{}", name, id);
    let inside = format_ident!("__in_tile_fn_{}_{}", name, id);
    let uses = functions.iter().enumerate().map(|(i, path)| {
        let beside = format_ident!("__beside_tile_fn_{}_{}_{}", name, id, i);
        quote! { #[doc(hidden)] #[allow(unused_imports)] use #path as #beside; }
    });
    let reexports = (0..functions.len()).map(|i| {
        let (beside, inner) = (format_ident!("__beside_tile_fn_{}_{}_{}", name, id, i), inner(i));
        quote! { #[doc(hidden)] pub use super::#beside::__this as #inner; }
    });
    // A private function may be called by a public one, whose callers reach it through these modules: they are public,
    // and the name beside the function, which is as visible as the function, stands for its module.
    quote! {
        #[doc(hidden)]
        #[allow(clippy::crate_in_macro_def)]
        #[macro_export]
        macro_rules! #hidden {
            ($to:path, $($rest:tt)*) => { $to! { $($rest)* { #tokens } } };
        }
        #(#uses)*
        #[doc(hidden)]
        #[allow(
            dead_code,
            unused,
            unused_qualifications,
            unused_results,
            trivial_casts,
            trivial_numeric_casts,
            clippy::all,
            clippy::pedantic
        )]
        pub mod #inside {
            #[doc(hidden)]
            pub use #hidden as __tokens;
            #[doc(hidden)]
            pub use super::#inside as __this;
            #(#reexports)*
            #content
        }
        #[doc(hidden)]
        #[allow(unused_imports)]
        #vis use self::#inside as #name;
    }
}

/// `pub fn body`, the executable copy.
fn body(item: &ItemFn, function: &Function, functions: &[Function], krate: &syn::Path) -> TokenStream {
    let private = &quote!(#krate::__private);
    let scalar_maps = infer_sample(function, functions);
    let witnesses = Default::default();
    let references: Vec<Ident> = by_reference(&function.params).cloned().collect();
    let callees: Vec<Callee> = function
        .calls
        .iter()
        .enumerate()
        .filter_map(|(i, &index)| Some(callee(inner(i), false, functions.get(index)?)))
        .collect();
    let printer = &Printer {
        private,
        witnesses: &witnesses,
        scalar_maps: &scalar_maps,
        callees: &callees,
        references: &references,
    };
    let generics = function.generics.iter().map(|g| {
        let name = &g.name;
        match g.kind {
            GenericKind::Type(bound) => {
                let bound = Ident::new(bound.name(), name.span());
                quote!(#name: #private::#bound)
            }
            GenericKind::Size => quote!(const #name: ::core::primitive::usize),
            GenericKind::Flag => quote!(const #name: ::core::primitive::bool),
        }
    });
    let params = function.params.iter().map(|(name, ty)| match ty {
        FunctionParam::Registers(ty, pass) => {
            let ty = printer.written(ty);
            match pass {
                Pass::Value => quote!(mut #name: #ty),
                Pass::Reference => quote!(#name: &#ty),
                Pass::Mutable => quote!(#name: &mut #ty),
            }
        }
        FunctionParam::Scalar(ty) => {
            let ty = scalar_path(*ty, name.span());
            quote!(mut #name: #ty)
        }
        FunctionParam::Global(dtype) => {
            let dtype = printer.dtype(dtype);
            quote!(#name: &#private::gl<#dtype>)
        }
    });
    let output = function.output.as_ref().map(|ty| {
        let ty = printer.written(ty);
        quote!(-> #ty)
    });
    let cx = context();
    let around = item.sig.paren_token.span.join();
    let list = parens(quote!(#cx: &#private::Context<'_>, #(#params),*), around);
    let block = printer.block(&function.body);
    quote! {
        #[doc(hidden)]
        pub fn body<#(#generics),*> #list #output #block
    }
}

/// The names by which a body calls the functions that its attribute lists.
pub fn names(paths: &[syn::Path], diags: &mut Diags) -> Vec<Ident> {
    let mut seen = BTreeSet::new();
    let mut out = vec![];
    for name in paths.iter().filter_map(last) {
        if !seen.insert(name.to_string()) {
            diags.push(
                Code::Attribute,
                name.span(),
                format!("each function of `fns(..)` has a name of its own; `{name}` stands here twice"),
                "rename one with `use .. as ..`",
            );
        }
        out.push(name.clone());
    }
    out
}

/// Reads every function of a collection; reports those that cannot be inlined.
pub fn parse_all(plan: &Plan, root: Span, diags: &mut Diags) -> Vec<Function> {
    let mut out = vec![];
    for entry in &plan.entries {
        let item = &entry.item;
        let Ok(item) = syn::parse2::<ItemFn>(at_home(quote!(#item), root)) else { continue };
        if let Some(mut function) = parse_function(&item, &entry.attr, diags) {
            function.calls = entry.calls.clone();
            out.push(function);
        }
    }
    out
}

/// The functions that a kernel lists, as its executable copy calls them.
pub fn callees(kernel: &Ident, names: &[Ident], listed: &[usize], functions: &[Function]) -> Vec<Callee> {
    let found = names.iter().zip(listed).filter_map(|(name, &index)| {
        Some(callee(format_ident!("__{}_{}", kernel, name), true, functions.get(index)?))
    });
    found.collect()
}

fn callee(alias: Ident, beside: bool, function: &Function) -> Callee {
    let moves = function.params.iter().map(|(_, p)| matches!(p, FunctionParam::Registers(_, Pass::Value)));
    Callee { alias, beside, moves: moves.collect() }
}
