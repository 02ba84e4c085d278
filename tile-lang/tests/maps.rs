//! Every element-wise method, on tiles of every role and element type and on vectors: the f32 function on each
//! element, rounded once; and the surface is the op tables.

use tile_ir::map::{MapBinary, MapTernary, MapUnary};
use tile_ir::{for_each_map_binary, for_each_map_unary};
use tile_lang::prelude::*;
use tile_lang::{ops, scalar};

const M: usize = 8;
const N: usize = 48;

/// Edge values and others, each exact in every element type or rounded by it.
fn data<T: Element>(count: usize, seed: u32) -> Vec<T> {
    const EDGES: [f32; 16] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        6e-8,
        -1e-39,
        65504.0,
        3.0e38,
        0.3,
        -20.0,
        100.0,
        -4.5,
        0.0078125,
    ];
    let mut state = seed;
    (0..count)
        .map(|i| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            let random = (state as i32) as f32 / 2f32.powi(28);
            T::from_f32(if i % 2 == 0 { EDGES[(state >> 20) as usize % 16] } else { random })
        })
        .collect()
}

fn rounded<T: Element>(value: f32) -> f32 {
    T::from_f32(value).to_f32()
}

#[track_caller]
fn same(got: f32, want: f32, what: impl core::fmt::Debug) {
    let equal = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
    assert!(equal, "{what:?}: {got:e} instead of {want:e}");
}

/// Checks that every element of a tile is `want` of its indices, rounded.
#[track_caller]
fn tile_is<T: Element, L, const R: usize, const C: usize>(
    what: &str,
    got: &rt<T, R, C, L>,
    want: impl Fn(usize, usize) -> f32,
) {
    for r in 0..R {
        for c in 0..C {
            same(got.get(r, c), rounded::<T>(want(r, c)), (what, T::NAME, r, c));
        }
    }
}

#[track_caller]
fn vector_is<T: Element, E, const K: usize>(what: &str, got: &rv<T, K, E>, want: impl Fn(usize) -> f32) {
    for i in 0..K {
        same(got.get(i), rounded::<T>(want(i)), (what, T::NAME, i));
    }
}

/// The scalar meaning of a binary op, from the table's text. Of two zeros, `min` and `max` give the right one.
fn meaning(op: MapBinary, a: f32, b: f32) -> f32 {
    match op {
        MapBinary::Add => a + b,
        MapBinary::Sub => a - b,
        MapBinary::Mul => a * b,
        MapBinary::Div => a * (1.0 / b),
        MapBinary::Min | MapBinary::Max if a.is_nan() => b,
        MapBinary::Min | MapBinary::Max if b.is_nan() => a,
        MapBinary::Min => {
            if a < b {
                a
            } else {
                b
            }
        }
        MapBinary::Max => {
            if a > b {
                a
            } else {
                b
            }
        }
    }
}

/// Checks all ops on tiles `x` and `y` and on vectors of their lines.
macro_rules! tile_ops {
    ($x:ident $y:ident $per_row:ident $per_col:ident) => {{
        macro_rules! by_name {
            ($name:ident) => {
                tile_is(stringify!($name), &$x.$name(), |r, c| scalar::$name($x.get(r, c)))
            };
            ($name:ident $by_row:ident $by_col:ident $op:expr) => {{
                tile_is(stringify!($name), &$x.$name(&$y), |r, c| meaning($op, $x.get(r, c), $y.get(r, c)));
                for s in [0.3, -0.0, f32::NAN, f32::INFINITY] {
                    tile_is(stringify!($name), &$x.$name(s), |r, c| meaning($op, $x.get(r, c), s));
                }
                let row = $x.$by_row(&$per_row);
                tile_is(stringify!($by_row), &row, |r, c| meaning($op, $x.get(r, c), $per_row.get(r)));
                let col = $x.$by_col(&$per_col);
                tile_is(stringify!($by_col), &col, |r, c| meaning($op, $x.get(r, c), $per_col.get(c)));
            }};
        }
        by_name!(abs);
        by_name!(neg);
        by_name!(relu);
        by_name!(exp2);
        by_name!(exp);
        by_name!(log2);
        by_name!(log);
        by_name!(sqrt);
        by_name!(rsqrt);
        by_name!(recip);
        by_name!(sigmoid);
        by_name!(silu);
        by_name!(tanh);
        by_name!(gelu);
        by_name!(add add_row add_col MapBinary::Add);
        by_name!(sub sub_row sub_col MapBinary::Sub);
        by_name!(mul mul_row mul_col MapBinary::Mul);
        by_name!(div div_row div_col MapBinary::Div);
        by_name!(min min_row min_col MapBinary::Min);
        by_name!(max max_row max_col MapBinary::Max);
    }};
}

macro_rules! tiles {
    ($($test:ident: $T:ty, $L:ty;)+) => {$(
        #[test]
        fn $test() {
            let (a, b, f) = (data::<$T>(M * N, 1), data::<$T>(M * N, 2), data::<f32>(M + N, 3));
            let (rows, cols) = (M as u32, N as u32);
            let (a, b) = (gl::of(&a, rows, cols).unwrap(), gl::of(&b, rows, cols).unwrap());
            let f = gl::of(&f, 1, rows + cols).unwrap();
            let x: rt<$T, M, N, $L> = load(&a, [0, 0]);
            let y: rt<$T, M, N, $L> = load(&b, [0, 0]);
            let per_row: rv<f32, M, PerRow> = load_vec(&f, elements([0, 0]));
            let per_col: rv<f32, N, PerCol> = load_vec(&f, elements([0, rows]));
            tile_ops!(x y per_row per_col);
        }
    )+};
}
tiles! {
    row_tiles_of_bf16: bf16, Row;
    row_tiles_of_f16: f16, Row;
    row_tiles_of_f32: f32, Row;
    accumulators: f32, Acc;
}

/// Calls the methods of the tables on vectors, straight from the tables: a row that no test knows fails here.
macro_rules! unary_on_vectors {
    ($( $(#[$doc:meta])+ $V:ident { name: $name:ident, $($column:tt)* } )+) => {
        fn unary_on<T: Element, E: tile_lang::vector::Encoding>(v: &rv<T, N, E>) {
            $( vector_is(stringify!($name), &v.$name(), |i| scalar::$name(v.get(i))); )+
        }
    };
}
for_each_map_unary!(unary_on_vectors);

macro_rules! binary_on_vectors {
    ($( $(#[$doc:meta])+ $V:ident { name: $name:ident, $($column:tt)* } )+) => {
        fn binary_on<T: Element, E: tile_lang::vector::Encoding>(v: &rv<T, N, E>, w: &rv<T, N, E>) {
            $(
                vector_is(stringify!($name), &v.$name(w), |i| meaning(MapBinary::$V, v.get(i), w.get(i)));
                for s in [0.3, -0.0, f32::NAN, f32::INFINITY] {
                    vector_is(stringify!($name), &v.$name(s), |i| meaning(MapBinary::$V, v.get(i), s));
                }
            )+
        }
    };
}
for_each_map_binary!(binary_on_vectors);

fn vectors<T: Element, E: tile_lang::vector::Encoding>() {
    let data = data::<T>(2 * N, 4);
    let g = gl::of(&data, 2, N as u32).unwrap();
    let (v, w): (rv<T, N, E>, rv<T, N, E>) = (load_vec(&g, [0, 0]), load_vec(&g, [1, 0]));
    unary_on(&v);
    binary_on(&v, &w);
    for s in [2.5, f32::NAN, 1e-30] {
        vector_is("scale", &v.scale(s), |i| v.get(i) * s);
    }
    vector_is("to bf16", &v.to::<bf16>(), |i| v.get(i));
    vector_is("to f16", &v.to::<f16>(), |i| v.get(i));
    vector_is("to f32", &v.to::<f32>(), |i| v.get(i));
}

#[test]
fn vectors_of_every_type_and_encoding() {
    vectors::<bf16, PerRow>();
    vectors::<f16, PerRow>();
    vectors::<f32, PerRow>();
    vectors::<bf16, PerCol>();
    vectors::<f16, PerCol>();
    vectors::<f32, PerCol>();
}

#[test]
fn results_of_16_bit_types_are_rounded_once() {
    // 1 + 2^-8 rounds to 1, so the sum of three such steps taken one by one stays 1; in f32 it would not.
    let one: rt<bf16, 8, 16> = fill(1.0);
    assert_eq!(one.add(2f32.powi(-8)).add(2f32.powi(-8)).add(2f32.powi(-8)).get(0, 0), 1.0);
    // 65504 * 2 is infinite in f16 though not in f32.
    let most: rt<f16, 8, 16> = fill(65504.0);
    assert_eq!(most.mul(2.0).get(7, 15), f32::INFINITY);
}

#[test]
fn the_surface_is_the_tables() {
    let unary: Vec<&str> = MapUnary::ALL.iter().map(|op| op.name()).collect();
    assert_eq!(ops::map::UNARY, unary);
    let binary: Vec<String> = MapBinary::ALL
        .iter()
        .flat_map(|op| ["", "_row", "_col"].map(|suffix| format!("{}{suffix}", op.name())))
        .collect();
    assert_eq!(ops::map::BINARY, binary);
    let reductions: Vec<String> = tile_ir::ir::Reduction::ALL
        .iter()
        .flat_map(|how| {
            ["row_", "col_"]
                .into_iter()
                .flat_map(move |line| ["", "_with"].map(|suffix| format!("{line}{}{suffix}", how.name())))
        })
        .collect();
    assert_eq!(ops::reduce::REDUCTIONS, reductions);
    let ternary: Vec<&str> = MapTernary::ALL.iter().map(|op| op.name()).collect();
    assert_eq!(ops::selection::TERNARY, ternary);
    let comparisons: Vec<String> = ["lt", "le", "gt", "ge", "eq", "ne"]
        .iter()
        .flat_map(|op| ["", "_row", "_col"].map(|suffix| format!("{op}{suffix}")))
        .collect();
    assert_eq!(ops::selection::COMPARISONS, comparisons);
    assert_eq!(comparisons.len(), 3 * tile_ir::scalar::Compare::ALL.len());
    let all: Vec<&str> = ops::SURFACE.concat();
    let once: std::collections::HashSet<&&str> = all.iter().collect();
    assert_eq!(all.len(), once.len());
}
