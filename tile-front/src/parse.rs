//! Owns the kernel body's syntax: from `syn` statements and expressions to the tree of `ast`.
//!
//! *Guarantees*: what is not in the language gets an error of its own that names the supported alternative,
//! and parsing goes on behind it. *Not here*: calls of ops and methods (`parse_call`), types (`decl`), meaning
//! (`infer`).

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::{BinOp, Expr as SynExpr, Lit, Pat, RangeLimits, Stmt as SynStmt, Type, UnOp};

use crate::ast::{Block, Expr, ExprKind, GenericKind, GenericParam, SizeExpr, Stmt};
use crate::decl::{parse_type, path_name};
use crate::diag::Diags;
use tile_ir::error::Code;
use tile_ir::scalar::{Binary, Compare, Unary};
use tile_ir::types::ScalarType;

/// How deep expressions and blocks may nest: far beyond any kernel, and within the stack of every thread that
/// rustc runs macros on, whose parsers recurse too.
const MAX_DEPTH: u32 = 64;

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
    /// Names of the device functions the kernel may call.
    pub functions: &'a [Ident],
    depth: u32,
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
            functions: &[],
            depth: 0,
        }
    }

    /// Makes an expression with a number of its own.
    pub fn expr(&mut self, span: Span, kind: ExprKind) -> Expr {
        self.exprs += 1;
        Expr { id: self.exprs - 1, span, kind }
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

    /// Parses a block.
    pub fn block(&mut self, block: &syn::Block) -> Block {
        self.depth += 1;
        let mut out = Block::default();
        if self.depth > MAX_DEPTH {
            self.diags.push(
                Code::Construct,
                block.span(),
                format!("blocks nest at most {MAX_DEPTH} deep"),
                "",
            );
        } else {
            let last = block.stmts.len().saturating_sub(1);
            for (i, stmt) in block.stmts.iter().enumerate() {
                match stmt {
                    SynStmt::Expr(e, None) if i == last && !is_statement(e) => {
                        out.tail = self.parse_expr(e).map(Box::new);
                    }
                    SynStmt::Local(_) | SynStmt::Item(_) | SynStmt::Expr(..) | SynStmt::Macro(_) => {
                        let parsed = self.stmt(stmt);
                        out.stmts.extend(parsed);
                    }
                }
            }
        }
        self.depth -= 1;
        out
    }

    fn stmt(&mut self, stmt: &SynStmt) -> Option<Stmt> {
        match stmt {
            SynStmt::Local(local) => self.local(local),
            SynStmt::Item(item) => self.refuse(
                item.span(),
                "an item inside a body",
                "define it outside and pass it as a parameter",
            ),
            SynStmt::Macro(m) => self.refuse(m.mac.path.span(), "a macro call", "write the code out"),
            SynStmt::Expr(e, _) => self.expr_stmt(e),
        }
    }

    fn local(&mut self, local: &syn::Local) -> Option<Stmt> {
        let (pat, ty) = match &local.pat {
            Pat::Type(t) => (&*t.pat, Some(&*t.ty)),
            other => (other, None),
        };
        let Pat::Ident(name) = pat else {
            return self.refuse(pat.span(), "a pattern in `let`", "bind one variable: `let x = ..;`");
        };
        if name.by_ref.is_some() || name.subpat.is_some() {
            return self.refuse(name.ident.span(), "a pattern in `let`", "bind one variable: `let x = ..;`");
        }
        if self.references.contains(&name.ident) {
            return self.refuse(
                name.ident.span(),
                "a `let` that hides a parameter passed by reference",
                "choose another name",
            );
        }
        let Some(init) = &local.init else {
            return self.refuse(
                name.ident.span(),
                "a `let` without a value",
                "give it a value where it is declared: `let mut x = 0u32;`",
            );
        };
        if let Some((token, _)) = &init.diverge {
            return self.refuse(token.span(), "`let .. else`", "use `if`");
        }
        let written = ty.map(|t| match t {
            Type::Infer(_) => None,
            other => Some(parse_type(other, self.generics, self.diags)),
        });
        let value = self.parse_expr(&init.expr);
        let ty = match written {
            None | Some(None) => None,
            Some(Some(parsed)) => Some(parsed?),
        };
        Some(Stmt::Let { name: name.ident.clone(), ty, value: value? })
    }

    fn expr_stmt(&mut self, e: &SynExpr) -> Option<Stmt> {
        match e {
            SynExpr::Assign(a) => {
                let name = self.target(&a.left)?;
                let value = self.parse_expr(&a.right)?;
                Some(Stmt::Assign { name, op: None, value })
            }
            SynExpr::Binary(b) if compound(&b.op).is_some() => {
                let name = self.target(&b.left)?;
                let value = self.parse_expr(&b.right)?;
                Some(Stmt::Assign { name, op: compound(&b.op), value })
            }
            SynExpr::ForLoop(f) => self.for_loop(f),
            SynExpr::Return(r) if self.in_function => self.refuse(
                r.return_token.span(),
                "`return` in a device function",
                "let the last expression be its value",
            ),
            SynExpr::Return(r) => {
                if let Some(value) = &r.expr {
                    return self.refuse(
                        value.span(),
                        "returning a value",
                        "write results to a `&mut gl<T>` parameter; use `return;`",
                    );
                }
                Some(Stmt::Return(r.return_token.span()))
            }
            SynExpr::While(w) => self.while_loop(w),
            SynExpr::Loop(l) => {
                self.refuse(l.loop_token.span(), "`loop`", "use `while condition` or `for i in lo..hi`")
            }
            SynExpr::Break(b) => match (&b.label, &b.expr) {
                (None, None) => Some(Stmt::Break(b.break_token.span())),
                (Some(_) | None, _) => {
                    self.refuse(b.break_token.span(), "a `break` with a label or value", "write `break;`")
                }
            },
            SynExpr::Continue(c) if c.label.is_none() => Some(Stmt::Continue(c.continue_token.span())),
            SynExpr::Continue(c) => {
                self.refuse(c.continue_token.span(), "a `continue` with a label", "write `continue;`")
            }
            other => self.parse_expr(other).map(Stmt::Expr),
        }
    }

    /// The parameter of a device function that `e` names, if it is passed by reference.
    pub fn reference(&self, e: &SynExpr) -> Option<Ident> {
        let SynExpr::Path(p) = strip(e) else { return None };
        let ident = p.path.get_ident()?;
        self.references.contains(ident).then(|| ident.clone())
    }

    fn target(&mut self, e: &SynExpr) -> Option<Ident> {
        if let SynExpr::Path(p) = e
            && let Some(ident) = p.path.get_ident()
        {
            return Some(ident.clone());
        }
        if let SynExpr::Unary(u) = e
            && matches!(u.op, UnOp::Deref(_))
            && let Some(ident) = self.reference(&u.expr)
        {
            return Some(ident);
        }
        self.refuse(e.span(), "assigning to anything but a variable", "assign to a `let mut` variable")
    }

    fn for_loop(&mut self, f: &syn::ExprForLoop) -> Option<Stmt> {
        if let Some(label) = &f.label {
            return self.refuse(label.name.span(), "a loop label", "remove it");
        }
        let counter = match &*f.pat {
            Pat::Ident(p) if p.mutability.is_none() && p.by_ref.is_none() && p.subpat.is_none() => {
                Some(p.ident.clone())
            }
            Pat::Wild(_) => None,
            other => {
                return self.refuse(other.span(), "a pattern as loop counter", "write `for i in lo..hi`");
            }
        };
        let (range, step) = match strip(&f.expr) {
            SynExpr::MethodCall(m) if m.method == "step_by" && m.args.len() == 1 => {
                let Some(step) = self.size(&m.args[0]) else {
                    return self.refuse(
                        m.args[0].span(),
                        "a step that is not known at compile time",
                        "write a literal or a `const` parameter",
                    );
                };
                (strip(&m.receiver), Some(step))
            }
            other => (other, None),
        };
        let SynExpr::Range(r) = range else {
            return self.refuse(
                f.expr.span(),
                "iterating over anything but a range",
                "write `for i in lo..hi`",
            );
        };
        if let RangeLimits::Closed(token) = &r.limits {
            return self.refuse(token.span(), "an inclusive range", "write `lo..hi + 1`");
        }
        let (Some(lo), Some(hi)) = (&r.start, &r.end) else {
            return self.refuse(r.span(), "an open range", "write both bounds: `lo..hi`");
        };
        let lo = self.parse_expr(lo);
        let hi = self.parse_expr(hi);
        let mut body = self.block(&f.body);
        // A trailing `if` or call is a statement here; rustc refuses a body that ends in any other value.
        body.stmts.extend(body.tail.take().map(|tail| Stmt::Expr(*tail)));
        Some(Stmt::For { counter, lo: lo?, hi: hi?, step, body, span: f.for_token.span() })
    }

    fn while_loop(&mut self, w: &syn::ExprWhile) -> Option<Stmt> {
        if let Some(label) = &w.label {
            return self.refuse(label.name.span(), "a loop label", "remove it");
        }
        let cond = self.parse_expr(&w.cond);
        let mut body = self.block(&w.body);
        body.stmts.extend(body.tail.take().map(|tail| Stmt::Expr(*tail)));
        Some(Stmt::While { cond: cond?, body, span: w.while_token.span() })
    }

    /// Reads an expression that is a size: `const` parameters and literals with `+ - * / %`.
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
                if !matches!(op, Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Rem) {
                    return None;
                }
                let (lhs, rhs) = (self.size(&b.left)?, self.size(&b.right)?);
                Some(SizeExpr::Op(op, Box::new(lhs), Box::new(rhs), b.op.span()))
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
                let Some(ident) = p.path.get_ident() else {
                    self.diags.push(
                        Code::FreeName,
                        p.path.span(),
                        "a path is not a value of the kernel language",
                        "pass the value as a scalar parameter or write the literal",
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
            SynExpr::Closure(c) => self.refuse(c.span(), "a closure", "write the code where it is used"),
            SynExpr::Match(m) => self.refuse(m.match_token.span(), "`match`", "use `if` / `else`"),
            SynExpr::Macro(m) => self.refuse(m.mac.path.span(), "a macro call", "write the code out"),
            SynExpr::Reference(r) => self.refuse(
                r.and_token.span(),
                "a reference outside an op's arguments",
                "pass `&tile` directly to the op",
            ),
            SynExpr::Index(i) => self.refuse(
                i.bracket_token.span.open(),
                "indexing",
                "load a tile: `let x: rt<..> = load(a, [row, col]);`",
            ),
            SynExpr::Field(f) => {
                self.refuse(f.dot_token.span(), "a field access", "use the methods, such as `at.row()`")
            }
            SynExpr::Tuple(t) => self.refuse(t.paren_token.span.open(), "a tuple", "use separate variables"),
            SynExpr::Array(a) => self.refuse(
                a.bracket_token.span.open(),
                "an array outside a coordinate",
                "use separate variables",
            ),
            SynExpr::Repeat(r) => {
                self.refuse(r.bracket_token.span.open(), "an array", "use separate variables")
            }
            SynExpr::Struct(s) => self.refuse(s.path.span(), "a struct value", "use separate variables"),
            SynExpr::Range(r) => {
                self.refuse(r.limits.span(), "a range outside `for`", "write `for i in lo..hi`")
            }
            SynExpr::Unsafe(u) if self.is_unsafe => {
                let block = self.block(&u.block);
                Some(self.expr(u.unsafe_token.span(), ExprKind::Block(block)))
            }
            SynExpr::Unsafe(u) => self.refuse(
                u.unsafe_token.span(),
                "an `unsafe` block",
                "mark the whole kernel `unsafe fn` to use `store_at`",
            ),
            SynExpr::Try(t) => self.refuse(t.question_token.span(), "`?`", "ops in a kernel cannot fail"),
            SynExpr::Await(a) => {
                self.refuse(a.await_token.span(), "`.await`", "loads complete by themselves")
            }
            SynExpr::Let(l) => self.refuse(l.let_token.span(), "`let` in a condition", "use a comparison"),
            SynExpr::Return(r) => self.refuse(
                r.return_token.span(),
                "`return` inside an expression",
                "write it as a statement: `if done { return; }`",
            ),
            SynExpr::ForLoop(f) => {
                self.refuse(f.for_token.span(), "a loop used as a value", "add a semicolon behind it")
            }
            SynExpr::While(_)
            | SynExpr::Loop(_)
            | SynExpr::Break(_)
            | SynExpr::Continue(_)
            | SynExpr::Assign(_) => {
                self.refuse(e.span(), "this statement used as a value", "write it as a statement of its own")
            }
            _ => self.refuse(e.span(), "this expression", "`docs/` lists what a kernel body may contain"),
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
        let (lhs, rhs) = (Box::new(lhs?), Box::new(rhs?));
        match b.op {
            BinOp::And(_) => Some(self.expr(span, ExprKind::Logic(true, lhs, rhs))),
            BinOp::Or(_) => Some(self.expr(span, ExprKind::Logic(false, lhs, rhs))),
            _ => match arithmetic(&b.op) {
                Some(op) => Some(self.expr(span, ExprKind::Binary(op, lhs, rhs))),
                None => self.refuse(
                    span,
                    "a compound assignment used as a value",
                    "write it as a statement of its own",
                ),
            },
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
                let Ok(value) = int.base10_parse::<u64>() else {
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
                Some(self.expr(int.span(), ExprKind::Int(value, suffix)))
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

/// True for expressions that stand as statements without a semicolon.
fn is_statement(e: &SynExpr) -> bool {
    match e {
        SynExpr::ForLoop(_)
        | SynExpr::While(_)
        | SynExpr::Loop(_)
        | SynExpr::Return(_)
        | SynExpr::Assign(_) => true,
        SynExpr::Break(_) | SynExpr::Continue(_) => true,
        SynExpr::Binary(b) => compound(&b.op).is_some(),
        _ => false,
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

fn comparison(op: &BinOp) -> Option<Compare> {
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

fn compound(op: &BinOp) -> Option<Binary> {
    Some(match op {
        BinOp::AddAssign(_) => Binary::Add,
        BinOp::SubAssign(_) => Binary::Sub,
        BinOp::MulAssign(_) => Binary::Mul,
        BinOp::DivAssign(_) => Binary::Div,
        BinOp::RemAssign(_) => Binary::Rem,
        BinOp::BitAndAssign(_) => Binary::And,
        BinOp::BitOrAssign(_) => Binary::Or,
        BinOp::BitXorAssign(_) => Binary::Xor,
        BinOp::ShlAssign(_) => Binary::Shl,
        BinOp::ShrAssign(_) => Binary::Shr,
        _ => return None,
    })
}
