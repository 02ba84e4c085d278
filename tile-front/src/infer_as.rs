//! Owns the meeting of a value with the type it must have: literals take it, everything else must be of it.
//!
//! *Not here*: how values come about (`infer`, `infer_call`, `infer_map`).

use proc_macro2::Span as TokenSpan;

use crate::infer::Infer;
use crate::value::{SymTile, SymType, SymVector, Val, value_id};
use tile_ir::error::Code;
use tile_ir::ir::ValueId;
use tile_ir::scalar::Const;
use tile_ir::types::{ScalarType, Type};

impl Infer<'_> {
    /// Makes a value a scalar of the given type: literals take it, everything else must have it.
    pub(crate) fn scalar(&mut self, val: Val, ty: ScalarType, span: TokenSpan) -> Option<ValueId> {
        match val {
            Val::Scalar(id, found) if found == ty => Some(id),
            Val::Int(v) => {
                let fits = match ty {
                    ScalarType::U32 => u32::try_from(v).ok().map(Const::U32),
                    ScalarType::I32 => i32::try_from(v).ok().map(Const::I32),
                    ScalarType::U64 => u64::try_from(v).ok().map(Const::U64),
                    ScalarType::F32 | ScalarType::Bool => None,
                };
                match fits {
                    Some(c) => value_id(&self.constant(c, span)),
                    None if ty.is_integer() => {
                        let (low, high) = match ty {
                            ScalarType::I32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
                            ScalarType::U64 => (0, i128::from(u64::MAX)),
                            ScalarType::U32 | ScalarType::F32 | ScalarType::Bool => (0, i128::from(u32::MAX)),
                        };
                        let message = format!("a {ty} is {low} to {high}; here it is `{v}`");
                        self.error(Code::Literal, span, message, "choose a wider type, or another value")
                    }
                    None => self.error(
                        Code::Mismatch,
                        span,
                        format!("a value of type {ty} is needed; here it is an integer literal"),
                        "write `1.0` for a float",
                    ),
                }
            }
            Val::Scalar(..)
            | Val::Tile(..)
            | Val::Vector(..)
            | Val::Own(_)
            | Val::Shared(..)
            | Val::Global(_)
            | Val::Tuple(_)
            | Val::Unit
            | Val::Broken => {
                let found = self.name_of(&val);
                let help = match (&val, ty) {
                    (Val::Scalar(..), ScalarType::Bool) => "compare instead: `x != 0`".to_string(),
                    (Val::Scalar(..), _) => format!("scalars convert with `as {ty}`"),
                    _ => String::new(),
                };
                self.error(
                    Code::Mismatch,
                    span,
                    format!("a value of type {ty} is needed; here it is {found}"),
                    &help,
                )
            }
        }
    }

    /// Checks that a value is a tile of this type.
    pub(crate) fn tile_as(&mut self, val: Val, want: &SymTile, span: TokenSpan) -> Option<Val> {
        let found = self.type_of(&val);
        let wanted = self.concrete(want).map(Type::Tile);
        if found.is_some() && found == wanted {
            if let Val::Tile(_, written) = &val {
                self.check_written(written, want, span)?;
            }
            return value_id(&val).map(|id| Val::Tile(id, want.clone()));
        }
        let (found, wanted) = (self.name_of(&val), wanted.map_or(String::new(), |t| t.to_string()));
        self.error(
            Code::Mismatch,
            span,
            format!("a `{wanted}` is needed; here it is {found}"),
            "`.to::<T>()` converts `Acc` and `Row` tiles",
        )
    }

    /// Checks that a value is a vector of this type.
    pub(crate) fn vector_as(&mut self, val: Val, want: &SymVector, span: TokenSpan) -> Option<Val> {
        let found = self.type_of(&val);
        let wanted = self.concrete_vector(want).map(Type::Vector);
        if found.is_some() && found == wanted {
            return value_id(&val).map(|id| Val::Vector(id, want.clone()));
        }
        let (found, wanted) = (self.name_of(&val), wanted.map_or(String::new(), |t| t.to_string()));
        self.error(
            Code::Mismatch,
            span,
            format!("a `{wanted}` is needed; here it is {found}"),
            "`.to::<T>()` converts the element type; length and encoding stay",
        )
    }

    /// Checks that a value has a written type; literals take it.
    pub(crate) fn value_as(&mut self, val: Val, want: &SymType, span: TokenSpan) -> Option<Val> {
        match want {
            SymType::Scalar(s) => self.scalar(val, *s, span).map(|id| Val::Scalar(id, *s)),
            SymType::Tile(t) => self.tile_as(val, t, span),
            SymType::Vector(v) => self.vector_as(val, v, span),
            SymType::Own(..) | SymType::Shared(_) => Some(val),
            SymType::Tuple(types) => {
                let found = match val {
                    Val::Tuple(parts) if parts.len() == types.len() => parts,
                    Val::Tuple(parts) => {
                        let message =
                            format!("{} values are needed; here there are {}", types.len(), parts.len());
                        return self.error(Code::Mismatch, span, message, "give one value for each");
                    }
                    other => {
                        let found = self.name_of(&other);
                        let message = format!("{} values are needed; here it is {found}", types.len());
                        return self.error(Code::Mismatch, span, message, "write them as `(x, y)`");
                    }
                };
                let parts: Vec<Option<Val>> =
                    found.into_iter().zip(types).map(|(val, ty)| self.value_as(val, ty, span)).collect();
                Some(Val::Tuple(parts.into_iter().collect::<Option<_>>()?))
            }
        }
    }
}
