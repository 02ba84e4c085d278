//! Owns the samples about operands of matrix instructions that are bytes or tf32.

use super::{Sample, Shown, Small, f32s};
use crate::support::tile;
use tile_ir::ir::{Access, LoadForm, OpKind, Unit};
use tile_ir::types::{DType, Role, ScalarType, Type};

/// Tiles of bytes and of tf32: in every form of load, multiplied, stored, converted.
pub(super) fn operand_samples(out: &mut Vec<Sample>) {
    let mut add = |op, variant: String, shown, kernel| out.push(Sample { op, variant, shown, kernel });
    for (a, b) in [
        (DType::I8, DType::I8),
        (DType::I8, DType::U8),
        (DType::U8, DType::I8),
        (DType::U8, DType::U8),
        (DType::Tf32, DType::Tf32),
    ] {
        let k = if a == DType::Tf32 { 8 } else { 32 };
        for (op, form, role) in [
            ("load_transform", LoadForm::Transform, Role::Vnni),
            ("load_transpose", LoadForm::Transpose, Role::VnniT),
        ] {
            let mut s = Small::new(a.wide(), a.in_memory());
            let other = s.b.global("b", b.in_memory(), Access::In);
            let at = s.at(Unit::Tiles, 1, 2);
            let y = s.b.load(other, at, form, tile(b, k, 16, role));
            let at = s.at(Unit::Tiles, 0, 0);
            let x = s.b.load(s.a, at, LoadForm::Plain, tile(a, 8, k, Role::Row));
            let acc = tile(a.wide(), 8, 16, Role::Acc);
            let zeros = s.b.one(OpKind::Zeros, acc);
            let r = s.b.one(OpKind::Mma { acc: zeros, a: x, b: y }, acc);
            let (op, variant) = if a == b && a != DType::U8 {
                (op, format!("{a}_{k}x16"))
            } else {
                ("mma", format!("{a}_{b}_8x16x{k}{}", if role == Role::VnniT { "_nk" } else { "" }))
            };
            add(op, variant, Shown::Stored, s.store(r));
        }
    }
    for dtype in [DType::I8, DType::U8] {
        let ty = tile(dtype, 8, 32, Role::Row);
        let mut s = Small::wide(dtype, dtype);
        let at = s.at(Unit::Elements, 3, 5);
        let x = s.b.load(s.a, at, LoadForm::Plain, ty);
        add("load", format!("{dtype}_8x32_odd"), Shown::Body, s.store(x));
        for other in [DType::F32, DType::Bf16, DType::I32] {
            for (from, to) in [(dtype, other), (other, dtype)] {
                let mut s = Small::wide(to, from);
                let at = s.at(Unit::Tiles, 0, 0);
                let x = s.b.load(s.a, at, LoadForm::Plain, tile(from, 8, 32, Role::Row));
                let y = s.b.one(OpKind::Convert { tile: x }, tile(to, 8, 32, Role::Row));
                add("to", format!("{from}_{to}"), Shown::Stored, s.store(y));
            }
        }
        let mut s = f32s();
        let bytes = s.b.global("b", dtype, Access::In);
        let at = s.at(Unit::Elements, 1, 2);
        let value = s.b.one(OpKind::LoadScalar { global: bytes, at }, Type::Scalar(ScalarType::I32));
        let value = s.b.one(OpKind::Cast { value }, Type::Scalar(ScalarType::F32));
        let x = s.b.one(OpKind::Fill { value }, tile(DType::F32, 8, 16, Role::Row));
        add("load_scalar", dtype.to_string(), Shown::Body, s.store(x));
    }
}
