//! Owns the rules that must hold by name, in every instance, and not by the values of one instance.
//!
//! The executable copy is generic, so rustc wants the same parameters where the language wants equal sizes or
//! types. A kernel whose `M` and `K` happen to be equal in all its instances would be refused by rustc alone, in
//! terms of the host's types. *Not here*: rules about values, which are the verifier's (`tile_ir`).

use proc_macro2::Span as TokenSpan;

use crate::ast::{At, Bound, DTypeRef, SizeRef};
use crate::infer::Infer;
use crate::value::{SymTile, SymVector, Val};
use tile_ir::error::Code;
use tile_ir::ir::{LoadForm, ParamId};
use tile_ir::types::{Along, Encoding, Role};

impl core::fmt::Display for DTypeRef {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            DTypeRef::Param(name) => write!(f, "{name}"),
            DTypeRef::Fixed(dtype, _) => write!(f, "{dtype}"),
        }
    }
}

impl core::fmt::Display for SizeRef {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            SizeRef::Param(name) => write!(f, "{name}"),
            SizeRef::Literal(v, _) => write!(f, "{v}"),
        }
    }
}

impl core::fmt::Display for SymTile {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "rt<{}, {}, {}, {}>", self.dtype, self.rows, self.cols, self.role.name())
    }
}

impl Infer<'_> {
    /// True when the two have one value in this instance and yet are not one parameter or literal.
    fn sizes_meet(&self, a: &SizeRef, b: &SizeRef) -> bool {
        self.binding.size(a) == self.binding.size(b) && a.to_string() != b.to_string()
    }

    pub(crate) fn dtypes_meet(&self, a: &DTypeRef, b: &DTypeRef) -> bool {
        self.binding.dtype(a) == self.binding.dtype(b) && a.to_string() != b.to_string()
    }

    pub(crate) fn refuse_meeting(
        &mut self,
        code: Code,
        span: TokenSpan,
        rule: &str,
        help: &str,
    ) -> Option<()> {
        let message = format!("{rule}, though they agree in instance {}", self.binding.name);
        self.error(code, span, message, help)
    }

    /// A tile where another type is written.
    pub(crate) fn check_written(&mut self, found: &SymTile, want: &SymTile, span: TokenSpan) -> Option<()> {
        let meet = self.dtypes_meet(&found.dtype, &want.dtype)
            || self.sizes_meet(&found.rows, &want.rows)
            || self.sizes_meet(&found.cols, &want.cols);
        if !meet {
            return Some(());
        }
        let rule = format!("a `{want}` is needed in every instance; here it is `{found}`");
        self.refuse_meeting(Code::Mismatch, span, &rule, "write the same parameters in both types")
    }

    /// The right operand of an element-wise op.
    pub(crate) fn check_beside(
        &mut self,
        name: &proc_macro2::Ident,
        lhs: &Val,
        rhs: &Val,
        span: TokenSpan,
    ) -> Option<()> {
        let (of_x, x, y) = match (lhs, rhs) {
            (Val::Tile(_, t), Val::Tile(_, u)) => return self.check_written(u, t, span),
            (Val::Vector(_, v), Val::Vector(_, w)) => ("the other vector's length", &v.len, &w.len),
            (Val::Tile(_, t), Val::Vector(_, v)) => match v.encoding {
                Encoding::Line(Along::Rows) => ("the tile's rows", &t.rows, &v.len),
                Encoding::Line(Along::Cols) => ("the tile's columns", &t.cols, &v.len),
                Encoding::Wide => return Some(()),
            },
            (_, _) => return Some(()),
        };
        if !self.sizes_meet(x, y) {
            return Some(());
        }
        let rule =
            format!("the vector of `{name}` must have {of_x}, `{x}`, in every instance; here it has `{y}`");
        self.refuse_meeting(Code::MapOperand, span, &rule, "write the same parameter in both types")
    }

    /// The part that replaces one of a tile.
    pub(crate) fn check_part(&mut self, part: &SymTile, tile: &SymTile, span: TokenSpan) -> Option<()> {
        if !self.dtypes_meet(&part.dtype, &tile.dtype) {
            return Some(());
        }
        let rule = format!(
            "a part must have the element type of its tile in every instance; here they are `{}` and `{}`",
            part.dtype, tile.dtype
        );
        self.refuse_meeting(Code::SubTile, span, &rule, "use one type parameter for both")
    }

    /// The element type of an output that is added to.
    pub(crate) fn check_added(&mut self, global: ParamId, span: TokenSpan) -> Option<()> {
        let Some(DTypeRef::Param(of)) = self.global_types.get(&global).cloned() else { return Some(()) };
        if self.kernel.global(global).is_some_and(|(dtype, _)| !dtype.accumulates()) {
            return Some(());
        }
        let rule =
            format!("an atomic add goes to an output of f32 or i32 in every instance; here it is `gl<{of}>`");
        self.refuse_meeting(Code::AtomicType, span, &rule, "write `&mut gl<f32>` or `&mut gl<i32>`")
    }

    /// The operands of a multiply.
    pub(crate) fn check_multiply(
        &mut self,
        acc: &SymTile,
        a: &SymTile,
        b: &SymTile,
        span: TokenSpan,
    ) -> Option<()> {
        // A wrong role is the greater mistake, and the verifier's to report.
        let packed = matches!(b.role, Role::Vnni | Role::VnniT);
        if a.role != Role::Row || !packed || acc.role != Role::Acc {
            return Some(());
        }
        let sizes = [
            ("A's columns", &a.cols, "B's rows", &b.rows),
            ("the accumulator's rows", &acc.rows, "A's rows", &a.rows),
            ("the accumulator's columns", &acc.cols, "B's columns", &b.cols),
        ];
        for (of_x, x, of_y, y) in sizes {
            if self.sizes_meet(x, y) {
                let rule =
                    format!("{of_x} must equal {of_y} in every instance; here they are `{x}` and `{y}`");
                let help = "A is M x K, B is K x N, the accumulator is M x N";
                return self.refuse_meeting(Code::InnerDim, span, &rule, help);
            }
        }
        if self.dtypes_meet(&a.dtype, &b.dtype) {
            let rule = format!(
                "both operands must have one element type in every instance; here they are `{}` and `{}`",
                a.dtype, b.dtype
            );
            let help = "use one type parameter for both";
            return self.refuse_meeting(Code::OperandType, span, &rule, help);
        }
        Some(())
    }

    /// The bound of an element type parameter in scope.
    pub(crate) fn bound_of(&self, name: &proc_macro2::Ident) -> Option<Bound> {
        self.bounds.iter().find(|(n, _)| n == name).map(|&(_, bound)| bound)
    }

    /// An op whose elements must satisfy a bound.
    pub(crate) fn check_bound(
        &mut self,
        op: &str,
        dtype: &DTypeRef,
        needs: Bound,
        span: TokenSpan,
    ) -> Option<()> {
        let DTypeRef::Param(name) = dtype else { return Some(()) };
        let Some(has) = self.bound_of(name).filter(|&has| has < needs) else { return Some(()) };
        let message = format!(
            "`{op}` needs the bound `{}` of its element type; here that is `{name}`, which has `{}`",
            needs.name(),
            has.name()
        );
        self.error(Code::ElementBound, span, message, &format!("write `{name}: {}`", needs.name()))
    }

    /// The element type of a tile and of the tensor it comes from or goes to.
    pub(crate) fn check_element(
        &mut self,
        code: Code,
        tile: &DTypeRef,
        global: ParamId,
        span: TokenSpan,
    ) -> Option<()> {
        let Some(of) = self.global_types.get(&global).cloned() else { return Some(()) };
        if !self.dtypes_meet(tile, &of) {
            return Some(());
        }
        let rule = format!(
            "a tile must have the element type of its tensor in every instance; here they are `{tile}` and `{of}`"
        );
        let help = match code {
            Code::StoreShape => format!("convert it first: `.to::<{of}>()`"),
            _ => format!("write `rt<{of}, ..>` and convert with `.to::<T>()`"),
        };
        self.refuse_meeting(code, span, &rule, &help)
    }

    /// An owned position as the coordinate of a tile, whose shape it must have.
    pub(crate) fn check_owned(
        &mut self,
        at: &At,
        rows: &SizeRef,
        cols: &SizeRef,
        stored: bool,
    ) -> Option<()> {
        let At::Own(name) = at else { return Some(()) };
        let Val::Own(owned) = self.lookup(name)? else { return Some(()) };
        let (own_rows, own_cols) = (owned.rows.to_string(), owned.cols.to_string());
        if own_rows == rows.to_string() && own_cols == cols.to_string() {
            return Some(());
        }
        let values = |r, c| (self.binding.size(r), self.binding.size(c));
        let here = if values(rows, cols) == values(&owned.rows, &owned.cols) {
            format!(", though they agree in instance {}", self.binding.name)
        } else {
            String::new()
        };
        let code = if stored { Code::UnownedStore } else { Code::Arguments };
        self.error(
            code,
            name.span(),
            format!(
                "the value of `own_tile::<{own_rows}, {own_cols}>` is the coordinate of a tile of that size only; \
                 here the tile is `{rows}` x `{cols}`{here}"
            ),
            &format!("use a tile of that size, or `own_tile::<{rows}, {cols}>(..)`"),
        )
    }

    /// As [`Infer::check_owned`] for a vector: it has as many elements as the owned tile has rows, or columns.
    pub(crate) fn check_owned_line(&mut self, at: &At, v: &SymVector) -> Option<()> {
        let At::Own(name) = at else { return Some(()) };
        let Val::Own(owned) = self.lookup(name)? else { return Some(()) };
        let (side, size) = match v.encoding {
            Encoding::Line(Along::Rows) => ("rows", &owned.rows),
            Encoding::Line(Along::Cols) | Encoding::Wide => ("columns", &owned.cols),
        };
        if size.to_string() == v.len.to_string() {
            return Some(());
        }
        let here = if self.binding.size(size) == self.binding.size(&v.len) {
            format!(", though they agree in instance {}", self.binding.name)
        } else {
            String::new()
        };
        let (along, len) = (v.encoding.name(), v.len.to_string());
        self.error(
            Code::UnownedStore,
            name.span(),
            format!(
                "a `{along}` vector stored at the value of `own_tile` has as many elements as the owned tile has {side}; here \
                 the tile has `{size}` and the vector `{len}`{here}"
            ),
            "store a vector of that length, or own a tile of another size",
        )
    }

    /// The size of what a load reads from its tensor: the tile's, or its transpose's.
    pub(crate) fn window(form: LoadForm, tile: &SymTile) -> (SizeRef, SizeRef) {
        if form == LoadForm::Transpose {
            (tile.cols.clone(), tile.rows.clone())
        } else {
            (tile.rows.clone(), tile.cols.clone())
        }
    }
}
