//! Owns inference of the op table's methods: element-wise ops, broadcasts, reductions, masks.
//!
//! *Guarantees*: operands are of the kinds the op takes; whether their types fit is the IR verifier's rule. On
//! scalars, the element-wise methods are scalar ops. *Not here*: other methods (`infer_call`).

use proc_macro2::Ident;

use crate::ast::{Bound, DTypeRef, Expr, Method, Operand, SizeRef};
use crate::infer::Infer;
use crate::value::{SymVector, Val, Want};
use tile_ir::error::Code;
use tile_ir::ir::{OpKind, ValueId};
use tile_ir::map::{MapBinary, MapTernary, MapUnary};
use tile_ir::scalar::Binary;
use tile_ir::types::{Along, DType, Encoding, ScalarType, Type};

const F32: ScalarType = ScalarType::F32;

impl Infer<'_> {
    /// Types a method of the op table.
    pub(crate) fn map_method(
        &mut self,
        e: &Expr,
        method: &Method,
        val: Val,
        name: &Ident,
        want: Want<'_>,
    ) -> Option<Val> {
        let span = e.span;
        // The element type of a tile or vector, and of a scalar beside it.
        let dtype = val.elements();
        if let Some(dtype) = &dtype {
            self.check_bound(&name.to_string(), dtype, Bound::Element, span)?;
        }
        let dtype = dtype.and_then(|d| self.binding.dtype(&d)).unwrap_or(DType::F32);
        // No scalar stands beside a mask; the verifier says what a mask is for.
        let scalar = if dtype == DType::Bool { F32 } else { dtype.scalar() };
        match (method, val) {
            (Method::MapUnary(op), Val::Scalar(value, F32)) => self.scalar_map(e, *op, value),
            (Method::MapUnary(op), val @ (Val::Tile(..) | Val::Vector(..))) => {
                let value = self.value_of(&val)?;
                self.like(&val, OpKind::MapUnary { op: *op, value }, e)
            }
            (Method::MapBinary(op, None, operand), Val::Scalar(lhs, ty)) => {
                self.scalar_binary(e, *op, (lhs, ty), operand, name)
            }
            (Method::MapBinary(op @ (MapBinary::Min | MapBinary::Max), None, operand), Val::Int(v)) => {
                let (Operand::Value(other) | Operand::Reference(other)) = &**operand;
                let other = self.expr(other, want)?;
                let Val::Scalar(_, ty) = other else {
                    return self.error(
                        Code::Literal,
                        span,
                        "the type of this literal is not known here",
                        "write it: `5u32`",
                    );
                };
                let lhs = self.scalar(Val::Int(v), ty, span)?;
                self.scalar_binary(e, *op, (lhs, ty), operand, name)
            }
            (Method::MapBinary(op, along, operand), val @ (Val::Tile(..) | Val::Vector(..))) => {
                let lhs = self.value_of(&val)?;
                let rhs = self.beside(name, &val, operand, *along)?;
                self.like(&val, OpKind::MapBinary { op: *op, lhs, rhs }, e)
            }
            (Method::Choose(choose, operands), val) => self.choose(e, *choose, operands, val, name),
            (Method::Reduce(along, how, running), Val::Tile(tile, sym)) => {
                let len: SizeRef = match along {
                    Along::Rows => sym.rows.clone(),
                    Along::Cols => sym.cols.clone(),
                };
                let out =
                    SymVector { dtype: DTypeRef::Fixed(dtype.wide(), span), len, encoding: (*along).into() };
                let running = match running {
                    None => None,
                    Some(r) => {
                        let val = self.expr(r, Want::Any)?;
                        match self.value_of(&val) {
                            Some(id) if matches!(val, Val::Vector(..)) => Some(id),
                            Some(_) | None => {
                                let found = self.name_of(&val);
                                let message = format!("`{name}` continues a vector; here it is {found}");
                                return self.error(
                                    Code::ReduceOperand,
                                    r.span,
                                    message,
                                    "pass the result of the same reduction",
                                );
                            }
                        }
                    }
                };
                let ty = Type::Vector(self.concrete_vector(&out)?);
                let kind = OpKind::Reduce { how: *how, along: *along, tile, running };
                Some(Val::Vector(self.emit(kind, &[ty], span)[0], out))
            }
            (Method::Keep(along, args), val @ Val::Tile(..)) => {
                let tile = self.value_of(&val)?;
                let [keep, fill] = &**args;
                let (keep, fill) = (self.scalar_arg(keep, ScalarType::U32), self.scalar_arg(fill, scalar));
                let kind = OpKind::KeepFirst { tile, along: *along, keep: keep?, fill: fill? };
                self.like(&val, kind, e)
            }
            (Method::Triangle(lower, args), val @ Val::Tile(..)) => {
                let tile = self.value_of(&val)?;
                let [row, col, fill] = &**args;
                let row = self.scalar_arg(row, ScalarType::U32);
                let col = self.scalar_arg(col, ScalarType::U32);
                let fill = self.scalar_arg(fill, scalar);
                let kind =
                    OpKind::Triangle { tile, lower: *lower, row_start: row?, col_start: col?, fill: fill? };
                self.like(&val, kind, e)
            }
            (Method::Reduce(along, ..), other @ (Val::Vector(..) | Val::Scalar(..) | Val::Int(_))) => {
                let found = self.name_of(&other);
                let side = along.name();
                self.error(
                    Code::ReduceOperand,
                    span,
                    format!("`{name}` reduces a tile to a `{side}` vector; here it is called on {found}"),
                    "a vector is reduced with `v.reduce_max()`, `v.reduce_sum()` and their kin",
                )
            }
            (_, other) => {
                let found = self.name_of(&other);
                let help = match (&other, method) {
                    (Val::Scalar(..) | Val::Int(_), Method::To(_)) => "scalars convert with `as`: `x as f32`",
                    (Val::Scalar(..) | Val::Int(_), Method::Scale(_)) => "scalars have operators: `x * y`",
                    (Val::Scalar(..) | Val::Int(_), Method::MapUnary(_)) => "convert it first: `x as f32`",
                    (Val::Vector(..), Method::Keep(..) | Method::Triangle(..)) => "masks work on tiles",
                    (_, Method::TopK(_)) => "load the elements as a tile",
                    (_, Method::Transpose | Method::SubTile { .. } | Method::SetSubTile { .. }) => {
                        "tiles have layouts and parts"
                    }
                    (Val::Tile(..) | Val::Vector(..), Method::Part | Method::Tiles(..) | Method::Outside) => {
                        "dimensions are those of a `gl`, positions those of `own_tile`'s value"
                    }
                    _ => "",
                };
                self.error(Code::UnknownOp, span, format!("{found} has no `.{name}()`"), help)
            }
        }
    }

    /// Remembers a method of the kernel itself that works on a scalar.
    fn note_scalar(&mut self, e: &Expr) {
        if self.depth == 0 {
            self.scalar_maps.insert(e.id);
        }
    }

    fn value_of(&self, val: &Val) -> Option<ValueId> {
        crate::value::value_id(val)
    }

    fn scalar_arg(&mut self, e: &Expr, ty: ScalarType) -> Option<ValueId> {
        let val = self.expr(e, Want::Scalar(ty))?;
        self.scalar(val, ty, e.span)
    }

    /// The type of a scalar beside a tile or vector. Beside a mask it does not matter: the verifier refuses the op.
    fn scalar_beside(&self, val: &Val) -> ScalarType {
        match self.type_of(val).and_then(|ty| ty.dtype()) {
            None | Some(DType::Bool) => F32,
            Some(dtype) => dtype.scalar(),
        }
    }

    /// The right operand of an element-wise op: a tile or vector by reference, or a number.
    pub(crate) fn beside(
        &mut self,
        name: &Ident,
        lhs: &Val,
        operand: &Operand,
        along: Option<Along>,
    ) -> Option<ValueId> {
        match operand {
            Operand::Value(s) => {
                let scalar = self.scalar_beside(lhs);
                let found = self.expr(s, Want::Scalar(scalar))?;
                if let Val::Tile(..) | Val::Vector(..) = found {
                    let found = self.name_of(&found);
                    return self.error(
                        Code::MapOperand,
                        s.span,
                        format!(
                            "`{name}` takes a tile or vector by reference; here {found} is passed by value"
                        ),
                        &format!("write `x.{name}(&y)`"),
                    );
                }
                if along.is_some() {
                    return self.operand(name, lhs, &found, along, s);
                }
                self.scalar(found, scalar, s.span)
            }
            Operand::Reference(y) => {
                let found = self.expr(y, Want::Any)?;
                self.operand(name, lhs, &found, along, y)
            }
        }
    }

    /// Emits an op whose result has the type of `val`.
    pub(crate) fn like(&mut self, val: &Val, kind: OpKind, e: &Expr) -> Option<Val> {
        let ty = self.type_of(val)?;
        let id = self.emit(kind, &[ty], e.span)[0];
        Some(crate::value::with_id(val, id))
    }

    /// Checks the encoding that the method's name promises.
    fn operand(
        &mut self,
        name: &Ident,
        lhs: &Val,
        rhs: &Val,
        along: Option<Along>,
        y: &Expr,
    ) -> Option<ValueId> {
        let fits = match (along, lhs, rhs) {
            (None, Val::Tile(..), Val::Tile(..)) | (None, Val::Vector(..), Val::Vector(..)) => true,
            (Some(along), Val::Tile(..), Val::Vector(_, v)) => v.encoding == Encoding::Line(along),
            (Some(_) | None, _, _) => false,
        };
        if fits {
            self.check_beside(name, lhs, rhs, y.span)?;
            return self.value_of(rhs);
        }
        let found = self.name_of(rhs);
        let wants = match along {
            None => "an operand of the receiver's type, or a scalar",
            Some(Along::Rows) => "a vector with one element per row (`PerRow`)",
            Some(Along::Cols) => "a vector with one element per column (`PerCol`)",
        };
        let text = name.to_string();
        let stem = text.trim_end_matches("_row").trim_end_matches("_col");
        let help = match (lhs, rhs) {
            (Val::Tile(..), Val::Vector(_, v)) if MapTernary::from_name(stem).is_some() => {
                let form = if v.encoding == Encoding::Line(Along::Rows) { "row" } else { "col" };
                format!(
                    "`{stem}` takes no vector beside a tile: write `x.mul_{form}(&v)` and `.add_{form}(&v)`"
                )
            }
            (Val::Tile(..), Val::Vector(_, v)) => match v.encoding {
                Encoding::Line(Along::Rows) => {
                    format!("a vector with one element per row goes with `{stem}_row(&v)`")
                }
                Encoding::Line(Along::Cols) => {
                    format!("a vector with one element per column goes with `{stem}_col(&v)`")
                }
                Encoding::Wide => {
                    "a wide vector does not meet tiles: load it as `PerRow` or `PerCol`".to_string()
                }
            },
            (_, Val::Scalar(..)) => format!("write `x.{stem}(s)`"),
            (_, _) => format!("two of one type go with `{stem}(&y)`"),
        };
        self.error(Code::MapOperand, y.span, format!("`{name}` takes {wants}; here it is {found}"), &help)
    }

    fn scalar_map(&mut self, e: &Expr, op: MapUnary, value: ValueId) -> Option<Val> {
        match op {
            MapUnary::Neg => {
                self.error(Code::UnknownOp, e.span, "a scalar is negated with `-x`", "write `-x`")
            }
            MapUnary::Abs
            | MapUnary::Exp2
            | MapUnary::Exp
            | MapUnary::Log2
            | MapUnary::Sqrt
            | MapUnary::Recip
            | MapUnary::Tanh => {
                self.note_scalar(e);
                Some(Val::Scalar(self.emit_scalar(OpKind::MapUnary { op, value }, F32, e.span), F32))
            }
            MapUnary::Relu
            | MapUnary::Log
            | MapUnary::Rsqrt
            | MapUnary::Sigmoid
            | MapUnary::Silu
            | MapUnary::Gelu => self.error(
                Code::UnknownOp,
                e.span,
                format!("`.{}()` works on tiles, vectors and the elements of closures", op.name()),
                "f32 scalars have abs, exp2, exp, log2, sqrt, recip, tanh, min, max",
            ),
        }
    }

    fn scalar_binary(
        &mut self,
        e: &Expr,
        op: MapBinary,
        (lhs, ty): (ValueId, ScalarType),
        operand: &Operand,
        name: &Ident,
    ) -> Option<Val> {
        let op = match op {
            MapBinary::Min => Binary::Min,
            MapBinary::Max => Binary::Max,
            MapBinary::Add | MapBinary::Sub | MapBinary::Mul | MapBinary::Div => {
                return self.error(
                    Code::UnknownOp,
                    e.span,
                    format!("`.{name}(..)` works on tiles and vectors; scalars have operators"),
                    "write `x + y`, `x - y`, `x * y` or `x / y`",
                );
            }
        };
        let (Operand::Value(other) | Operand::Reference(other)) = operand;
        let rhs = self.scalar_arg(other, ty)?;
        if !op.takes(ty) {
            return self.error(Code::Mismatch, e.span, format!("`{}` is not defined on {ty}", op.name()), "");
        }
        self.note_scalar(e);
        Some(Val::Scalar(self.emit_scalar(OpKind::Binary { op, lhs, rhs }, ty, e.span), ty))
    }
}
