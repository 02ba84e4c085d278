//! Owns inference of transposes, parts of tiles, transposed stores and atomic adds.
//!
//! *Guarantees*: as `infer_call`.

use proc_macro2::Ident;

use crate::ast::{At, Expr, ExprKind, Method, PartIndex};
use crate::infer::Infer;
use crate::value::{SymTile, Val, Want};
use tile_ir::error::Code;
use tile_ir::ir::{OpKind, ValueId};
use tile_ir::types::{Role, Type};

impl Infer<'_> {
    /// `store_transpose(c, &tile, at)`
    pub(crate) fn store_transpose(
        &mut self,
        name: &Ident,
        global: &Ident,
        tile: &Expr,
        at: &At,
    ) -> Option<Val> {
        let span = name.span();
        let id = self.param(global);
        let val = self.expr(tile, Want::Any);
        if let At::List { span, .. } = at {
            return self.error(
                Code::UnownedStore,
                *span,
                "`store_transpose` goes to the tile this sub-group owns, which is the value of `own_tile`; here it is a list",
                "write `store_transpose(c, &tile, at)`; elsewhere, an `unsafe fn` may `store_at` the tile's `.transpose()`",
            );
        }
        let (tile, sym) = self.tile(val?, tile.span)?;
        self.check_element(Code::StoreShape, &sym.dtype, id?, span)?;
        self.check_owned(at, &sym.cols, &sym.rows, true)?;
        let at = self.coord(at)?;
        self.emit(OpKind::StoreTranspose { global: id?, tile, at }, &[], span);
        Some(Val::Unit)
    }

    /// `atomic_add(c, &tile, at)`, `atomic_add_vec(c, &v, at)`
    pub(crate) fn atomic_add(
        &mut self,
        name: &Ident,
        global: &Ident,
        value: &Expr,
        at: &At,
        vector: bool,
    ) -> Option<Val> {
        let span = name.span();
        let id = self.param(global);
        let val = self.expr(value, Want::Any)?;
        let (value, dtype) = match (&val, vector) {
            (Val::Tile(id, sym), false) => {
                self.check_owned(at, &sym.rows, &sym.cols, false)?;
                (*id, sym.dtype.clone())
            }
            (Val::Vector(id, sym), true) => (*id, sym.dtype.clone()),
            (_, _) => {
                let found = self.name_of(&val);
                let takes = if vector { "a vector" } else { "a tile" };
                return self.error(
                    Code::AtomicType,
                    value.span,
                    format!("`{name}` adds {takes}; here it is {found}"),
                    "a tile goes with `atomic_add`, a vector with `atomic_add_vec`",
                );
            }
        };
        self.check_added(id?, span)?;
        self.check_element(Code::AtomicType, &dtype, id?, span)?;
        let at = self.coord(at)?;
        self.emit(OpKind::AtomicAdd { global: id?, value, at, vector }, &[], span);
        Some(Val::Unit)
    }

    /// The methods that move elements.
    pub(crate) fn layout_method(
        &mut self,
        e: &Expr,
        receiver: &Expr,
        method: &Method,
        (tile, sym): (ValueId, SymTile),
    ) -> Option<Val> {
        let span = e.span;
        match method {
            Method::SubTile { rows, cols, at } => {
                let at = self.part_at(at)?;
                let part = SymTile { rows: rows.clone(), cols: cols.clone(), ..sym };
                let ty = Type::Tile(self.concrete(&part)?);
                Some(Val::Tile(self.emit(OpKind::SubTile { tile, at }, &[ty], span)[0], part))
            }
            Method::SetSubTile { part, at } => {
                let at = self.part_at(at)?;
                let val = self.expr(part, Want::Any)?;
                let (part_id, part_sym) = self.tile(val, part.span)?;
                self.check_part(&part_sym, &sym, part.span)?;
                let ExprKind::Name(name) = &receiver.kind else {
                    return self.error(
                        Code::Arguments,
                        receiver.span,
                        "the tile that `set_sub_tile` changes is a variable",
                        "bind it first: `let mut x = ..;`",
                    );
                };
                let ty = self.kernel.ty(tile);
                let id = self.emit(OpKind::SetSubTile { tile, part: part_id, at }, &[ty], span)[0];
                self.set(name, Val::Tile(id, sym));
                Some(Val::Unit)
            }
            // The caller has the three methods above and `transpose`.
            _ => {
                let turned =
                    SymTile { rows: sym.cols.clone(), cols: sym.rows.clone(), role: Role::Row, ..sym };
                let ty = Type::Tile(self.concrete(&turned)?);
                Some(Val::Tile(self.emit(OpKind::Transpose { tile }, &[ty], span)[0], turned))
            }
        }
    }

    fn part_at(&mut self, at: &[PartIndex; 2]) -> Option<(u32, u32)> {
        let [row, col] = [0, 1].map(|i| {
            let (number, span) = match &at[i] {
                PartIndex::Size(size) => {
                    (self.binding.eval(size).ok().map(i128::from), crate::parse::size_span(size))
                }
                PartIndex::Scalar(e) => (Some(self.known_part(e)?), e.span),
            };
            match number.map(u32::try_from) {
                Some(Ok(n)) => Some(n),
                Some(Err(_)) | None => {
                    self.error(Code::Literal, span, "the number of a part is 0 to 4294967295", "")
                }
            }
        });
        Some((row?, col?))
    }

    /// The value of a scalar that says which part.
    fn known_part(&mut self, e: &Expr) -> Option<i128> {
        let known = match self.expr(e, Want::Any)? {
            Val::Int(v) => Some(v),
            Val::Scalar(id, _) => self.known_integer(id),
            Val::Broken => return None,
            _ => None,
        };
        match known {
            Some(v) => Some(v),
            None => self.error(
                Code::SubTile,
                e.span,
                "which part it is must be known at compile time; here it is computed at run time",
                "write a literal, a size, or what is computed from the counter of a loop with `#[unroll]`",
            ),
        }
    }
}
