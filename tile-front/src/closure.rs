//! Owns the tree of a closure over elements: `x.map(|v| v * v + 1.0)`, `x.zip(&y, |a, b| a.max(b))`.
//!
//! A closure is sugar: its body becomes the element-wise ops on whole tiles or vectors of f32 (of i32 in integers), whose
//! result is rounded to the element type once. *Guarantees*: a tree holds only element-wise ops; what does not depend on a
//! parameter is one [`EachKind::Uniform`], and stands on the right of an op wherever the op's operands may change places.
//! *Not here*: syntax (`parse_closure`), types and IR (`infer_closure`), the executed copy (`print_closure`).

use proc_macro2::{Ident, Span};

use crate::ast::Expr;
use tile_ir::ir::Logic;
use tile_ir::map::{MapBinary, MapTernary, MapUnary};
use tile_ir::scalar::Compare;
use tile_ir::types::ScalarType;

/// A closure with what it is mapped over besides the receiver.
#[derive(Clone, Debug)]
pub struct Closure {
    /// The other tile or vector of `zip`.
    pub other: Option<Expr>,
    /// The parameters, with the types written on them.
    pub params: Vec<(Ident, Option<(ScalarType, Span)>)>,
    /// The body.
    pub body: Each,
}

/// An expression that has a value for each element.
#[derive(Clone, Debug)]
pub struct Each {
    /// The token that stands for it in messages.
    pub span: Span,
    /// What it is.
    pub kind: EachKind,
}

/// What an expression of elements is.
#[derive(Clone, Debug)]
pub enum EachKind {
    /// A parameter, by number.
    Param(usize),
    /// A scalar, the same for all elements.
    Uniform(Expr),
    /// An op of one operand.
    Unary(MapUnary, Box<Each>),
    /// An op of two operands.
    Binary(MapBinary, Box<[Each; 2]>),
    /// An op of three operands.
    Ternary(MapTernary, Box<[Each; 3]>),
    /// `if test { x } else { y }`
    Choose(Box<Test>, Box<[Each; 2]>),
}

/// A condition on each element.
#[derive(Clone, Debug)]
pub struct Test {
    /// The token that stands for it in messages.
    pub span: Span,
    /// What it is.
    pub kind: TestKind,
}

/// What a condition is.
#[derive(Clone, Debug)]
pub enum TestKind {
    /// `x < y` and the like; the left side is not uniform.
    Compare(Compare, Box<[Each; 2]>),
    /// `p && q`, `p || q`
    Logic(Logic, Box<[Test; 2]>),
    /// `!p`
    Not(Box<Test>),
}

impl Each {
    /// True for a scalar.
    pub fn is_uniform(&self) -> bool {
        matches!(self.kind, EachKind::Uniform(_))
    }
}

/// How an op of two operands is made of those on whole tiles, whose left operand is never a scalar.
pub enum Form {
    /// `x.op(y)`
    Plain,
    /// `y.first().then(x)`, which has the bits of `x op y`: `s - y` is `-y + s`, and a quotient is the product with the
    /// reciprocal.
    Turned(MapUnary, MapBinary),
}

impl Form {
    /// The form of `x op y`; `uniform` says that `x` is a scalar.
    pub fn of(op: MapBinary, uniform: bool) -> Form {
        match op {
            MapBinary::Sub if uniform => Form::Turned(MapUnary::Neg, MapBinary::Add),
            MapBinary::Div if uniform => Form::Turned(MapUnary::Recip, MapBinary::Mul),
            MapBinary::Add
            | MapBinary::Sub
            | MapBinary::Mul
            | MapBinary::Div
            | MapBinary::Min
            | MapBinary::Max => Form::Plain,
        }
    }
}
