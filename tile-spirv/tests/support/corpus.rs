//! Owns one small kernel per op and variant, for golden text and for the outside tools.
#![allow(dead_code, reason = "each test file uses its part")]

use crate::support::{Build, F32, Gemm, U32, tile, vector};
use tile_ir::ir::{
    Access, Coord, Dim, Exit, LoadForm, Logic, OpKind, Order, ParamId, Peers, Place, Reduction, Selection,
    Unit, ValueId,
};
use tile_ir::map::{MapBinary, MapTernary, MapUnary};
use tile_ir::scalar::{Binary, Compare, Const, Unary, casts};
use tile_ir::types::{Along, DType, Role, ScalarType, Type};
use tile_ir::verify::Verified;

#[path = "groups.rs"]
mod groups;
#[path = "operands.rs"]
mod operands;
#[path = "topk.rs"]
mod topk;
#[path = "vectors.rs"]
mod vectors;

/// What of a kernel its golden file shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The whole body.
    Body,
    /// What the factor of its `scale` is computed from.
    Factor,
    /// What the tile it stores is computed from.
    Stored,
}

/// A kernel about one op.
pub struct Sample {
    /// The op's name, which is also its folder.
    pub op: &'static str,
    /// The variant, which is also its file.
    pub variant: String,
    pub shown: Shown,
    pub kernel: Verified,
}

/// A kernel with an output `c` and an input `a` that may store anywhere.
struct Small {
    b: Build,
    c: ParamId,
    a: ParamId,
    own: [ValueId; 4],
}

impl Small {
    fn new(out: DType, input: DType) -> Small {
        Small::owning(out, input, (8, 16))
    }

    /// Like [`Small::new`], for tiles of 8 x 32.
    fn wide(out: DType, input: DType) -> Small {
        Small::owning(out, input, (8, 32))
    }

    fn owning(out: DType, input: DType, tile: (u32, u32)) -> Small {
        let mut b = Build::new("k", "", (8, 4));
        b.kernel.unowned_stores = true;
        let c = b.global("c", out, Access::Out);
        let a = b.global("a", input, Access::In);
        let own = b.own_tile(c, tile, Order::Linear);
        Small { b, c, a, own }
    }

    fn at(&mut self, unit: Unit, row: u32, col: u32) -> Coord {
        let (row, col) = (self.b.u32(row), self.b.u32(col));
        Coord { batch: None, depth: None, row, col, unit }
    }

    fn store(mut self, value: ValueId) -> Verified {
        let at = self.at(Unit::Tiles, 0, 0);
        self.b.push(OpKind::Store { global: self.c, tile: value, at }, &[]);
        self.b.finish()
    }

    /// Ends the kernel with a prefetch at a row.
    fn prefetched(mut self, row: ValueId) -> Verified {
        let at = Coord { row, ..self.at(Unit::Tiles, 0, 0) };
        self.b.push(OpKind::Prefetch { global: self.a, at, tile: (8, 16), peers: None }, &[]);
        self.b.finish()
    }

    /// Ends the kernel with a tile scaled by a number.
    fn scaled(mut self, value: ValueId) -> Verified {
        let number = match self.b.kernel.ty(value) {
            Type::Scalar(ScalarType::F32) => value,
            Type::Scalar(ScalarType::Bool) => {
                let word = self.b.one(OpKind::Cast { value }, U32);
                self.b.one(OpKind::Cast { value: word }, Type::Scalar(ScalarType::F32))
            }
            _ => self.b.one(OpKind::Cast { value }, Type::Scalar(ScalarType::F32)),
        };
        let at = self.at(Unit::Tiles, 0, 0);
        let ty = tile(DType::F32, 8, 16, Role::Row);
        let x = self.b.load(self.a, at, LoadForm::Plain, ty);
        let y = self.b.one(OpKind::Scale { tile: x, by: number }, ty);
        self.store(y)
    }
}

fn f32s() -> Small {
    Small::new(DType::F32, DType::F32)
}

fn scalar_samples(out: &mut Vec<Sample>) {
    let mut add = |op, variant: String, kernel| {
        out.push(Sample { op, variant, shown: Shown::Factor, kernel });
    };
    for &ty in ScalarType::ALL {
        for &op in Binary::ALL.iter().filter(|op| op.takes(ty)) {
            let mut s = f32s();
            let (x, y) = (s.b.scalar("x", ty), s.b.scalar("y", ty));
            let r = s.b.binary(op, x, y);
            add(op.name(), ty.to_string(), s.scaled(r));
        }
        for &op in Compare::ALL.iter().filter(|op| op.takes(ty)) {
            let mut s = f32s();
            let (x, y) = (s.b.scalar("x", ty), s.b.scalar("y", ty));
            let r = s.b.compare(op, x, y);
            add(op.name(), ty.to_string(), s.scaled(r));
        }
        for &op in Unary::ALL.iter().filter(|op| op.takes(ty)) {
            let mut s = f32s();
            let x = s.b.scalar("x", ty);
            let r = s.b.one(OpKind::Unary { op, value: x }, Type::Scalar(ty));
            add(op.name(), ty.to_string(), s.scaled(r));
        }
        for &to in ScalarType::ALL.iter().filter(|&&to| casts(ty, to)) {
            let mut s = f32s();
            let x = s.b.scalar("x", ty);
            let r = s.b.one(OpKind::Cast { value: x }, Type::Scalar(to));
            add("cast", format!("{ty}_{to}"), s.scaled(r));
        }
    }
    for value in [Const::U32(7), Const::I32(-7), Const::U64(7), Const::F32(7f32.to_bits()), Const::Bool(true)]
    {
        let mut s = f32s();
        let r = s.b.constant(value);
        add("const", value.ty().to_string(), s.scaled(r));
    }
    for &dim in Dim::ALL {
        let mut s = f32s();
        let r = s.b.dim(s.a, dim);
        add("dim", dim.name().into(), s.scaled(r));
    }
    for &place in Place::ALL {
        let mut s = f32s();
        let r = s.b.one(OpKind::Place(place), U32);
        add(place.name(), "8x4".into(), s.scaled(r));
    }
    for variant in ["linear", "upward", "snake"] {
        let mut s = f32s();
        // Only one `own_tile` may stand in a kernel, so this one is built anew.
        s.b = Build::new("k", "", (8, 4));
        s.b.kernel.unowned_stores = true;
        s.c = s.b.global("c", DType::F32, Access::Out);
        s.a = s.b.global("a", DType::F32, Access::In);
        let width = s.b.u32(8);
        let order = match variant {
            "linear" => Order::Linear,
            "upward" => Order::Upward,
            _ => Order::Snake(width),
        };
        s.own = s.b.own_tile(s.c, (32, 64), order);
        let rows_cols = s.b.binary(Binary::Xor, s.own[2], s.own[3]);
        let planes = s.b.binary(Binary::Xor, s.own[0], s.own[1]);
        let all = s.b.binary(Binary::Xor, rows_cols, planes);
        add("own_tile", variant.into(), s.scaled(all));
    }
}

fn memory_samples(out: &mut Vec<Sample>) {
    let mut add = |op: &'static str, variant: String, kernel| {
        let shown = if op.starts_with("load") { Shown::Stored } else { Shown::Body };
        out.push(Sample { op, variant, shown, kernel });
    };
    for dtype in [DType::Bf16, DType::F32] {
        let mut s = Small::new(dtype, dtype);
        let at = s.at(Unit::Tiles, 1, 2);
        let x = s.b.load(s.a, at, LoadForm::Plain, tile(dtype, 8, 16, Role::Row));
        add("load", format!("{dtype}_8x16"), s.store(x));
    }
    let mut s = Small::new(DType::Bf16, DType::Bf16);
    let at = s.at(Unit::Elements, 3, 5);
    let x = s.b.load(s.a, at, LoadForm::Plain, tile(DType::Bf16, 8, 16, Role::Row));
    add("load", "bf16_8x16_odd".into(), s.store(x));
    for (op, form, role) in [
        ("load_transform", LoadForm::Transform, Role::Vnni),
        ("load_transpose", LoadForm::Transpose, Role::VnniT),
    ] {
        let mut s = Small::new(DType::F32, DType::Bf16);
        let at = s.at(Unit::Tiles, 1, 2);
        let y = s.b.load(s.a, at, form, tile(DType::Bf16, 16, 16, role));
        let at = s.at(Unit::Tiles, 0, 0);
        let x = s.b.load(s.a, at, LoadForm::Plain, tile(DType::Bf16, 8, 16, Role::Row));
        let acc = tile(DType::F32, 8, 16, Role::Acc);
        let zeros = s.b.one(OpKind::Zeros, acc);
        let r = s.b.one(OpKind::Mma { acc: zeros, a: x, b: y }, acc);
        add(op, "bf16_16x16".into(), s.store(r));
    }
    for (op, peers) in [("prefetch_load", None), ("prefetch_load_coop", Some(Peers::Row))] {
        for dtype in [DType::Bf16, DType::F32] {
            let mut s = Small::new(DType::F32, dtype);
            let at = s.at(Unit::Tiles, 1, 2);
            s.b.push(OpKind::Prefetch { global: s.a, at, tile: (32, 32), peers }, &[]);
            add(op, format!("{dtype}_32x32"), s.b.finish());
        }
    }
    for dtype in DType::FLOATS.iter().copied() {
        let mut s = Small::new(dtype, dtype);
        let zeros = s.b.one(OpKind::Zeros, tile(dtype, 8, 16, Role::Row));
        add("store", format!("{dtype}_8x16"), s.store(zeros));
    }
    let mut s = Small::new(DType::F16, DType::F32);
    let zeros = s.b.one(OpKind::Zeros, tile(DType::F16, 8, 16, Role::Row));
    let (row, col) = (s.b.scalar("row", ScalarType::U32), s.b.scalar("col", ScalarType::U32));
    let at = Coord { batch: None, depth: None, row, col, unit: Unit::Elements };
    s.b.push(OpKind::Store { global: s.c, tile: zeros, at }, &[]);
    add("store", "f16_8x16_anywhere".into(), s.b.finish());
}

fn tile_samples(out: &mut Vec<Sample>) {
    let mut add =
        |op, variant: String, kernel| out.push(Sample { op, variant, shown: Shown::Stored, kernel });
    let mut s = f32s();
    let zeros = s.b.one(OpKind::Zeros, tile(DType::F32, 16, 16, Role::Acc));
    add("zeros", "f32_16x16".into(), s.store(zeros));
    for dtype in [DType::Bf16, DType::F16] {
        let mut s = Small::new(DType::F32, dtype);
        let at = s.at(Unit::Tiles, 0, 0);
        let x = s.b.load(s.a, at, LoadForm::Plain, tile(dtype, 16, 16, Role::Row));
        let y = s.b.load(s.a, at, LoadForm::Transform, tile(dtype, 16, 32, Role::Vnni));
        let acc = tile(DType::F32, 16, 32, Role::Acc);
        let zeros = s.b.one(OpKind::Zeros, acc);
        let r = s.b.one(OpKind::Mma { acc: zeros, a: x, b: y }, acc);
        add("mma", format!("{dtype}_16x32x16"), s.store(r));
    }
    for &from in DType::FLOATS {
        for &to in DType::FLOATS {
            let mut s = Small::new(to, from);
            let at = s.at(Unit::Tiles, 0, 0);
            let x = s.b.load(s.a, at, LoadForm::Plain, tile(from, 8, 16, Role::Row));
            let y = s.b.one(OpKind::Convert { tile: x }, tile(to, 8, 16, Role::Row));
            add("to", format!("{from}_{to}"), s.store(y));
        }
    }
    let mut s = f32s();
    let by = s.b.scalar("by", ScalarType::F32);
    add("scale", "f32_8x16".into(), s.scaled(by));
}

fn control_samples(out: &mut Vec<Sample>) {
    let mut add = |op, variant: &str, kernel| {
        out.push(Sample { op, variant: variant.into(), shown: Shown::Body, kernel });
    };
    for (variant, ty, step) in [("u32", ScalarType::U32, 1), ("i32_step", ScalarType::I32, 3)] {
        let mut s = f32s();
        let (lo, hi) = (s.b.scalar("lo", ty), s.b.scalar("hi", ty));
        let (i, sum) = (s.b.kernel.new_value(Type::Scalar(ty)), s.b.kernel.new_value(Type::Scalar(ty)));
        s.b.open();
        let next = s.b.binary(Binary::Add, sum, i);
        let body = s.b.close(vec![i, sum], Exit::Yield(vec![next]));
        let total = s.b.one(OpKind::For { lo, hi, step, inits: vec![lo], body }, Type::Scalar(ty));
        let row = s.b.one(OpKind::Cast { value: total }, U32);
        add("for", variant, s.prefetched(row));
    }
    let mut s = f32s();
    let cond = s.b.scalar("cond", ScalarType::Bool);
    let (x, y) = (s.b.scalar("x", ScalarType::U32), s.b.scalar("y", ScalarType::U32));
    s.b.open();
    let sum = s.b.binary(Binary::Add, x, y);
    let then = s.b.close(vec![], Exit::Yield(vec![sum]));
    s.b.open();
    let otherwise = s.b.close(vec![], Exit::Yield(vec![x]));
    let r = s.b.one(OpKind::If { cond, then, otherwise }, U32);
    add("if", "values", s.prefetched(r));
    let mut s = f32s();
    let cond = s.b.scalar("cond", ScalarType::Bool);
    s.b.open();
    let then = s.b.close(vec![], Exit::Return);
    s.b.open();
    let otherwise = s.b.close(vec![], Exit::Yield(vec![]));
    s.b.push(OpKind::If { cond, then, otherwise }, &[]);
    let row = s.b.u32(1);
    add("if", "return", s.prefetched(row));
}

/// A tile of one number, and the kernel that has it as a parameter.
fn filled(out: DType, dtype: DType, rows: u32, cols: u32) -> (Small, ValueId) {
    let mut s = Small::new(out, dtype);
    let value = s.b.scalar("x", ScalarType::F32);
    let x = s.b.one(OpKind::Fill { value }, tile(dtype, rows, cols, Role::Row));
    (s, x)
}

fn map_samples(out: &mut Vec<Sample>) {
    let mut add = |op, variant: &str, kernel| {
        out.push(Sample { op, variant: variant.into(), shown: Shown::Stored, kernel });
    };
    for dtype in [DType::F32, DType::Bf16, DType::F16] {
        let (s, x) = filled(dtype, dtype, 8, 16);
        add("fill", &format!("tile_{dtype}_8x16"), s.store(x));
    }
    for &op in MapUnary::ALL {
        let (mut s, x) = filled(DType::F32, DType::F32, 8, 16);
        let y = s.b.unary(op, x);
        add(op.name(), "tile_f32_8x16", s.store(y));
    }
    for dtype in [DType::Bf16, DType::F16] {
        let (mut s, x) = filled(dtype, dtype, 8, 16);
        let y = s.b.unary(MapUnary::Exp2, x);
        add("exp2", &format!("tile_{dtype}_8x16"), s.store(y));
    }
    let mut s = f32s();
    let x = s.b.scalar("x", ScalarType::F32);
    let y = s.b.unary(MapUnary::Exp2, x);
    let y = s.b.one(OpKind::Fill { value: y }, tile(DType::F32, 8, 16, Role::Row));
    add("exp2", "scalar", s.store(y));
    for &op in MapBinary::ALL {
        let (mut s, x) = filled(DType::F32, DType::F32, 8, 16);
        let number = s.b.scalar("y", ScalarType::F32);
        let y = s.b.one(OpKind::Fill { value: number }, tile(DType::F32, 8, 16, Role::Row));
        let z = s.b.map(op, x, y);
        add(op.name(), "tile_f32_8x16", s.store(z));
    }
    for op in [MapBinary::Mul, MapBinary::Div] {
        for (name, along) in [("scalar", None), ("rows", Some(Along::Rows)), ("cols", Some(Along::Cols))] {
            let (mut s, x) = filled(DType::F32, DType::F32, 8, 32);
            let number = s.b.scalar("y", ScalarType::F32);
            let y = match along {
                None => number,
                Some(along) => {
                    let len = if along == Along::Rows { 8 } else { 32 };
                    s.b.one(OpKind::Fill { value: number }, vector(DType::F32, len, along))
                }
            };
            let z = s.b.map(op, x, y);
            add(op.name(), &format!("tile_f32_8x32_{name}"), s.store(z));
        }
    }
}

/// Tiles of two numbers, compared, and chosen from.
fn selection_samples(out: &mut Vec<Sample>) {
    let mut add = |op: &OpKind, variant: String, kernel| {
        out.push(Sample { op: op.name(), variant, shown: Shown::Stored, kernel });
    };
    let mask = tile(DType::Bool, 8, 16, Role::Row);
    for dtype in [DType::F32, DType::Bf16] {
        let ty = tile(dtype, 8, 16, Role::Row);
        let two = |s: &mut Small, x: ValueId| {
            let number = s.b.scalar("y", ScalarType::F32);
            (s.b.one(OpKind::Fill { value: number }, ty), number, x)
        };
        for &op in MapTernary::ALL {
            let (mut s, x) = filled(dtype, dtype, 8, 16);
            let (y, number, x) = two(&mut s, x);
            let kind = OpKind::MapTernary { op, x, a: y, b: number };
            let z = s.b.one(kind.clone(), ty);
            add(&kind, format!("tile_{dtype}_8x16"), s.store(z));
        }
        for &op in Compare::ALL {
            let (mut s, x) = filled(dtype, dtype, 8, 16);
            let (y, number, x) = two(&mut s, x);
            let kind = OpKind::Selection(Selection::Compare { op, lhs: x, rhs: y });
            let m = s.b.one(kind.clone(), mask);
            let select = OpKind::Selection(Selection::Select { mask: m, yes: x, no: number });
            let z = s.b.one(select.clone(), ty);
            let kernel = s.store(z);
            if op == Compare::Lt {
                add(&select, format!("tile_{dtype}_8x16"), kernel.clone());
            }
            add(&kind, format!("tile_{dtype}_8x16"), kernel);
        }
    }
    let ty = tile(DType::F32, 8, 16, Role::Row);
    for op in Logic::ALL.iter().map(|&op| Some(op)).chain([None]) {
        let (mut s, x) = filled(DType::F32, DType::F32, 8, 16);
        let zero = s.b.f32(0.0);
        let [a, b] = [Compare::Lt, Compare::Eq]
            .map(|op| s.b.one(OpKind::Selection(Selection::Compare { op, lhs: x, rhs: zero }), mask));
        let kind = OpKind::Selection(match op {
            Some(op) => Selection::Logic { op, lhs: a, rhs: b },
            None => Selection::Not { mask: a },
        });
        let m = s.b.one(kind.clone(), mask);
        let z = s.b.one(OpKind::Selection(Selection::Select { mask: m, yes: x, no: zero }), ty);
        add(&kind, "tile_8x16".into(), s.store(z));
    }
    for &along in Along::ALL {
        let mut s = f32s();
        let start = s.b.scalar("start", ScalarType::F32);
        let kind = OpKind::Selection(Selection::Iota { along, start });
        let x = s.b.one(kind.clone(), tile(DType::F32, 16, 32, Role::Row));
        add(&kind, "tile_f32_16x32".into(), s.store(x));
        let mut s = f32s();
        let start = s.b.scalar("start", ScalarType::F32);
        let kind = OpKind::Selection(Selection::Iota { along, start });
        let len = if along == Along::Rows { 8 } else { 32 };
        let v = s.b.one(kind.clone(), vector(DType::F32, len, along));
        let x = s.b.one(OpKind::Zeros, tile(DType::F32, 8, 32, Role::Row));
        let x = s.b.map(MapBinary::Add, x, v);
        add(&kind, format!("vector_f32_{len}"), s.store(x));
    }
}

/// Masks asked for a true element: a factor of what is stored.
fn any_samples(out: &mut Vec<Sample>) {
    let sizes =
        |dtype| [("tile_16x32", tile(dtype, 16, 32, Role::Row)), ("vector_8", vector(dtype, 8, Along::Rows))];
    for ((name, ty), (_, mask)) in sizes(DType::F32).into_iter().zip(sizes(DType::Bool)) {
        let mut s = f32s();
        let value = s.b.scalar("x", ScalarType::F32);
        let (x, zero) = (s.b.one(OpKind::Fill { value }, ty), s.b.f32(0.0));
        let less = OpKind::Selection(Selection::Compare { op: Compare::Lt, lhs: x, rhs: zero });
        let kind = OpKind::Selection(Selection::Any { mask: s.b.one(less, mask) });
        let any = s.b.one(kind.clone(), Type::Scalar(ScalarType::Bool));
        let kernel = s.scaled(any);
        out.push(Sample { op: kind.name(), variant: name.into(), shown: Shown::Factor, kernel });
    }
}

fn reduce_samples(out: &mut Vec<Sample>) {
    let mut add = |op: &OpKind, variant: String, kernel| {
        out.push(Sample { op: op.name(), variant, shown: Shown::Stored, kernel });
    };
    for &along in Along::ALL {
        for &how in Reduction::ALL {
            for (rows, running) in [(8, false), (16, true)] {
                let (mut s, tile) = filled(DType::F32, DType::F32, rows, 32);
                let (len, number) = (if along == Along::Rows { rows } else { 32 }, s.b.f32(2.0));
                let ty = vector(DType::F32, len, along);
                let running = running.then(|| s.b.one(OpKind::Fill { value: number }, ty));
                let kind = OpKind::Reduce { how, along, tile, running };
                let r = s.b.one(kind.clone(), ty);
                let z = s.b.map(MapBinary::Add, tile, r);
                add(&kind, format!("f32_{rows}x32"), s.store(z));
            }
        }
    }
    for dtype in [DType::F32, DType::Bf16] {
        for kind in 0..4 {
            let (mut s, x) = filled(dtype, dtype, 8, 32);
            let (a, b) = (s.b.scalar("a", ScalarType::U32), s.b.scalar("b", ScalarType::U32));
            let fill = s.b.scalar("fill", ScalarType::F32);
            let kind = match kind {
                0 => OpKind::KeepFirst { tile: x, along: Along::Cols, keep: a, fill },
                1 => OpKind::KeepFirst { tile: x, along: Along::Rows, keep: a, fill },
                lower => OpKind::Triangle { tile: x, lower: lower == 2, row_start: a, col_start: b, fill },
            };
            let y = s.b.one(kind.clone(), tile(dtype, 8, 32, Role::Row));
            add(&kind, format!("{dtype}_8x32"), s.store(y));
        }
    }
}

fn vector_samples(out: &mut Vec<Sample>) {
    let mut add = |op, variant: String, kernel| {
        out.push(Sample { op, variant, shown: Shown::Body, kernel });
    };
    for (dtype, along, len) in
        [(DType::F32, Along::Cols, 32), (DType::Bf16, Along::Rows, 8), (DType::F16, Along::Rows, 16)]
    {
        let mut s = Small::new(DType::F32, dtype);
        let at = s.at(Unit::Tiles, 1, 2);
        let v = s.b.one(OpKind::LoadVector { global: s.a, at }, vector(dtype, len, along));
        let v = s.b.convert(v, vector(DType::F32, len, along));
        let (rows, cols) = if along == Along::Rows { (len, 16) } else { (8, len) };
        let x = s.b.one(OpKind::Zeros, tile(DType::F32, rows, cols, Role::Row));
        let x = s.b.map(MapBinary::Add, x, v);
        add("load_vec", format!("{dtype}_{len}"), s.store(x));
    }
    for &dtype in DType::FLOATS {
        let mut s = Small::new(DType::F32, dtype);
        let at = s.at(Unit::Elements, 1, 2);
        let v = s.b.one(OpKind::LoadScalar { global: s.a, at }, F32);
        let x = s.b.one(OpKind::Fill { value: v }, tile(DType::F32, 8, 16, Role::Row));
        add("load_scalar", dtype.to_string(), s.store(x));
    }
}

/// Ops on i32: those that compute, reductions, masks, loads, conversions.
fn integer_samples(out: &mut Vec<Sample>) {
    let int = DType::I32;
    let ints = |rows, cols| tile(int, rows, cols, Role::Row);
    let mut add = |op, variant: String, shown, kernel| out.push(Sample { op, variant, shown, kernel });
    let filled = |rows, cols| {
        let mut s = Small::new(int, int);
        let value = s.b.scalar("x", ScalarType::I32);
        let x = s.b.one(OpKind::Fill { value }, ints(rows, cols));
        (s, x, value)
    };
    let (s, x, _) = filled(8, 16);
    add("fill", "tile_i32_8x16".into(), Shown::Stored, s.store(x));
    for &op in MapUnary::ALL.iter().filter(|op| op.takes_integers()) {
        let (mut s, x, _) = filled(8, 16);
        let y = s.b.unary(op, x);
        add(op.name(), "tile_i32_8x16".into(), Shown::Stored, s.store(y));
    }
    for &op in MapBinary::ALL.iter().filter(|op| op.takes_integers()) {
        let (mut s, x, value) = filled(8, 16);
        let y = s.b.map(op, x, value);
        add(op.name(), "tile_i32_8x16".into(), Shown::Stored, s.store(y));
    }
    for &how in Reduction::ALL {
        for along in [Along::Rows, Along::Cols] {
            let (mut s, x, _) = filled(8, 32);
            let len = if along == Along::Rows { 8 } else { 32 };
            let kind = OpKind::Reduce { how, along, tile: x, running: None };
            let name = kind.name();
            let v = s.b.one(kind, vector(int, len, along));
            let y = s.b.map(MapBinary::Add, x, v);
            add(name, "i32_8x32".into(), Shown::Stored, s.store(y));
        }
    }
    let (mut s, x, fill) = filled(8, 32);
    let (row_start, col_start) = (s.b.scalar("a", ScalarType::U32), s.b.scalar("b", ScalarType::U32));
    let y = s.b.one(OpKind::Triangle { tile: x, lower: true, row_start, col_start, fill }, ints(8, 32));
    add("tril", "i32_8x32".into(), Shown::Stored, s.store(y));
    let mut s = Small::new(int, int);
    let at = s.at(Unit::Tiles, 1, 2);
    let v = s.b.one(OpKind::LoadVector { global: s.a, at }, vector(int, 32, Along::Cols));
    let x = s.b.one(OpKind::Zeros, ints(8, 32));
    let x = s.b.map(MapBinary::Add, x, v);
    add("load_vec", "i32_32".into(), Shown::Body, s.store(x));
    let mut s = Small::new(int, int);
    let at = s.at(Unit::Elements, 1, 2);
    let value = s.b.one(OpKind::LoadScalar { global: s.a, at }, Type::Scalar(ScalarType::I32));
    let x = s.b.one(OpKind::Fill { value }, ints(8, 16));
    add("load_scalar", "i32".into(), Shown::Body, s.store(x));
    for &float in DType::FLOATS {
        for (from, to) in [(int, float), (float, int)] {
            let mut s = Small::new(to, from);
            let at = s.at(Unit::Tiles, 0, 0);
            let x = s.b.load(s.a, at, LoadForm::Plain, tile(from, 8, 16, Role::Row));
            let y = s.b.one(OpKind::Convert { tile: x }, tile(to, 8, 16, Role::Row));
            add("to", format!("{from}_{to}"), Shown::Stored, s.store(y));
        }
    }
}

fn layout_samples(out: &mut Vec<Sample>) {
    let mut add = |op, variant: String, shown, kernel| out.push(Sample { op, variant, shown, kernel });
    for dtype in [DType::F32, DType::Bf16] {
        let mut s = Small::new(dtype, dtype);
        let at = s.at(Unit::Tiles, 1, 2);
        let x = s.b.load(s.a, at, LoadForm::Transpose, tile(dtype, 16, 16, Role::Row));
        add("load_transpose", format!("{dtype}_16x16_row"), Shown::Stored, s.store(x));
        let mut s = Small::new(dtype, dtype);
        let at = s.at(Unit::Tiles, 0, 0);
        let x = s.b.load(s.a, at, LoadForm::Plain, tile(dtype, 16, 16, Role::Row));
        let x = s.b.one(OpKind::Transpose { tile: x }, tile(dtype, 16, 16, Role::Row));
        add("transpose", format!("{dtype}_16x16"), Shown::Stored, s.store(x));
        let (mut s, x) = filled(dtype, dtype, 8, 16);
        let at = s.at(Unit::Tiles, 1, 2);
        s.b.push(OpKind::StoreTranspose { global: s.c, tile: x, at }, &[]);
        add("store_transpose", format!("{dtype}_8x16"), Shown::Body, s.b.finish());
    }
    let (mut s, x) = filled(DType::F32, DType::F32, 8, 16);
    let at = s.at(Unit::Tiles, 1, 2);
    s.b.push(OpKind::AtomicAdd { global: s.c, value: x, at, vector: false }, &[]);
    add("atomic_add", "f32_8x16".into(), Shown::Body, s.b.finish());
    let mut s = Small::new(DType::I32, DType::I32);
    let ty = tile(DType::I32, 8, 16, Role::Row);
    let x = s.b.one(OpKind::Zeros, ty);
    let at = s.at(Unit::Tiles, 1, 2);
    s.b.push(OpKind::AtomicAdd { global: s.c, value: x, at, vector: false }, &[]);
    add("atomic_add", "i32_8x16".into(), Shown::Body, s.b.finish());
    let (mut s, x) = filled(DType::F32, DType::F32, 24, 16);
    let sums = s.b.reduce(Reduction::Sum, Along::Rows, x, None);
    let at = s.at(Unit::Tiles, 1, 2);
    s.b.push(OpKind::AtomicAdd { global: s.c, value: sums, at, vector: true }, &[]);
    add("atomic_add_vec", "f32_24".into(), Shown::Body, s.b.finish());
    let mut s = f32s();
    let at = s.at(Unit::Tiles, 0, 0);
    let x = s.b.load(s.a, at, LoadForm::Plain, tile(DType::F32, 16, 32, Role::Row));
    let part = s.b.one(OpKind::SubTile { tile: x, at: (1, 1) }, tile(DType::F32, 8, 16, Role::Row));
    add("sub_tile", "f32_8x16".into(), Shown::Stored, s.store(part));
    let mut s = f32s();
    let at = s.at(Unit::Tiles, 0, 0);
    let x = s.b.load(s.a, at, LoadForm::Plain, tile(DType::F32, 16, 16, Role::Row));
    let part = s.b.load(s.a, at, LoadForm::Plain, tile(DType::F32, 8, 16, Role::Row));
    let y = s.b.one(OpKind::SetSubTile { tile: x, part, at: (1, 0) }, tile(DType::F32, 16, 16, Role::Row));
    add("set_sub_tile", "f32_16x16".into(), Shown::Stored, s.store(y));
}

/// `x += i` while below a bound, with a run that is left out and one that is the last.
fn exit_samples(out: &mut Vec<Sample>) {
    for counted in [false, true] {
        let mut s = f32s();
        let b = &mut s.b;
        let [n, skip, last] = ["n", "skip", "last"].map(|name| b.scalar(name, ScalarType::U32));
        let (zero, one) = (b.u32(0), b.u32(1));
        let carried = [b.kernel.new_value(U32), b.kernel.new_value(U32)];
        let counter = counted.then(|| b.kernel.new_value(U32));
        let cond = (!counted).then(|| {
            let args = [b.kernel.new_value(U32), b.kernel.new_value(U32)];
            b.open();
            let goes = b.compare(Compare::Lt, args[0], n);
            b.close(args.to_vec(), Exit::Yield(vec![goes]))
        });
        b.open();
        let [i, sum] = carried;
        let next = b.binary(Binary::Add, i, one);
        let added = b.binary(Binary::Add, sum, counter.unwrap_or(i));
        for (at, exit) in [(skip, Exit::Continue(vec![next, sum])), (last, Exit::Break(vec![next, added]))] {
            let cond = b.compare(Compare::Eq, i, at);
            b.open();
            let then = b.close(vec![], exit);
            b.open();
            let otherwise = b.close(vec![], Exit::Yield(vec![]));
            b.push(OpKind::If { cond, then, otherwise }, &[]);
        }
        let args = counter.into_iter().chain(carried).collect();
        let body = b.close(args, Exit::Yield(vec![next, added]));
        let inits = vec![zero, zero];
        let kind = match cond {
            Some(cond) => OpKind::While { inits, cond, body },
            None => OpKind::For { lo: zero, hi: n, step: 1, inits, body },
        };
        let op = kind.name();
        let results = b.push(kind, &[U32, U32]);
        let row = results[1];
        out.push(Sample { op, variant: "exits".into(), shown: Shown::Body, kernel: s.prefetched(row) });
    }
}

/// The samples of ops on vectors, of element-wise ops, reductions, masks and early exits.
pub fn rich_samples() -> Vec<Sample> {
    let mut out = vec![];
    map_samples(&mut out);
    selection_samples(&mut out);
    any_samples(&mut out);
    reduce_samples(&mut out);
    vector_samples(&mut out);
    layout_samples(&mut out);
    exit_samples(&mut out);
    integer_samples(&mut out);
    groups::group_samples(&mut out);
    operands::operand_samples(&mut out);
    topk::top_k_samples(&mut out);
    vectors::vector_op_samples(&mut out);
    out
}

/// Every sample, in a fixed order.
pub fn samples() -> Vec<Sample> {
    let mut out = rich_samples();
    scalar_samples(&mut out);
    memory_samples(&mut out);
    tile_samples(&mut out);
    control_samples(&mut out);
    out
}

/// GEMMs of many sizes and types, by name.
pub fn gemms() -> Vec<(String, Gemm)> {
    let mut out = vec![];
    for (tile, subgroups) in [
        ((32, 64, 32), (8, 4)),
        ((16, 64, 32), (4, 4)),
        ((16, 32, 16), (2, 2)),
        ((8, 16, 16), (1, 1)),
        ((24, 48, 64), (4, 2)),
    ] {
        for (input, output) in
            [(DType::Bf16, DType::F32), (DType::Bf16, DType::Bf16), (DType::F16, DType::F16)]
        {
            for trans_b in [false, true] {
                for prefetch in [false, true] {
                    // 24 rows are not cut into equal block messages; such a kernel cannot prefetch together.
                    if prefetch && tile.0 == 24 {
                        continue;
                    }
                    let gemm = Gemm { input, output, tile, subgroups, trans_b, prefetch };
                    let (m, n, k) = tile;
                    let name = format!(
                        "{input}_{output}_{m}x{n}x{k}_{}{}",
                        if trans_b { "nk" } else { "kn" },
                        if prefetch { "_pf" } else { "" }
                    );
                    out.push((name, gemm));
                }
            }
        }
    }
    out
}
