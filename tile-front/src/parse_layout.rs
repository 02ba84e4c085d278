//! Owns the syntax of transposed stores, atomic adds and parts of tiles.
//!
//! *Guarantees*: as `parse_call`. *Not here*: whether the arguments have the right types (`infer_layout`).

use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr as SynExpr, ExprMethodCall, GenericArgument, Token};

use crate::ast::{At, CallOp, Method, PartIndex};
use crate::decl::parse_size;
use crate::parse::Parser;

impl Parser<'_> {
    /// `store_transpose`, `store_vec`, `store_vec_at`, `atomic_add`, `atomic_add_vec`.
    pub(crate) fn scatter_call(
        &mut self,
        text: &str,
        form: &str,
        args: &Punctuated<SynExpr, Token![,]>,
    ) -> Option<CallOp> {
        let global = self.global(&args[0], form);
        let value = self.tile_ref(&args[1], form);
        let at = self.at(&args[2], form);
        let (global, value, at) = (global?, value?, at?);
        if text == "store_transpose" {
            return Some(CallOp::StoreTranspose { global, tile: value, at });
        }
        let (owned, vector) = (text == "store_vec", text != "atomic_add");
        if vector
            && !owned
            && let At::Own(name) = &at
        {
            let found = "a vector's coordinate is a list or `elements([..])`";
            return self.arguments(name.span(), form, found);
        }
        if text.starts_with("store") {
            return Some(CallOp::StoreVector { global, vector: value, at, owned });
        }
        Some(CallOp::AtomicAdd { global, value, at, vector })
    }

    /// `x.sub_tile::<R, C>(i, j)`
    pub(crate) fn sub_tile(&mut self, m: &ExprMethodCall, form: &str) -> Option<Method> {
        let written: Vec<&GenericArgument> = m.turbofish.iter().flat_map(|t| &t.args).collect();
        let [rows, cols] = written[..] else {
            return self.arguments(m.method.span(), form, "the part's rows and columns are missing");
        };
        let rows = parse_size(rows, self.generics, self.diags);
        let cols = parse_size(cols, self.generics, self.diags);
        let at = self.part_place([&m.args[0], &m.args[1]]);
        Some(Method::SubTile { rows: rows?, cols: cols?, at: at? })
    }

    /// `x.set_sub_tile(&part, i, j)`
    pub(crate) fn set_sub_tile(&mut self, m: &ExprMethodCall, form: &str) -> Option<Method> {
        if self.reference(&m.receiver).is_none()
            && !matches!(crate::parse::strip(&m.receiver), SynExpr::Path(p) if p.path.get_ident().is_some())
        {
            return self.arguments(m.receiver.span(), form, "the tile that changes is a variable");
        }
        let part = self.tile_ref(&m.args[0], form);
        let at = self.part_place([&m.args[1], &m.args[2]]);
        Some(Method::SetSubTile { part: Box::new(part?), at: at? })
    }

    fn part_place(&mut self, args: [&SynExpr; 2]) -> Option<Box<[PartIndex; 2]>> {
        let [row, col] = args.map(|arg| match self.size(arg) {
            Some(size) => Some(PartIndex::Size(size)),
            None => self.parse_expr(arg).map(PartIndex::Scalar),
        });
        Some(Box::new([row?, col?]))
    }
}
