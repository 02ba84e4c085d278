//! Owns `match` on scalars: it becomes a chain of `if`, whose last arm needs no test, since rustc sees to it that the
//! arms leave nothing out.
//!
//! *Not here*: the arms' bodies (`parse_stmt`), what an `if` means (`infer_control`).

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Expr as SynExpr, Lit, Pat, RangeLimits, UnOp};

use crate::ast::{Block, Expr, ExprKind, SizeExpr};
use crate::parse::{Parser, strip};
use tile_ir::scalar::{Compare, Unary};

/// What a `match` looks at: an expression that may be written as often as needed.
enum Subject {
    /// A size, known at compile time.
    Size(SizeExpr),
    /// A variable or switch.
    Value(Expr),
}

/// How an arm is chosen.
enum Test {
    Always,
    If(Expr),
}

impl Parser<'_> {
    /// Parses `match x { .. }`.
    pub(crate) fn match_expr(&mut self, m: &syn::ExprMatch) -> Option<Expr> {
        let span = m.match_token.span();
        let mut before = None;
        let subject = match self.size(&m.expr) {
            Some(size) if !matches!(strip(&m.expr), SynExpr::Lit(_)) => Subject::Size(size),
            Some(_) | None => {
                let value = self.parse_expr(&m.expr)?;
                if let ExprKind::Name(_) | ExprKind::Flag(_) = value.kind {
                    Subject::Value(value)
                } else {
                    let at = value.span;
                    let (stmt, name) = self.keep(value);
                    before = Some(stmt);
                    Subject::Value(self.named(&name, at))
                }
            }
        };
        if m.arms.is_empty() {
            return self.refuse(span, "a `match` without arms", "give it arms, or use `if` / `else`");
        }
        let mut arms = vec![];
        let last = m.arms.len() - 1;
        for (i, arm) in m.arms.iter().enumerate() {
            let test = self.test(&arm.pat, &subject, i == last);
            let body = self.arm(&arm.body);
            arms.push((test, body, arm.pat.span()));
        }
        let mut chain: Option<Block> = None;
        for (test, body, at) in arms.into_iter().rev() {
            let body = body?;
            chain = Some(match (test?, chain) {
                (Test::Always, _) | (Test::If(_), None) => body,
                (Test::If(cond), Some(rest)) => {
                    let kind = ExprKind::If { cond: Box::new(cond), then: body, otherwise: Some(rest) };
                    let e = self.expr(at, kind);
                    Block { stmts: vec![], tail: Some(Box::new(e)) }
                }
            });
        }
        let mut block = chain?;
        if let Some(stmt) = before {
            block =
                Block { stmts: vec![stmt], tail: Some(Box::new(self.expr(span, ExprKind::Block(block)))) };
        }
        Some(self.expr(span, ExprKind::Block(block)))
    }

    fn test(&mut self, pat: &Pat, subject: &Subject, last: bool) -> Option<Test> {
        match pat {
            Pat::Guard(g) => {
                let guard = self.parse_expr(&g.guard)?;
                Some(Test::If(match self.test(&g.pat, subject, false)? {
                    Test::Always => guard,
                    Test::If(cond) => self.logic(g.if_token.span(), true, cond, guard),
                }))
            }
            Pat::Wild(_) => Some(Test::Always),
            Pat::Paren(p) => self.test(&p.pat, subject, last),
            // Reported by rustc if it leaves something out; parsed for its own mistakes.
            other if last => self.covers(other, subject).map(|_| Test::Always),
            other => self.covers(other, subject).map(Test::If),
        }
    }

    /// The condition under which a pattern matches.
    fn covers(&mut self, pat: &Pat, subject: &Subject) -> Option<Expr> {
        let span = pat.span();
        match pat {
            Pat::Paren(p) => self.covers(&p.pat, subject),
            Pat::Or(or) => {
                let mut all: Option<Expr> = None;
                for case in &or.cases {
                    let next = self.covers(case, subject)?;
                    all = Some(match all {
                        None => next,
                        Some(before) => {
                            self.expr(span, ExprKind::Logic(false, Box::new(before), Box::new(next)))
                        }
                    });
                }
                all
            }
            Pat::Lit(l) => self.compared(Compare::Eq, subject, &SynExpr::Lit(l.clone())),
            Pat::Range(r) => {
                let (Some(lo), Some(hi)) = (&r.start, &r.end) else {
                    return self.refuse(span, "an open range in a pattern", "write both bounds, `lo..=hi`");
                };
                let below = match r.limits {
                    RangeLimits::Closed(_) => Compare::Le,
                    RangeLimits::HalfOpen(_) => Compare::Lt,
                };
                let lo = self.compared(Compare::Ge, subject, lo);
                let hi = self.compared(below, subject, hi);
                Some(self.expr(span, ExprKind::Logic(true, Box::new(lo?), Box::new(hi?))))
            }
            other => self.refuse(
                other.span(),
                "this pattern in a `match`",
                "a pattern is a number, `true`, `false`, a range `lo..=hi`, several of them with `|`, or `_`; a guard \
                 may follow: `_ if x > n`",
            ),
        }
    }

    fn compared(&mut self, op: Compare, subject: &Subject, with: &SynExpr) -> Option<Expr> {
        let span = with.span();
        let literal = match strip(with) {
            SynExpr::Lit(l) => Some(&l.lit),
            SynExpr::Unary(u) if matches!(u.op, UnOp::Neg(_)) => match strip(&u.expr) {
                SynExpr::Lit(l) => Some(&l.lit),
                _ => None,
            },
            _ => None,
        };
        let Some(literal) = literal else {
            return self.refuse(span, "a pattern that is not a literal", "compare in a guard: `_ if x == n`");
        };
        match (subject, literal) {
            (Subject::Size(size), _) => match self.size(with) {
                Some(number) => Some(self.expr(span, ExprKind::SizeCompare(op, size.clone(), number))),
                None => self.refuse(span, "this pattern for a size", "write a number"),
            },
            (Subject::Value(value), Lit::Bool(b)) => {
                let value = self.again(value, span);
                if b.value {
                    return Some(value);
                }
                Some(self.expr(span, ExprKind::Unary(Unary::Not, Box::new(value))))
            }
            (Subject::Value(value), Lit::Int(_)) => {
                let (value, number) = (self.again(value, span), self.parse_expr(with)?);
                Some(self.expr(span, ExprKind::Compare(op, Box::new(value), Box::new(number))))
            }
            (Subject::Value(_), _) => self.refuse(
                span,
                "this pattern in a `match`",
                "match integers and `bool`; compare others with `if`",
            ),
        }
    }

    fn again(&mut self, value: &Expr, span: Span) -> Expr {
        self.expr(span, value.kind.clone())
    }
}
