//! Owns inference of op calls and methods: from the call's form to IR ops and the type of the result.
//!
//! *Guarantees*: every op gets operands of the kinds it needs; rules about shapes, roles and element types are
//! left to the IR verifier, whose table they are. *Not here*: statements and scalar expressions (`infer`).

use proc_macro2::{Ident, Span as TokenSpan};

use crate::ast::{At, Bound, Call, CallOp, DTypeRef, Expr, Method, OrderRef};
use crate::infer::Infer;
use crate::value::{Owned, SymTile, SymVector, Val, Want, sym_tile};
use tile_ir::error::Code;
use tile_ir::ir::{Coord, Dim, OpKind, Order, ParamId, Unit, ValueId};
use tile_ir::scalar::{Binary, Compare, Const};
use tile_ir::types::{DType, Role, ScalarType, Type};

const U32: ScalarType = ScalarType::U32;

impl Infer<'_> {
    pub(crate) fn param(&mut self, name: &Ident) -> Option<ParamId> {
        match self.lookup(name)? {
            Val::Global(id) => Some(id),
            other => {
                let found = self.name_of(&other);
                self.error(
                    Code::Arguments,
                    name.span(),
                    format!("a `gl` parameter is needed; `{name}` is {found}"),
                    "pass a parameter of type `&gl<T>` or `&mut gl<T>`",
                )
            }
        }
    }

    /// Evaluates a coordinate.
    pub(crate) fn coord(&mut self, at: &At) -> Option<Coord> {
        match at {
            At::Own(name) => match self.lookup(name)? {
                Val::Own(o) => Some(own_coord(&o)),
                other => {
                    let found = self.name_of(&other);
                    self.error(
                        Code::Arguments,
                        name.span(),
                        format!("a coordinate is a list or the value of `own_tile`; `{name}` is {found}"),
                        "write `[row, col]` or `[batch, depth, row, col]`",
                    )
                }
            },
            At::List { coords, elements, .. } => {
                let mut ids = vec![];
                for c in coords {
                    let val = self.expr(c, Want::Scalar(U32));
                    ids.push(val.and_then(|v| self.scalar(v, U32, c.span)));
                }
                let ids: Vec<ValueId> = ids.into_iter().collect::<Option<_>>()?;
                let unit = if *elements { Unit::Elements } else { Unit::Tiles };
                match ids.as_slice() {
                    [row, col] => Some(Coord { batch: None, depth: None, row: *row, col: *col, unit }),
                    [batch, depth, row, col] => {
                        Some(Coord { batch: Some(*batch), depth: Some(*depth), row: *row, col: *col, unit })
                    }
                    _ => None,
                }
            }
        }
    }

    /// Makes what a source makes: the tile or vector that is wanted, because its type was written.
    pub(crate) fn source(&mut self, want: Want<'_>, name: &Ident, kind: OpKind) -> Option<Val> {
        let span = name.span();
        match want {
            Want::Tile(sym) => {
                let ty = Type::Tile(self.concrete(sym)?);
                Some(Val::Tile(self.emit(kind, &[ty], span)[0], sym.clone()))
            }
            Want::Vector(sym) => {
                self.check_bound(&name.to_string(), &sym.dtype, Bound::Element, span)?;
                let ty = Type::Vector(self.concrete_vector(sym)?);
                Some(Val::Vector(self.emit(kind, &[ty], span)[0], sym.clone()))
            }
            Want::Any | Want::Scalar(_) | Want::Tuple(_) => {
                let written = if *name == "load_vec" || *name == "iota" {
                    "rv<T, LEN, PerCol>"
                } else {
                    "rt<T, ROWS, COLS>"
                };
                let args = if *name == "zeros" { "" } else { ".." };
                self.error(
                    Code::UntypedSource,
                    span,
                    format!("a source of a tile or vector has a written type; here `{name}` has none"),
                    &format!("bind it first: `let x: {written} = {name}({args});`"),
                )
            }
        }
    }

    /// Types a call.
    pub(crate) fn call(&mut self, call: &Call, e: &Expr, want: Want<'_>) -> Option<Val> {
        let span = call.name.span();
        match &call.op {
            CallOp::Zeros => self.source(want, &call.name, OpKind::Zeros),
            CallOp::Function(function) => self.call_function(function, e),
            CallOp::Group(group) => self.group_call(call, group, want),
            CallOp::Fill(value) => {
                let dtype = match want {
                    Want::Tile(sym) => Some(sym.dtype.clone()),
                    Want::Vector(sym) => Some(sym.dtype.clone()),
                    Want::Any | Want::Scalar(_) | Want::Tuple(_) => None,
                };
                if let Some(dtype) = &dtype {
                    self.check_bound("fill", dtype, Bound::Element, span)?;
                }
                let of = dtype.and_then(|d| self.binding.dtype(&d)).map_or(ScalarType::F32, DType::scalar);
                let val = self.expr(value, Want::Scalar(of))?;
                let value = self.scalar(val, of, value.span)?;
                self.source(want, &call.name, OpKind::Fill { value })
            }
            CallOp::Iota(along, start) => self.iota(call, *along, start, want),
            CallOp::LoadVector { global, at } => {
                let (global, at) = (self.param(global), self.coord(at));
                let kind = OpKind::LoadVector { global: global?, at: at? };
                if let Want::Tile(_) = want {
                    return self.error(
                        Code::LoadForm,
                        span,
                        "`load_vec` gives a vector; here a tile is asked for",
                        "use `load`",
                    );
                }
                self.source(want, &call.name, kind)
            }
            CallOp::LoadScalar { global, at } => {
                let (global, at) = (self.param(global), self.coord(at));
                let at = Coord { unit: Unit::Elements, ..at? };
                let global = global?;
                if let Some(dtype) = self.global_types.get(&global).cloned() {
                    self.check_bound("load_scalar", &dtype, Bound::Element, span)?;
                }
                let of = self.kernel.global(global).map_or(ScalarType::F32, |(dtype, _)| dtype.scalar());
                let kind = OpKind::LoadScalar { global, at };
                Some(Val::Scalar(self.emit_scalar(kind, of, span), of))
            }
            CallOp::Place(place) => {
                Some(Val::Scalar(self.emit_scalar(OpKind::Place(*place), U32, e.span), U32))
            }
            CallOp::OwnTile { rows, cols, global, order, order_span } => {
                let id = self.param(global)?;
                let tile = (self.binding.size(rows)?, self.binding.size(cols)?);
                let order = match order {
                    OrderRef::Linear => Order::Linear,
                    OrderRef::Upward => Order::Upward,
                    OrderRef::Snake(width) => {
                        let val = self.expr(width, Want::Scalar(U32))?;
                        if matches!(val, Val::Int(0)) {
                            return self.error(
                                Code::Literal,
                                *order_span,
                                "the width of `Snake` is at least 1",
                                "write `Snake(8)`",
                            );
                        }
                        Order::Snake(self.scalar(val, U32, width.span)?)
                    }
                };
                let kind = OpKind::OwnTile { global: id, tile, order };
                let r = self.emit(kind, &[Type::Scalar(U32); 4], span);
                let ids = [r[0], r[1], r[2], r[3]];
                Some(Val::Own(Owned { ids, global: id, rows: rows.clone(), cols: cols.clone() }))
            }
            CallOp::Load { form, global, at } => {
                let sym = match want {
                    Want::Tile(sym) => sym.clone(),
                    Want::Vector(_) => {
                        let message = format!("`{}` gives a tile; here a vector is asked for", call.name);
                        return self.error(Code::LoadForm, span, message, "use `load_vec`");
                    }
                    Want::Any | Want::Scalar(_) | Want::Tuple(_) => {
                        return self.source(want, &call.name, OpKind::Zeros);
                    }
                };
                let global = self.param(global)?;
                if sym.role.is_right_operand() {
                    self.check_bound(form.name(), &sym.dtype, Bound::MmaInput, span)?;
                }
                self.check_element(Code::LoadForm, &sym.dtype, global, span)?;
                let (rows, cols) = Infer::window(*form, &sym);
                self.check_owned(at, &rows, &cols, false)?;
                let at = self.coord(at)?;
                self.source(want, &call.name, OpKind::Load { global, at, form: *form })
            }
            CallOp::Prefetch { tile, global, at, peers } => {
                let id = self.param(global);
                self.check_owned(at, &tile.rows, &tile.cols, false)?;
                let at = self.coord(at);
                let t = self.concrete(&sym_tile(tile))?;
                let id = id?;
                self.check_element(Code::LoadForm, &tile.dtype, id, tile.span)?;
                let of = self.kernel.global(id).map(|(dtype, _)| dtype);
                if of.is_some_and(|dtype| dtype != t.dtype) {
                    let found = of.map(|d| d.to_string()).unwrap_or_default();
                    return self.error(
                        Code::LoadForm,
                        tile.span,
                        format!(
                            "a tile has the element type of its tensor; here `{t}` is prefetched from `gl<{found}>`"
                        ),
                        &format!("prefetch `rt<{found}, {}, {}>`", t.rows, t.cols),
                    );
                }
                let kind = OpKind::Prefetch {
                    global: id,
                    at: at?,
                    tile: (t.rows, t.cols),
                    // A sub-group without peers fetches the whole tile itself.
                    peers: peers.map(|(p, _)| p).filter(|p| p.count(self.kernel.subgroups) > 1),
                };
                self.emit(kind, &[], span);
                Some(Val::Unit)
            }
            CallOp::Store { global, tile, at, owned } => self.store(call, global, tile, at, *owned),
            CallOp::StoreVector { global, vector, at, owned } => {
                self.store_vector(&call.name, global, vector, at, *owned)
            }
            CallOp::StoreTranspose { global, tile, at } => self.store_transpose(&call.name, global, tile, at),
            CallOp::AtomicAdd { global, value, at, vector } => {
                self.atomic_add(&call.name, global, value, at, *vector)
            }
            CallOp::Mma { acc, a, b, transposed } => self.mma(call, acc, a, b, *transposed),
        }
    }

    fn store(&mut self, call: &Call, global: &Ident, tile: &Expr, at: &At, owned: bool) -> Option<Val> {
        let span = call.name.span();
        let id = self.param(global);
        let val = self.expr(tile, Want::Any);
        if owned && let At::List { span, .. } = at {
            return self.error(
                Code::UnownedStore,
                *span,
                "`store` goes to the tile this sub-group owns, which is the value of `own_tile`; here it is a list",
                "write `store(c, &tile, at)`, or mark the kernel `unsafe fn` and use `store_at`",
            );
        }
        if !owned && !self.kernel.unowned_stores {
            return self.error(
                Code::UnownedStore,
                span,
                "a safe kernel stores only to the tile its sub-group owns; `store_at` takes any coordinate",
                "use `store(c, &tile, at)` with the value of `own_tile`, or mark the kernel `unsafe fn`",
            );
        }
        let (tile, sym) = self.tile(val?, tile.span)?;
        self.check_element(Code::StoreShape, &sym.dtype, id?, span)?;
        self.check_owned(at, &sym.rows, &sym.cols, true)?;
        let at = self.coord(at)?;
        self.emit(OpKind::Store { global: id?, tile, at }, &[], span);
        Some(Val::Unit)
    }

    fn mma(&mut self, call: &Call, acc: &Ident, a: &Expr, b: &Expr, transposed: bool) -> Option<Val> {
        let old = self.lookup(acc)?;
        let (acc_id, acc_sym) = self.tile(old, acc.span())?;
        let x = self.expr(a, Want::Any);
        let y = self.expr(b, Want::Any);
        let (a_id, a_sym) = self.tile(x?, a.span)?;
        let (b_id, b_sym) = self.tile(y?, b.span)?;
        let wrong = match (transposed, b_sym.role) {
            (false, Role::VnniT) => Some(("mma_AB", "load_transpose", "mma_ABt")),
            (true, Role::Vnni) => Some(("mma_ABt", "load_transform", "mma_AB")),
            (false | true, Role::Row | Role::Acc | Role::Vnni | Role::VnniT) => None,
        };
        if let Some((op, load, other)) = wrong {
            return self.error(
                Code::OperandRole,
                b.span,
                format!("`{op}` does not take a right operand that `{load}` made"),
                &format!("use `{other}`"),
            );
        }
        self.check_bound(&call.name.to_string(), &a_sym.dtype, Bound::MmaInput, call.name.span())?;
        self.check_multiply(&acc_sym, &a_sym, &b_sym, call.name.span())?;
        let ty = self.kernel.ty(acc_id);
        let kind = OpKind::Mma { acc: acc_id, a: a_id, b: b_id };
        let id = self.emit(kind, &[ty], call.name.span())[0];
        self.set(acc, Val::Tile(id, acc_sym));
        Some(Val::Unit)
    }

    pub(crate) fn tile(&mut self, val: Val, span: TokenSpan) -> Option<(ValueId, SymTile)> {
        match val {
            Val::Tile(id, sym) => Some((id, sym)),
            other @ (Val::Scalar(..)
            | Val::Vector(..)
            | Val::Int(_)
            | Val::Own(_)
            | Val::Shared(..)
            | Val::Global(_)
            | Val::Tuple(_)
            | Val::Unit
            | Val::Broken) => {
                let found = self.name_of(&other);
                let help = match other {
                    Val::Vector(..) => "a vector is spread over a tile: `x.add_row(&v)` or `x.add_col(&v)`",
                    _ => "",
                };
                self.error(Code::Mismatch, span, format!("a tile is needed; here it is {found}"), help)
            }
        }
    }

    /// Types a method call.
    pub(crate) fn method(
        &mut self,
        e: &Expr,
        receiver: &Expr,
        method: &Method,
        name: &Ident,
        want: Want<'_>,
    ) -> Option<Val> {
        let val = self.expr(receiver, Want::Any)?;
        let span = e.span;
        match (method, val) {
            (Method::Part, Val::Global(global)) => match Dim::ALL.iter().find(|d| *name == d.name()) {
                Some(&dim) => {
                    Some(Val::Scalar(self.emit_scalar(OpKind::Dim { global, dim }, U32, span), U32))
                }
                None => self.error(
                    Code::UnknownOp,
                    span,
                    format!("a `gl` has no `.{name}()`"),
                    "it has batch, depth, rows, cols, pitch, row_tiles, col_tiles",
                ),
            },
            (Method::Part, Val::Own(o)) if *name == "group_row" || *name == "group_col" => {
                let (rows, cols) = self.kernel.subgroups;
                let (lhs, by) = if *name == "group_row" { (o.ids[2], rows) } else { (o.ids[3], cols) };
                let rhs = self.emit_scalar(OpKind::Const(Const::U32(by)), U32, span);
                let kind = OpKind::Binary { op: Binary::Div, lhs, rhs };
                Some(Val::Scalar(self.emit_scalar(kind, U32, span), U32))
            }
            (Method::Part, Val::Own(o)) => {
                match ["batch", "depth", "row", "col"].iter().position(|part| *name == part) {
                    Some(i) => Some(Val::Scalar(o.ids[i], U32)),
                    None => self.error(
                        Code::UnknownOp,
                        span,
                        format!("an owned position has no `.{name}()`"),
                        "it has batch, depth, row, col, group_row, group_col, outside",
                    ),
                }
            }
            (Method::Tiles(rows, size), Val::Global(global)) => {
                let n = match self.binding.eval(size).map(u32::try_from) {
                    Ok(Ok(n)) if n > 0 => n,
                    Ok(Ok(_) | Err(_)) | Err(_) => {
                        return self.error(
                            Code::Literal,
                            crate::parse::size_span(size),
                            "a tile size is 1 to 4294967295",
                            "",
                        );
                    }
                };
                let dim = if *rows { Dim::Rows } else { Dim::Cols };
                Some(Val::Scalar(self.tiles(global, dim, n, span), U32))
            }
            (Method::Outside, Val::Own(o)) => {
                let (rows, cols) = (self.binding.size(&o.rows)?, self.binding.size(&o.cols)?);
                let (row_tiles, col_tiles) = (
                    self.tiles(o.global, Dim::Rows, rows, span),
                    self.tiles(o.global, Dim::Cols, cols, span),
                );
                let below = |this: &mut Self, lhs, rhs| {
                    this.emit_scalar(OpKind::Compare { op: Compare::Ge, lhs, rhs }, ScalarType::Bool, span)
                };
                let lhs = below(self, o.ids[2], row_tiles);
                let rhs = below(self, o.ids[3], col_tiles);
                let kind = OpKind::Binary { op: Binary::Or, lhs, rhs };
                Some(Val::Scalar(self.emit_scalar(kind, ScalarType::Bool, span), ScalarType::Bool))
            }
            (Method::To(dtype), Val::Tile(tile, sym)) => self.convert(dtype, tile, &sym, span),
            (Method::To(dtype), Val::Vector(tile, from)) => {
                self.check_bound("to", &from.dtype, Bound::Element, span)?;
                self.check_bound("to", dtype, Bound::Element, span)?;
                let sym = SymVector { dtype: dtype.clone(), ..from };
                let ty = Type::Vector(self.concrete_vector(&sym)?);
                Some(Val::Vector(self.emit(OpKind::Convert { tile }, &[ty], span)[0], sym))
            }
            (Method::Scale(by), Val::Tile(tile, sym)) => {
                self.check_bound("scale", &sym.dtype, Bound::Element, span)?;
                let factor = self.expr(by, Want::Scalar(ScalarType::F32))?;
                let by = self.scalar(factor, ScalarType::F32, by.span)?;
                let ty = self.kernel.ty(tile);
                Some(Val::Tile(self.emit(OpKind::Scale { tile, by }, &[ty], span)[0], sym))
            }
            (Method::Scale(by), Val::Vector(tile, sym)) => {
                self.check_bound("scale", &sym.dtype, Bound::Element, span)?;
                let factor = self.expr(by, Want::Scalar(ScalarType::F32))?;
                let by = self.scalar(factor, ScalarType::F32, by.span)?;
                let ty = self.kernel.ty(tile);
                Some(Val::Vector(self.emit(OpKind::Scale { tile, by }, &[ty], span)[0], sym))
            }
            (Method::TopK(call), Val::Tile(tile, sym)) => self.top_k(e, call, name, (tile, sym)),
            (
                Method::Transpose | Method::SubTile { .. } | Method::SetSubTile { .. },
                Val::Tile(tile, sym),
            ) => self.layout_method(e, receiver, method, (tile, sym)),
            (Method::Closure(closure), val) => self.closure(e, closure, val, name),
            (Method::Vector(method), val) => self.vector_method(e, *method, val, name),
            (method, val) => self.map_method(e, method, val, name, want),
        }
    }

    fn convert(&mut self, dtype: &DTypeRef, tile: ValueId, from: &SymTile, span: TokenSpan) -> Option<Val> {
        let sym = SymTile { dtype: dtype.clone(), role: Role::Row, ..from.clone() };
        let ty = Type::Tile(self.concrete(&sym)?);
        Some(Val::Tile(self.emit(OpKind::Convert { tile }, &[ty], span)[0], sym))
    }

    /// `ceil(dim / n)` without overflow: the quotient, plus one if something is left.
    fn tiles(&mut self, global: ParamId, dim: Dim, n: u32, span: TokenSpan) -> ValueId {
        let size = self.emit_scalar(OpKind::Dim { global, dim }, U32, span);
        let n = self.emit_scalar(OpKind::Const(Const::U32(n)), U32, span);
        let zero = self.emit_scalar(OpKind::Const(Const::U32(0)), U32, span);
        let whole = self.emit_scalar(OpKind::Binary { op: Binary::Div, lhs: size, rhs: n }, U32, span);
        let left = self.emit_scalar(OpKind::Binary { op: Binary::Rem, lhs: size, rhs: n }, U32, span);
        let some = self.emit_scalar(
            OpKind::Compare { op: Compare::Ne, lhs: left, rhs: zero },
            ScalarType::Bool,
            span,
        );
        let extra = self.emit_scalar(OpKind::Cast { value: some }, U32, span);
        self.emit_scalar(OpKind::Binary { op: Binary::Add, lhs: whole, rhs: extra }, U32, span)
    }
}

fn own_coord(o: &Owned) -> Coord {
    let [batch, depth, row, col] = o.ids;
    Coord { batch: Some(batch), depth: Some(depth), row, col, unit: Unit::Tiles }
}
