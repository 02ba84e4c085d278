//! Owns the executable copy of a kernel body: the tree of `ast` printed back as Rust in which every op, type
//! and scalar operation has an absolute path, so that no name in the user's scope can change its meaning.
//!
//! *Guarantees*: the copy means on the host what the IR means on a device; every token carries the span of the
//! user's token, so what rustc says about the copy points at the source. Behind each `let` without a written
//! type stands a witness of the inferred one. *Not here*: what surrounds the body (`expand`).

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

use crate::ast::{
    At, Block, Call, CallOp, DTypeRef, Expr, ExprKind, FunctionArg, GenericArg, Method, Operand, OrderRef,
    PartIndex, SizeExpr, SizeRef, Stmt, TileRef, TypeRef,
};
use crate::function::Callee;
use crate::value::{SymType, sym_shared};
use tile_ir::ir::Peers;
use tile_ir::scalar::{Binary, Unary};
use tile_ir::types::{DType, Role, ScalarType};

/// Prints a body.
pub struct Printer<'a> {
    /// Path of the module through which generated code names everything.
    pub private: &'a TokenStream,
    /// Inferred types of `let` values by expression id.
    pub witnesses: &'a BTreeMap<u32, SymType>,
    /// Element-wise methods whose receiver is a scalar, by expression id.
    pub scalar_maps: &'a BTreeSet<u32>,
    /// The device functions that the body lists.
    pub callees: &'a [Callee],
    /// Names that stand for references already: parameters of a device function.
    pub references: &'a [Ident],
}

/// The tokens in parentheses that stand where the user's did, so that rustc sees a call end where it ends.
pub fn parens(content: TokenStream, span: Span) -> TokenTree {
    let mut group = Group::new(Delimiter::Parenthesis, content);
    group.set_span(span);
    TokenTree::Group(group)
}

pub(crate) fn ident(name: &str, span: Span) -> Ident {
    Ident::new(name, span)
}

/// The path of a scalar type.
pub fn scalar_path(ty: ScalarType, span: Span) -> TokenStream {
    let name = ident(ty.name(), span);
    quote_spanned! { span => ::core::primitive::#name }
}

/// The name of the hidden context argument.
pub fn context() -> Ident {
    Ident::new("__cx", Span::mixed_site())
}

impl Printer<'_> {
    /// The path of the private module, at a token of the user: what rustc says of the op behind it is then, to the
    /// byte, what it says of the user's own copy, and is printed once.
    pub fn at_token(&self, span: Span) -> TokenStream {
        let tokens = self.private.clone().into_iter().map(|mut token| {
            // `$crate` means what it does by its span.
            if !matches!(&token, TokenTree::Ident(i) if *i == "$crate") {
                token.set_span(span);
            }
            token
        });
        tokens.collect()
    }

    /// An element type.
    pub fn dtype(&self, dtype: &DTypeRef) -> TokenStream {
        match dtype {
            DTypeRef::Param(name) => quote!(#name),
            DTypeRef::Fixed(d, span) => self.fixed_dtype(*d, *span),
        }
    }

    /// An element type by value.
    pub fn fixed_dtype(&self, dtype: DType, span: Span) -> TokenStream {
        let private = self.at_token(span);
        match dtype {
            DType::F32 => scalar_path(ScalarType::F32, span),
            DType::I32 => scalar_path(ScalarType::I32, span),
            DType::Bool => scalar_path(ScalarType::Bool, span),
            DType::I8 => quote_spanned! { span => ::core::primitive::i8 },
            DType::U8 => quote_spanned! { span => ::core::primitive::u8 },
            DType::Bf16 | DType::F16 | DType::Tf32 => {
                let name = ident(dtype.name(), span);
                quote_spanned! { span => #private::#name }
            }
        }
    }

    pub(crate) fn size(&self, size: &SizeRef) -> TokenStream {
        match size {
            SizeRef::Param(name) => quote!(#name),
            SizeRef::Literal(v, span) => {
                let mut lit = Literal::u64_unsuffixed(*v);
                lit.set_span(*span);
                quote!(#lit)
            }
        }
    }

    fn role(&self, role: Role, span: Span) -> TokenStream {
        let private = self.at_token(span);
        let name = ident(role.name(), span);
        quote_spanned! { span => #private::#name }
    }

    fn tile(&self, t: &TileRef) -> TokenStream {
        let (dtype, rows, cols) = (self.dtype(&t.dtype), self.size(&t.rows), self.size(&t.cols));
        let role = self.role(t.role.role, t.role.span);
        let private = self.at_token(t.span);
        let head = quote_spanned! { t.span => #private::rt<#dtype, #rows, #cols, #role };
        let close = quote_spanned! { t.close => > };
        quote! { #head #close }
    }

    pub(crate) fn sym(&self, ty: &SymType, span: Span) -> TokenStream {
        let private = self.at_token(span);
        match ty {
            SymType::Scalar(s) => scalar_path(*s, span),
            SymType::Tile(t) => {
                let (dtype, rows, cols) = (self.dtype(&t.dtype), self.size(&t.rows), self.size(&t.cols));
                let role = self.role(t.role, span);
                quote_spanned! { span => #private::rt<#dtype, #rows, #cols, #role> }
            }
            SymType::Vector(v) => {
                let (dtype, len) = (self.dtype(&v.dtype), self.size(&v.len));
                let along = ident(v.encoding.name(), span);
                quote_spanned! { span => #private::rv<#dtype, #len, #private::#along> }
            }
            SymType::Tuple(parts) => {
                let parts = parts.iter().map(|p| self.sym(p, span));
                quote_spanned! { span => (#(#parts),*) }
            }
            SymType::Shared(s) => {
                let (dtype, cols) = (self.dtype(&s.dtype), self.size(&s.cols));
                match &s.rows {
                    Some(rows) => {
                        let rows = self.size(rows);
                        quote_spanned! { span => #private::st<#dtype, #rows, #cols> }
                    }
                    None => quote_spanned! { span => #private::sv<#dtype, #cols> },
                }
            }
            SymType::Own(rows, cols) => {
                let (rows, cols) = (self.size(rows), self.size(cols));
                quote_spanned! { span => #private::Own<#rows, #cols> }
            }
        }
    }

    /// A type as written on a `let`.
    pub fn written(&self, ty: &TypeRef) -> TokenStream {
        match ty {
            TypeRef::Scalar(s, span) => scalar_path(*s, *span),
            TypeRef::Tile(t) => self.tile(t),
            TypeRef::Vector(v) => {
                let (rv, private) = (ident("rv", v.span), self.at_token(v.span));
                let (dtype, len) = (self.dtype(&v.dtype), self.size(&v.len));
                let along = ident(v.encoding.name(), v.encoding_span);
                quote! { #private::#rv<#dtype, #len, #private::#along> }
            }
            TypeRef::Tuple(parts, span) => {
                let parts = parts.iter().map(|t| self.written(t));
                quote_spanned! { *span => (#(#parts),*) }
            }
            TypeRef::Shared(s) => self.sym(&SymType::Shared(sym_shared(s)), s.span),
            TypeRef::Own(rows, cols, span) => self.sym(&SymType::Own(rows.clone(), cols.clone()), *span),
        }
    }

    /// Prints a block with its braces.
    pub fn block(&self, block: &Block) -> TokenStream {
        let stmts = block.stmts.iter().map(|s| self.stmt(s));
        let tail = block.tail.as_ref().map(|e| self.expr(e));
        quote! { { #(#stmts)* #tail } }
    }

    fn stmt(&self, stmt: &Stmt) -> TokenStream {
        match stmt {
            // Every variable is `mut` here: whether it may be is for the user's own copy to say, once.
            Stmt::Let { name, ty, value, .. } => {
                let written = ty.as_ref().map(|t| self.written(t));
                let written = written.map(|t| quote!(: #t));
                let witness = self.witnesses.get(&value.id).map(|sym| self.witness(name, sym));
                let value = self.expr(value);
                let mutable = quote_spanned!(name.span() => mut);
                quote! { let #mutable #name #written = #value; #witness }
            }
            Stmt::LetTuple { names, ty, value } => {
                let written = ty.as_ref().map(|t| self.written(t));
                let written = written.map(|t| quote!(: #t));
                let (id, value) = (value.id, self.expr(value));
                let types = match self.witnesses.get(&id) {
                    Some(SymType::Tuple(types)) => &types[..],
                    Some(_) | None => &[],
                };
                let witnesses: Vec<TokenStream> = (names.iter().zip(types))
                    .filter_map(|(name, sym)| name.as_ref().map(|name| self.witness(name, sym)))
                    .collect();
                let names = names.iter().map(|name| match name {
                    None => quote!(_),
                    Some(name) => {
                        let mutable = quote_spanned!(name.span() => mut);
                        quote!(#mutable #name)
                    }
                });
                quote! { let (#(#names),*) #written = #value; #(#witnesses)* }
            }
            Stmt::Assign { name, op, value } => {
                let value = self.expr(value);
                match op {
                    None => {
                        let place = self.place(name);
                        quote! { #place = #value; }
                    }
                    Some(op) => {
                        let (f, private) = (ident(op.name(), name.span()), self.at_token(name.span()));
                        quote! { #name = #private::scalar::#f(#name, #value); }
                    }
                }
            }
            Stmt::For { counter, lo, hi, step, body, span, unroll: _ } => {
                let (lo, hi, body) = (self.expr(lo), self.expr(hi), self.block(body));
                let counter = counter.as_ref().map_or(quote!(_), |c| quote_spanned!(c.span() => mut #c));
                let range = match step {
                    None => quote!(#lo..#hi),
                    Some(e) => {
                        let step = size_expr(e);
                        quote!((#lo..#hi).step_by(#step))
                    }
                };
                quote_spanned! { *span => for #counter in #range #body }
            }
            Stmt::While { cond, body, span } => {
                let (cond, body) = (self.expr(cond), self.block(body));
                quote_spanned! { *span => while #cond #body }
            }
            Stmt::Break(span) => quote_spanned! { *span => break; },
            Stmt::Continue(span) => quote_spanned! { *span => continue; },
            Stmt::Return(span) => quote_spanned! { *span => return; },
            Stmt::Expr(e) => {
                let e = self.expr(e);
                quote! { #e; }
            }
        }
    }

    fn scalar_fn(&self, name: &str, span: Span, args: &[&Expr]) -> TokenStream {
        let private = self.at_token(span);
        let f = ident(name, span);
        let args = args.iter().map(|e| self.expr(e));
        quote_spanned! { span => #private::scalar::#f(#(#args),*) }
    }

    pub(crate) fn expr(&self, e: &Expr) -> TokenStream {
        let span = e.span;
        match &e.kind {
            ExprKind::Int(v, suffix) => int(*v, *suffix, span),
            ExprKind::Float(v) if !v.is_finite() => {
                let name = match v.is_nan() {
                    true => "NAN",
                    false if *v > 0.0 => "INFINITY",
                    false => "NEG_INFINITY",
                };
                let name = ident(name, span);
                quote_spanned!(span => ::core::primitive::f32::#name)
            }
            ExprKind::Float(v) => {
                let mut lit = Literal::f32_suffixed(v.abs());
                lit.set_span(span);
                if v.is_sign_negative() { quote!((-#lit)) } else { quote!(#lit) }
            }
            ExprKind::Bool(b) => {
                let b = ident(if *b { "true" } else { "false" }, span);
                quote!(#b)
            }
            ExprKind::Name(name) | ExprKind::Flag(name) => quote!(#name),
            ExprKind::SizeCompare(op, a, b) => {
                let (a, b) = (size_expr(a), size_expr(b));
                let op: TokenStream = match op {
                    tile_ir::scalar::Compare::Eq => quote!(==),
                    tile_ir::scalar::Compare::Ne => quote!(!=),
                    tile_ir::scalar::Compare::Lt => quote!(<),
                    tile_ir::scalar::Compare::Le => quote!(<=),
                    tile_ir::scalar::Compare::Gt => quote!(>),
                    tile_ir::scalar::Compare::Ge => quote!(>=),
                };
                quote_spanned! { span => (#a #op #b) }
            }
            ExprKind::SizeCast(size, ty) => {
                let (size, ty) = (size_expr(size), scalar_path(*ty, span));
                quote_spanned! { span => (#size as #ty) }
            }
            ExprKind::Paren(inner) => {
                let inner = self.expr(inner);
                quote!((#inner))
            }
            ExprKind::Unary(op, inner) => match (op, &inner.kind) {
                (Unary::Neg, ExprKind::Int(v, suffix)) => {
                    let lit = int(*v, *suffix, inner.span);
                    quote!((-#lit))
                }
                (op, _) => self.scalar_fn(op.name(), span, &[inner]),
            },
            ExprKind::Binary(op, a, b) => self.scalar_fn(op.name(), span, &[a, b]),
            ExprKind::Logic(and, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                if *and { quote!((#a && #b)) } else { quote!((#a || #b)) }
            }
            ExprKind::Compare(op, a, b) => self.scalar_fn(op.name(), span, &[a, b]),
            ExprKind::Cast(inner, ty, ty_span) => {
                let private = self.at_token(span);
                let path = scalar_path(*ty, *ty_span);
                let value = match plain_int(inner) {
                    // As inference does: a bare literal before `as` has the integer type it is converted to.
                    Some((v, None)) if ty.is_integer() => int(v, Some(*ty), inner.span),
                    Some(_) | None => self.expr(inner),
                };
                let cast = ident("cast", span);
                quote_spanned! { span => #private::scalar::#cast::<#path>(#value) }
            }
            ExprKind::Tuple(parts) => {
                let parts = parts.iter().map(|e| self.expr(e));
                quote_spanned! { span => (#(#parts),*) }
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::If { cond, then, otherwise } => {
                let (cond, then) = (self.expr(cond), self.block(then));
                let otherwise = otherwise.as_ref().map(|b| {
                    let b = self.block(b);
                    quote!(else #b)
                });
                quote! { if #cond #then #otherwise }
            }
            ExprKind::Method { receiver, method, name, parens } => {
                self.method(e.id, receiver, method, name, *parens)
            }
            ExprKind::Call(call) => self.call(call),
        }
    }

    fn part_index(&self, index: &PartIndex) -> TokenStream {
        match index {
            PartIndex::Size(size) => size_expr(size),
            PartIndex::Scalar(e) => self.expr(e),
        }
    }

    fn method(&self, id: u32, receiver: &Expr, method: &Method, name: &Ident, around: Span) -> TokenStream {
        let span = name.span();
        if let Method::Closure(closure) = method {
            return self.closure(receiver, closure, name, around);
        }
        let receiver = self.expr(receiver);
        let list = |args: &[Expr]| {
            let args = args.iter().map(|e| self.expr(e));
            quote_spanned!(span => #(#args),*)
        };
        let (generic, argument) = match method {
            Method::Part | Method::Outside | Method::Transpose | Method::Vector(_) | Method::Closure(_) => {
                (None, TokenStream::new())
            }
            Method::SubTile { rows, cols, at } => {
                let (rows, cols) = (self.size(rows), self.size(cols));
                let [i, j] = [self.part_index(&at[0]), self.part_index(&at[1])];
                (Some(quote_spanned!(name.span() => ::<#rows, #cols>)), quote_spanned!(span => #i, #j))
            }
            Method::SetSubTile { part, at } => {
                let part = self.borrowed(part);
                let [i, j] = [self.part_index(&at[0]), self.part_index(&at[1])];
                (None, quote_spanned!(span => &#part, #i, #j))
            }
            Method::TopK(call) => self.top_k(call, span),
            Method::Tiles(_, size) => (None, size_expr(size)),
            Method::To(dtype) => {
                let dtype = self.dtype(dtype);
                (Some(quote_spanned!(name.span() => ::<#dtype>)), TokenStream::new())
            }
            Method::Scale(by) => (None, self.expr(by)),
            Method::MapUnary(_) | Method::Reduce(_, _, None) => (None, TokenStream::new()),
            Method::MapBinary(_, _, operand) => match &**operand {
                Operand::Value(e) => (None, self.expr(e)),
                Operand::Reference(e) => {
                    let e = self.borrowed(e);
                    (None, quote_spanned!(span => &#e))
                }
            },
            Method::Reduce(_, _, Some(running)) => {
                let running = self.borrowed(running);
                (None, quote_spanned!(span => &#running))
            }
            Method::Choose(_, operands) => {
                let operands = operands.iter().map(|operand| match operand {
                    Operand::Value(e) => self.expr(e),
                    Operand::Reference(e) => {
                        let e = self.borrowed(e);
                        quote_spanned!(span => &#e)
                    }
                });
                (None, quote_spanned!(span => #(#operands),*))
            }
            Method::Keep(_, args) => (None, list(&args[..])),
            Method::Triangle(_, args) => (None, list(&args[..])),
        };
        if self.scalar_maps.contains(&id) {
            // On a scalar the method is a scalar op, whose meaning is the table's and not that of Rust's f32.
            let private = self.at_token(span);
            let comma = (!argument.is_empty()).then(|| quote!(,));
            let arguments = parens(quote!(#receiver #comma #argument), around);
            return quote_spanned!(span => #private::scalar::#name #arguments);
        }
        let arguments = parens(argument, around);
        quote_spanned!(span => #receiver.#name #generic #arguments)
    }

    pub(crate) fn at(&self, at: &At) -> TokenStream {
        match at {
            At::Own(name) => quote!(#name),
            At::List { coords, elements, span } => {
                let coords = coords.iter().map(|c| match plain_int(c) {
                    Some((v, None)) => int(v, Some(ScalarType::U32), c.span),
                    Some(_) | None => self.expr(c),
                });
                let list = quote_spanned! { *span => [#(#coords),*] };
                if *elements {
                    let private = self.at_token(*span);
                    quote_spanned! { *span => #private::elements(#list) }
                } else {
                    list
                }
            }
        }
    }

    /// A borrowed operand: what is a reference already is borrowed again.
    pub(crate) fn borrowed(&self, e: &Expr) -> TokenStream {
        let text = self.expr(e);
        match &e.kind {
            ExprKind::Name(name) if self.references.contains(name) => quote!(*#text),
            _ => text,
        }
    }

    /// The place behind a variable.
    fn place(&self, name: &Ident) -> TokenStream {
        if self.references.contains(name) { quote!(*#name) } else { quote!(#name) }
    }

    /// `&` where the user's argument number `i` of those with one has it.
    pub(crate) fn borrow(&self, call: &Call, i: usize) -> TokenStream {
        let span = call.borrows.get(i).copied().unwrap_or(call.name.span());
        quote_spanned! { span => & }
    }

    fn call(&self, call: &Call) -> TokenStream {
        let name = &call.name;
        let span = name.span();
        let private = self.at_token(span);
        let (path, arguments) = match &call.op {
            CallOp::Zeros => (quote_spanned! { span => #private::ops::source::#name }, TokenStream::new()),
            CallOp::Place(place) => {
                let (f, cx) = (ident(&format!("{}_in", place.name()), span), context());
                (quote_spanned! { span => #private::ops::place::#f }, quote!(#cx))
            }
            CallOp::OwnTile { rows, cols, global, order, order_span } => {
                let (rows, cols, cx) = (self.size(rows), self.size(cols), context());
                let order_path = self.at_token(*order_span);
                let order = match order {
                    OrderRef::Upward => quote_spanned! { *order_span => #order_path::Upward },
                    OrderRef::Linear => quote_spanned! { *order_span => #order_path::Linear },
                    OrderRef::Snake(width) => {
                        let width = self.expr(width);
                        quote_spanned! { *order_span => #order_path::Snake(#width) }
                    }
                };
                let path = quote_spanned! { span => #private::ops::place::own_tile_in::<#rows, #cols> };
                (path, quote!(#cx, #global, #order))
            }
            CallOp::Function(function) => {
                let cx = context();
                let callee = self.callees.get(function.index);
                let alias = callee.map(|f| ident(&f.alias.to_string(), span));
                let from = callee.is_some_and(|f| f.beside).then(|| quote_spanned!(span => super::));
                let generics = function.generics.iter().map(|g| match g {
                    GenericArg::Type(d) => self.dtype(d),
                    GenericArg::Size(s) => self.size(s),
                    GenericArg::Flag(b) => quote!(#b),
                    GenericArg::FlagParam(name) => quote!(#name),
                });
                let generics = (!function.generics.is_empty()).then(|| quote!(::<#(#generics),*>));
                let moves = |i: usize| callee.is_some_and(|f| f.moves.get(i) == Some(&true));
                let args = function.args.iter().enumerate().map(|(i, a)| match a {
                    // A move is for the user's own copy to judge, once.
                    FunctionArg::Value(Expr { kind: ExprKind::Name(name), .. }) if moves(i) => {
                        quote_spanned!(span => ::core::clone::Clone::clone(&#name))
                    }
                    FunctionArg::Reference(e) => {
                        let e = self.borrowed(e);
                        quote_spanned!(span => &#e)
                    }
                    FunctionArg::Mutable(name) => {
                        let place = self.place(name);
                        quote_spanned!(span => &mut #place)
                    }
                    FunctionArg::Given(name) => quote!(#name),
                    FunctionArg::Value(e) => self.expr(e),
                });
                (quote_spanned! { span => #from #alias::body #generics }, quote!(#cx, #(#args),*))
            }
            CallOp::Group(group) => return self.group_call(call, group),
            CallOp::Fill(value) => {
                (quote_spanned! { span => #private::ops::source::#name }, self.expr(value))
            }
            CallOp::Iota(_, start) => {
                (quote_spanned! { span => #private::ops::selection::#name }, self.expr(start))
            }
            CallOp::Load { global, at, .. } => {
                let at = self.at(at);
                (quote_spanned! { span => #private::ops::memory::#name }, quote!(#global, #at))
            }
            CallOp::LoadVector { global, at } | CallOp::LoadScalar { global, at } => {
                let at = self.at(at);
                (quote_spanned! { span => #private::ops::vector::#name }, quote!(#global, #at))
            }
            CallOp::Prefetch { tile, global, at, peers } => {
                let (tile, at) = (self.tile(tile), self.at(at));
                match peers {
                    None => {
                        let path = quote_spanned! { span => #private::ops::memory::#name::<#tile> };
                        (path, quote!(#global, #at))
                    }
                    Some((peers, who_span)) => {
                        let cx = context();
                        let who = ident(
                            match peers {
                                Peers::Row => "Row",
                                Peers::Col => "Col",
                            },
                            *who_span,
                        );
                        let path =
                            quote_spanned! { span => #private::ops::memory::prefetch_load_coop_in::<#tile> };
                        (path, quote!(#cx, #global, #at, #private::Peers::#who))
                    }
                }
            }
            CallOp::Store { global, tile, at, .. }
            | CallOp::StoreTranspose { global, tile, at }
            | CallOp::StoreVector { global, vector: tile, at, .. }
            | CallOp::AtomicAdd { global, value: tile, at, .. } => {
                let (tile, at, borrow) = (self.borrowed(tile), self.at(at), self.borrow(call, 0));
                (quote_spanned! { span => #private::ops::memory::#name }, quote!(#global, #borrow #tile, #at))
            }
            CallOp::Mma { acc, a, b, .. } => {
                let (acc, a, b) = (self.place(acc), self.borrowed(a), self.borrowed(b));
                let borrows = [0, 1, 2].map(|i| self.borrow(call, i));
                let [to_acc, to_a, to_b] = &borrows;
                let path = quote_spanned! { span => #private::ops::mma::#name };
                (path, quote!(#to_acc mut #acc, #to_a #a, #to_b #b))
            }
        };
        let arguments = parens(arguments, call.parens);
        let call_text = quote! { #path #arguments };
        match &call.op {
            CallOp::Store { owned: false, .. } | CallOp::StoreVector { owned: false, .. } => {
                quote_spanned! { span => unsafe { #call_text } }
            }
            _ => call_text,
        }
    }
}

/// A bare integer literal, through parentheses.
pub(crate) fn plain_int(e: &Expr) -> Option<(u64, Option<ScalarType>)> {
    match &e.kind {
        ExprKind::Int(v, suffix) => Some((*v, *suffix)),
        ExprKind::Paren(inner) => plain_int(inner),
        ExprKind::Float(_)
        | ExprKind::Bool(_)
        | ExprKind::Name(_)
        | ExprKind::Flag(_)
        | ExprKind::SizeCompare(..)
        | ExprKind::SizeCast(..)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Logic(..)
        | ExprKind::Compare(..)
        | ExprKind::Cast(..)
        | ExprKind::Tuple(_)
        | ExprKind::Block(_)
        | ExprKind::If { .. }
        | ExprKind::Method { .. }
        | ExprKind::Call(_) => None,
    }
}

pub(crate) fn int(v: u64, suffix: Option<ScalarType>, span: Span) -> TokenStream {
    let mut lit = match suffix {
        Some(ScalarType::U64) => Literal::u64_suffixed(v),
        Some(ScalarType::U32) if u32::try_from(v).is_ok() => Literal::u32_suffixed(v as u32),
        Some(ScalarType::I32) if i32::try_from(v).is_ok() => Literal::i32_suffixed(v as i32),
        Some(ScalarType::U32 | ScalarType::I32 | ScalarType::F32 | ScalarType::Bool) | None => {
            Literal::u64_unsuffixed(v)
        }
    };
    lit.set_span(span);
    quote!(#lit)
}

/// A size expression as plain `usize` arithmetic.
pub fn size_expr(e: &SizeExpr) -> TokenStream {
    match e {
        SizeExpr::Param(name) => quote!(#name),
        SizeExpr::Literal(v, span) => {
            let mut lit = Literal::u64_unsuffixed(*v);
            lit.set_span(*span);
            quote!(#lit)
        }
        SizeExpr::Op(op, a, b, span) => {
            let (a, b) = (size_expr(a), size_expr(b));
            let op: TokenStream = match op {
                Binary::Add => quote!(+),
                Binary::Sub => quote!(-),
                Binary::Mul => quote!(*),
                Binary::Div => quote!(/),
                Binary::Rem => quote!(%),
                Binary::And => quote!(&),
                Binary::Or => quote!(|),
                Binary::Xor => quote!(^),
                Binary::Shl => quote!(<<),
                Binary::Shr => quote!(>>),
                Binary::Min => return quote_spanned! { *span => ::core::cmp::Ord::min(#a, #b) },
                Binary::Max => return quote_spanned! { *span => ::core::cmp::Ord::max(#a, #b) },
            };
            quote_spanned! { *span => (#a #op #b) }
        }
    }
}
