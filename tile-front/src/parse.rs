//! Owns the kernel body's syntax: from `syn` statements and expressions to the tree of `ast`.
//!
//! *Guarantees*: what is not in the language gets an error of its own that names the supported alternative,
//! and parsing goes on behind it. *Not here*: statements (`parse_stmt`), `match` (`parse_match`), calls of ops and
//! methods (`parse_call`), types (`decl`), meaning (`infer`).

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::{BinOp, Expr as SynExpr, Lit, Type, UnOp};

use crate::ast::{Block, Expr, ExprKind, GenericKind, GenericParam, SizeExpr};
use crate::decl::path_name;
use crate::diag::Diags;
use tile_ir::error::Code;
use tile_ir::scalar::{Binary, Compare, Unary};
use tile_ir::types::ScalarType;

/// How deep expressions and blocks may nest: far beyond any kernel, and within the stack of every thread that
/// rustc runs macros on, whose parsers recurse too.
pub(crate) const MAX_DEPTH: u32 = 64;

/// How many operators one expression may chain: `a + b + ..` nests as deep as it is long.
const MAX_LINKS: u32 = 256;

/// Finds a token at which brackets nest, or operators chain, beyond what the language allows. Runs before
/// `syn`, which would overflow the stack.
pub fn too_deep(tokens: &TokenStream) -> Option<Span> {
    let mut pending = vec![(tokens.clone(), 0)];
    while let Some((stream, depth)) = pending.pop() {
        let mut links = 0;
        let mut after_block = false;
        for token in stream {
            let ends_statement = after_block && !matches!(&token, TokenTree::Ident(i) if i == "else");
            if ends_statement {
                links = 0;
            }
            after_block = false;
            match &token {
                TokenTree::Group(group) => {
                    if depth >= MAX_DEPTH {
                        return Some(group.span_open());
                    }
                    after_block = group.delimiter() == Delimiter::Brace;
                    pending.push((group.stream(), depth + 1));
                }
                TokenTree::Punct(punct) if matches!(punct.as_char(), ';' | ',') => links = 0,
                TokenTree::Punct(_) => links += 1,
                TokenTree::Ident(ident) if ident == "else" || ident == "as" => links += 1,
                TokenTree::Ident(_) | TokenTree::Literal(_) => {}
            }
            if links > MAX_LINKS {
                return Some(token.span());
            }
        }
    }
    None
}

/// Parses one kernel body.
pub struct Parser<'a> {
    /// The kernel's generic parameters.
    pub generics: &'a [GenericParam],
    /// Where errors go.
    pub diags: &'a mut Diags,
    /// Number of expressions so far.
    pub exprs: u32,
    /// True in an `unsafe fn`, where `unsafe` blocks are plain blocks.
    pub is_unsafe: bool,
    /// True in a device function, which ends at its end.
    pub in_function: bool,
    /// Parameters of a device function that are tiles or vectors passed by reference: they are used without `&`.
    pub references: Vec<Ident>,
    /// The name of the device function whose body it is.
    pub own: Option<Ident>,
    /// Names of the device functions the body may call.
    pub functions: &'a [Ident],
    /// Calls of `shared` so far.
    pub shared: usize,
    pub(crate) depth: u32,
}

impl<'a> Parser<'a> {
    /// Makes a parser.
    pub fn new(generics: &'a [GenericParam], diags: &'a mut Diags) -> Parser<'a> {
        Parser {
            generics,
            diags,
            exprs: 0,
            is_unsafe: false,
            in_function: false,
            references: vec![],
            own: None,
            functions: &[],
            shared: 0,
            depth: 0,
        }
    }

    /// Makes an expression with a number of its own.
    pub fn expr(&mut self, span: Span, kind: ExprKind) -> Expr {
        self.exprs += 1;
        Expr { id: self.exprs - 1, span, kind }
    }

    /// `a && b` (`and`) or `a || b`. A right operand that may do more than compute becomes a branch of an `if`, so that it runs
    /// only where Rust runs it.
    pub fn logic(&mut self, span: Span, and: bool, a: Expr, b: Expr) -> Expr {
        if b.only_computes() {
            return self.expr(span, ExprKind::Logic(and, Box::new(a), Box::new(b)));
        }
        let known = self.expr(b.span, ExprKind::Bool(!and));
        let block = |tail| Block { stmts: vec![], tail: Some(Box::new(tail)) };
        let (then, otherwise) = if and { (block(b), block(known)) } else { (block(known), block(b)) };
        self.expr(span, ExprKind::If { cond: Box::new(a), then, otherwise: Some(otherwise) })
    }

    /// Reports a construct the language does not have.
    pub fn refuse<T>(&mut self, span: Span, what: &str, help: &str) -> Option<T> {
        self.diags.push(Code::Construct, span, format!("{what} is not part of the kernel language"), help);
        None
    }

    /// The kind of a generic parameter, if `name` is one.
    pub fn generic(&self, name: &Ident) -> Option<GenericKind> {
        self.generics.iter().find(|g| g.name == *name).map(|g| g.kind)
    }

    /// Reads an expression that is a size: `const` parameters and literals with integer operators, `min` and `max`.
    pub fn size(&self, e: &SynExpr) -> Option<SizeExpr> {
        match strip(e) {
            SynExpr::Path(p) => {
                let ident = p.path.get_ident()?;
                (self.generic(ident) == Some(GenericKind::Size)).then(|| SizeExpr::Param(ident.clone()))
            }
            SynExpr::Lit(l) => match &l.lit {
                Lit::Int(int) if matches!(int.suffix(), "" | "usize") => {
                    int.base10_parse().ok().map(|v| SizeExpr::Literal(v, int.span()))
                }
                _ => None,
            },
            SynExpr::Binary(b) => {
                let op = arithmetic(&b.op)?;
                let (lhs, rhs) = (self.size(&b.left)?, self.size(&b.right)?);
                Some(SizeExpr::Op(op, Box::new(lhs), Box::new(rhs), b.op.span()))
            }
            SynExpr::MethodCall(m) if m.args.len() == 1 => {
                let op = match m.method.to_string().as_str() {
                    "min" => Binary::Min,
                    "max" => Binary::Max,
                    _ => return None,
                };
                let (lhs, rhs) = (self.size(&m.receiver)?, self.size(&m.args[0])?);
                Some(SizeExpr::Op(op, Box::new(lhs), Box::new(rhs), m.method.span()))
            }
            _ => None,
        }
    }

    /// A size expression that names at least one size parameter (a lone literal is an ordinary number).
    fn named_size(&self, e: &SynExpr) -> Option<SizeExpr> {
        fn names(e: &SizeExpr) -> bool {
            match e {
                SizeExpr::Param(_) => true,
                SizeExpr::Literal(..) => false,
                SizeExpr::Op(_, a, b, _) => names(a) || names(b),
            }
        }
        self.size(e).filter(names)
    }

    /// Parses an expression.
    pub fn parse_expr(&mut self, e: &SynExpr) -> Option<Expr> {
        self.depth += 1;
        let out = if self.depth > MAX_DEPTH {
            self.diags.push(
                Code::Construct,
                e.span(),
                format!("expressions nest at most {MAX_DEPTH} deep"),
                "use `let`",
            );
            None
        } else {
            self.parse_expr_kind(e)
        };
        self.depth -= 1;
        out
    }

    fn parse_expr_kind(&mut self, e: &SynExpr) -> Option<Expr> {
        if let Some(size) = self.named_size(e) {
            let span = size_span(&size);
            let shown = match &size {
                SizeExpr::Param(name) => format!("{name} as u32"),
                SizeExpr::Literal(..) | SizeExpr::Op(..) => "(BM / 2) as u32".to_string(),
            };
            self.diags.push(
                Code::Mismatch,
                span,
                "a size is `usize`, which is not a scalar type of a kernel",
                format!("convert it: `{shown}`"),
            );
            return None;
        }
        match e {
            SynExpr::Lit(l) => self.literal(&l.lit),
            SynExpr::Paren(p) => {
                let inner = self.parse_expr(&p.expr)?;
                Some(self.expr(inner.span, ExprKind::Paren(Box::new(inner))))
            }
            SynExpr::Group(g) => self.parse_expr(&g.expr),
            SynExpr::Path(p) => {
                if let Some(value) = float_constant(&p.path) {
                    return Some(self.expr(p.path.span(), ExprKind::Float(value)));
                }
                let Some(ident) = p.path.get_ident() else {
                    self.diags.push(
                        Code::FreeName,
                        p.path.span(),
                        "a path is not a value of the kernel language",
                        "pass the value as a scalar parameter or write the literal; of constants there are `f32::INFINITY`, \
                         `f32::NEG_INFINITY` and `f32::NAN`",
                    );
                    return None;
                };
                let kind = match self.generic(ident) {
                    Some(GenericKind::Flag) => ExprKind::Flag(ident.clone()),
                    Some(GenericKind::Size | GenericKind::Type(_)) | None => ExprKind::Name(ident.clone()),
                };
                Some(self.expr(ident.span(), kind))
            }
            SynExpr::Unary(u) => {
                let op = match u.op {
                    UnOp::Neg(_) => Unary::Neg,
                    UnOp::Not(_) => Unary::Not,
                    _ => {
                        return self.refuse(u.op.span(), "dereferencing", "kernel values are not references");
                    }
                };
                if let (Unary::Neg, SynExpr::Lit(l)) = (op, strip(&u.expr))
                    && let Lit::Float(f) = &l.lit
                {
                    let value = self.float(f)?;
                    return Some(self.expr(f.span(), ExprKind::Float(-value)));
                }
                let value = self.parse_expr(&u.expr)?;
                Some(self.expr(u.op.span(), ExprKind::Unary(op, Box::new(value))))
            }
            SynExpr::Binary(b) => self.binary(b),
            SynExpr::Cast(c) => {
                let target = match &*c.ty {
                    Type::Path(p) => path_name(&p.path).and_then(|i| ScalarType::from_name(&i.to_string())),
                    _ => None,
                };
                let Some(target) = target else {
                    return self.refuse(
                        c.ty.span(),
                        "converting to this type",
                        "scalars are u32, i32, u64, f32, bool",
                    );
                };
                if let Some(size) = self.named_size(&c.expr) {
                    return Some(self.expr(c.as_token.span(), ExprKind::SizeCast(size, target)));
                }
                let value = self.parse_expr(&c.expr)?;
                Some(self.expr(c.as_token.span(), ExprKind::Cast(Box::new(value), target, c.ty.span())))
            }
            SynExpr::Block(b) if b.label.is_none() => {
                let block = self.block(&b.block);
                Some(self.expr(b.block.brace_token.span.open(), ExprKind::Block(block)))
            }
            SynExpr::If(i) => self.if_expr(i),
            SynExpr::Call(c) => self.call(c),
            SynExpr::MethodCall(m) => self.method(m),
            SynExpr::Match(m) => self.match_expr(m),
            SynExpr::Tuple(t) if t.elems.len() > 1 => {
                let parts: Vec<Option<Expr>> = t.elems.iter().map(|e| self.parse_expr(e)).collect();
                let parts = parts.into_iter().collect::<Option<_>>()?;
                Some(self.expr(t.paren_token.span.open(), ExprKind::Tuple(parts)))
            }
            SynExpr::Unsafe(u) if self.is_unsafe => {
                let block = self.block(&u.block);
                Some(self.expr(u.unsafe_token.span(), ExprKind::Block(block)))
            }
            other => {
                let (span, what, help) = refusal(other);
                self.refuse(span, what, help)
            }
        }
    }

    fn binary(&mut self, b: &syn::ExprBinary) -> Option<Expr> {
        let span = b.op.span();
        if let Some(op) = comparison(&b.op) {
            if (self.named_size(&b.left).is_some() || self.named_size(&b.right).is_some())
                && let (Some(lhs), Some(rhs)) = (self.size(&b.left), self.size(&b.right))
            {
                return Some(self.expr(span, ExprKind::SizeCompare(op, lhs, rhs)));
            }
            let lhs = self.parse_expr(&b.left);
            let rhs = self.parse_expr(&b.right);
            return Some(self.expr(span, ExprKind::Compare(op, Box::new(lhs?), Box::new(rhs?))));
        }
        let lhs = self.parse_expr(&b.left);
        let rhs = self.parse_expr(&b.right);
        let (lhs, rhs) = (lhs?, rhs?);
        if let BinOp::And(_) | BinOp::Or(_) = b.op {
            return Some(self.logic(span, matches!(b.op, BinOp::And(_)), lhs, rhs));
        }
        let (lhs, rhs) = (Box::new(lhs), Box::new(rhs));
        match arithmetic(&b.op) {
            Some(op) => Some(self.expr(span, ExprKind::Binary(op, lhs, rhs))),
            None => self.refuse(
                span,
                "a compound assignment used as a value",
                "write it as a statement of its own",
            ),
        }
    }

    fn if_expr(&mut self, i: &syn::ExprIf) -> Option<Expr> {
        let cond = self.parse_expr(&i.cond);
        let then = self.block(&i.then_branch);
        let otherwise = match &i.else_branch {
            None => None,
            Some((_, e)) => match &**e {
                SynExpr::Block(b) => Some(self.block(&b.block)),
                SynExpr::If(_) => {
                    let nested = self.parse_expr(e)?;
                    Some(Block { stmts: vec![], tail: Some(Box::new(nested)) })
                }
                other => return self.refuse(other.span(), "this `else`", "write `else { .. }`"),
            },
        };
        Some(self.expr(i.if_token.span(), ExprKind::If { cond: Box::new(cond?), then, otherwise }))
    }

    fn float(&mut self, f: &syn::LitFloat) -> Option<f32> {
        if !matches!(f.suffix(), "" | "f32") {
            return self.refuse(
                f.span(),
                &format!("the type `{}`", f.suffix()),
                "floats in a kernel are f32",
            );
        }
        match f.base10_parse::<f32>() {
            Ok(v) if v.is_finite() => Some(v),
            Ok(_) | Err(_) => {
                self.diags.push(
                    Code::Literal,
                    f.span(),
                    format!("`{f}` does not fit f32"),
                    "the largest f32 is about 3.4e38",
                );
                None
            }
        }
    }

    fn literal(&mut self, lit: &Lit) -> Option<Expr> {
        match lit {
            Lit::Int(int) => {
                let suffix = match int.suffix() {
                    "" => None,
                    name => match ScalarType::from_name(name) {
                        Some(ty) => Some(ty),
                        None => {
                            return self.refuse(
                                int.span(),
                                &format!("the type `{name}`"),
                                "integers in a kernel are u32, i32 or u64",
                            );
                        }
                    },
                };
                // A pattern's literal has its sign.
                let digits = int.base10_digits();
                let negative = digits.strip_prefix('-');
                let Ok(value) = negative.unwrap_or(digits).parse::<u64>() else {
                    self.diags.push(
                        Code::Literal,
                        int.span(),
                        format!("`{int}` does not fit any integer type"),
                        "",
                    );
                    return None;
                };
                if suffix == Some(ScalarType::F32) {
                    return Some(self.expr(int.span(), ExprKind::Float(value as f32)));
                }
                let number = self.expr(int.span(), ExprKind::Int(value, suffix));
                if negative.is_none() {
                    return Some(number);
                }
                Some(self.expr(int.span(), ExprKind::Unary(Unary::Neg, Box::new(number))))
            }
            Lit::Float(f) => {
                let value = self.float(f)?;
                Some(self.expr(f.span(), ExprKind::Float(value)))
            }
            Lit::Bool(b) => Some(self.expr(b.span, ExprKind::Bool(b.value))),
            other => self.refuse(other.span(), "text", "kernel values are numbers, `bool` and tiles"),
        }
    }
}

/// An expression without its parentheses.
pub fn strip(e: &SynExpr) -> &SynExpr {
    match e {
        SynExpr::Paren(p) => strip(&p.expr),
        SynExpr::Group(g) => strip(&g.expr),
        other => other,
    }
}

/// A token of a size expression, for messages.
pub fn size_span(e: &SizeExpr) -> Span {
    match e {
        SizeExpr::Param(ident) => ident.span(),
        SizeExpr::Literal(_, span) | SizeExpr::Op(_, _, _, span) => *span,
    }
}

fn arithmetic(op: &BinOp) -> Option<Binary> {
    Some(match op {
        BinOp::Add(_) => Binary::Add,
        BinOp::Sub(_) => Binary::Sub,
        BinOp::Mul(_) => Binary::Mul,
        BinOp::Div(_) => Binary::Div,
        BinOp::Rem(_) => Binary::Rem,
        BinOp::BitAnd(_) => Binary::And,
        BinOp::BitOr(_) => Binary::Or,
        BinOp::BitXor(_) => Binary::Xor,
        BinOp::Shl(_) => Binary::Shl,
        BinOp::Shr(_) => Binary::Shr,
        _ => return None,
    })
}

pub(crate) fn comparison(op: &BinOp) -> Option<Compare> {
    Some(match op {
        BinOp::Eq(_) => Compare::Eq,
        BinOp::Ne(_) => Compare::Ne,
        BinOp::Lt(_) => Compare::Lt,
        BinOp::Le(_) => Compare::Le,
        BinOp::Gt(_) => Compare::Gt,
        BinOp::Ge(_) => Compare::Ge,
        _ => return None,
    })
}

/// What to say of an expression that the language does not have: where, what it is, and the alternative.
fn refusal(e: &SynExpr) -> (Span, &'static str, &'static str) {
    let statement = "write it as a statement of its own";
    match e {
        SynExpr::Closure(c) => (
            c.span(),
            "a closure outside `map` and `zip`",
            "write the code where it is used, or make it a `#[tile_fn]`; elements of tiles are computed by `x.map(|v| ..)`",
        ),
        SynExpr::Macro(m) => (m.mac.path.span(), "a macro call", "write the code out"),
        SynExpr::Reference(r) => {
            (r.and_token.span(), "a reference outside an op's arguments", "pass `&tile` directly to the op")
        }
        SynExpr::RawAddr(r) => (r.and_token.span(), "a raw pointer", "pass `&tile` directly to the op"),
        SynExpr::Index(i) => (
            i.bracket_token.span.open(),
            "indexing",
            "load a tile, `let x: rt<..> = load(a, [row, col]);`, or one element, `load_scalar(a, [row, col])`",
        ),
        SynExpr::Field(f) => (
            f.dot_token.span(),
            "a field access",
            "use the methods, such as `at.row()`; the values of a device function are bound by `let (x, y) = f(..);`",
        ),
        SynExpr::Tuple(t) => (t.paren_token.span.open(), "this tuple", "use separate variables"),
        SynExpr::Array(a) => {
            (a.bracket_token.span.open(), "an array outside a coordinate", "use separate variables")
        }
        SynExpr::Repeat(r) => (r.bracket_token.span.open(), "an array", "use separate variables"),
        SynExpr::Struct(s) => (s.path.span(), "a struct value", "use separate variables"),
        SynExpr::Range(r) => (r.limits.span(), "a range outside `for`", "write `for i in lo..hi`"),
        SynExpr::Unsafe(u) => (
            u.unsafe_token.span(),
            "an `unsafe` block",
            "mark the whole kernel `unsafe fn` to use `store_at`",
        ),
        SynExpr::Try(t) => (t.question_token.span(), "`?`", "ops in a kernel cannot fail"),
        SynExpr::TryBlock(t) => (t.try_token.span(), "a `try` block", "ops in a kernel cannot fail"),
        SynExpr::Await(a) => (a.await_token.span(), "`.await`", "loads complete by themselves"),
        SynExpr::Async(a) => (a.async_token.span(), "an `async` block", "loads complete by themselves"),
        SynExpr::Yield(y) => (y.yield_token.span(), "`yield`", "a kernel runs to its end"),
        SynExpr::Let(l) => {
            (l.let_token.span(), "`let` in a condition", "bind the variable before, and use a comparison")
        }
        SynExpr::Const(c) => {
            (c.const_token.span(), "a `const` block", "declare a size with `derive(..)`, or write the number")
        }
        SynExpr::Infer(i) => (i.underscore_token.span(), "`_` as a value", "write the value"),
        SynExpr::Return(r) => (
            r.return_token.span(),
            "`return` inside an expression",
            "write it as a statement: `if done { return; }`",
        ),
        SynExpr::ForLoop(f) => (f.for_token.span(), "a loop used as a value", "add a semicolon behind it"),
        SynExpr::While(w) => (w.while_token.span(), "a loop used as a value", "add a semicolon behind it"),
        SynExpr::Loop(l) => {
            (l.loop_token.span(), "`loop` used as a value", "assign to a variable in a `while` or `for`")
        }
        SynExpr::Break(b) => (b.break_token.span(), "`break` inside an expression", statement),
        SynExpr::Continue(c) => (c.continue_token.span(), "`continue` inside an expression", statement),
        SynExpr::Assign(a) => (a.eq_token.span(), "an assignment used as a value", statement),
        SynExpr::Block(b) => (b.span(), "a block with a label", "use `if` / `else`"),
        SynExpr::Verbatim(_) => {
            (e.span(), "this expression, which is not stable Rust,", "write it another way")
        }
        // Parsed before; a kind that syn adds later gets the general text.
        SynExpr::Lit(_)
        | SynExpr::Paren(_)
        | SynExpr::Group(_)
        | SynExpr::Path(_)
        | SynExpr::Unary(_)
        | SynExpr::Binary(_)
        | SynExpr::Cast(_)
        | SynExpr::If(_)
        | SynExpr::Call(_)
        | SynExpr::MethodCall(_)
        | SynExpr::Match(_)
        | _ => (e.span(), "this expression", "`docs/` lists what a kernel body may contain"),
    }
}

/// The value of a constant of f32 that no literal has, or only a long one.
fn float_constant(path: &syn::Path) -> Option<f32> {
    let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
    let [ty, name] = names.as_slice() else { return None };
    match (ty.as_str(), name.as_str()) {
        ("f32", "INFINITY") => Some(f32::INFINITY),
        ("f32", "NEG_INFINITY") => Some(f32::NEG_INFINITY),
        ("f32", "NAN") => Some(f32::NAN),
        ("f32", "MAX") => Some(f32::MAX),
        ("f32", "MIN") => Some(f32::MIN),
        _ => None,
    }
}
