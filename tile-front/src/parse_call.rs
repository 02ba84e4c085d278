//! Owns the syntax of op calls and methods.
//!
//! *Guarantees*: a [`Call`] has the arguments its op takes, by form; an unknown name gets an error with the
//! nearest op. *Not here*: whether the arguments have the right types (`infer`).

use proc_macro2::{Ident, Span};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr as SynExpr, ExprCall, ExprMethodCall, GenericArgument, PathArguments, Token};

use crate::ast::{
    At, Call, CallOp, Choose, Expr, ExprKind, FunctionArg, FunctionCall, GenericArg, Method, Operand,
    OrderRef, VectorMethod,
};
use crate::decl::{parse_dtype, parse_size, parse_tile, path_name};
use crate::parse::{Parser, strip};
use crate::parse_closure::CLOSURE_METHODS;
use crate::parse_group::{GROUP_OPS, group_arguments};
use tile_ir::error::Code;
use tile_ir::ir::{LoadForm, Peers, Place, Reduction};
use tile_ir::map::{MapBinary, MapUnary};
use tile_ir::types::Along;

/// Every op that is called by name, with its form.
pub const OPS: &[(&str, &str)] = &[
    ("zeros", "zeros()"),
    ("fill", "fill(s)"),
    ("iota", "iota(start)"),
    ("iota_rows", "iota_rows(start)"),
    ("iota_cols", "iota_cols(start)"),
    ("load", "load(a, [row, col])"),
    ("load_vec", "load_vec(g, [row, i])"),
    ("load_scalar", "load_scalar(g, [row, col])"),
    ("load_transform", "load_transform(b, [row, col])"),
    ("load_transpose", "load_transpose(b, [row, col])"),
    ("prefetch_load", "prefetch_load::<rt<T, M, N>>(a, [row, col])"),
    ("prefetch_load_coop", "prefetch_load_coop::<rt<T, M, N>>(a, [row, col], Peers::Row)"),
    ("own_tile", "own_tile::<M, N>(c, Snake(8))"),
    ("store", "store(c, &tile, at)"),
    ("store_at", "store_at(c, &tile, [row, col])"),
    ("store_transpose", "store_transpose(c, &tile, at)"),
    ("store_vec", "store_vec(c, &v, at)"),
    ("store_vec_at", "store_vec_at(c, &v, [row, i])"),
    ("atomic_add", "atomic_add(c, &tile, [row, col])"),
    ("atomic_add_vec", "atomic_add_vec(c, &v, [row, i])"),
    ("mma_AB", "mma_AB(&mut acc, &a, &b)"),
    ("mma_ABt", "mma_ABt(&mut acc, &a, &b)"),
    ("subgroup_id", "subgroup_id()"),
    ("subgroup_row", "subgroup_row()"),
    ("subgroup_col", "subgroup_col()"),
];

/// Every method, with its form.
pub const METHODS: &[(&str, &str)] = &[
    ("batch", "g.batch()"),
    ("depth", "g.depth()"),
    ("rows", "g.rows()"),
    ("cols", "g.cols()"),
    ("pitch", "g.pitch()"),
    ("row", "at.row()"),
    ("col", "at.col()"),
    ("group_row", "at.group_row()"),
    ("group_col", "at.group_col()"),
    ("outside", "at.outside()"),
    ("row_tiles", "g.row_tiles(BM)"),
    ("col_tiles", "g.col_tiles(BN)"),
    ("to", "tile.to::<T>()"),
    ("scale", "tile.scale(s)"),
    ("keep_cols", "x.keep_cols(n, fill)"),
    ("keep_rows", "x.keep_rows(n, fill)"),
    ("tril", "x.tril(first_row, first_col, fill)"),
    ("triu", "x.triu(first_row, first_col, fill)"),
    ("row_argmax", "x.row_argmax()"),
    ("row_argmin", "x.row_argmin()"),
    ("col_argmax", "x.col_argmax()"),
    ("col_argmin", "x.col_argmin()"),
    ("argmax", "v.argmax()"),
    ("argmin", "v.argmin()"),
    ("reduce_max", "v.reduce_max()"),
    ("reduce_min", "v.reduce_min()"),
    ("reduce_sum", "v.reduce_sum()"),
    ("reduce_prod", "v.reduce_prod()"),
    ("to_per_row", "v.to_per_row()"),
    ("to_per_col", "v.to_per_col()"),
    ("transpose", "x.transpose()"),
    ("sub_tile", "x.sub_tile::<R, C>(i, j)"),
    ("set_sub_tile", "x.set_sub_tile(&part, i, j)"),
    ("row_topk", "x.row_topk::<P>(k)"),
    ("col_topk", "x.col_topk::<P>(k)"),
    ("row_topk_with", "x.row_topk_with(k, &values, &indices, base)"),
    ("col_topk_with", "x.col_topk_with(k, &values, &indices, base)"),
];

/// What a method of the op table is, by its name.
fn table_method(name: &str) -> Option<TableMethod> {
    if let Some(choose) = Choose::from_name(name) {
        return Some(TableMethod::Choose(choose));
    }
    if let Some(op) = MapUnary::from_name(name) {
        return Some(TableMethod::Unary(op));
    }
    if let Some(op) = MapBinary::from_name(name) {
        return Some(TableMethod::Binary(op, None));
    }
    for (along, prefix, suffix) in [(Along::Rows, "row_", "_row"), (Along::Cols, "col_", "_col")] {
        if let Some(op) = name.strip_suffix(suffix).and_then(MapBinary::from_name) {
            return Some(TableMethod::Binary(op, Some(along)));
        }
        let Some(rest) = name.strip_prefix(prefix) else { continue };
        let (rest, running) = rest.strip_suffix("_with").map_or((rest, false), |r| (r, true));
        if let Some(how) = Reduction::ALL.iter().find(|r| r.name() == rest) {
            return Some(TableMethod::Reduce(along, *how, running));
        }
    }
    None
}

/// A method whose name comes from the op table.
enum TableMethod {
    Unary(MapUnary),
    Binary(MapBinary, Option<Along>),
    Reduce(Along, Reduction, bool),
    Choose(Choose),
}

impl TableMethod {
    fn form(&self, name: &str) -> String {
        match self {
            TableMethod::Unary(_) | TableMethod::Reduce(_, _, false) => format!("x.{name}()"),
            TableMethod::Binary(_, None) => format!("x.{name}(&y)` or `x.{name}(s)"),
            TableMethod::Binary(_, Some(_)) => format!("x.{name}(&v)"),
            TableMethod::Reduce(_, _, true) => format!("x.{name}(&running)"),
            TableMethod::Choose(choose) => choose.form(name),
        }
    }
}

/// `1 part`, `3 parts`
pub(crate) fn count_of(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn nearest(name: &str, among: &[(&'static str, &'static str)]) -> Option<(&'static str, &'static str)> {
    among
        .iter()
        .map(|entry| (strsim::damerau_levenshtein(&name.to_lowercase(), &entry.0.to_lowercase()), *entry))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= (name.len() / 3).clamp(1, 3))
        .map(|(_, entry)| entry)
}

impl Parser<'_> {
    pub(crate) fn arguments<T>(
        &mut self,
        span: Span,
        form: &str,
        found: impl core::fmt::Display,
    ) -> Option<T> {
        self.diags.push(Code::Arguments, span, format!("the form is `{form}`; {found}"), "");
        None
    }

    /// Parses a call of an op.
    pub fn call(&mut self, c: &ExprCall) -> Option<Expr> {
        let SynExpr::Path(p) = &*c.func else {
            return self.refuse(c.func.span(), "calling a computed function", "call an op by its name");
        };
        let name = path_name(&p.path)?.clone();
        let text = name.to_string();
        if let Some(index) = self.functions.iter().position(|f| *f == text) {
            return self.function(c, p, index);
        }
        if self.own.as_ref().is_some_and(|own| *own == text) {
            self.diags.push(
                Code::Recursion,
                name.span(),
                format!("device functions do not call themselves; here `{text}` calls `{text}`"),
                "write the repetition as a `while` or `for`, which carry tiles, vectors and scalars",
            );
            return None;
        }
        let Some((_, form)) = OPS.iter().chain(GROUP_OPS).find(|(n, _)| *n == text) else {
            let ops = [OPS, GROUP_OPS].concat();
            let help = match nearest(&text, &ops) {
                // `f32::max(x, y)`
                _ if METHODS.iter().any(|(n, _)| *n == text) || table_method(&text).is_some() => {
                    format!(
                        "`{text}` is a method: write `x.{text}(..)`; device functions are listed in `fns(..)`"
                    )
                }
                Some((near, form)) => format!("did you mean `{near}`? Its form is `{form}`"),
                None if self.in_function => {
                    format!(
                        "a device function calls ops, and the functions it lists: `#[tile_fn(fns({text}))]`"
                    )
                }
                None => {
                    let all: Vec<&str> = ops.iter().map(|(n, _)| *n).collect();
                    format!("the ops are {}; device functions are listed in `fns(..)`", all.join(", "))
                }
            };
            self.diags.push(
                Code::UnknownOp,
                name.span(),
                format!("`{text}` is not an op of the kernel language"),
                help,
            );
            return None;
        };
        let generics: Vec<&GenericArgument> = match p.path.segments.last().map(|s| &s.arguments) {
            Some(PathArguments::AngleBracketed(a)) => a.args.iter().collect(),
            _ => vec![],
        };
        let op = self.call_op(&name, &text, form, &generics, &c.args)?;
        let borrows = c.args.iter().filter_map(|a| match strip(a) {
            SynExpr::Reference(r) => Some(r.and_token.span()),
            _ => None,
        });
        let (borrows, parens) = (borrows.collect(), c.paren_token.span.join());
        Some(self.expr(name.span(), ExprKind::Call(Box::new(Call { name, op, borrows, parens }))))
    }

    fn function(&mut self, c: &ExprCall, p: &syn::ExprPath, index: usize) -> Option<Expr> {
        let name = path_name(&p.path)?.clone();
        let written: Vec<&GenericArgument> = match p.path.segments.last().map(|s| &s.arguments) {
            Some(PathArguments::AngleBracketed(a)) => a.args.iter().collect(),
            _ => vec![],
        };
        let mut generics = vec![];
        for arg in written {
            let flag = match arg {
                GenericArgument::Const(SynExpr::Lit(l)) => match &l.lit {
                    syn::Lit::Bool(b) => Some(b.value),
                    _ => None,
                },
                _ => None,
            };
            let is_type = match arg {
                GenericArgument::Type(syn::Type::Path(t)) => t.path.get_ident().is_some_and(|i| {
                    tile_ir::types::DType::from_name(&i.to_string()).is_some()
                        || matches!(self.generic(i), Some(crate::ast::GenericKind::Type(_)))
                }),
                _ => false,
            };
            let flag_param = match arg {
                GenericArgument::Type(syn::Type::Path(t)) => t
                    .path
                    .get_ident()
                    .filter(|i| matches!(self.generic(i), Some(crate::ast::GenericKind::Flag)))
                    .cloned(),
                _ => None,
            };
            if let Some(name) = flag_param {
                generics.push(GenericArg::FlagParam(name));
                continue;
            }
            generics.push(match (flag, arg) {
                (Some(b), _) => GenericArg::Flag(b),
                (None, GenericArgument::Type(ty)) if is_type => {
                    GenericArg::Type(parse_dtype(ty, self.generics, self.diags)?)
                }
                (None, other) => GenericArg::Size(parse_size(other, self.generics, self.diags)?),
            });
        }
        let mut args = vec![];
        for arg in &c.args {
            args.push(match strip(arg) {
                SynExpr::Reference(r) if r.mutability.is_some() => {
                    let target = match strip(&r.expr) {
                        SynExpr::Path(p) => p.path.get_ident().cloned(),
                        SynExpr::Unary(u) if matches!(u.op, syn::UnOp::Deref(_)) => self.reference(&u.expr),
                        _ => None,
                    };
                    let Some(target) = target else {
                        return self.arguments(
                            r.and_token.span(),
                            "f(&mut x)",
                            "what is changed is a variable",
                        );
                    };
                    FunctionArg::Mutable(target)
                }
                SynExpr::Reference(r) => FunctionArg::Reference(self.parse_expr(&r.expr)?),
                other => match self.reference(other) {
                    Some(name) => FunctionArg::Given(name),
                    None => FunctionArg::Value(self.parse_expr(other)?),
                },
            });
        }
        let call = FunctionCall { index, generics, args };
        let parens = c.paren_token.span.join();
        let call = Call { name: name.clone(), op: CallOp::Function(call), borrows: vec![], parens };
        Some(self.expr(name.span(), ExprKind::Call(Box::new(call))))
    }

    fn call_op(
        &mut self,
        name: &Ident,
        text: &str,
        form: &str,
        generics: &[&GenericArgument],
        args: &Punctuated<SynExpr, Token![,]>,
    ) -> Option<CallOp> {
        let span = name.span();
        let count = match text {
            _ if group_arguments(text).is_some() => group_arguments(text).unwrap_or_default(),
            "zeros" | "subgroup_id" | "subgroup_row" | "subgroup_col" => 0,
            "fill" | "iota" | "iota_rows" | "iota_cols" => 1,
            "load" | "load_transform" | "load_transpose" | "load_vec" | "load_scalar" | "prefetch_load"
            | "own_tile" => 2,
            _ => 3,
        };
        if args.len() != count {
            return self.arguments(
                span,
                form,
                format_args!("here it has {}", count_of(args.len(), "argument")),
            );
        }
        if group_arguments(text).is_some() {
            return self.group_call(name, form, args);
        }
        if let Some(place) = Place::ALL.iter().find(|p| p.name() == text) {
            return Some(CallOp::Place(*place));
        }
        if let Some(load) = LoadForm::ALL.iter().find(|f| f.name() == text) {
            if let Some(extra) = generics.first() {
                return self.arguments(
                    extra.span(),
                    form,
                    "the tile's type is written on the `let`, not here",
                );
            }
            let global = self.global(&args[0], form)?;
            let at = self.at(&args[1], form)?;
            return Some(CallOp::Load { form: *load, global, at });
        }
        match text {
            "zeros" => Some(CallOp::Zeros),
            "fill" => Some(CallOp::Fill(self.parse_expr(&args[0])?)),
            "iota" => Some(CallOp::Iota(None, self.parse_expr(&args[0])?)),
            "iota_rows" => Some(CallOp::Iota(Some(Along::Rows), self.parse_expr(&args[0])?)),
            "iota_cols" => Some(CallOp::Iota(Some(Along::Cols), self.parse_expr(&args[0])?)),
            "load_vec" | "load_scalar" => {
                let global = self.global(&args[0], form);
                let at = self.at(&args[1], form);
                let (global, at) = (global?, at?);
                match (&at, text) {
                    (At::Own(name), "load_vec") => {
                        let found = "a vector's coordinate is a list or `elements([..])`";
                        return self.arguments(name.span(), form, found);
                    }
                    (At::Own(_) | At::List { elements: true, .. }, "load_scalar") => {
                        let found = "an element is named by a list, which counts elements";
                        return self.arguments(args[1].span(), form, found);
                    }
                    (At::Own(_) | At::List { .. }, _) => {}
                }
                Some(if text == "load_vec" {
                    CallOp::LoadVector { global, at }
                } else {
                    CallOp::LoadScalar { global, at }
                })
            }
            "own_tile" if self.in_function => {
                self.diags.push(
                    Code::Grid,
                    span,
                    "the kernel takes its grid from `own_tile`; here a device function calls it",
                    "call it in the kernel and pass `at.row()` and `at.col()` on",
                );
                None
            }
            "own_tile" => {
                let [rows, cols] = generics else {
                    return self.arguments(span, form, "the tile's rows and columns are missing");
                };
                let rows = parse_size(rows, self.generics, self.diags);
                let cols = parse_size(cols, self.generics, self.diags);
                let global = self.global(&args[0], form)?;
                let (order, order_span) = self.order(&args[1], form)?;
                Some(CallOp::OwnTile { rows: rows?, cols: cols?, global, order, order_span })
            }
            "prefetch_load" | "prefetch_load_coop" => {
                let [GenericArgument::Type(tile)] = generics else {
                    return self.arguments(span, form, "the tile's type is missing");
                };
                let tile = parse_tile(tile, self.generics, self.diags);
                let global = self.global(&args[0], form);
                let at = self.at(&args[1], form);
                let peers = match args.get(2) {
                    None => None,
                    Some(e) => Some(self.peers(e, form)?),
                };
                Some(CallOp::Prefetch { tile: tile?, global: global?, at: at?, peers })
            }
            "store_transpose" | "store_vec" | "store_vec_at" | "atomic_add" | "atomic_add_vec" => {
                self.scatter_call(text, form, args)
            }
            "store" | "store_at" => {
                let global = self.global(&args[0], form);
                let tile = self.tile_ref(&args[1], form);
                let at = self.at(&args[2], form);
                Some(CallOp::Store { global: global?, tile: tile?, at: at?, owned: text == "store" })
            }
            _ => {
                let acc = match &args[0] {
                    SynExpr::Reference(r) if r.mutability.is_some() => match strip(&r.expr) {
                        SynExpr::Path(p) => p.path.get_ident().cloned(),
                        _ => None,
                    },
                    other => self.reference(other),
                };
                let Some(acc) = acc else {
                    return self.arguments(args[0].span(), form, "the accumulator is `&mut` and a variable");
                };
                let a = self.tile_ref(&args[1], form);
                let b = self.tile_ref(&args[2], form);
                Some(CallOp::Mma { acc, a: a?, b: b?, transposed: text == "mma_ABt" })
            }
        }
    }

    pub(crate) fn global(&mut self, e: &SynExpr, form: &str) -> Option<Ident> {
        let inner = match strip(e) {
            SynExpr::Reference(r) => strip(&r.expr),
            other => other,
        };
        if let SynExpr::Path(p) = inner
            && let Some(ident) = p.path.get_ident()
        {
            return Some(ident.clone());
        }
        self.arguments(e.span(), form, "the tensor is a `gl` parameter of the kernel, by name")
    }

    pub(crate) fn tile_ref(&mut self, e: &SynExpr, form: &str) -> Option<Expr> {
        if self.reference(e).is_some() {
            return self.parse_expr(e);
        }
        let SynExpr::Reference(r) = strip(e) else {
            return self.arguments(e.span(), form, "a tile is passed by reference: `&x`");
        };
        self.parse_expr(&r.expr)
    }

    fn peers(&mut self, e: &SynExpr, form: &str) -> Option<(Peers, Span)> {
        if let SynExpr::Path(p) = strip(e)
            && let Some(name) = path_name(&p.path)
        {
            if name == "Row" {
                return Some((Peers::Row, name.span()));
            }
            if name == "Col" {
                return Some((Peers::Col, name.span()));
            }
        }
        self.arguments(
            e.span(),
            form,
            "who shares the tile is `Peers::Row` (same left operand) or `Peers::Col` (same right operand)",
        )
    }

    fn order(&mut self, e: &SynExpr, form: &str) -> Option<(OrderRef, Span)> {
        const ORDERS: &str = "the order is `Linear`, `Upward` or `Snake(width)`";
        match strip(e) {
            SynExpr::Path(p) if path_name(&p.path).is_some_and(|n| n == "Linear") => {
                Some((OrderRef::Linear, p.path.span()))
            }
            SynExpr::Path(p) if path_name(&p.path).is_some_and(|n| n == "Upward") => {
                Some((OrderRef::Upward, p.path.span()))
            }
            SynExpr::Call(c) if c.args.len() == 1 => {
                let snake = match &*c.func {
                    SynExpr::Path(p) => path_name(&p.path).filter(|n| *n == "Snake"),
                    _ => None,
                };
                let Some(name) = snake else {
                    return self.arguments(c.func.span(), form, ORDERS);
                };
                let width = self.parse_expr(&c.args[0])?;
                Some((OrderRef::Snake(width), name.span()))
            }
            other => self.arguments(other.span(), form, ORDERS),
        }
    }

    pub(crate) fn at(&mut self, e: &SynExpr, form: &str) -> Option<At> {
        match strip(e) {
            SynExpr::Array(a) => {
                let span = a.bracket_token.span.open();
                if a.elems.len() != 2 && a.elems.len() != 4 {
                    return self.arguments(
                        span,
                        form,
                        format_args!(
                            "a coordinate is [row, col] or [batch, depth, row, col]; here it has {}",
                            count_of(a.elems.len(), "part")
                        ),
                    );
                }
                let coords: Vec<Option<Expr>> = a.elems.iter().map(|e| self.parse_expr(e)).collect();
                Some(At::List { coords: coords.into_iter().collect::<Option<_>>()?, elements: false, span })
            }
            SynExpr::Call(c) if c.args.len() == 1 => {
                let is_elements = match &*c.func {
                    SynExpr::Path(p) => path_name(&p.path).is_some_and(|n| n == "elements"),
                    _ => false,
                };
                if !is_elements {
                    return self.arguments(
                        c.func.span(),
                        form,
                        "a coordinate is a list, `elements([..])` or the value of `own_tile`",
                    );
                }
                match self.at(&c.args[0], form)? {
                    At::List { coords, span, .. } => Some(At::List { coords, elements: true, span }),
                    At::Own(name) => self.arguments(name.span(), form, "`elements` takes a list"),
                }
            }
            SynExpr::Path(p) if p.path.get_ident().is_some() => p.path.get_ident().cloned().map(At::Own),
            other => self.arguments(
                other.span(),
                form,
                "a coordinate is a list, `elements([..])` or the value of `own_tile`",
            ),
        }
    }

    /// Parses a method call.
    pub fn method(&mut self, m: &ExprMethodCall) -> Option<Expr> {
        let text = m.method.to_string();
        let span = m.method.span();
        let table = table_method(&text);
        self.typed_receiver(m)?;
        let form = match (&table, METHODS.iter().chain(CLOSURE_METHODS).find(|(n, _)| *n == text)) {
            (Some(table), _) => table.form(&text),
            (None, Some((_, form))) => (*form).to_string(),
            (None, None) => return self.unknown_method(&text, span),
        };
        let form = form.as_str();
        let count = match (&table, text.as_str()) {
            (Some(TableMethod::Unary(_) | TableMethod::Reduce(_, _, false)), _) => 0,
            (Some(TableMethod::Binary(..) | TableMethod::Reduce(_, _, true)), _) => 1,
            (Some(TableMethod::Choose(choose)), _) => choose.operands(),
            (None, "row_tiles" | "col_tiles" | "scale" | "map" | "row_topk" | "col_topk") => 1,
            (None, "keep_cols" | "keep_rows" | "sub_tile" | "zip") => 2,
            (None, "tril" | "triu" | "set_sub_tile") => 3,
            (None, "row_topk_with" | "col_topk_with") => 4,
            (None, _) => 0,
        };
        if m.args.len() != count {
            return self.arguments(
                span,
                form,
                format_args!("here it has {}", count_of(m.args.len(), "argument")),
            );
        }
        let receiver = self.parse_expr(&m.receiver);
        let method = match (table, text.as_str()) {
            (Some(TableMethod::Unary(op)), _) => Method::MapUnary(op),
            (Some(TableMethod::Binary(op, along)), _) => {
                let operand = match (strip(&m.args[0]), along) {
                    (SynExpr::Reference(r), _) => Operand::Reference(self.parse_expr(&r.expr)?),
                    (name, _) if self.reference(name).is_some() => Operand::Reference(self.parse_expr(name)?),
                    (other, None) => Operand::Value(self.parse_expr(other)?),
                    (other, Some(_)) => {
                        return self.arguments(other.span(), form, "a vector is passed by reference: `&v`");
                    }
                };
                Method::MapBinary(op, along, Box::new(operand))
            }
            (Some(TableMethod::Choose(choose)), _) => {
                let operands: Option<Vec<Operand>> =
                    m.args.iter().map(|arg| self.table_operand(arg)).collect();
                Method::Choose(choose, operands?)
            }
            (Some(TableMethod::Reduce(along, how, running)), _) => {
                let running = if running { Some(Box::new(self.tile_ref(&m.args[0], form)?)) } else { None };
                Method::Reduce(along, how, running)
            }
            (None, "row_tiles" | "col_tiles") => {
                let Some(size) = self.size(&m.args[0]) else {
                    let found = "the tile size is a `const` parameter or a literal";
                    return self.arguments(m.args[0].span(), form, found);
                };
                Method::Tiles(text == "row_tiles", size)
            }
            (None, "outside") => Method::Outside,
            (None, "to") => {
                let dtype = match &m.turbofish {
                    Some(t) if t.args.len() == 1 => match &t.args[0] {
                        GenericArgument::Type(ty) => Some(parse_dtype(ty, self.generics, self.diags)?),
                        _ => None,
                    },
                    _ => None,
                };
                match dtype {
                    Some(dtype) => Method::To(dtype),
                    None => return self.arguments(span, form, "the element type is missing"),
                }
            }
            (None, "scale") => Method::Scale(Box::new(self.parse_expr(&m.args[0])?)),
            (None, "keep_cols" | "keep_rows") => {
                let along = if text == "keep_cols" { Along::Cols } else { Along::Rows };
                let args = [self.parse_expr(&m.args[0]), self.parse_expr(&m.args[1])];
                let [Some(keep), Some(fill)] = args else { return None };
                Method::Keep(along, Box::new([keep, fill]))
            }
            (None, "tril" | "triu") => {
                let args =
                    [self.parse_expr(&m.args[0]), self.parse_expr(&m.args[1]), self.parse_expr(&m.args[2])];
                let [Some(row), Some(col), Some(fill)] = args else { return None };
                Method::Triangle(text == "tril", Box::new([row, col, fill]))
            }
            (None, "map" | "zip") => self.closure_method(m, form)?,
            (None, "transpose") => Method::Transpose,
            (None, "sub_tile") => self.sub_tile(m, form)?,
            (None, "set_sub_tile") => self.set_sub_tile(m, form)?,
            (None, "row_topk" | "row_topk_with" | "col_topk" | "col_topk_with") => {
                self.top_k(m, &text, form)?
            }
            (None, name) => VectorMethod::from_name(name).map_or(Method::Part, Method::Vector),
        };
        Some(self.expr(
            span,
            ExprKind::Method {
                receiver: Box::new(receiver?),
                method,
                name: m.method.clone(),
                parens: m.paren_token.span.join(),
            },
        ))
    }

    /// An operand of the op table: a tile or vector by reference, or a number.
    fn table_operand(&mut self, arg: &SynExpr) -> Option<Operand> {
        match strip(arg) {
            SynExpr::Reference(r) => Some(Operand::Reference(self.parse_expr(&r.expr)?)),
            name if self.reference(name).is_some() => Some(Operand::Reference(self.parse_expr(name)?)),
            other => Some(Operand::Value(self.parse_expr(other)?)),
        }
    }

    fn unknown_method<T>(&mut self, text: &str, span: Span) -> Option<T> {
        let help = if text.starts_with("wrapping_") {
            "scalar arithmetic always wraps; use the operator".to_string()
        } else {
            let maps =
                MapUnary::ALL.iter().map(|op| op.name()).chain(MapBinary::ALL.iter().map(|op| op.name()));
            let among: Vec<_> =
                METHODS.iter().chain(CLOSURE_METHODS).copied().chain(maps.map(|name| (name, ""))).collect();
            match nearest(text, &among) {
                Some((near, _)) if table_method(near).is_some() => {
                    let form = table_method(near).map(|m| m.form(near)).unwrap_or_default();
                    format!("did you mean `{near}`? Its form is `{form}`")
                }
                Some((near, form)) => format!("did you mean `{near}`? Its form is `{form}`"),
                None => {
                    let maps: Vec<&str> = MapUnary::ALL
                        .iter()
                        .map(|op| op.name())
                        .chain(MapBinary::ALL.iter().map(|op| op.name()))
                        .collect();
                    format!(
                        "the methods are those of `gl`, of `own_tile`'s value, `.to::<T>()`, `.scale(s)`, the element-wise ops ({}), \
                         the reductions (`row_max`, `col_sum`, ..) and the masks (`keep_cols`, `tril`, ..)",
                        maps.join(", ")
                    )
                }
            }
        };
        self.diags.push(
            Code::UnknownOp,
            span,
            format!("`.{text}()` is not a method of the kernel language"),
            help,
        );
        None
    }
}
