//! Owns the printing of a top-k, and of the witness of a variable's type.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;

use crate::ast::{TopKCall, TopKFrom};
use crate::print::{Printer, int, plain_int, size_expr};
use crate::value::SymType;
use tile_ir::types::ScalarType;

impl Printer<'_> {
    /// The generic arguments and the arguments of the method.
    pub(crate) fn top_k(&self, call: &TopKCall, span: Span) -> (Option<TokenStream>, TokenStream) {
        let k = size_expr(&call.k);
        match &call.from {
            TopKFrom::Nothing(room) => {
                let room = self.size(room);
                (Some(quote_spanned!(span => ::<#room>)), k)
            }
            TopKFrom::Running(args) => {
                let [values, indices, base] = &**args;
                let (values, indices) = (self.borrowed(values), self.borrowed(indices));
                let base = match plain_int(base) {
                    Some((v, None)) => int(v, Some(ScalarType::U32), base.span),
                    Some(_) | None => self.expr(base),
                };
                (None, quote_spanned!(span => #k, &#values, &#indices, #base))
            }
        }
    }

    /// A statement that rustc accepts only if the variable has the type.
    pub(crate) fn witness(&self, name: &Ident, sym: &SymType) -> TokenStream {
        let span = name.span();
        let (ty, private) = (self.sym(sym, span), self.at_token(span));
        quote_spanned! { span => #private::witness::<#ty>(&#name); }
    }
}
