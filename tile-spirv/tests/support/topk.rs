//! Owns the small kernels about a top-k.

use super::{Sample, Shown, Small};
use crate::support::tile;
use tile_ir::ir::{LoadForm, OpKind, Running, TopK, Unit};
use tile_ir::types::{Along, DType, Role};

/// Values and indices of one small tile: packed keys, keys of 32 bits, rows that are transposed, running elements.
pub fn top_k_samples(out: &mut Vec<Sample>) {
    let cases = [
        ("row_topk", Along::Rows, DType::F32, (8, 16), 1, false),
        ("row_topk", Along::Rows, DType::Bf16, (16, 16), 1, true),
        ("col_topk", Along::Cols, DType::F16, (8, 16), 4, false),
        ("col_topk", Along::Cols, DType::I32, (16, 16), 3, false),
        ("col_topk", Along::Cols, DType::F32, (8, 16), 2, true),
    ];
    for (op, along, dtype, (rows, cols), k, goes_on) in cases {
        for (result, name) in ["values", "indices"].into_iter().enumerate() {
            let shown = if result == 0 { dtype.wide() } else { DType::I32 };
            let mut s = Small::new(shown, dtype);
            let at = s.at(Unit::Tiles, 0, 0);
            let x = s.b.load(s.a, at, LoadForm::Plain, tile(dtype, rows, cols, Role::Row));
            let made = match along {
                Along::Rows => (rows, 16),
                Along::Cols => (8, cols),
            };
            let types = [dtype.wide(), DType::I32].map(|d| tile(d, made.0, made.1, Role::Row));
            let running = goes_on.then(|| {
                let base = s.b.u32(32);
                let [values, indices] = types.map(|ty| s.b.one(OpKind::Zeros, ty));
                Running { values, indices, base }
            });
            let both = s.b.push(OpKind::TopK(TopK { along, k, tile: x, running }), &types);
            let on = if goes_on { "_with" } else { "" };
            let variant = format!("{dtype}_{rows}x{cols}_{k}{on}_{name}");
            out.push(Sample { op, variant, shown: Shown::Stored, kernel: s.store(both[result]) });
        }
    }
}
