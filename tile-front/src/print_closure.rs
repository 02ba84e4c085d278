//! Owns the executed copy of closures over elements: the ops on whole tiles or vectors that `infer_closure` emits.
//!
//! *Guarantees*: op by op the same as the IR, so that both executions give the same bits. *Not here*: the rest of a
//! body (`print`).

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;

use crate::ast::Expr;
use crate::closure::{Closure, Each, EachKind, Form, Test, TestKind};
use crate::print::{Printer, ident, parens};

impl Printer<'_> {
    /// `x.map(|v| ..)`, `x.zip(&y, |a, b| ..)`
    pub(crate) fn closure(
        &self,
        receiver: &Expr,
        closure: &Closure,
        name: &Ident,
        around: Span,
    ) -> TokenStream {
        let span = name.span();
        let private = self.at_token(span);
        let names: Vec<&Ident> = closure.params.iter().map(|(name, _)| name).collect();
        let receiver = self.borrowed(receiver);
        let other = closure.other.as_ref().map(|e| {
            let e = self.borrowed(e);
            quote_spanned!(span => &#e,)
        });
        let body = match &closure.body.kind {
            EachKind::Param(number) => {
                let x = names[*number];
                quote_spanned!(span => ::core::clone::Clone::clone(#x))
            }
            _ => self.each(&closure.body, &names),
        };
        let f = ident(if other.is_some() { "zip_whole" } else { "map_whole" }, span);
        let arguments = parens(quote_spanned!(span => &#receiver, #other |#(#names),*| #body), around);
        quote_spanned!(span => #private::ops::closure::#f #arguments)
    }

    /// A place that holds the tile or vector of an expression.
    fn each(&self, e: &Each, names: &[&Ident]) -> TokenStream {
        let span = e.span;
        match &e.kind {
            EachKind::Param(number) => {
                let x = names[*number];
                quote_spanned!(span => (*#x))
            }
            EachKind::Uniform(value) => {
                let (value, like, private) = (self.expr(value), names[0], self.at_token(span));
                quote_spanned!(span => #private::ops::closure::uniform(#like, #value))
            }
            EachKind::Unary(op, x) => {
                let (x, f) = (self.each(x, names), ident(op.name(), span));
                quote_spanned!(span => #x.#f())
            }
            EachKind::Binary(op, operands) => {
                let [a, b] = &**operands;
                match Form::of(*op, a.is_uniform()) {
                    Form::Turned(first, then) => {
                        let (first, then) = (ident(first.name(), span), ident(then.name(), span));
                        let (y, s) = (self.each(b, names), self.each_operand(a, names));
                        quote_spanned!(span => #y.#first().#then(#s))
                    }
                    Form::Plain => {
                        let (x, y) = (self.each(a, names), self.each_operand(b, names));
                        let f = ident(op.name(), span);
                        quote_spanned!(span => #x.#f(#y))
                    }
                }
            }
            EachKind::Ternary(op, operands) => {
                let [x, a, b] = &**operands;
                let x = self.each(x, names);
                let (a, b) = (self.each_operand(a, names), self.each_operand(b, names));
                let f = ident(op.name(), span);
                quote_spanned!(span => #x.#f(#a, #b))
            }
            EachKind::Choose(test, branches) => {
                let [yes, no] = &**branches;
                let (mask, yes) = (self.element_test(test, names), self.each(yes, names));
                let no = self.each_operand(no, names);
                quote_spanned!(span => #mask.select(&#yes, #no))
            }
        }
    }

    /// An operand that may be a scalar.
    fn each_operand(&self, e: &Each, names: &[&Ident]) -> TokenStream {
        if let EachKind::Uniform(value) = &e.kind {
            return self.expr(value);
        }
        let place = self.each(e, names);
        quote_spanned!(e.span => &#place)
    }

    fn element_test(&self, test: &Test, names: &[&Ident]) -> TokenStream {
        let span = test.span;
        match &test.kind {
            TestKind::Compare(op, operands) => {
                let [a, b] = &**operands;
                let (a, b) = (self.each(a, names), self.each_operand(b, names));
                let f = ident(op.name(), span);
                quote_spanned!(span => #a.#f(#b))
            }
            TestKind::Logic(op, sides) => {
                let [p, q] = &**sides;
                let (p, q) = (self.element_test(p, names), self.element_test(q, names));
                let f = ident(op.name(), span);
                quote_spanned!(span => #p.#f(&#q))
            }
            TestKind::Not(inner) => {
                let inner = self.element_test(inner, names);
                quote_spanned!(span => #inner.not())
            }
        }
    }
}
