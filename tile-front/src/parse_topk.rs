//! Owns the syntax of `row_topk`, `col_topk` and their forms with a running value.
//!
//! *Guarantees*: as `parse_call`. *Not here*: whether the arguments have the right types (`infer_topk`).

use syn::ExprMethodCall;
use syn::spanned::Spanned;
use tile_ir::types::Along;

use crate::ast::{Method, TopKCall, TopKFrom};
use crate::decl::parse_size;
use crate::parse::Parser;

impl Parser<'_> {
    /// `x.row_topk::<P>(k)`, `x.row_topk_with(k, &values, &indices, base)`, and the same of columns.
    pub(crate) fn top_k(&mut self, m: &ExprMethodCall, text: &str, form: &str) -> Option<Method> {
        let along = if text.starts_with("row") { Along::Rows } else { Along::Cols };
        let Some(k) = self.size(&m.args[0]) else {
            let found = "how many elements are kept must be known at compile time: a literal, a `const` parameter or a derived size";
            return self.arguments(m.args[0].span(), form, found);
        };
        let from = if text.ends_with("_with") {
            let [values, indices] = [1, 2].map(|i| self.tile_ref(&m.args[i], form));
            let base = self.parse_expr(&m.args[3]);
            TopKFrom::Running(Box::new([values?, indices?, base?]))
        } else {
            let written = m.turbofish.as_ref().map(|t| &t.args);
            let Some(size) = written.filter(|args| args.len() == 1).and_then(|args| args.first()) else {
                let side = if along == Along::Rows { "columns" } else { "rows" };
                let found = format_args!("the {side} of the results are missing");
                return self.arguments(m.method.span(), form, found);
            };
            TopKFrom::Nothing(parse_size(size, self.generics, self.diags)?)
        };
        Some(Method::TopK(Box::new(TopKCall { along, k, from })))
    }
}
