//! Owns inference of stores of vectors, and of methods that reduce or re-encode them.
//!
//! *Guarantees*: as `infer_call`.

use proc_macro2::Ident;

use crate::ast::{At, Bound, DTypeRef, Expr, VectorMethod};
use crate::infer::Infer;
use crate::value::{SymVector, Val, Want};
use tile_ir::error::Code;
use tile_ir::ir::{Coord, OpKind, VectorOp};
use tile_ir::types::{Along, DType, Encoding, ScalarType, Type};

impl Infer<'_> {
    /// `store_vec(c, &v, at)`, `store_vec_at(c, &v, [row, i])`
    pub(crate) fn store_vector(
        &mut self,
        name: &Ident,
        global: &Ident,
        vector: &Expr,
        at: &At,
        owned: bool,
    ) -> Option<Val> {
        let span = name.span();
        let id = self.param(global);
        let val = self.expr(vector, Want::Any)?;
        if owned && let At::List { span, .. } = at {
            return self.error(
                Code::UnownedStore,
                *span,
                "`store_vec` goes to the place that belongs to the tile this sub-group owns, which is named by the value of \
                 `own_tile`; here it is a list",
                "write `store_vec(c, &v, at)`, or mark the kernel `unsafe fn` and use `store_vec_at`",
            );
        }
        if !owned && !self.kernel.unowned_stores {
            return self.error(
                Code::UnownedStore,
                span,
                "a safe kernel stores a vector only where its sub-group owns a tile; `store_vec_at` takes any coordinate",
                "use `store_vec(c, &v, at)` with the value of `own_tile`, or mark the kernel `unsafe fn`",
            );
        }
        let Val::Vector(vector, sym) = val else {
            let found = self.name_of(&val);
            return self.error(
                Code::StoreVector,
                vector.span,
                format!("`{name}` stores a vector; here it is {found}"),
                "a tile goes with `store`, a vector with `store_vec`",
            );
        };
        self.check_element(Code::StoreVector, &sym.dtype, id?, span)?;
        self.check_owned_line(at, &sym)?;
        let at = self.coord(at)?;
        // The place of a vector along rows has the coordinates of its tile the other way round.
        let at = match sym.encoding {
            Encoding::Line(Along::Rows) if owned => Coord { row: at.col, col: at.row, ..at },
            Encoding::Line(_) | Encoding::Wide => at,
        };
        self.emit(OpKind::Vector(VectorOp::Store { global: id?, vector, at }), &[], span);
        Some(Val::Unit)
    }

    /// The methods without operands.
    pub(crate) fn vector_method(
        &mut self,
        e: &Expr,
        method: VectorMethod,
        val: Val,
        name: &Ident,
    ) -> Option<Val> {
        let span = e.span;
        let dtype = val.elements();
        if let Some(dtype) = &dtype {
            self.check_bound(&name.to_string(), dtype, Bound::Element, span)?;
        }
        let elements = dtype.and_then(|d| self.binding.dtype(&d)).map_or(ScalarType::F32, DType::scalar);
        let scalar =
            |this: &mut Self, op, ty| Some(Val::Scalar(this.emit_scalar(OpKind::Vector(op), ty, span), ty));
        match (method, val) {
            (VectorMethod::Reduce(how), Val::Vector(vector, _)) => {
                scalar(self, VectorOp::Reduce { how, vector }, elements)
            }
            (VectorMethod::Arg(how), Val::Vector(vector, _)) => {
                scalar(self, VectorOp::Arg { how, vector }, ScalarType::I32)
            }
            (VectorMethod::ArgLines(how, along), Val::Tile(tile, sym)) => {
                let len = match along {
                    Along::Rows => sym.rows,
                    Along::Cols => sym.cols,
                };
                let out = SymVector { dtype: DTypeRef::Fixed(DType::I32, span), len, encoding: along.into() };
                let ty = Type::Vector(self.concrete_vector(&out)?);
                let kind = OpKind::Vector(VectorOp::ArgLines { how, along, tile });
                Some(Val::Vector(self.emit(kind, &[ty], span)[0], out))
            }
            (VectorMethod::Encode(to), Val::Vector(vector, sym)) => {
                let out = SymVector { encoding: to.into(), ..sym };
                let ty = Type::Vector(self.concrete_vector(&out)?);
                let kind = OpKind::Vector(VectorOp::Encode { vector, to });
                Some(Val::Vector(self.emit(kind, &[ty], span)[0], out))
            }
            (method, other) => {
                let found = self.name_of(&other);
                let (takes, help) = match method {
                    VectorMethod::ArgLines(..) => {
                        ("a tile", "the position in a vector is `v.argmax()` or `v.argmin()`")
                    }
                    VectorMethod::Arg(_) => (
                        "a vector",
                        "the positions in a tile are `x.row_argmax()`, `x.col_argmax()` and their kin",
                    ),
                    VectorMethod::Reduce(_) => {
                        ("a vector", "reduce a tile first: `x.row_sum()`, `x.col_max()`")
                    }
                    VectorMethod::Encode(_) => ("a vector", ""),
                };
                let code = if matches!(method, VectorMethod::Encode(_)) {
                    Code::Encoding
                } else {
                    Code::ReduceOperand
                };
                self.error(code, span, format!("`{name}` takes {takes}; here it is called on {found}"), help)
            }
        }
    }
}
