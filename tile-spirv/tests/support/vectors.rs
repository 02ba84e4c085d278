//! Owns the samples of stores and reductions of vectors, of positions of extremes and of changes of encoding.

use super::{Sample, Shown, Small};
use crate::support::{tile, vector};
use tile_ir::ir::{Extreme, LoadForm, OpKind, Reduction, Unit, ValueId, VectorOp};
use tile_ir::map::MapTernary;
use tile_ir::types::{Along, DType, Encoding, Role, ScalarType, Type};

/// A kernel with a vector that was loaded.
fn loaded(dtype: DType, len: u32, encoding: impl Into<Encoding>) -> (Small, ValueId) {
    let mut s = Small::new(dtype.wide(), dtype);
    let at = s.at(Unit::Tiles, 1, 2);
    let v = s.b.one(OpKind::LoadVector { global: s.a, at }, vector(dtype, len, encoding));
    (s, v)
}

/// A kernel that stores a vector to an output of its type.
pub(super) fn stored(dtype: DType, len: u32, encoding: impl Into<Encoding>) -> tile_ir::verify::Verified {
    let mut s = Small::new(dtype, dtype);
    let at = s.at(Unit::Tiles, 1, 2);
    let v = s.b.one(OpKind::LoadVector { global: s.a, at }, vector(dtype, len, encoding));
    s.b.push(OpKind::Vector(VectorOp::Store { global: s.c, vector: v, at }), &[]);
    s.b.finish()
}

/// A kernel that fills a tile with what a vector is reduced to.
pub(super) fn reduced(
    what: impl Fn(ValueId) -> VectorOp,
    dtype: DType,
    len: u32,
    encoding: impl Into<Encoding>,
) -> tile_ir::verify::Verified {
    let (mut s, v) = loaded(dtype, len, encoding);
    let op = what(v);
    let index = matches!(op, VectorOp::Arg { .. });
    let ty = if index { ScalarType::I32 } else { dtype.scalar() };
    let mut value = s.b.one(OpKind::Vector(op), Type::Scalar(ty));
    if dtype.scalar() != ty {
        value = s.b.one(OpKind::Cast { value }, Type::Scalar(dtype.scalar()));
    }
    let x = s.b.one(OpKind::Fill { value }, tile(dtype.wide(), 8, 16, Role::Row));
    s.store(x)
}

/// A kernel that stores the positions of the extremes of a tile.
pub(super) fn positions(
    how: Extreme,
    along: Along,
    dtype: DType,
    (rows, cols): (u32, u32),
) -> tile_ir::verify::Verified {
    let mut s = Small::new(DType::I32, dtype);
    let at = s.at(Unit::Tiles, 0, 0);
    let x = s.b.load(s.a, at, LoadForm::Plain, tile(dtype, rows, cols, Role::Row));
    let len = if along == Along::Rows { rows } else { cols };
    let kind = OpKind::Vector(VectorOp::ArgLines { how, along, tile: x });
    let v = s.b.one(kind, vector(DType::I32, len, along));
    s.b.push(OpKind::Vector(VectorOp::Store { global: s.c, vector: v, at }), &[]);
    s.b.finish()
}

pub(super) fn vector_op_samples(out: &mut Vec<Sample>) {
    let mut add = |op, variant: String, kernel| {
        out.push(Sample { op, variant, shown: Shown::Body, kernel });
    };
    for (dtype, len, along) in [
        (DType::F32, 32, Along::Cols),
        (DType::Bf16, 24, Along::Rows),
        (DType::F16, 16, Along::Cols),
        (DType::I32, 8, Along::Rows),
    ] {
        add("store_vec", format!("{dtype}_{len}"), stored(dtype, len, along));
    }
    for (&how, op) in Reduction::ALL.iter().zip(["reduce_max", "reduce_min", "reduce_sum", "reduce_prod"]) {
        for (dtype, len, along) in
            [(DType::F32, 32, Along::Rows), (DType::Bf16, 24, Along::Rows), (DType::I32, 8, Along::Rows)]
        {
            let kernel = reduced(|vector| VectorOp::Reduce { how, vector }, dtype, len, along);
            add(op, format!("{dtype}_{len}"), kernel);
        }
    }
    for (&how, [one, row, col]) in Extreme::ALL
        .iter()
        .zip([["argmax", "row_argmax", "col_argmax"], ["argmin", "row_argmin", "col_argmin"]])
    {
        for (dtype, len) in [(DType::F32, 32), (DType::Bf16, 24), (DType::I32, 8)] {
            let kernel = reduced(|vector| VectorOp::Arg { how, vector }, dtype, len, Along::Rows);
            add(one, format!("{dtype}_{len}"), kernel);
        }
        for (dtype, size) in [(DType::F32, (16, 32)), (DType::Bf16, (8, 16)), (DType::I32, (8, 32))] {
            let variant = format!("{dtype}_{}x{}", size.0, size.1);
            add(row, variant.clone(), positions(how, Along::Rows, dtype, size));
            add(col, variant, positions(how, Along::Cols, dtype, size));
        }
    }
    for (to, op) in [(Along::Rows, "to_per_row"), (Along::Cols, "to_per_col")] {
        let from = if to == Along::Rows { Along::Cols } else { Along::Rows };
        let (mut s, v) = loaded(DType::F32, 32, from);
        let kind = OpKind::Vector(VectorOp::Encode { vector: v, to });
        let v = s.b.one(kind, vector(DType::F32, 32, to));
        let at = s.at(Unit::Tiles, 1, 2);
        s.b.push(OpKind::Vector(VectorOp::Store { global: s.c, vector: v, at }), &[]);
        add(op, "f32_32".into(), s.b.finish());
    }
    for (dtype, len) in [(DType::Bf16, 256), (DType::F32, 128)] {
        add(
            "load_vec",
            format!("{dtype}_{len}_wide"),
            reduced(|vector| VectorOp::Reduce { how: Reduction::Sum, vector }, dtype, len, Encoding::Wide),
        );
        add("store_vec", format!("{dtype}_{len}_wide"), stored(dtype, len, Encoding::Wide));
    }
    for (pieces, variant) in [(1, "bf16_1024_squares"), (4, "bf16_4096_squares")] {
        add("reduce_sum", variant.into(), sum_of_squares(pieces));
    }
    add(
        "argmax",
        "bf16_256_wide".into(),
        reduced(|vector| VectorOp::Arg { how: Extreme::Max, vector }, DType::Bf16, 256, Encoding::Wide),
    );
}

/// A kernel that loads a row of bf16 in pieces of 1,024 and fills a tile with the sum of its squares, in f32.
fn sum_of_squares(pieces: u32) -> tile_ir::verify::Verified {
    let len = 1024;
    let mut s = Small::new(DType::F32, DType::Bf16);
    let float = vector(DType::F32, len, Encoding::Wide);
    let mut sums = s.b.one(OpKind::Zeros, float);
    for piece in 0..pieces {
        let at = s.at(Unit::Tiles, 1, piece);
        let kind = OpKind::LoadVector { global: s.a, at };
        let v = s.b.one(kind, vector(DType::Bf16, len, Encoding::Wide));
        let x = s.b.one(OpKind::Convert { tile: v }, float);
        sums = s.b.one(OpKind::MapTernary { op: MapTernary::Fma, x, a: x, b: sums }, float);
    }
    let kind = OpKind::Vector(VectorOp::Reduce { how: Reduction::Sum, vector: sums });
    let value = s.b.one(kind, Type::Scalar(ScalarType::F32));
    let x = s.b.one(OpKind::Fill { value }, tile(DType::F32, 8, 16, Role::Row));
    s.store(x)
}
