//! Owns the printing of ops on shared memory, cooperative copies and barriers.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::ast::{Call, Expr, GroupCall};
use crate::print::{Printer, context, ident, int, parens, plain_int};
use tile_ir::types::ScalarType;

impl Printer<'_> {
    fn position(&self, at: &[Expr]) -> TokenStream {
        let parts: Vec<TokenStream> = at
            .iter()
            .map(|part| match plain_int(part) {
                Some((v, None)) => int(v, Some(ScalarType::U32), part.span),
                Some(_) | None => self.expr(part),
            })
            .collect();
        match parts.as_slice() {
            [one] => quote!(#one),
            all => quote!([#(#all),*]),
        }
    }

    /// Prints such a call.
    pub(crate) fn group_call(&self, call: &Call, group: &GroupCall) -> TokenStream {
        let name = &call.name;
        let span = name.span();
        let private = self.at_token(span);
        let in_context = |f: &str| {
            let f = ident(&format!("{f}_in"), span);
            quote_spanned! { span => #private::ops::shared::#f }
        };
        let plain = quote_spanned! { span => #private::ops::shared::#name };
        let cx = context();
        let borrow = |i: usize| self.borrow(call, i);
        let (path, arguments) = match group {
            GroupCall::Shared { index, name } => {
                let index = proc_macro2::Literal::usize_unsuffixed(*index);
                (in_context("shared"), quote!(#cx, #index, #name))
            }
            GroupCall::Barrier(kind) => (in_context(kind.name()), quote!(#cx)),
            GroupCall::Load { shared, at, .. } => {
                let (at, by) = (self.position(at), borrow(0));
                (plain, quote!(#by #shared, #at))
            }
            GroupCall::Store { shared, value, at } => {
                let (value, at, by, of) = (self.borrowed(value), self.position(at), borrow(0), borrow(1));
                (plain, quote!(#by mut #shared, #of #value, #at))
            }
            GroupCall::LoadCoop { shared, global, at } => {
                let (at, by) = (self.at(at), borrow(0));
                (plain, quote!(#by mut #shared, #global, #at))
            }
            GroupCall::StoreCoop { global, shared, at } => {
                let (at, by) = (self.at(at), borrow(0));
                (plain, quote!(#global, #by #shared, #at))
            }
        };
        let arguments = parens(arguments, call.parens);
        quote! { #path #arguments }
    }
}
