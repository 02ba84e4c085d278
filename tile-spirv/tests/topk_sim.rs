//! Runs `row_topk` and `col_topk` on the simulator against a plain sort: every type, ties, NaN, infinities, zeros of both
//! signs, every shape of list, with and without running values.

mod support;
#[path = "support/tensor.rs"]
mod tensor;
#[path = "support/tiles.rs"]
mod tiles;

use std::cmp::Ordering;

use support::tile;
use tensor::{Shape, from_bits, noise, rounded};
use tile_ir::ir::{Coord, LoadForm, OpKind, Running, TopK, Unit};
use tile_ir::types::{Along, DType, Role, ScalarType};
use tile_sim::Arg;
use tiles::{OneTile, Source};

/// What falls first in a top-k: NaN, then the larger number, then the lower index.
fn rank(a: (f64, u32), b: (f64, u32)) -> Ordering {
    let number = match (a.0.is_nan(), b.0.is_nan()) {
        (false, false) => b.0.partial_cmp(&a.0).expect("numbers are ordered"),
        (a, b) => b.cmp(&a),
    };
    number.then(a.1.cmp(&b.1))
}

#[derive(Clone, Copy, Debug)]
struct Case {
    dtype: DType,
    along: Along,
    /// Rows and columns of the tile.
    size: (u32, u32),
    k: u32,
    room: u32,
    base: Option<u32>,
}

/// Elements with many equals, NaN, infinities, zeros of both signs and numbers next to 0. Of integers, limits.
fn element(dtype: DType, seed: u32, r: u32, c: u32) -> f32 {
    let dice = (noise(seed, 7, r, c).abs() * 1e6) as u32;
    if dtype == DType::I32 {
        // What a tensor of i32 holds exactly as f32.
        return match dice % 8 {
            0 => i32::MIN as f32,
            1 => -1.0,
            2 => 0.0,
            3 => 2_147_483_520.0,
            _ => (dice % 64) as f32 - 32.0,
        };
    }
    match dice % 16 {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        3 => -0.0,
        4 => 0.0,
        5 => from_bits(dtype, 1),
        6 => -from_bits(dtype, 1),
        7 => -f32::NAN,
        8..12 => rounded(dtype, (dice % 7) as f32 - 3.0),
        _ => rounded(dtype, 100.0 * noise(seed, 3, r, c)),
    }
}

/// The running elements: some are none, they are not in order, and one index is that of an element of the tile.
fn running(dtype: DType, r: u32, c: u32) -> (f32, i32) {
    let wide = if dtype == DType::I32 { DType::I32 } else { DType::F32 };
    let value = element(wide, 99, r, c);
    let index = match (r + 3 * c) % 5 {
        0 => -1,
        1 => 40 + c as i32,
        n => (1000 * n + 10 * r + c) as i32,
    };
    (value, index)
}

fn expected(case: Case, line: u32) -> Vec<(f64, i32)> {
    let Case { dtype, along, size, k, room, base } = case;
    let at = |i: u32| match along {
        Along::Rows => element(dtype, 1, line, i),
        Along::Cols => element(dtype, 1, i, line),
    };
    let len = if along == Along::Rows { size.1 } else { size.0 };
    let mut all: Vec<(f64, u32)> = (0..len).map(|i| (f64::from(at(i)), i)).collect();
    all.sort_by(|a, b| rank(*a, *b));
    all.truncate(k as usize);
    if let Some(base) = base {
        all.iter_mut().for_each(|e| e.1 += base.min(tile_ir::topk::MAX_BASE));
        for i in 0..k {
            let (value, index) = match along {
                Along::Rows => running(dtype, line, i),
                Along::Cols => running(dtype, i, line),
            };
            if index != -1 {
                all.push((f64::from(value), index as u32));
            }
        }
        all.sort_by(|a, b| rank(*a, *b));
        all.truncate(k as usize);
    }
    let least = if dtype == DType::I32 { f64::from(i32::MIN) } else { f64::NEG_INFINITY };
    let mut out: Vec<(f64, i32)> = all.into_iter().map(|(v, i)| (v, i as i32)).collect();
    out.resize(room as usize, (least, -1));
    out
}

/// Runs a case and returns its values and indices, row by row.
fn ran(case: Case) -> [Vec<f32>; 2] {
    let Case { dtype, along, size, k, room, base } = case;
    let wide = dtype.wide();
    let made = match along {
        Along::Rows => (size.0, room),
        Along::Cols => (room, size.1),
    };
    [(wide, 0), (DType::I32, 1)].map(|(shown, result)| {
        let mut t = OneTile::new(shown, made);
        let global = t.input(dtype);
        let before = base.map(|_| (t.input(wide), t.input(DType::I32)));
        let base_value = base.map(|_| t.scalar(ScalarType::U32));
        let zero = t.b.u32(0);
        let at = Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Tiles };
        let x = t.b.load(global, at, LoadForm::Plain, tile(dtype, size.0, size.1, Role::Row));
        let [values, indices] = [wide, DType::I32].map(|d| tile(d, made.0, made.1, Role::Row));
        let running = before.zip(base_value).map(|((v, i), base)| Running {
            values: t.b.load(v, at, LoadForm::Plain, values),
            indices: t.b.load(i, at, LoadForm::Plain, indices),
            base,
        });
        let results = t.b.push(OpKind::TopK(TopK { along, k, tile: x, running }), &[values, indices]);
        let ran = t.finish(results[result]);
        let f = |_: u32, r: u32, c: u32| element(dtype, 1, r, c);
        let values = |_: u32, r: u32, c: u32| running_of(case, r, c).0;
        let indices = |_: u32, r: u32, c: u32| running_of(case, r, c).1 as f32;
        let mut sources: Vec<Source<'_>> = vec![(Shape::plain(size.0, size.1), &f)];
        if base.is_some() {
            sources.push((Shape::plain(made.0, made.1), &values));
            sources.push((Shape::plain(made.0, made.1), &indices));
        }
        ran.run(&sources, &base.map(Arg::U32).into_iter().collect::<Vec<_>>())
    })
}

/// Running elements past the first k, which must not count, are the largest of all.
fn running_of(case: Case, r: u32, c: u32) -> (f32, i32) {
    let i = if case.along == Along::Rows { c } else { r };
    if i < case.k { running(case.dtype, r, c) } else { (f32::MAX, 7) }
}

fn check(case: Case) {
    let Case { along, size, room, dtype, .. } = case;
    let [values, indices] = ran(case);
    let lines = if along == Along::Rows { size.0 } else { size.1 };
    for line in 0..lines {
        for (i, (value, index)) in expected(case, line).into_iter().enumerate() {
            let at = match along {
                Along::Rows => line as usize * room as usize + i,
                Along::Cols => i * size.1 as usize + line as usize,
            };
            let same = if value.is_nan() {
                values[at].is_nan()
            } else {
                f64::from(values[at]) == value && (value != 0.0 || !values[at].is_sign_negative())
            };
            assert!(same, "{case:?} line {line}, place {i}: {} is not {value} at {index}", values[at]);
            assert_eq!(indices[at], index as f32, "{case:?} line {line}, place {i}, {dtype} {value}");
        }
    }
}

#[test]
fn every_type_and_shape_agrees_with_a_sort() {
    let rows: [((u32, u32), u32, u32); 9] = [
        ((8, 16), 1, 16),
        ((8, 16), 16, 16),
        ((16, 32), 8, 16),
        ((24, 48), 5, 16),
        ((16, 128), 8, 16),
        ((8, 80), 32, 32),
        ((32, 64), 20, 32),
        ((16, 16), 3, 32),
        ((8, 272), 16, 16),
    ];
    let cols: [((u32, u32), u32, u32); 9] = [
        ((8, 16), 1, 8),
        ((8, 16), 8, 8),
        ((16, 32), 16, 16),
        ((24, 48), 5, 8),
        ((128, 16), 8, 8),
        ((40, 16), 32, 32),
        ((32, 32), 20, 24),
        ((56, 16), 3, 16),
        ((136, 16), 2, 8),
    ];
    for &dtype in DType::COMPUTING {
        for (along, cases) in [(Along::Rows, rows), (Along::Cols, cols)] {
            for (size, k, room) in cases {
                check(Case { dtype, along, size, k, room, base: None });
            }
        }
    }
}

#[test]
fn running_elements_join_the_order() {
    let rows: [((u32, u32), u32, u32); 5] =
        [((8, 16), 1, 16), ((16, 32), 8, 16), ((24, 16), 5, 16), ((8, 16), 32, 32), ((16, 48), 20, 32)];
    let cols: [((u32, u32), u32, u32); 5] =
        [((8, 16), 1, 8), ((16, 32), 8, 8), ((24, 16), 5, 16), ((8, 16), 32, 32), ((40, 16), 20, 24)];
    for &dtype in DType::COMPUTING {
        for (along, cases) in [(Along::Rows, rows), (Along::Cols, cols)] {
            for (size, k, room) in cases {
                // The second base is beyond the largest that counts.
                for base in [Some(40), Some(u32::MAX - 20)] {
                    check(Case { dtype, along, size, k, room, base });
                }
            }
        }
    }
}
