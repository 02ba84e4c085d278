//! Owns the second opinion: the host bodies of `tile_lang`, applied to the values that the evaluator has.
//!
//! The bodies are size-generic cores under thin wrappers with constant sizes; element-wise ones are called on pieces of
//! 8 x 16, reductions and masks at the tile's own size.
//! *Guarantees*: a host result that the evaluator does not admit is named. *Not here*: whole kernels on the host, which
//! need rustc.

use tile_ir::ir::Reduction;
use tile_ir::map::{MapBinary, MapUnary};
use tile_ir::types::{Along, DType};
use tile_ir::{for_each_map_binary, for_each_map_unary};
use tile_lang::prelude::*;

use super::number::Num;

const ROWS: usize = 8;
const COLS: usize = 16;
const PIECE: usize = ROWS * COLS;

/// A tile of values; those beyond the end are 1.
fn tile<T: Element, const M: usize, const N: usize>(values: &[Num]) -> Option<rt<T, M, N>> {
    let mut elements = vec![T::from_f32(1.0); M * N];
    for (to, from) in elements.iter_mut().zip(values) {
        *to = T::from_f32(from.v);
    }
    let view = gl::of(&elements, M as u32, N as u32).ok()?;
    Some(load(&view, [0, 0]))
}

fn refuted(what: &str, i: usize, found: f32, want: Num, of: &str) -> String {
    format!("host `{what}` of {of} gives {found:?} at {i}, the evaluator {:?} within {:e}", want.v, want.e)
}

fn unary_piece<T: Element>(op: MapUnary, values: &[Num]) -> Option<rt<T, ROWS, COLS>> {
    let x: rt<T, ROWS, COLS> = tile(values)?;
    macro_rules! apply {
        ($( $(#[$doc:meta])+ $V:ident { name: $name:ident, $($column:tt)* } )+) => {
            match op { $( MapUnary::$V => x.$name(), )+ }
        };
    }
    Some(for_each_map_unary!(apply))
}

fn binary_piece<T: Element>(op: MapBinary, left: &[Num], right: &[Num]) -> Option<rt<T, ROWS, COLS>> {
    let (x, y): (rt<T, ROWS, COLS>, rt<T, ROWS, COLS>) = (tile(left)?, tile(right)?);
    macro_rules! apply {
        ($( $(#[$doc:meta])+ $V:ident { name: $name:ident, $($column:tt)* } )+) => {
            match op { $( MapBinary::$V => x.$name(&y), )+ }
        };
    }
    Some(for_each_map_binary!(apply))
}

fn refute<T: Element>(
    what: &str,
    want: &[Num],
    piece: impl Fn(usize) -> Option<rt<T, ROWS, COLS>>,
    of: impl Fn(usize) -> String,
) -> Option<String> {
    for (n, want) in want.chunks(PIECE).enumerate() {
        let found = piece(n * PIECE)?;
        for (i, want) in want.iter().enumerate() {
            let value = found.get(i / COLS, i % COLS);
            if !want.admits(value) {
                return Some(refuted(what, n * PIECE + i, value, *want, &of(n * PIECE + i)));
            }
        }
    }
    None
}

fn piece(values: &[Num], at: usize) -> &[Num] {
    &values[at..(at + PIECE).min(values.len())]
}

/// Applies a host op of one operand to `values`; says where it gives what `want` does not admit.
pub fn refute_unary(op: MapUnary, dtype: DType, values: &[Num], want: &[Num]) -> Option<String> {
    fn with<T: Element>(op: MapUnary, values: &[Num], want: &[Num]) -> Option<String> {
        let of = |i: usize| format!("{:?} ({})", values[i].v, T::NAME);
        refute::<T>(op.name(), want, |at| unary_piece(op, piece(values, at)), of)
    }
    match dtype {
        DType::Bf16 => with::<bf16>(op, values, want),
        DType::F16 => with::<f16>(op, values, want),
        DType::F32 => with::<f32>(op, values, want),
        // Host bodies of i32 are judged where a batch goes through rustc; no case has the others.
        DType::I8 | DType::U8 | DType::I32 | DType::Tf32 | DType::Bool => None,
    }
}

/// Applies a host op of two operands of one type.
pub fn refute_binary(
    op: MapBinary,
    dtype: DType,
    left: &[Num],
    right: &[Num],
    want: &[Num],
) -> Option<String> {
    fn with<T: Element>(op: MapBinary, left: &[Num], right: &[Num], want: &[Num]) -> Option<String> {
        let of = |i: usize| format!("{:?} and {:?} ({})", left[i].v, right[i].v, T::NAME);
        refute::<T>(op.name(), want, |at| binary_piece(op, piece(left, at), piece(right, at)), of)
    }
    match dtype {
        DType::Bf16 => with::<bf16>(op, left, right, want),
        DType::F16 => with::<f16>(op, left, right, want),
        DType::F32 => with::<f32>(op, left, right, want),
        // Host bodies of i32 are judged where a batch goes through rustc; no case has the others.
        DType::I8 | DType::U8 | DType::I32 | DType::Tf32 | DType::Bool => None,
    }
}

/// Reduces a tile of `cols` columns on the host. Tiles of other sizes than the fuzzer makes are not judged.
pub fn refute_reduce(
    how: Reduction,
    along: Along,
    cols: usize,
    values: &[Num],
    want: &[Num],
) -> Option<String> {
    fn with<const M: usize, const N: usize>(
        how: Reduction,
        along: Along,
        values: &[Num],
        want: &[Num],
    ) -> Option<String> {
        let x: rt<f32, M, N> = tile(values)?;
        let rows = |v: rv<f32, M, PerRow>| (0..M).map(|i| v.get(i)).collect::<Vec<f32>>();
        let columns = |v: rv<f32, N, PerCol>| (0..N).map(|i| v.get(i)).collect::<Vec<f32>>();
        let found = match (along, how) {
            (Along::Rows, Reduction::Max) => rows(x.row_max()),
            (Along::Rows, Reduction::Min) => rows(x.row_min()),
            (Along::Rows, Reduction::Sum) => rows(x.row_sum()),
            (Along::Rows, Reduction::Prod) => rows(x.row_prod()),
            (Along::Cols, Reduction::Max) => columns(x.col_max()),
            (Along::Cols, Reduction::Min) => columns(x.col_min()),
            (Along::Cols, Reduction::Sum) => columns(x.col_sum()),
            (Along::Cols, Reduction::Prod) => columns(x.col_prod()),
        };
        let wrong = found.iter().zip(want).position(|(found, want)| !want.admits(*found))?;
        let what = format!("{} along {} of {M} x {N}", how.name(), along.name());
        Some(refuted(&what, wrong, found[wrong], want[wrong], "a tile"))
    }
    // The real macro and rustc bring the host bodies of integers to the test.
    if values.iter().any(|x| x.int.is_some()) {
        return None;
    }
    macro_rules! sizes {
        ($($m:literal: $($n:literal)+;)+) => {
            match (values.len() / cols.max(1), cols) {
                $( $( ($m, $n) => with::<$m, $n>(how, along, values, want), )+ )+
                _ => None,
            }
        };
    }
    sizes! { 8: 16 32 48; 16: 16 32 48; 24: 16 32 48; 32: 16 32 48; }
}
