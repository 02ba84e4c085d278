//! Owns the syntax tree of the kernel language: what `parse` accepts and `infer` and `expand` read.
//!
//! *Guarantees*: a tree holds only constructs of the language, each with the user's span; expression ids are
//! dense, so later stages can keep facts about expressions in vectors. *Not here*: types.

mod choose;
mod topk;

pub use crate::methods::VectorMethod;
pub use choose::Choose;
pub use topk::{TopKCall, TopKFrom};

use proc_macro2::{Ident, Span};

use crate::closure::Closure;
use tile_ir::ir::{Barrier, LoadForm, Peers, Place, Reduction};
use tile_ir::map::{MapBinary, MapUnary};
use tile_ir::scalar::{Binary, Compare, Unary};
use tile_ir::types::{Along, DType, Encoding, Role, ScalarType};

/// A kernel function as declared.
#[derive(Clone, Debug)]
pub struct Decl {
    /// The function's name.
    pub name: Ident,
    /// True for `unsafe fn`.
    pub is_unsafe: bool,
    /// Generic parameters in order.
    pub generics: Vec<GenericParam>,
    /// Parameters in order.
    pub params: Vec<ParamDecl>,
    /// The body.
    pub body: Block,
    /// Number of expressions in the body.
    pub exprs: u32,
}

/// The trait that bounds an element type parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// Any element type; the weakest bound.
    AnyElement,
    /// A float.
    Element,
    /// An element type matrix instructions take as operand.
    MmaInput,
}

impl Bound {
    /// The trait's name.
    pub const fn name(self) -> &'static str {
        match self {
            Bound::AnyElement => "AnyElement",
            Bound::Element => "Element",
            Bound::MmaInput => "MmaInput",
        }
    }

    /// The element types that satisfy the bound, as a fact with its reason.
    pub const fn fact(self) -> &'static str {
        match self {
            Bound::AnyElement => {
                "the element type of a tensor is bf16, f16, f32, i8, u8 or i32; `rt<tf32, ..>` is written out"
            }
            Bound::Element => {
                "`Element` is the bound of floats: bf16, f16, f32; kernels that only move elements take `AnyElement`"
            }
            Bound::MmaInput => "matrix instructions take bf16 and f16",
        }
    }

    /// True when the element type satisfies the bound.
    pub const fn admits(self, dtype: DType) -> bool {
        match self {
            Bound::AnyElement => !matches!(dtype, DType::Tf32),
            Bound::Element => matches!(dtype, DType::Bf16 | DType::F16 | DType::F32),
            Bound::MmaInput => matches!(dtype, DType::Bf16 | DType::F16),
        }
    }
}

/// A generic parameter of a kernel.
#[derive(Clone, Debug)]
pub struct GenericParam {
    /// Its name.
    pub name: Ident,
    /// What it ranges over.
    pub kind: GenericKind,
}

/// What a generic parameter ranges over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenericKind {
    /// `T: AnyElement`, `T: Element` or `T: MmaInput`.
    Type(Bound),
    /// `const N: usize`.
    Size,
    /// `const F: bool`.
    Flag,
}

/// A function parameter.
#[derive(Clone, Debug)]
pub struct ParamDecl {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: ParamType,
}

/// The type of a function parameter.
#[derive(Clone, Debug)]
pub enum ParamType {
    /// `&gl<T>` or `&mut gl<T>`.
    Global {
        /// The element type.
        dtype: DTypeRef,
        /// True for `&mut`.
        mutable: bool,
    },
    /// A scalar.
    Scalar(ScalarType),
}

/// An element type as written.
#[derive(Clone, Debug)]
pub enum DTypeRef {
    /// A type parameter.
    Param(Ident),
    /// `bf16`, `f16`, `f32`, `i8`, `u8`, `i32`, `tf32`.
    Fixed(DType, Span),
}

/// A size as written in a type.
#[derive(Clone, Debug)]
pub enum SizeRef {
    /// A `const` parameter.
    Param(Ident),
    /// A literal.
    Literal(u64, Span),
}

/// A role as written in a type.
#[derive(Clone, Copy, Debug)]
pub struct RoleRef {
    /// The role.
    pub role: Role,
    /// Where it was written; the tile's type when it was left out.
    pub span: Span,
}

/// `rt<T, M, N, L>` as written.
#[derive(Clone, Debug)]
pub struct TileRef {
    /// Element type.
    pub dtype: DTypeRef,
    /// Rows.
    pub rows: SizeRef,
    /// Columns.
    pub cols: SizeRef,
    /// Role.
    pub role: RoleRef,
    /// Where the type was written.
    pub span: Span,
    /// The closing `>`.
    pub close: Span,
}

/// `rv<T, N, E>` as written.
#[derive(Clone, Debug)]
pub struct VectorRef {
    /// Element type.
    pub dtype: DTypeRef,
    /// Number of elements.
    pub len: SizeRef,
    /// Encoding.
    pub encoding: Encoding,
    /// Where the encoding was written; the type where it was left out.
    pub encoding_span: Span,
    /// Where the type was written.
    pub span: Span,
}

/// `st<T, M, N>` or `sv<T, N>` as written.
#[derive(Clone, Debug)]
pub struct SharedRef {
    /// Element type.
    pub dtype: DTypeRef,
    /// Rows; `None` for a vector.
    pub rows: Option<SizeRef>,
    /// Columns, or the length of a vector.
    pub cols: SizeRef,
    /// Where the type was written.
    pub span: Span,
}

/// A type as written on a `let`.
#[derive(Clone, Debug)]
pub enum TypeRef {
    /// A tile.
    Tile(TileRef),
    /// A vector.
    Vector(VectorRef),
    /// Shared memory.
    Shared(SharedRef),
    /// A scalar, with where it was written.
    Scalar(ScalarType, Span),
    /// The value of `own_tile`, `Own<M, N>`.
    Own(SizeRef, SizeRef, Span),
    /// The values of a device function, `(T, U)`.
    Tuple(Vec<TypeRef>, Span),
}

/// Statements with an optional value.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Statements in order.
    pub stmts: Vec<Stmt>,
    /// The block's value.
    pub tail: Option<Box<Expr>>,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `let x: T = e;`
    Let {
        /// The variable.
        name: Ident,
        /// The written type.
        ty: Option<TypeRef>,
        /// The value.
        value: Expr,
    },
    /// `let (x, y): (T, U) = e;`
    LetTuple {
        /// The variables; `_` is given as `None`.
        names: Vec<Option<Ident>>,
        /// The written type.
        ty: Option<TypeRef>,
        /// The value.
        value: Expr,
    },
    /// `x = e;`, `x += e;`
    Assign {
        /// The variable.
        name: Ident,
        /// The operation of a compound assignment.
        op: Option<Binary>,
        /// The value.
        value: Expr,
    },
    /// `for i in lo..hi { .. }`, `for i in (lo..hi).step_by(n) { .. }`
    For {
        /// The counter; `_` is given as `None`.
        counter: Option<Ident>,
        /// First value.
        lo: Expr,
        /// Bound, exclusive.
        hi: Expr,
        /// Step.
        step: Option<SizeExpr>,
        /// The body.
        body: Block,
        /// True behind `#[unroll]`.
        unroll: bool,
        /// The `for` keyword.
        span: Span,
    },
    /// `while c { .. }`
    While {
        /// The condition.
        cond: Expr,
        /// The body.
        body: Block,
        /// The `while` keyword.
        span: Span,
    },
    /// `break;`
    Break(Span),
    /// `continue;`
    Continue(Span),
    /// `return;`
    Return(Span),
    /// An expression whose value is dropped, such as a call or an `if`.
    Expr(Expr),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Its number, unique in the kernel.
    pub id: u32,
    /// The token that stands for it in messages.
    pub span: Span,
    /// What it is.
    pub kind: ExprKind,
}

/// A size known at compile time, as an expression over `const` parameters and literals.
#[derive(Clone, Debug)]
pub enum SizeExpr {
    /// A `const N: usize` parameter.
    Param(Ident),
    /// A literal.
    Literal(u64, Span),
    /// `a op b`, and `a.min(b)`, `a.max(b)`.
    Op(Binary, Box<SizeExpr>, Box<SizeExpr>, Span),
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// An integer literal with its suffix, if any.
    Int(u64, Option<ScalarType>),
    /// A float literal.
    Float(f32),
    /// `true` or `false`.
    Bool(bool),
    /// A variable or parameter.
    Name(Ident),
    /// A `const F: bool` parameter.
    Flag(Ident),
    /// A comparison of sizes, known at compile time.
    SizeCompare(Compare, SizeExpr, SizeExpr),
    /// `SIZE as u32`.
    SizeCast(SizeExpr, ScalarType),
    /// `-x`, `!x`
    Unary(Unary, Box<Expr>),
    /// `a op b`, and `a.min(b)`, `a.max(b)`.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `a && b`, `a || b`: `true` stands for `&&`. The right operand has no effects ([`Expr::only_computes`]), so both are computed.
    Logic(bool, Box<Expr>, Box<Expr>),
    /// `a < b` and the like.
    Compare(Compare, Box<Expr>, Box<Expr>),
    /// `x as T`
    Cast(Box<Expr>, ScalarType, Span),
    /// `(x)`
    Paren(Box<Expr>),
    /// `(x, y)`
    Tuple(Vec<Expr>),
    /// `{ .. }`
    Block(Block),
    /// `if c { .. } else { .. }`
    If {
        /// The condition.
        cond: Box<Expr>,
        /// Runs when true.
        then: Block,
        /// Runs when false.
        otherwise: Option<Block>,
    },
    /// `x.method(..)`
    Method {
        /// The receiver: a variable or an expression of tile type.
        receiver: Box<Expr>,
        /// The method.
        method: Method,
        /// The method's name as written.
        name: Ident,
        /// The parentheses.
        parens: Span,
    },
    /// A call of an op.
    Call(Box<Call>),
}

/// A method of a value.
#[derive(Clone, Debug)]
pub enum Method {
    /// A dimension of a global, or a part of an owned position: named alike, told apart by the receiver.
    Part,
    /// `g.row_tiles(N)` (`true`) or `g.col_tiles(N)`.
    Tiles(bool, SizeExpr),
    /// `at.outside()`
    Outside,
    /// `tile.to::<T>()`
    To(DTypeRef),
    /// `tile.scale(s)`
    Scale(Box<Expr>),
    /// `x.exp2()` and the like.
    MapUnary(MapUnary),
    /// `x.add(&y)`, `x.add(s)`, or, with an encoding, `x.add_row(&v)` and `x.add_col(&v)`.
    MapBinary(MapBinary, Option<Along>, Box<Operand>),
    /// `x.row_max()`, `x.col_sum()`, or, with a running value, `x.row_max_with(&m)`.
    Reduce(Along, Reduction, Option<Box<Expr>>),
    /// `x.keep_cols(n, fill)`, `x.keep_rows(n, fill)`
    Keep(Along, Box<[Expr; 2]>),
    /// `x.tril(row, col, fill)` (`true`) or `x.triu(row, col, fill)`.
    Triangle(bool, Box<[Expr; 3]>),
    /// A method that compares or chooses, and its operands.
    Choose(Choose, Vec<Operand>),
    /// `x.map(|v| ..)`, `x.zip(&y, |a, b| ..)`
    Closure(Box<Closure>),
    /// A method that reduces or re-encodes, without operands.
    Vector(VectorMethod),
    /// `x.transpose()`
    Transpose,
    /// `x.row_topk::<P>(k)` and its kin.
    TopK(Box<TopKCall>),
    /// `x.sub_tile::<R, C>(i, j)`
    SubTile {
        /// Rows of the part.
        rows: SizeRef,
        /// Columns of the part.
        cols: SizeRef,
        /// Which part.
        at: Box<[PartIndex; 2]>,
    },
    /// `x.set_sub_tile(&part, i, j)`
    SetSubTile {
        /// What the part becomes.
        part: Box<Expr>,
        /// Which part.
        at: Box<[PartIndex; 2]>,
    },
}

/// The order in which work-groups walk over an output, as written.
#[derive(Clone, Debug)]
pub enum OrderRef {
    /// `Linear`
    Linear,
    /// `Upward`
    Upward,
    /// `Snake(width)`
    Snake(Expr),
}

/// Which of the parts of a tile, along one of its sides.
#[derive(Clone, Debug)]
pub enum PartIndex {
    /// Of sizes alone.
    Size(SizeExpr),
    /// Of the counters of unrolled loops, which are known where the loop is written out.
    Scalar(Expr),
}

/// The right operand of an element-wise op.
#[derive(Clone, Debug)]
pub enum Operand {
    /// `&y`: a tile or vector.
    Reference(Expr),
    /// `s`: a scalar.
    Value(Expr),
}

/// A generic argument of a call.
#[derive(Clone, Debug)]
pub enum GenericArg {
    /// An element type.
    Type(DTypeRef),
    /// A size.
    Size(SizeRef),
    /// A switch.
    Flag(bool),
    /// A switch that is a parameter of the kernel.
    FlagParam(Ident),
}

/// An argument of a device function.
#[derive(Clone, Debug)]
pub enum FunctionArg {
    /// `&x`
    Reference(Expr),
    /// `&mut x`
    Mutable(Ident),
    /// `x`: a parameter of the calling function that is a reference already.
    Given(Ident),
    /// `x`: a scalar, a tile that moves, or a `gl` parameter.
    Value(Expr),
}

/// A call of a device function.
#[derive(Clone, Debug)]
pub struct FunctionCall {
    /// Position in the kernel's `fns(..)`.
    pub index: usize,
    /// Generic arguments; none where the arguments fix them.
    pub generics: Vec<GenericArg>,
    /// Arguments in order.
    pub args: Vec<FunctionArg>,
}

/// A call of an op.
#[derive(Clone, Debug)]
pub struct Call {
    /// The op's name as written.
    pub name: Ident,
    /// Which op, with its arguments.
    pub op: CallOp,
    /// The `&` of each argument that has one, in order.
    pub borrows: Vec<Span>,
    /// The parentheses.
    pub parens: Span,
}

/// An op with its arguments.
#[derive(Clone, Debug)]
pub enum CallOp {
    /// `zeros()`
    Zeros,
    /// `fill(s)`
    Fill(Expr),
    /// `iota(start)`, or with what is counted `iota_rows(start)`, `iota_cols(start)`.
    Iota(Option<Along>, Expr),
    /// A call of a device function.
    Function(FunctionCall),
    /// An op on shared memory, a cooperative copy or a barrier.
    Group(Box<GroupCall>),
    /// `load_vec(g, [row, i])`
    LoadVector {
        /// The source.
        global: Ident,
        /// Where.
        at: At,
    },
    /// `load_scalar(g, [r, c])`
    LoadScalar {
        /// The source.
        global: Ident,
        /// Where, in elements.
        at: At,
    },
    /// `subgroup_id()` and the like.
    Place(Place),
    /// `own_tile::<M, N>(c, order)`
    OwnTile {
        /// Rows of the tile.
        rows: SizeRef,
        /// Columns of the tile.
        cols: SizeRef,
        /// The output.
        global: Ident,
        /// How work-groups walk over the output.
        order: OrderRef,
        /// Where the order was written.
        order_span: Span,
    },
    /// The loads.
    Load {
        /// The hardware form.
        form: LoadForm,
        /// The source.
        global: Ident,
        /// Where.
        at: At,
    },
    /// The prefetches.
    Prefetch {
        /// The tile to warm.
        tile: TileRef,
        /// The source.
        global: Ident,
        /// Where.
        at: At,
        /// Who shares it.
        peers: Option<(Peers, Span)>,
    },
    /// `store(c, &tile, at)` or, with `owned` false, `store_at(c, &tile, coord)`.
    Store {
        /// The destination.
        global: Ident,
        /// The tile.
        tile: Expr,
        /// Where.
        at: At,
        /// True for `store`.
        owned: bool,
    },
    /// `store_transpose(c, &tile, at)`
    StoreTranspose {
        /// The destination.
        global: Ident,
        /// The tile.
        tile: Expr,
        /// Where.
        at: At,
    },
    /// `store_vec(c, &v, at)` or, with `owned` false, `store_vec_at(c, &v, coord)`.
    StoreVector {
        /// The destination.
        global: Ident,
        /// The vector.
        vector: Expr,
        /// Where.
        at: At,
        /// True for `store_vec`.
        owned: bool,
    },
    /// `atomic_add(c, &tile, at)` or, with `vector`, `atomic_add_vec(c, &v, at)`.
    AtomicAdd {
        /// The destination.
        global: Ident,
        /// What is added.
        value: Expr,
        /// Where.
        at: At,
        /// True for `atomic_add_vec`.
        vector: bool,
    },
    /// `mma_AB` or, with `transposed`, `mma_ABt`.
    Mma {
        /// The accumulator variable.
        acc: Ident,
        /// Left operand.
        a: Expr,
        /// Right operand.
        b: Expr,
        /// True for `mma_ABt`.
        transposed: bool,
    },
}

/// An op on shared memory, a cooperative copy or a barrier.
#[derive(Clone, Debug)]
pub enum GroupCall {
    /// `shared()`
    Shared {
        /// Its number among those of the kernel.
        index: usize,
        /// The variable it is bound to, if a `let` binds it.
        name: String,
    },
    /// `load_shared(&s, [row, col])` and its kin.
    Load {
        /// How the tile comes into registers.
        form: LoadForm,
        /// The source.
        shared: Ident,
        /// Two parts in a tile, one in a vector.
        at: Vec<Expr>,
    },
    /// `store_shared(&mut s, &tile, [row, col])`, `store_vec_shared(&mut s, &v, i)`
    Store {
        /// The destination.
        shared: Ident,
        /// The tile or vector.
        value: Expr,
        /// Two parts in a tile, one in a vector.
        at: Vec<Expr>,
    },
    /// `load_coop(&mut s, a, [row, col])`
    LoadCoop {
        /// The destination.
        shared: Ident,
        /// The source.
        global: Ident,
        /// Where in the source.
        at: At,
    },
    /// `store_coop(c, &s, at)`
    StoreCoop {
        /// The destination.
        global: Ident,
        /// The source.
        shared: Ident,
        /// Where.
        at: At,
    },
    /// A barrier.
    Barrier(Barrier),
}

/// A coordinate.
#[derive(Clone, Debug)]
pub enum At {
    /// `[row, col]` or `[batch, depth, row, col]`, in tiles or, with `elements`, in elements.
    List {
        /// Two or four coordinates.
        coords: Vec<Expr>,
        /// True for `elements([..])`.
        elements: bool,
        /// Where it was written.
        span: Span,
    },
    /// The value of `own_tile`.
    Own(Ident),
}
