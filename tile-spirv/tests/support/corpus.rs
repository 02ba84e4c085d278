//! Owns one small kernel per op and variant, for golden text and for the outside tools.
#![allow(dead_code, reason = "each test file uses its part")]

use crate::support::{Build, Gemm, U32, tile};
use tile_ir::ir::{Access, Coord, Dim, Exit, LoadForm, OpKind, Order, ParamId, Peers, Place, Unit, ValueId};
use tile_ir::scalar::{Binary, Compare, Const, Unary, casts};
use tile_ir::types::{DType, Role, ScalarType, Type};
use tile_ir::verify::Verified;

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
        let mut b = Build::new("k", "", (8, 4));
        b.kernel.unowned_stores = true;
        let c = b.global("c", out, Access::Out);
        let a = b.global("a", input, Access::In);
        let own = b.own_tile(c, (8, 16), Order::Linear);
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
    for (variant, snake) in [("linear", false), ("snake", true)] {
        let mut s = f32s();
        // Only one `own_tile` may stand in a kernel, so this one is built anew.
        s.b = Build::new("k", "", (8, 4));
        s.b.kernel.unowned_stores = true;
        s.c = s.b.global("c", DType::F32, Access::Out);
        s.a = s.b.global("a", DType::F32, Access::In);
        let width = s.b.u32(8);
        let order = if snake { Order::Snake(width) } else { Order::Linear };
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
    for dtype in DType::ALL.iter().copied() {
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
    for &from in DType::ALL {
        for &to in DType::ALL {
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

/// Every sample, in a fixed order.
pub fn samples() -> Vec<Sample> {
    let mut out = vec![];
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
