//! Owns the small kernels about shared memory, cooperative copies and barriers.

use super::{Sample, Shown, Small};
use crate::support::{F32, tile, tiles_at, vector};
use tile_ir::error::Span;
use tile_ir::ir::{
    Barrier, GroupOp, LoadForm, OpKind, Place, Shared, SharedAt, SharedId, SharedType, Unit, ValueId,
};
use tile_ir::types::{Along, DType, Role, Type};

impl Small {
    fn shared(&mut self, ty: SharedType) -> SharedId {
        let name = format!("s{}", self.b.kernel.shared.len());
        self.b.kernel.shared.push(Shared { name, ty, span: Span::NONE });
        SharedId(self.b.kernel.shared.len() as u32 - 1)
    }

    fn group(&mut self, op: GroupOp) {
        self.b.push(OpKind::Group(op), &[]);
    }

    fn place(&mut self, place: Place) -> ValueId {
        self.b.one(OpKind::Place(place), crate::support::U32)
    }
}

/// Every op of the family on every element type it moves.
pub fn group_samples(out: &mut Vec<Sample>) {
    let mut add = |op: &'static str, variant: String, kernel| {
        out.push(Sample { op, variant, shown: Shown::Body, kernel });
    };
    for &dtype in DType::COMPUTING {
        let moved = tile(dtype, 16, 32, Role::Row);
        let block = SharedType::Tile { dtype, rows: 64, cols: 64 };
        for (name, form) in [("load_shared", LoadForm::Plain), ("load_transpose_shared", LoadForm::Transpose)]
        {
            let mut s = Small::new(dtype, dtype);
            let shared = s.shared(block);
            // Positions known to be inside cost nothing.
            let (row, col) = (s.place(Place::Col), s.b.u32(1));
            let row = if form == LoadForm::Plain { row } else { s.b.u32(1) };
            let at = SharedAt { row: Some(row), col };
            let x = s.b.one(OpKind::Group(GroupOp::Load { shared, at, form }), moved);
            add(name, dtype.to_string(), s.store(x));
        }
        let mut s = Small::new(dtype, dtype);
        let shared = s.shared(block);
        let at = s.at(Unit::Tiles, 0, 0);
        let x = s.b.load(s.a, at, LoadForm::Plain, moved);
        let (row, col) = (s.place(Place::Id), s.b.u32(0));
        s.group(GroupOp::Store { shared, value: x, at: SharedAt { row: Some(row), col } });
        add("store_shared", dtype.to_string(), s.b.finish());

        let (len, along) = if dtype == DType::F32 { (24, Along::Rows) } else { (32, Along::Cols) };
        let v = vector(dtype, len, along);
        let line = SharedType::Vector { dtype, len: 32 * len };
        let mut s = Small::new(dtype, dtype);
        let shared = s.shared(line);
        let at = s.at(Unit::Tiles, 0, 0);
        let x = s.b.one(OpKind::LoadVector { global: s.a, at }, v);
        let col = s.place(Place::Id);
        s.group(GroupOp::Store { shared, value: x, at: SharedAt { row: None, col } });
        add("store_vec_shared", format!("{dtype}_{len}"), s.b.finish());

        let mut s = Small::new(dtype, dtype);
        let shared = s.shared(line);
        let col = s.place(Place::Id);
        let at = SharedAt { row: None, col };
        let x = s.b.one(OpKind::Group(GroupOp::Load { shared, at, form: LoadForm::Plain }), v);
        let (rows, cols) = if along == Along::Rows { (len, 16) } else { (8, len) };
        let wide = vector(dtype.wide(), len, along);
        let x = if dtype.wide() == dtype { x } else { s.b.convert(x, wide) };
        let zero = s.b.one(OpKind::Zeros, tile(dtype, rows, cols, Role::Row));
        let sum = s.b.map(tile_ir::map::MapBinary::Add, zero, x);
        add("load_vec_shared", format!("{dtype}_{len}"), s.store(sum));

        let mut s = Small::new(dtype, dtype);
        let shared = s.shared(block);
        let (global, at) = (s.a, s.at(Unit::Tiles, 1, 2));
        s.group(GroupOp::LoadCoop { shared, global, at });
        add("load_coop", dtype.to_string(), s.b.finish());

        let mut s = Small::new(dtype, dtype);
        let shared = s.shared(SharedType::Tile { dtype, rows: 64, cols: 64 });
        let (global, at) = (s.c, tiles_at(s.own));
        s.group(GroupOp::StoreCoop { global, shared, at });
        add("store_coop", dtype.to_string(), s.b.finish());
    }
    for (form, role) in [(LoadForm::Transform, Role::Vnni), (LoadForm::Transpose, Role::VnniT)] {
        let mut s = Small::new(DType::F32, DType::Bf16);
        let shared = s.shared(SharedType::Tile { dtype: DType::Bf16, rows: 32, cols: 32 });
        let (row, col) = (s.b.u32(0), s.b.u32(0));
        let at = SharedAt { row: Some(row), col };
        let load = OpKind::Group(GroupOp::Load { shared, at, form });
        let name = load.name();
        let y = s.b.one(load, tile(DType::Bf16, 32, 32, role));
        let place = s.at(Unit::Tiles, 0, 0);
        let x = s.b.load(s.a, place, LoadForm::Plain, tile(DType::Bf16, 8, 32, Role::Row));
        let acc_type: Type = tile(DType::F32, 8, 32, Role::Acc);
        let acc = s.b.one(OpKind::Zeros, acc_type);
        let sum = s.b.one(OpKind::Mma { acc, a: x, b: y }, acc_type);
        let sum = s.b.convert(sum, tile(DType::F32, 8, 32, Role::Row));
        add(name, format!("bf16_{role}"), s.store(sum));
    }
    for kinds in [&[Barrier::Full][..], &[Barrier::Arrive, Barrier::Wait]] {
        for &kind in kinds {
            for globals in [false, true] {
                let mut s = Small::new(DType::F32, DType::F32);
                for &kind in kinds {
                    s.group(GroupOp::Barrier(kind));
                }
                let variant = if globals {
                    let at = s.at(Unit::Elements, 0, 0);
                    let global = s.c;
                    let v = s.b.one(OpKind::LoadScalar { global, at }, F32);
                    let x = s.b.one(OpKind::Fill { value: v }, tile(DType::F32, 8, 16, Role::Row));
                    add(kind.name(), "globals".into(), s.store(x));
                    continue;
                } else {
                    "shared"
                };
                add(kind.name(), variant.into(), s.b.finish());
            }
        }
    }
}
