//! Owns the syntax of statements: blocks, `let`, assignments, loops, and the attributes that may stand before them.
//!
//! *Guarantees*: a statement that is not in the language gets an error of its own, and parsing goes on behind it.
//! *Not here*: expressions (`parse`), `match` (`parse_match`).

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::{BinOp, Expr as SynExpr, Item, Pat, RangeLimits, Stmt as SynStmt, Type, UnOp};

use crate::ast::{Block, Expr, ExprKind, Stmt};
use crate::decl::parse_type;
use crate::diag::Diags;
use crate::parse::{MAX_DEPTH, Parser, strip};
use crate::parse_group::name_shared;
use tile_ir::error::Code;
use tile_ir::scalar::Binary;

/// Attributes that may stand in a body: they do not change what it does.
const LINTS: &[&str] = &["allow", "expect", "warn", "deny", "forbid"];

/// Reports attributes that a body must not have, such as `cfg`, which rustc would apply to the function and not to
/// what is compiled from its tokens.
pub fn check_attributes(tokens: &TokenStream, diags: &mut Diags) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        check_attributes(&group.stream(), diags);
        let Some(name) = attribute(&tokens[..=i]) else { continue };
        let text = name.to_string();
        if text == "unroll" {
            if !matches!(tokens.get(i + 1), Some(TokenTree::Ident(next)) if next == "for") {
                diags.push(
                    Code::Unroll,
                    name.span(),
                    "`#[unroll]` stands before a `for`; here something else follows",
                    "write `#[unroll] for i in 0..4u32 { .. }`",
                );
            }
        } else if !LINTS.contains(&text.as_str()) {
            diags.push(
                Code::Construct,
                name.span(),
                format!("the attribute `{text}` inside a body is not part of the kernel language"),
                "`#[unroll]` may stand before a `for`, and lint levels such as `#[allow(..)]` before a statement; a \
                 `const FLAG: bool` parameter switches code on and off",
            );
        }
    }
}

/// The name of the attribute that the tokens end in, if they do.
fn attribute(tokens: &[TokenTree]) -> Option<Ident> {
    let [.., TokenTree::Punct(hash), TokenTree::Group(group)] = tokens else { return None };
    if hash.as_char() != '#' || group.delimiter() != Delimiter::Bracket {
        return None;
    }
    match group.stream().into_iter().next() {
        Some(TokenTree::Ident(name)) => Some(name),
        Some(TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_)) | None => None,
    }
}

/// The tokens without `#[unroll]`, which rustc does not know.
pub fn without_unroll(tokens: TokenStream) -> TokenStream {
    let mut out: Vec<TokenTree> = vec![];
    for token in tokens {
        let token = match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), without_unroll(group.stream()));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            other @ (TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_)) => other,
        };
        out.push(token);
        if attribute(&out).is_some_and(|name| name == "unroll") {
            out.truncate(out.len() - 2);
        }
    }
    out.into_iter().collect()
}

impl Parser<'_> {
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
            SynStmt::Item(item) => {
                let (what, help) = nested_item(item);
                self.refuse(item.span(), &format!("{what} inside a body"), help)
            }
            SynStmt::Macro(m) => self.refuse(m.mac.path.span(), "a macro call", "write the code out"),
            SynStmt::Expr(e, _) => self.expr_stmt(e),
        }
    }

    fn local(&mut self, local: &syn::Local) -> Option<Stmt> {
        let (pat, ty) = match &local.pat {
            Pat::Type(t) => (&*t.pat, Some(&*t.ty)),
            other => (other, None),
        };
        let Some(init) = &local.init else {
            return self.refuse(
                pat.span(),
                "a `let` without a value",
                "give it a value where it is declared: `let mut x = 0u32;`",
            );
        };
        if let Some((token, _)) = &init.diverge {
            return self.refuse(
                token.span(),
                "`let .. else`",
                "bind one variable, `let x = ..;`, and test it with `if`",
            );
        }
        let names = match pat {
            Pat::Tuple(t) => {
                let names: Vec<_> = t.elems.iter().map(|p| self.variable(p)).collect();
                Some(names.into_iter().collect::<Option<Vec<_>>>()?)
            }
            _ => None,
        };
        let name = match (&names, pat) {
            (Some(_), _) => None,
            // `let _ = f();` computes and drops.
            (None, Pat::Wild(_)) if ty.is_none() => return self.parse_expr(&init.expr).map(Stmt::Expr),
            (None, _) => Some(self.variable(pat)?),
        };
        let written = ty.map(|t| match t {
            Type::Infer(_) => None,
            other => Some(parse_type(other, self.generics, self.diags)),
        });
        let mut value = self.parse_expr(&init.expr);
        if let (Some(value), Some(Some(name))) = (&mut value, &name) {
            name_shared(value, name);
        }
        let ty = match written {
            None | Some(None) => None,
            Some(Some(parsed)) => Some(parsed?),
        };
        match (names, name) {
            (Some(names), _) => Some(Stmt::LetTuple { names, ty, value: value? }),
            (None, Some(Some(name))) => Some(Stmt::Let { name, ty, value: value? }),
            (None, _) => self.refuse(pat.span(), "a typed `_`", "leave the type out, or bind a variable"),
        }
    }

    /// The variable that a pattern binds; `Some(None)` for `_`.
    fn variable(&mut self, pat: &Pat) -> Option<Option<Ident>> {
        let help =
            "bind a variable, `let x = ..;`, or the values of a device function, `let (x, y) = f(..);`";
        let what = match pat {
            Pat::Wild(_) => return Some(None),
            Pat::Paren(p) => return self.variable(&p.pat),
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
                if self.references.contains(&name.ident) {
                    return self.refuse(
                        name.ident.span(),
                        "a `let` that hides a parameter passed by reference",
                        "choose another name",
                    );
                }
                return Some(Some(name.ident.clone()));
            }
            Pat::Ident(name) if name.by_ref.is_some() => "`ref` in a pattern",
            Pat::Ident(_) => "`@` in a pattern",
            Pat::Tuple(_) => "a tuple inside a pattern",
            Pat::Struct(_) | Pat::TupleStruct(_) | Pat::Path(_) => "a pattern of a type's parts",
            Pat::Slice(_) => "a pattern of an array's elements",
            Pat::Reference(_) => "a pattern of a reference",
            Pat::Rest(_) => "`..` in a pattern",
            Pat::Type(_) => "a type inside a pattern",
            Pat::Lit(_) | Pat::Range(_) | Pat::Or(_) | Pat::Const(_) | Pat::Guard(_) => {
                "a pattern that may not match"
            }
            Pat::Macro(_) => "a macro as a pattern",
            _ => "this pattern",
        };
        self.refuse(pat.span(), &format!("{what} in `let`"), help)
    }

    pub(crate) fn expr_stmt(&mut self, e: &SynExpr) -> Option<Stmt> {
        match e {
            SynExpr::Assign(a) => {
                if let SynExpr::Infer(_) = &*a.left {
                    return self.parse_expr(&a.right).map(Stmt::Expr);
                }
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
                "let the last expression be its value, as in `if done { x } else { y }`",
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
                (Some(_), _) => self.refuse(b.break_token.span(), "a `break` with a label", LABEL),
                (None, Some(_)) => self.refuse(
                    b.break_token.span(),
                    "a `break` with a value",
                    "assign to a variable declared before the loop, then `break;`",
                ),
            },
            SynExpr::Continue(c) if c.label.is_none() => Some(Stmt::Continue(c.continue_token.span())),
            SynExpr::Continue(c) => self.refuse(c.continue_token.span(), "a `continue` with a label", LABEL),
            SynExpr::Block(b) if b.label.is_some() => {
                self.refuse(e.span(), "a block with a label", "use `if` / `else`")
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
        let help = match e {
            SynExpr::Tuple(_) => "bind the values first, `let (p, q) = f(..);`, then assign each",
            _ => "assign to a `let mut` variable",
        };
        self.refuse(e.span(), "assigning to anything but a variable", help)
    }

    fn for_loop(&mut self, f: &syn::ExprForLoop) -> Option<Stmt> {
        if let Some(label) = &f.label {
            return self.refuse(label.name.span(), "a loop label", LABEL);
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
            SynExpr::MethodCall(m) if m.method == "rev" => {
                return self.refuse(
                    m.method.span(),
                    "a loop that counts down",
                    "count up and compute the index: `let k = hi - 1 - i;`",
                );
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
        let unroll = f.attrs.iter().any(|a| a.path().is_ident("unroll"));
        Some(Stmt::For { counter, lo: lo?, hi: hi?, step, body, unroll, span: f.for_token.span() })
    }

    fn while_loop(&mut self, w: &syn::ExprWhile) -> Option<Stmt> {
        if let Some(label) = &w.label {
            return self.refuse(label.name.span(), "a loop label", LABEL);
        }
        let cond = self.parse_expr(&w.cond);
        let mut body = self.block(&w.body);
        body.stmts.extend(body.tail.take().map(|tail| Stmt::Expr(*tail)));
        Some(Stmt::While { cond: cond?, body, span: w.while_token.span() })
    }

    /// A block of one expression, as the arm of a `match`.
    pub(crate) fn arm(&mut self, e: &SynExpr) -> Option<Block> {
        match e {
            SynExpr::Block(b) if b.label.is_none() => Some(self.block(&b.block)),
            other if is_statement(other) => {
                let stmt = self.expr_stmt(other)?;
                Some(Block { stmts: vec![stmt], tail: None })
            }
            other => Some(Block { stmts: vec![], tail: Some(Box::new(self.parse_expr(other)?)) }),
        }
    }

    /// A `let` of a name no user's variable can have, and an expression that reads it.
    pub(crate) fn keep(&mut self, value: Expr) -> (Stmt, Ident) {
        let name = Ident::new("__matched", Span::mixed_site().located_at(value.span));
        (Stmt::Let { name: name.clone(), ty: None, value }, name)
    }

    /// A variable as an expression.
    pub(crate) fn named(&mut self, name: &Ident, span: Span) -> Expr {
        let mut name = name.clone();
        name.set_span(name.span().located_at(span));
        self.expr(span, ExprKind::Name(name))
    }
}

/// What an item in a body is, and where it belongs.
fn nested_item(item: &Item) -> (&'static str, &'static str) {
    let outside = "define it outside of the kernel";
    match item {
        Item::Fn(_) => ("a function", "define it outside, under `#[tile_fn]`, and list it: `fns(name)`"),
        Item::Const(_) => (
            "a constant",
            "write the number, make it a `const N: usize` parameter, or declare a size with `derive(..)`",
        ),
        Item::Static(_) => ("a `static`", "pass the value as a parameter of the kernel"),
        Item::Use(_) => ("`use`", "import the name outside of the kernel"),
        Item::Struct(_) | Item::Enum(_) | Item::Union(_) => {
            ("a type", "use separate variables: tiles, vectors and scalars")
        }
        Item::Type(_) => ("a type alias", "write the type out"),
        Item::Macro(_) => ("a macro", "write the code out"),
        Item::Trait(_) | Item::TraitAlias(_) | Item::Impl(_) => {
            ("a trait or `impl`", "what kernels share is a `#[tile_fn]`, listed with `fns(name)`")
        }
        Item::Mod(_) => ("a module", outside),
        Item::ExternCrate(_) | Item::ForeignMod(_) => ("an `extern` item", outside),
        _ => ("this item", outside),
    }
}

/// What to do without labels.
const LABEL: &str = "`break` and `continue` act on the innermost loop; leave an outer one by a `let mut done = false;` \
                     that its condition or an `if` behind the inner loop tests";

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
