//! Owns inference of `row_topk`, `col_topk` and their forms with a running value, which give two tiles.
//!
//! *Guarantees*: as `infer_call`. *Not here*: which sizes and types are legal (`tile_ir::ops::topk`).

use proc_macro2::Ident;

use crate::ast::{Bound, DTypeRef, Expr, TopKCall, TopKFrom};
use crate::infer::Infer;
use crate::value::{SymTile, SymType, Val, Want};
use tile_ir::error::Code;
use tile_ir::ir::{OpKind, Running, TopK, ValueId};
use tile_ir::types::{Along, DType, Role, ScalarType, Type};

impl Infer<'_> {
    /// Types a top-k of a tile.
    pub(crate) fn top_k(
        &mut self,
        e: &Expr,
        call: &TopKCall,
        name: &Ident,
        (tile, sym): (ValueId, SymTile),
    ) -> Option<Val> {
        let span = e.span;
        self.check_bound(&name.to_string(), &sym.dtype, Bound::Element, span)?;
        let Ok(Ok(k)) = self.binding.eval(&call.k).map(u32::try_from) else {
            let span = crate::parse::size_span(&call.k);
            return self.error(Code::TopKShape, span, "a top-k keeps 1 to 32 elements", "");
        };
        let (room, running) = match &call.from {
            TopKFrom::Nothing(room) => (room.clone(), None),
            TopKFrom::Running(args) => {
                let [values, indices, base] = &**args;
                let (values, of_values) = self.running(name, "values", values)?;
                let (indices, _) = self.running(name, "indices", indices)?;
                let val = self.expr(base, Want::Scalar(ScalarType::U32))?;
                let base = self.scalar(val, ScalarType::U32, base.span)?;
                let room = match call.along {
                    Along::Rows => of_values.cols,
                    Along::Cols => of_values.rows,
                };
                (room, Some(Running { values, indices, base }))
            }
        };
        let wide = self.binding.dtype(&sym.dtype)?.wide();
        let of = |dtype: DType| {
            let dtype = DTypeRef::Fixed(dtype, span);
            match call.along {
                Along::Rows => SymTile { dtype, cols: room.clone(), role: Role::Row, ..sym.clone() },
                Along::Cols => SymTile { dtype, rows: room.clone(), role: Role::Row, ..sym.clone() },
            }
        };
        // Of a mask, which the verifier refuses, the values are masks.
        let (values, indices) = (of(wide), of(DType::I32));
        let types = [Type::Tile(self.concrete(&values)?), Type::Tile(self.concrete(&indices)?)];
        let ids = self.emit(OpKind::TopK(TopK { along: call.along, k, tile, running }), &types, span);
        self.witness(e, SymType::Tuple(vec![SymType::Tile(values.clone()), SymType::Tile(indices.clone())]));
        Some(Val::Tuple(vec![Val::Tile(ids[0], values), Val::Tile(ids[1], indices)]))
    }

    /// A running value or index: a tile.
    fn running(&mut self, name: &Ident, which: &str, e: &Expr) -> Option<(ValueId, SymTile)> {
        match self.expr(e, Want::Any)? {
            Val::Tile(id, sym) => Some((id, sym)),
            other => {
                let found = self.name_of(&other);
                let message = format!(
                    "`{name}` goes on from tiles of values and of indices; here the {which} are {found}"
                );
                self.error(Code::TopKRunning, e.span, message, "pass what the same op gave")
            }
        }
    }
}
