//! Owns hand-built kernels: a small builder of tile IR and the contract's GEMM in it.
//!
//! *Not here*: the front end, which builds the same IR from kernel text.
#![allow(dead_code, reason = "each test file uses its part")]

use tile_ir::error::Span;
use tile_ir::ir::{
    Access, Coord, Dim, Exit, Kernel, LoadForm, Op, OpKind, Order, Param, ParamId, ParamKind, Peers,
    Reduction, Region, Unit, ValueId,
};
use tile_ir::map::{MapBinary, MapUnary};
use tile_ir::scalar::{Binary, Compare, Const};
use tile_ir::types::{Along, DType, Encoding, Role, ScalarType, TileType, Type, VectorType};
use tile_ir::verify::{Verified, verify};

/// `u32` as a type.
pub const U32: Type = Type::Scalar(ScalarType::U32);

/// A tile type.
pub fn tile(dtype: DType, rows: u32, cols: u32, role: Role) -> Type {
    Type::Tile(TileType { dtype, rows, cols, role })
}

/// `f32` as a type.
pub const F32: Type = Type::Scalar(ScalarType::F32);

/// A vector type.
pub fn vector(dtype: DType, len: u32, encoding: impl Into<Encoding>) -> Type {
    Type::Vector(VectorType { dtype, len, encoding: encoding.into() })
}

/// Builds one kernel; ops go to the innermost open region.
pub struct Build {
    pub kernel: Kernel,
    open: Vec<Vec<Op>>,
}

impl Build {
    pub fn new(name: &str, instance: &str, subgroups: (u32, u32)) -> Build {
        let body = Region { args: vec![], ops: vec![], exit: Exit::Yield(vec![]) };
        Build {
            kernel: Kernel {
                name: name.into(),
                instance: instance.into(),
                params: vec![],
                subgroups,
                shared: vec![],
                unowned_stores: false,
                host_only: false,
                values: vec![],
                body,
            },
            open: vec![vec![]],
        }
    }

    pub fn global(&mut self, name: &str, dtype: DType, access: Access) -> ParamId {
        self.kernel.params.push(Param { name: name.into(), kind: ParamKind::Global { dtype, access } });
        ParamId(self.kernel.params.len() as u32 - 1)
    }

    pub fn scalar(&mut self, name: &str, ty: ScalarType) -> ValueId {
        let value = self.kernel.new_value(Type::Scalar(ty));
        self.kernel.params.push(Param { name: name.into(), kind: ParamKind::Scalar { value, ty } });
        value
    }

    pub fn push(&mut self, kind: OpKind, types: &[Type]) -> Vec<ValueId> {
        let results: Vec<ValueId> = types.iter().map(|&t| self.kernel.new_value(t)).collect();
        let op = Op { kind, results: results.clone(), span: Span::NONE };
        self.open.last_mut().expect("a region is open").push(op);
        results
    }

    /// Appends an op that was built elsewhere.
    pub fn again(&mut self, op: Op) {
        self.open.last_mut().expect("a region is open").push(op);
    }

    pub fn one(&mut self, kind: OpKind, ty: Type) -> ValueId {
        self.push(kind, &[ty])[0]
    }

    pub fn constant(&mut self, c: Const) -> ValueId {
        self.one(OpKind::Const(c), Type::Scalar(c.ty()))
    }

    pub fn u32(&mut self, v: u32) -> ValueId {
        self.constant(Const::U32(v))
    }

    pub fn binary(&mut self, op: Binary, lhs: ValueId, rhs: ValueId) -> ValueId {
        let ty = self.kernel.ty(lhs);
        self.one(OpKind::Binary { op, lhs, rhs }, ty)
    }

    pub fn compare(&mut self, op: Compare, lhs: ValueId, rhs: ValueId) -> ValueId {
        self.one(OpKind::Compare { op, lhs, rhs }, Type::Scalar(ScalarType::Bool))
    }

    pub fn f32(&mut self, v: f32) -> ValueId {
        self.constant(Const::F32(v.to_bits()))
    }

    pub fn unary(&mut self, op: MapUnary, value: ValueId) -> ValueId {
        let ty = self.kernel.ty(value);
        self.one(OpKind::MapUnary { op, value }, ty)
    }

    pub fn map(&mut self, op: MapBinary, lhs: ValueId, rhs: ValueId) -> ValueId {
        let ty = self.kernel.ty(lhs);
        self.one(OpKind::MapBinary { op, lhs, rhs }, ty)
    }

    /// Reduces a tile to one element per row or column.
    pub fn reduce(
        &mut self,
        how: Reduction,
        along: Along,
        tile: ValueId,
        running: Option<ValueId>,
    ) -> ValueId {
        let t = self.kernel.ty(tile).tile().expect("a tile is reduced");
        let len = match along {
            Along::Rows => t.rows,
            Along::Cols => t.cols,
        };
        self.one(OpKind::Reduce { how, along, tile, running }, vector(DType::F32, len, along))
    }

    pub fn convert(&mut self, tile: ValueId, to: Type) -> ValueId {
        self.one(OpKind::Convert { tile }, to)
    }

    pub fn dim(&mut self, global: ParamId, dim: Dim) -> ValueId {
        self.one(OpKind::Dim { global, dim }, U32)
    }

    /// `ceil(extent / size)` as the front end writes it: quotient plus one if there is a rest.
    pub fn tiles(&mut self, global: ParamId, dim: Dim, size: u32) -> ValueId {
        let extent = self.dim(global, dim);
        let by = self.u32(size);
        let whole = self.binary(Binary::Div, extent, by);
        let rest = self.binary(Binary::Rem, extent, by);
        let zero = self.u32(0);
        let more = self.compare(Compare::Ne, rest, zero);
        let more = self.one(OpKind::Cast { value: more }, U32);
        self.binary(Binary::Add, whole, more)
    }

    pub fn open(&mut self) {
        self.open.push(vec![]);
    }

    pub fn close(&mut self, args: Vec<ValueId>, exit: Exit) -> Region {
        Region { args, ops: self.open.pop().expect("a region is open"), exit }
    }

    pub fn own_tile(&mut self, global: ParamId, tile: (u32, u32), order: Order) -> [ValueId; 4] {
        let r = self.push(OpKind::OwnTile { global, tile, order }, &[U32; 4]);
        [r[0], r[1], r[2], r[3]]
    }

    /// `if at.outside() { return; }`
    pub fn return_outside(&mut self, global: ParamId, tile: (u32, u32), at: [ValueId; 4]) {
        let m = self.tiles(global, Dim::Rows, tile.0);
        let n = self.tiles(global, Dim::Cols, tile.1);
        let low = self.compare(Compare::Ge, at[2], m);
        let right = self.compare(Compare::Ge, at[3], n);
        let outside = self.binary(Binary::Or, low, right);
        self.open();
        let then = self.close(vec![], Exit::Return);
        self.open();
        let otherwise = self.close(vec![], Exit::Yield(vec![]));
        self.push(OpKind::If { cond: outside, then, otherwise }, &[]);
    }

    pub fn load(&mut self, global: ParamId, at: Coord, form: LoadForm, ty: Type) -> ValueId {
        self.one(OpKind::Load { global, at, form }, ty)
    }

    pub fn finish(mut self) -> Verified {
        self.kernel.body.ops = self.open.pop().expect("the body is open");
        assert!(self.open.is_empty(), "a region was left open");
        verify(self.kernel).unwrap_or_else(|broken| {
            let all: Vec<String> = broken.iter().map(ToString::to_string).collect();
            panic!("the hand-built kernel is not valid:\n{}", all.join("\n"))
        })
    }
}

/// A coordinate in tiles.
pub fn tiles_at(at: [ValueId; 4]) -> Coord {
    Coord { batch: Some(at[0]), depth: Some(at[1]), row: at[2], col: at[3], unit: Unit::Tiles }
}

/// The softmax of the rows of a tensor, one tile wide: columns beyond the last are masked.
pub fn softmax(dtype: DType, (rows, cols): (u32, u32)) -> Verified {
    let mut b = Build::new("softmax", &format!("<{dtype}, {rows}, {cols}>"), (8, 1));
    let c = b.global("c", dtype, Access::Out);
    let a = b.global("a", dtype, Access::In);
    let at = b.own_tile(c, (rows, cols), Order::Linear);
    b.return_outside(c, (rows, cols), at);
    let x = b.load(a, tiles_at(at), LoadForm::Plain, tile(dtype, rows, cols, Role::Row));
    let x = b.convert(x, tile(DType::F32, rows, cols, Role::Row));
    let factor = b.f32(std::f32::consts::LOG2_E);
    let x = b.map(MapBinary::Mul, x, factor);
    let (keep, fill) = (b.dim(a, Dim::Cols), b.f32(f32::NEG_INFINITY));
    let ty = b.kernel.ty(x);
    let x = b.one(OpKind::KeepFirst { tile: x, along: Along::Cols, keep, fill }, ty);
    let most = b.reduce(Reduction::Max, Along::Rows, x, None);
    let x = b.map(MapBinary::Sub, x, most);
    let x = b.unary(MapUnary::Exp2, x);
    let sum = b.reduce(Reduction::Sum, Along::Rows, x, None);
    let x = b.map(MapBinary::Div, x, sum);
    let x = b.convert(x, tile(dtype, rows, cols, Role::Row));
    b.push(OpKind::Store { global: c, tile: x, at: tiles_at(at) }, &[]);
    b.finish()
}

/// What kind of GEMM to build.
#[derive(Clone, Copy)]
pub struct Gemm {
    pub input: DType,
    pub output: DType,
    pub tile: (u32, u32, u32),
    pub subgroups: (u32, u32),
    pub trans_b: bool,
    pub prefetch: bool,
}

impl Gemm {
    /// The main instance.
    pub const MAIN: Gemm = Gemm {
        input: DType::Bf16,
        output: DType::F32,
        tile: (32, 64, 32),
        subgroups: (8, 4),
        trans_b: false,
        prefetch: true,
    };

    /// The kernel of the contract.
    pub fn build(self) -> Verified {
        let (bm, bn, bk) = self.tile;
        let instance = format!(
            "<{}, {}, {bm}, {bn}, {bk}, {}, {}>",
            self.input, self.output, self.trans_b, self.prefetch
        );
        let mut b = Build::new("gemm", &instance, self.subgroups);
        let c = b.global("c", self.output, Access::Out);
        let a = b.global("a", self.input.in_memory(), Access::In);
        let w = b.global("b", self.input.in_memory(), Access::In);
        let ahead = b.scalar("ahead", ScalarType::U32);
        let width = b.u32(8);
        let at = b.own_tile(c, (bm, bn), Order::Snake(width));
        b.return_outside(c, (bm, bn), at);
        let acc_type = tile(self.input.wide(), bm, bn, Role::Acc);
        let zero = b.one(OpKind::Zeros, acc_type);
        let lo = b.u32(0);
        let hi = b.tiles(a, Dim::Cols, bk);
        let k = b.kernel.new_value(U32);
        let acc = b.kernel.new_value(acc_type);
        b.open();
        let [batch, depth, row, col] = at;
        let x =
            b.load(a, tiles_at([batch, depth, row, k]), LoadForm::Plain, tile(self.input, bm, bk, Role::Row));
        if self.prefetch {
            let next = b.binary(Binary::Add, k, ahead);
            let at = tiles_at([batch, depth, row, next]);
            b.push(OpKind::Prefetch { global: a, at, tile: (bm, bk), peers: Some(Peers::Row) }, &[]);
            let (at, tile) = if self.trans_b {
                (tiles_at([batch, depth, col, next]), (bn, bk))
            } else {
                (tiles_at([batch, depth, next, col]), (bk, bn))
            };
            b.push(OpKind::Prefetch { global: w, at, tile, peers: Some(Peers::Col) }, &[]);
        }
        let y = if self.trans_b {
            b.load(
                w,
                tiles_at([batch, depth, col, k]),
                LoadForm::Transpose,
                tile(self.input, bk, bn, Role::VnniT),
            )
        } else {
            b.load(
                w,
                tiles_at([batch, depth, k, col]),
                LoadForm::Transform,
                tile(self.input, bk, bn, Role::Vnni),
            )
        };
        let next = b.one(OpKind::Mma { acc, a: x, b: y }, acc_type);
        let body = b.close(vec![k, acc], Exit::Yield(vec![next]));
        let sum = b.one(OpKind::For { lo, hi, step: 1, inits: vec![zero], body }, acc_type);
        let out = b.one(OpKind::Convert { tile: sum }, tile(self.output, bm, bn, Role::Row));
        b.push(OpKind::Store { global: c, tile: out, at: tiles_at(at) }, &[]);
        b.finish()
    }
}
