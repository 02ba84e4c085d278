//! Owns the function's signature: generics and parameters, and types as written anywhere in a kernel.
//!
//! *Guarantees*: a [`Decl`] has only parameters of the language. *Not here*: the body (`parse`).

use proc_macro2::{Ident, Span};
use syn::spanned::Spanned;
use syn::{
    Expr, FnArg, GenericArgument, GenericParam as SynGeneric, ItemFn, Lit, Pat, PathArguments, ReturnType,
    Safety, Type, TypeParamBound,
};

use crate::ast::{
    Block, Bound, DTypeRef, Decl, GenericKind, GenericParam, ParamDecl, ParamType, RoleRef, SharedRef,
    SizeRef, TileRef, TypeRef, VectorRef,
};
use crate::diag::Diags;
use tile_ir::error::Code;
use tile_ir::types::{Along, DType, Encoding, Role, ScalarType};

/// The last segment's name of a path without `self` types, if the path is that plain.
pub fn path_name(path: &syn::Path) -> Option<&Ident> {
    path.segments.last().map(|s| &s.ident)
}

/// A type without the invisible group that a macro puts around `$ty`, and without parentheses.
fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Group(g) => plain(&g.elem),
        Type::Paren(p) => plain(&p.elem),
        other => other,
    }
}

/// Reads the signature. The body is filled in by `parse`. What is not of the language is reported and left out.
pub fn parse_decl(item: &ItemFn, diags: &mut Diags) -> Decl {
    let sig = &item.sig;
    let mut refuse = |span: Span, what: &str, help: &str| {
        diags.push(Code::Item, span, format!("a kernel is a plain function; {what}"), help);
    };
    if let Some(token) = &sig.constness {
        refuse(token.span(), "here it is `const`", "remove `const`");
    }
    if let Some(token) = &sig.asyncness {
        refuse(token.span(), "here it is `async`", "remove `async`; launches are synchronous");
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
    if let ReturnType::Type(arrow, _) = &sig.output {
        refuse(arrow.span(), "here it returns a value", "write results to a `&mut gl<T>` parameter");
    }
    if let Some(dots) = &sig.variadic {
        refuse(dots.span(), "here it is variadic", "list the parameters");
    }
    let generics = parse_generics(item, diags);
    let mut params = vec![];
    for input in &sig.inputs {
        match input {
            FnArg::Receiver(r) => {
                diags.push(
                    Code::Item,
                    r.self_token.span(),
                    "a kernel is a plain function; here it has a receiver",
                    "move it out of the `impl`",
                );
            }
            FnArg::Typed(arg) => {
                let Pat::Ident(name) = &*arg.pat else {
                    diags.push(
                        Code::Parameter,
                        arg.pat.span(),
                        "a kernel parameter has a plain name",
                        "write `name: &gl<T>`",
                    );
                    continue;
                };
                if let Some(ty) = parse_param_type(&arg.ty, &generics, diags) {
                    params.push(ParamDecl { name: name.ident.clone(), ty });
                }
            }
        }
    }
    Decl {
        name: sig.ident.clone(),
        is_unsafe: matches!(sig.safety, Safety::Unsafe(_)),
        generics,
        params,
        body: Block::default(),
        exprs: 0,
    }
}

/// Reads the generic parameters of a kernel or device function.
pub fn parse_generics(item: &ItemFn, diags: &mut Diags) -> Vec<GenericParam> {
    let mut out = vec![];
    for param in &item.sig.generics.params {
        match param {
            SynGeneric::Lifetime(l) => {
                diags.push(
                    Code::Item,
                    l.lifetime.span(),
                    "a kernel has no lifetime parameters",
                    "remove it; `&gl<T>` needs none",
                );
            }
            SynGeneric::Type(t) => {
                let mut bound = None;
                for b in &t.bounds {
                    if let TypeParamBound::Trait(tr) = b
                        && let Some(name) = path_name(&tr.path)
                    {
                        bound = match name.to_string().as_str() {
                            "AnyElement" => bound.max(Some(Bound::AnyElement)),
                            "Element" => bound.max(Some(Bound::Element)),
                            "MmaInput" => Some(Bound::MmaInput),
                            _ => {
                                diags.push(
                                    Code::Generics,
                                    name.span(),
                                    format!("the bound of a type parameter is `Element`, `MmaInput` or `AnyElement`; here it is `{name}`"),
                                    "an element type has no other properties in a kernel",
                                );
                                bound
                            }
                        };
                    }
                }
                // A refused bound is reported above, as is a `where` clause.
                if bound.is_none() && t.bounds.is_empty() && item.sig.generics.where_clause.is_none() {
                    diags.push(
                        Code::Generics,
                        t.ident.span(),
                        format!(
                            "the type parameter `{}` needs the bound `Element`, `MmaInput` or `AnyElement`",
                            t.ident
                        ),
                        format!("write `{}: Element`", t.ident),
                    );
                }
                // What uses the parameter is not to be refused as well.
                let kind = GenericKind::Type(bound.unwrap_or(Bound::Element));
                out.push(GenericParam { name: t.ident.clone(), kind });
            }
            SynGeneric::Const(c) => {
                let name = match &c.ty {
                    Type::Path(p) => path_name(&p.path).map(ToString::to_string).unwrap_or_default(),
                    _ => String::new(),
                };
                let kind = match name.as_str() {
                    "usize" => GenericKind::Size,
                    "bool" => GenericKind::Flag,
                    _ => {
                        diags.push(
                            Code::Generics,
                            c.ident.span(),
                            "a const parameter of a kernel is `usize` or `bool`",
                            format!("write `const {}: usize`", c.ident),
                        );
                        GenericKind::Size
                    }
                };
                out.push(GenericParam { name: c.ident.clone(), kind });
            }
        }
    }
    out
}

/// Reads the type of a kernel parameter.
pub fn parse_param_type(ty: &Type, generics: &[GenericParam], diags: &mut Diags) -> Option<ParamType> {
    let help = "a parameter is `&gl<T>`, `&mut gl<T>`, or one of u32, i32, u64, f32, bool";
    let ty = plain(ty);
    if let Type::Reference(r) = ty {
        if let Type::Path(p) = plain(&r.elem)
            && let Some(segment) = p.path.segments.last()
            && segment.ident == "gl"
        {
            let args = match &segment.arguments {
                PathArguments::AngleBracketed(a) => a.args.iter().collect::<Vec<_>>(),
                PathArguments::None | PathArguments::Parenthesized(_) => vec![],
            };
            if let [GenericArgument::Type(t)] = args.as_slice() {
                let dtype = parse_dtype(t, generics, diags)?;
                if let DTypeRef::Fixed(DType::Tf32, span) = dtype {
                    diags.push(
                        Code::OperandOnly,
                        span,
                        "tf32 is the element type of tiles that are multiplied, not of tensors",
                        "write `gl<f32>` and load it as `rt<tf32, ..>`",
                    );
                    return None;
                }
                return Some(ParamType::Global { dtype, mutable: r.mutability.is_some() });
            }
            diags.push(
                Code::Parameter,
                segment.ident.span(),
                "`gl` takes its element type",
                "write `&gl<T>`",
            );
            return None;
        }
        diags.push(
            Code::Parameter,
            r.and_token.span(),
            "the only references a kernel takes are to `gl`",
            help,
        );
        return None;
    }
    if let Type::Path(p) = ty
        && let Some(name) = path_name(&p.path)
    {
        if let Some(scalar) = ScalarType::from_name(&name.to_string()) {
            return Some(ParamType::Scalar(scalar));
        }
        let message = if name == "gl" {
            "a `gl` parameter is a reference".to_string()
        } else {
            format!("`{name}` is not a parameter type of a kernel")
        };
        diags.push(Code::Parameter, name.span(), message, help);
        return None;
    }
    diags.push(Code::Parameter, ty.span(), "this is not a parameter type of a kernel", help);
    None
}

/// Reads an element type.
pub fn parse_dtype(ty: &Type, generics: &[GenericParam], diags: &mut Diags) -> Option<DTypeRef> {
    let ty = plain(ty);
    if let Type::Path(p) = ty
        && let Some(name) = path_name(&p.path)
    {
        if generics.iter().any(|g| g.name == *name && matches!(g.kind, GenericKind::Type(_))) {
            return Some(DTypeRef::Param(name.clone()));
        }
        if let Some(dtype) = DType::from_name(&name.to_string()) {
            return Some(DTypeRef::Fixed(dtype, name.span()));
        }
        let help = if name == "bool" {
            "masks (`rt<bool, ..>`) come from comparisons such as `x.lt(&y)`; numbers from `mask.select(&x, 0.0)`"
        } else {
            "an element type is bf16, f16, f32, i8, u8, i32, or a type parameter of the kernel"
        };
        diags.push(Code::Parameter, name.span(), format!("`{name}` is not an element type"), help);
        return None;
    }
    diags.push(
        Code::Parameter,
        ty.span(),
        "this is not an element type",
        "write bf16, f16, f32, i8, u8, i32, or a type parameter",
    );
    None
}

/// Reads the element type of a tile or vector, which may be a mask.
fn parse_register_dtype(ty: &Type, generics: &[GenericParam], diags: &mut Diags) -> Option<DTypeRef> {
    if let Type::Path(p) = plain(ty)
        && let Some(name) = path_name(&p.path)
        && name == DType::Bool.name()
    {
        return Some(DTypeRef::Fixed(DType::Bool, name.span()));
    }
    parse_dtype(ty, generics, diags)
}

/// Reads a size in a type.
pub fn parse_size(arg: &GenericArgument, generics: &[GenericParam], diags: &mut Diags) -> Option<SizeRef> {
    let name_of = |path: &syn::Path| path.get_ident().cloned();
    let value = match arg {
        GenericArgument::Const(e) => Some(crate::parse::strip(e)),
        _ => None,
    };
    let ident = match (arg, value) {
        (GenericArgument::Type(ty), _) => match plain(ty) {
            Type::Path(p) => name_of(&p.path),
            _ => None,
        },
        (_, Some(Expr::Path(p))) => name_of(&p.path),
        (_, Some(Expr::Block(b))) => {
            if let [syn::Stmt::Expr(Expr::Path(p), None)] = b.block.stmts.as_slice() {
                name_of(&p.path)
            } else {
                None
            }
        }
        (_, Some(Expr::Lit(l))) => {
            if let Lit::Int(int) = &l.lit {
                return match int.base10_parse::<u64>() {
                    Ok(v) => Some(SizeRef::Literal(v, int.span())),
                    Err(e) => {
                        diags.push(Code::Literal, int.span(), format!("a size is a u64 literal: {e}"), "");
                        None
                    }
                };
            }
            None
        }
        _ => None,
    };
    if let Some(name) = ident {
        if generics.iter().any(|g| g.name == name && g.kind == GenericKind::Size) {
            return Some(SizeRef::Param(name));
        }
        diags.push(
            Code::FreeName,
            name.span(),
            format!("`{name}` is not a size of this kernel"),
            format!("declare it: `const {name}: usize` among the generic parameters, or write the number"),
        );
        return None;
    }
    diags.push(
        Code::InlineSize,
        arg.span(),
        "a size in a tile type is a `const` parameter or a literal; stable Rust rejects arithmetic here",
        "declare it: `#[tile_kernel(derive(HALF = BM / 2), ..)]` with `const HALF: usize`, and write `HALF`",
    );
    None
}

/// Reads `rt<T, M, N, L>`.
pub fn parse_tile(ty: &Type, generics: &[GenericParam], diags: &mut Diags) -> Option<TileRef> {
    let Type::Path(p) = plain(ty) else {
        diags.push(Code::UntypedSource, ty.span(), "a tile type is written `rt<T, ROWS, COLS, ROLE>`", "");
        return None;
    };
    let segment = p.path.segments.last()?;
    if segment.ident != "rt" {
        diags.push(
            Code::UntypedSource,
            segment.ident.span(),
            format!("a tile type is written `rt<T, ROWS, COLS, ROLE>`; here it is `{}`", segment.ident),
            "type aliases hide the sizes from the attribute; write the type out",
        );
        return None;
    }
    let span = segment.ident.span();
    let (args, close): (Vec<&GenericArgument>, _) = match &segment.arguments {
        PathArguments::AngleBracketed(a) => (a.args.iter().collect(), a.gt_token.span()),
        PathArguments::None | PathArguments::Parenthesized(_) => (vec![], span),
    };
    if args.len() != 3 && args.len() != 4 {
        diags.push(
            Code::UntypedSource,
            span,
            format!("`rt` takes an element type, rows, columns and, if it is not `Row`, a role; here it has {} arguments", args.len()),
            "write `rt<T, ROWS, COLS>` or `rt<T, ROWS, COLS, ROLE>`",
        );
        return None;
    }
    let GenericArgument::Type(dtype) = args[0] else {
        diags.push(Code::UntypedSource, args[0].span(), "the first argument of `rt` is its element type", "");
        return None;
    };
    let dtype = parse_register_dtype(dtype, generics, diags);
    let rows = parse_size(args[1], generics, diags);
    let cols = parse_size(args[2], generics, diags);
    let role = match args.get(3) {
        None => Some(RoleRef { role: Role::Row, span }),
        Some(arg) => parse_role(arg, diags),
    };
    Some(TileRef { dtype: dtype?, rows: rows?, cols: cols?, role: role?, span, close })
}

fn parse_role(arg: &GenericArgument, diags: &mut Diags) -> Option<RoleRef> {
    if let GenericArgument::Type(ty) = arg
        && let Type::Path(p) = plain(ty)
        && let Some(segment) = p.path.segments.last()
    {
        let span = segment.ident.span();
        let transposed = match &segment.arguments {
            PathArguments::AngleBracketed(a) => a.args.iter().any(|g| {
                matches!(g, GenericArgument::Type(Type::Path(q)) if path_name(&q.path).is_some_and(|i| i == "Transposed"))
            }),
            PathArguments::None | PathArguments::Parenthesized(_) => false,
        };
        let role = match segment.ident.to_string().as_str() {
            "Row" => Some(Role::Row),
            "Acc" => Some(Role::Acc),
            "Vnni" if transposed => Some(Role::VnniT),
            "Vnni" => Some(Role::Vnni),
            "VnniT" => Some(Role::VnniT),
            _ => None,
        };
        if let Some(role) = role {
            return Some(RoleRef { role, span });
        }
    }
    diags.push(
        Code::UntypedSource,
        arg.span(),
        "the role of a tile is `Row`, `Vnni`, `VnniT` or `Acc`",
        "leave it out for `Row`",
    );
    None
}

/// Reads the type written on a `let`.
pub fn parse_type(ty: &Type, generics: &[GenericParam], diags: &mut Diags) -> Option<TypeRef> {
    let ty = plain(ty);
    if let Type::Tuple(t) = ty {
        let nested = t.elems.iter().map(plain).find(|ty| matches!(ty, Type::Tuple(_)));
        if nested.is_some() || t.elems.len() < 2 {
            diags.push(
                Code::Construct,
                nested.unwrap_or(ty).span(),
                "a tuple has two or more tiles, vectors or scalars; here it has another form",
                "write `(rt<f32, M, N>, f32)`",
            );
            return None;
        }
        let parts: Vec<_> = t.elems.iter().map(|t| parse_type(t, generics, diags)).collect();
        if let Some(TypeRef::Shared(s)) = parts.iter().flatten().find(|p| matches!(p, TypeRef::Shared(_))) {
            let help = "make it in the kernel, with a `let` of its own";
            diags.push(Code::SharedPlacement, s.span, "shared memory is no part of a tuple", help);
            return None;
        }
        return Some(TypeRef::Tuple(parts.into_iter().collect::<Option<_>>()?, t.paren_token.span.join()));
    }
    if let Type::Path(p) = ty
        && let Some(segment) = p.path.segments.last()
    {
        let name = segment.ident.to_string();
        if let Some(scalar) = ScalarType::from_name(&name) {
            return Some(TypeRef::Scalar(scalar, segment.ident.span()));
        }
        if name == "Own"
            && let PathArguments::AngleBracketed(a) = &segment.arguments
            && a.args.len() == 2
        {
            let rows = parse_size(&a.args[0], generics, diags);
            let cols = parse_size(&a.args[1], generics, diags);
            return Some(TypeRef::Own(rows?, cols?, segment.ident.span()));
        }
        if name == "usize" {
            diags.push(
                Code::Mismatch,
                segment.ident.span(),
                "`usize` is not a scalar type of a kernel",
                "use u32 or u64; sizes convert with `BM as u32`",
            );
            return None;
        }
    }
    if let Type::Path(p) = ty
        && let Some(segment) = p.path.segments.last()
        && (segment.ident == "st" || segment.ident == "sv")
    {
        return parse_shared(segment, generics, diags).map(TypeRef::Shared);
    }
    if let Type::Path(p) = ty
        && let Some(segment) = p.path.segments.last()
        && segment.ident == "rv"
    {
        return parse_vector(segment, generics, diags).map(TypeRef::Vector);
    }
    parse_tile(ty, generics, diags).map(TypeRef::Tile)
}

/// Reads `st<T, M, N>` and `sv<T, N>`.
fn parse_shared(
    segment: &syn::PathSegment,
    generics: &[GenericParam],
    diags: &mut Diags,
) -> Option<SharedRef> {
    let span = segment.ident.span();
    let args: Vec<&GenericArgument> = match &segment.arguments {
        PathArguments::AngleBracketed(a) => a.args.iter().collect(),
        PathArguments::None | PathArguments::Parenthesized(_) => vec![],
    };
    let tile = segment.ident == "st";
    let (dtype, rows, cols) = match args.as_slice() {
        [GenericArgument::Type(dtype), rows, cols] if tile => (dtype, Some(*rows), *cols),
        [GenericArgument::Type(dtype), len] if !tile => (dtype, None, *len),
        _ => {
            let form = if tile { "st<T, ROWS, COLS>" } else { "sv<T, LEN>" };
            diags.push(
                Code::SharedPlacement,
                span,
                format!(
                    "the type of shared memory is written `{form}`; here it has {} arguments",
                    args.len()
                ),
                "shared tiles have no role",
            );
            return None;
        }
    };
    let (dtype, cols) = (parse_dtype(dtype, generics, diags), parse_size(cols, generics, diags));
    let rows = match rows {
        Some(rows) => Some(parse_size(rows, generics, diags)?),
        None => None,
    };
    Some(SharedRef { dtype: dtype?, rows, cols: cols?, span })
}

/// Reads `rv<T, N, E>`.
fn parse_vector(
    segment: &syn::PathSegment,
    generics: &[GenericParam],
    diags: &mut Diags,
) -> Option<VectorRef> {
    let span = segment.ident.span();
    let args: Vec<&GenericArgument> = match &segment.arguments {
        PathArguments::AngleBracketed(a) => a.args.iter().collect(),
        PathArguments::None | PathArguments::Parenthesized(_) => vec![],
    };
    let ([GenericArgument::Type(dtype), len] | [GenericArgument::Type(dtype), len, _]) = args.as_slice()
    else {
        diags.push(
            Code::UntypedSource,
            span,
            "`rv` takes an element type, a length and, if it is not `PerRow`, an encoding",
            "write `rv<f32, M, PerRow>` or `rv<f32, N, PerCol>`",
        );
        return None;
    };
    let (dtype, len) = (parse_register_dtype(dtype, generics, diags), parse_size(len, generics, diags));
    let (encoding, encoding_span) = match args.get(2) {
        None => (Encoding::Line(Along::Rows), span),
        Some(arg) => {
            let name = match arg {
                GenericArgument::Type(Type::Path(p)) => path_name(&p.path),
                _ => None,
            };
            let encoding = name.and_then(|n| Encoding::ALL.iter().copied().find(|e| *n == e.name()));
            match (encoding, name) {
                (Some(encoding), Some(name)) => (encoding, name.span()),
                (Some(_) | None, _) => {
                    diags.push(
                        Code::UntypedSource,
                        arg.span(),
                        match name {
                            Some(name) => {
                                format!(
                                    "the encoding of a vector is `PerRow`, `PerCol` or `Wide`; here it is `{name}`"
                                )
                            }
                            None => "the encoding of a vector is `PerRow`, `PerCol` or `Wide`".to_string(),
                        },
                        "`PerRow` has one element per row of a tile, `PerCol` one per column; `Wide` is for vectors by themselves",
                    );
                    return None;
                }
            }
        }
    };
    Some(VectorRef { dtype: dtype?, len: len?, encoding, encoding_span, span })
}
