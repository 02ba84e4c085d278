//! Owns the syntax of closures over elements, `x.map(|v| ..)` and `x.zip(&y, |a, b| ..)`.
//!
//! *Guarantees*: as `parse_call`; what a closure cannot contain gets an error of its own. *Not here*: types (`infer_closure`).

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{BinOp, Expr as SynExpr, ExprClosure, ExprMethodCall, Lit, Pat, Type, UnOp};

use crate::assigned::assigned_in;
use crate::ast::Method;
use crate::closure::{Closure, Each, EachKind, Test, TestKind};
use crate::decl::path_name;
use crate::parse::{MAX_DEPTH, Parser, comparison, strip};
use tile_ir::error::Code;
use tile_ir::ir::Logic;
use tile_ir::map::{MapBinary, MapTernary, MapUnary};
use tile_ir::scalar::Compare;
use tile_ir::types::ScalarType;

/// The methods that take a closure, with their form.
pub const CLOSURE_METHODS: &[(&str, &str)] =
    &[("map", "x.map(|v| v * 2.0)"), ("zip", "x.zip(&y, |a, b| a + b)")];

/// The parameters of the closure at hand.
type Names = [Ident];

/// What an element has, for messages.
const HAS: &str = "an element has the operators + - * /, unary -, comparisons in `if`, and the methods min, max, mul_add, abs, \
                   exp2, exp, log2, ln, sqrt, rsqrt, recip, sigmoid, tanh, relu, silu, gelu";

/// True if the tokens name a parameter.
fn mentions(names: &Names, tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => names.contains(&ident),
        TokenTree::Group(group) => mentions(names, group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// True if the tokens have a block, in which statements could stand.
fn has_block(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(g) => g.delimiter() == Delimiter::Brace || has_block(g.stream()),
        TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// A number that Rust gives a type only from what stands around it, so that it has no methods: `1.0`, `-(1.0 + 2.0)`.
pub(crate) fn untyped_float(e: &SynExpr) -> Option<Span> {
    match strip(e) {
        SynExpr::Lit(l) => match &l.lit {
            Lit::Float(f) if f.suffix().is_empty() => Some(f.span()),
            _ => None,
        },
        SynExpr::Unary(u) if matches!(u.op, UnOp::Neg(_)) => untyped_float(&u.expr),
        SynExpr::Binary(b) => untyped_float(&b.left).and(untyped_float(&b.right)),
        _ => None,
    }
}

impl Parser<'_> {
    /// Refuses a method of a number without a type, which rustc cannot find.
    pub(crate) fn typed_receiver(&mut self, m: &ExprMethodCall) -> Option<()> {
        let Some(span) = untyped_float(&m.receiver) else { return Some(()) };
        let name = &m.method;
        let help = match strip(&m.receiver) {
            SynExpr::Lit(l) => format!("write `{}f32.{name}(..)`", l.to_token_stream()),
            _ => format!("write `f32` on a number of it: `(1.0f32 + 2.0).{name}(..)`"),
        };
        let message = format!("a number that has methods has a type; `.{name}(..)` is called on one without");
        self.diags.push(Code::Literal, span, message, help);
        None
    }

    fn refuse_each<T>(&mut self, span: Span, message: &str, help: &str) -> Option<T> {
        self.diags.push(Code::Closure, span, message, help);
        None
    }

    /// `x.map(|v| ..)`, `x.zip(&y, |a, b| ..)`
    pub(crate) fn closure_method(&mut self, m: &ExprMethodCall, form: &str) -> Option<Method> {
        let other = match m.method == "zip" {
            true => Some(self.tile_ref(&m.args[0], form)),
            false => None,
        };
        let count = 1 + usize::from(other.is_some());
        let SynExpr::Closure(c) = strip(&m.args[count - 1]) else {
            let span = m.args[count - 1].span();
            let message = format!("`{}` takes a closure that is written in place", m.method);
            return self.refuse_each(span, &message, &format!("the form is `{form}`"));
        };
        let params = self.closure_params(c, count)?;
        let names: Vec<Ident> = params.iter().map(|(name, _)| name.clone()).collect();
        let body = self.each(&c.body, &names)?;
        if body.is_uniform() {
            let message = "a closure over elements uses its parameter; here every element becomes the same";
            return self.refuse_each(body.span, message, "a tile of one value is `let x: rt<..> = fill(s);`");
        }
        let other = match other {
            None => None,
            Some(other) => Some(other?),
        };
        Some(Method::Closure(Box::new(Closure { other, params, body })))
    }

    #[allow(clippy::type_complexity, reason = "the type of `Closure::params`")]
    fn closure_params(
        &mut self,
        c: &ExprClosure,
        count: usize,
    ) -> Option<Vec<(Ident, Option<(ScalarType, Span)>)>> {
        let extra = [
            c.lifetimes.as_ref().map(|t| (t.span(), "`for<..>`")),
            c.constness.as_ref().map(|t| (t.span(), "`const`")),
            c.asyncness.as_ref().map(|t| (t.span(), "`async`")),
            c.capture.as_ref().map(|t| (t.span(), "`move`")),
        ];
        if let Some((span, what)) = extra.into_iter().flatten().next() {
            let message = format!("a closure over elements is `|x| expression`; here it is {what}");
            return self.refuse_each(span, &message, "leave it out");
        }
        if let syn::ReturnType::Type(_, ty) = &c.output {
            let message = "a closure over elements gives an element; its type is not written";
            return self.refuse_each(ty.span(), message, "leave it out: `|x| expression`");
        }
        if c.inputs.len() != count {
            let message = format!(
                "`{}` takes a closure of {}; here it has {}",
                if count == 1 { "map" } else { "zip" },
                crate::parse_call::count_of(count, "parameter"),
                c.inputs.len()
            );
            let help = if count == 1 { "two tiles go with `x.zip(&y, |a, b| ..)`" } else { "" };
            return self.refuse_each(c.inputs_begin.span(), &message, help);
        }
        let mut params: Vec<(Ident, Option<(ScalarType, Span)>)> = vec![];
        for input in &c.inputs {
            let (pat, ty) = match input {
                Pat::Type(t) => (&*t.pat, Some(&*t.ty)),
                other => (other, None),
            };
            let name = match pat {
                Pat::Ident(p) if p.by_ref.is_none() && p.mutability.is_none() && p.subpat.is_none() => {
                    p.ident.clone()
                }
                other => {
                    let message = "a parameter of a closure over elements is a plain name";
                    return self.refuse_each(
                        other.span(),
                        message,
                        "write `|x|`; an element is not changed, a new one is computed",
                    );
                }
            };
            if params.iter().any(|(other, _)| *other == name) {
                return self.refuse_each(name.span(), "two parameters have one name", "name them apart");
            }
            let written = match ty {
                None => None,
                Some(ty) => {
                    let scalar = match ty {
                        Type::Path(p) => {
                            path_name(&p.path).and_then(|i| ScalarType::from_name(&i.to_string()))
                        }
                        _ => None,
                    };
                    let Some(scalar) = scalar else {
                        let message = "an element of a closure is f32, or i32 in tiles of i32";
                        return self.refuse_each(ty.span(), message, "leave the type out: `|x|`");
                    };
                    Some((scalar, ty.span()))
                }
            };
            params.push((name, written));
        }
        Some(params)
    }

    /// An expression of elements.
    fn each(&mut self, e: &SynExpr, names: &Names) -> Option<Each> {
        self.depth += 1;
        let out = if self.depth > MAX_DEPTH {
            let message = format!("expressions nest at most {MAX_DEPTH} deep");
            self.diags.push(Code::Construct, e.span(), message, "use several closures");
            None
        } else {
            self.each_kind(strip(e), names)
        };
        self.depth -= 1;
        out
    }

    fn each_kind(&mut self, e: &SynExpr, names: &Names) -> Option<Each> {
        if let SynExpr::Block(b) = e
            && b.label.is_none()
        {
            return self.each_block(&b.block, names);
        }
        if !mentions(names, e.to_token_stream()) {
            return self.uniform(e);
        }
        let statement =
            "bind what is the same for all elements with `let` before; use a second `map` for what is not";
        let assignment = "an element is not changed: the closure's value becomes the new one";
        match e {
            SynExpr::Path(p) => {
                let number = p.path.get_ident().and_then(|ident| names.iter().position(|n| n == ident));
                let Some(number) = number else {
                    return self.refuse_each(p.span(), "a path is not an element", HAS);
                };
                Some(Each { span: p.span(), kind: EachKind::Param(number) })
            }
            SynExpr::Unary(u) => match u.op {
                UnOp::Neg(_) => {
                    let x = self.each(&u.expr, names)?;
                    Some(Each { span: u.op.span(), kind: EachKind::Unary(MapUnary::Neg, Box::new(x)) })
                }
                UnOp::Not(_) => self.refuse_each(u.op.span(), "an element has no `!`", HAS),
                _ => self.refuse_each(u.op.span(), "an element is not a reference", "leave the `*` out"),
            },
            SynExpr::Binary(b) => self.each_binary(b, names, assignment),
            SynExpr::MethodCall(m) => self.each_method(m, names),
            SynExpr::If(i) => self.each_if(i, names),
            SynExpr::Assign(a) => self.refuse_each(a.eq_token.span(), assignment, "leave the assignment out"),
            SynExpr::Cast(c) => self.refuse_each(
                c.as_token.span(),
                "an element keeps its type in a closure",
                "convert the whole tile, before or after: `x.to::<i32>()`",
            ),
            SynExpr::Closure(c) => self.nested(c.inputs_begin.span()),
            SynExpr::Call(c) => self.refuse_each(
                c.func.span(),
                "a function is not called on elements",
                "write a method, `x.max(y)`, or the function's body in place of the call",
            ),
            SynExpr::Match(m) => self.refuse_each(
                m.match_token.span(),
                "a `match` on elements is not part of a closure",
                "write `if x > 0.0 { .. } else { .. }`",
            ),
            SynExpr::Return(r) => self.refuse_each(
                r.return_token.span(),
                "a closure over elements is one expression",
                "leave `return` out",
            ),
            SynExpr::Reference(r) => {
                self.refuse_each(r.and_token.span(), "an element is a value", "leave the `&` out")
            }
            SynExpr::Tuple(t) => self.refuse_each(
                t.paren_token.span.open(),
                "a closure over elements gives one element; here it gives several",
                "use one closure for each",
            ),
            other => self.refuse_each(
                other.span(),
                "a closure over elements is one expression of element-wise ops",
                statement,
            ),
        }
    }

    fn nested<T>(&mut self, span: Span) -> Option<T> {
        let help = "apply one after the other, `x.map(..).map(..)`, or write one closure";
        self.refuse_each(span, "a closure over elements has no closure in it", help)
    }

    /// A scalar in a closure: an expression of the kernel that only computes.
    fn uniform(&mut self, e: &SynExpr) -> Option<Each> {
        let help = "compute it before: `let s = ..;`";
        match e {
            SynExpr::Closure(c) => return self.nested(c.inputs_begin.span()),
            SynExpr::MethodCall(m) if CLOSURE_METHODS.iter().any(|(name, _)| m.method == name) => {
                return self.nested(m.method.span());
            }
            _ if has_block(e.to_token_stream()) => {
                let message = "a closure over elements has no statements and no branches of scalars";
                return self.refuse_each(e.span(), message, help);
            }
            _ => {}
        }
        let value = self.parse_expr(e)?;
        if let Some(name) = assigned_in(&value).iter().next() {
            let message = format!("a closure over elements changes nothing; here it changes `{name}`");
            return self.refuse_each(value.span, &message, help);
        }
        Some(Each { span: value.span, kind: EachKind::Uniform(value) })
    }

    /// `a op b`; a scalar on the left changes places where it may.
    fn pair(&mut self, span: Span, op: MapBinary, a: Each, b: Each) -> Each {
        let commutes = !matches!(op, MapBinary::Sub | MapBinary::Div);
        let operands = if commutes && a.is_uniform() { [b, a] } else { [a, b] };
        Each { span, kind: EachKind::Binary(op, Box::new(operands)) }
    }

    fn each_binary(&mut self, b: &syn::ExprBinary, names: &Names, assignment: &str) -> Option<Each> {
        let span = b.op.span();
        let op = match b.op {
            BinOp::Add(_) => MapBinary::Add,
            BinOp::Sub(_) => MapBinary::Sub,
            BinOp::Mul(_) => MapBinary::Mul,
            BinOp::Div(_) => MapBinary::Div,
            _ if comparison(&b.op).is_some() || matches!(b.op, BinOp::And(_) | BinOp::Or(_)) => {
                return self.refuse_each(
                    span,
                    "a closure over elements gives an element; here it gives a `bool`",
                    "choose by it, `if x > 0.0 { x } else { 0.0 }`, or make a mask of the tile: `x.gt(0.0)`",
                );
            }
            BinOp::Rem(_)
            | BinOp::BitAnd(_)
            | BinOp::BitOr(_)
            | BinOp::BitXor(_)
            | BinOp::Shl(_)
            | BinOp::Shr(_) => {
                return self.refuse_each(span, "an element does not have this operator", HAS);
            }
            _ => return self.refuse_each(span, assignment, "write the operator without `=`"),
        };
        let (x, y) = (self.each(&b.left, names), self.each(&b.right, names));
        Some(self.pair(span, op, x?, y?))
    }

    fn each_method(&mut self, m: &ExprMethodCall, names: &Names) -> Option<Each> {
        let (text, span) = (m.method.to_string(), m.method.span());
        let unary = match text.as_str() {
            "ln" => Some(MapUnary::Log),
            // Rust's `log` takes the base, and its `neg` is not in scope.
            "log" | "neg" => None,
            name => MapUnary::from_name(name),
        };
        let count = match text.as_str() {
            _ if unary.is_some() => 0,
            "min" | "max" => 1,
            "mul_add" => 2,
            _ => {
                let help = match text.as_str() {
                    "map" | "zip" => return self.nested(span),
                    "neg" => "write `-x`",
                    "log" => "write `x.ln()`, or `x.log2()`",
                    "fma" => "write `x.mul_add(a, b)`",
                    "clamp" => "write `x.max(low).min(high)`",
                    "powi" | "powf" => "write the products, `x * x`, or `(x.log2() * n).exp2()`",
                    "add" | "sub" | "mul" | "div" => "write the operator: `x + y`",
                    "to" | "select" | "lt" | "le" | "gt" | "ge" | "eq" | "ne" => {
                        "that is a method of whole tiles and vectors; compare elements in `if x > 0.0 { .. } else { .. }`"
                    }
                    _ => HAS,
                };
                self.diags.push(Code::UnknownOp, span, format!("an element has no `.{text}()`"), help);
                return None;
            }
        };
        if m.args.len() != count {
            let form = match count {
                0 => format!("x.{text}()"),
                1 => format!("x.{text}(y)"),
                _ => format!("x.{text}(a, b)"),
            };
            let found = format!("here it has {}", crate::parse_call::count_of(m.args.len(), "argument"));
            return self.arguments(span, &form, found);
        }
        self.typed_receiver(m)?;
        let receiver = self.each(&m.receiver, names);
        let args: Vec<Option<Each>> = m.args.iter().map(|a| self.each(a, names)).collect();
        let x = receiver?;
        let args: Vec<Each> = args.into_iter().collect::<Option<_>>()?;
        let each = |kind| Some(Each { span, kind });
        match (unary, <[Each; 2]>::try_from(args)) {
            (Some(op), _) => each(EachKind::Unary(op, Box::new(x))),
            (None, Ok([a, b])) => {
                // The factors may change places.
                let (x, a) = if x.is_uniform() { (a, x) } else { (x, a) };
                each(EachKind::Ternary(MapTernary::Fma, Box::new([x, a, b])))
            }
            (None, Err(args)) => {
                let y = args.into_iter().next()?;
                let op = if text == "min" { MapBinary::Min } else { MapBinary::Max };
                Some(self.pair(span, op, x, y))
            }
        }
    }

    fn each_if(&mut self, i: &syn::ExprIf, names: &Names) -> Option<Each> {
        let span = i.if_token.span();
        let Some((_, otherwise)) = &i.else_branch else {
            let message = "an `if` in a closure over elements gives an element either way";
            return self.refuse_each(span, message, "write `if x > 0.0 { x } else { 0.0 }`");
        };
        let test = self.element_test(&i.cond, names);
        let then = self.each_block(&i.then_branch, names);
        let otherwise = self.each(otherwise, names);
        Some(Each { span, kind: EachKind::Choose(Box::new(test?), Box::new([then?, otherwise?])) })
    }

    fn each_block(&mut self, block: &syn::Block, names: &Names) -> Option<Each> {
        match block.stmts.as_slice() {
            [syn::Stmt::Expr(e, None)] => self.each(e, names),
            stmts => {
                let span = stmts.first().map_or(block.brace_token.span.open(), |s| s.span());
                let message = "a closure over elements is one expression; here it has statements";
                let help = "bind what is the same for all elements with `let` before; use a second `map` for what is not";
                self.refuse_each(span, message, help)
            }
        }
    }

    /// A condition on elements.
    fn element_test(&mut self, e: &SynExpr, names: &Names) -> Option<Test> {
        let scalars = "write the `if` around the closures: `if c { x.map(..) } else { x.map(..) }`";
        match strip(e) {
            SynExpr::Let(l) => self.refuse_each(
                l.let_token.span(),
                "`let` in a condition is not part of a closure",
                "compare elements",
            ),
            e if !mentions(names, e.to_token_stream()) => self.refuse_each(
                e.span(),
                "a condition in a closure compares elements; this is the same for all",
                scalars,
            ),
            SynExpr::Unary(u) if matches!(u.op, UnOp::Not(_)) => {
                let test = self.element_test(&u.expr, names)?;
                Some(Test { span: u.op.span(), kind: TestKind::Not(Box::new(test)) })
            }
            SynExpr::Binary(b) => {
                let span = b.op.span();
                let logic = match b.op {
                    BinOp::And(_) | BinOp::BitAnd(_) => Some(Logic::And),
                    BinOp::Or(_) | BinOp::BitOr(_) => Some(Logic::Or),
                    BinOp::BitXor(_) => Some(Logic::Xor),
                    _ => None,
                };
                if let Some(op) = logic {
                    let (p, q) = (self.element_test(&b.left, names), self.element_test(&b.right, names));
                    return Some(Test { span, kind: TestKind::Logic(op, Box::new([p?, q?])) });
                }
                let Some(op) = comparison(&b.op) else {
                    return self.refuse_each(
                        span,
                        "a condition in a closure compares elements",
                        "write `x > 0.0`",
                    );
                };
                let (x, y) = (self.each(&b.left, names), self.each(&b.right, names));
                let (x, y) = (x?, y?);
                let (op, operands) = if x.is_uniform() { (turned(op), [y, x]) } else { (op, [x, y]) };
                Some(Test { span, kind: TestKind::Compare(op, Box::new(operands)) })
            }
            other => self.refuse_each(
                other.span(),
                "a condition in a closure compares elements",
                "write `x > 0.0`",
            ),
        }
    }
}

/// The comparison with its sides changed: `a < b` is `b > a`.
fn turned(op: Compare) -> Compare {
    match op {
        Compare::Lt => Compare::Gt,
        Compare::Le => Compare::Ge,
        Compare::Gt => Compare::Lt,
        Compare::Ge => Compare::Le,
        Compare::Eq | Compare::Ne => op,
    }
}
