//! Runs loads of vectors and scalars on the simulator: at edges, far outside, in planes that do not exist. The
//! simulator refuses any access outside the bytes of a tensor, and what surrounds the elements is NaN.

mod support;
#[path = "support/tensor.rs"]
mod tensor;
#[path = "support/tiles.rs"]
mod tiles;

use support::{F32, vector};
use tensor::{Shape, noise, rounded};
use tile_ir::ir::{Coord, OpKind, Unit};
use tile_ir::map::MapBinary;
use tile_ir::types::{Along, DType};
use tile_sim::Arg;
use tiles::OneTile;

const PLANES: [Shape; 8] = [
    Shape { batch: 1, depth: 1, rows: 9, cols: 100, x0: 0, extra_pitch: 0, broadcast: false },
    Shape { batch: 2, depth: 3, rows: 3, cols: 33, x0: 2, extra_pitch: 64, broadcast: false },
    Shape { batch: 3, depth: 1, rows: 4, cols: 50, x0: 6, extra_pitch: 32, broadcast: true },
    Shape { batch: 1, depth: 1, rows: 2, cols: 1, x0: 0, extra_pitch: 0, broadcast: false },
    Shape { batch: 1, depth: 1, rows: 1, cols: 15, x0: 30, extra_pitch: 0, broadcast: false },
    Shape { batch: 1, depth: 1, rows: 5, cols: 0, x0: 0, extra_pitch: 0, broadcast: false },
    Shape { batch: 1, depth: 1, rows: 0, cols: 40, x0: 0, extra_pitch: 0, broadcast: false },
    Shape { batch: 0, depth: 2, rows: 4, cols: 40, x0: 0, extra_pitch: 0, broadcast: false },
];

const PLACES: [[u32; 4]; 17] = [
    [0, 0, 0, 0],
    [0, 0, 1, 1],
    [0, 0, 2, 2],
    [1, 2, 2, 0],
    [1, 0, 1, 1],
    [0, 3, 0, 0],
    [3, 0, 0, 0],
    [0, 0, 0, 3],
    [0, 0, 8, 7],
    [0, 0, 9, 0],
    [0, 0, 0, 13],
    [0, 0, 0, 49],
    [0, 0, u32::MAX, 0],
    [0, 0, 0, u32::MAX],
    [u32::MAX, 0, 0, 0],
    [0, u32::MAX, 0, 0],
    [0, 0, 1 << 30, 1 << 28],
];

/// The element a load must give.
fn wanted(dtype: DType, s: Shape, [batch, depth, row, col]: [u64; 4]) -> f32 {
    let inside =
        batch < s.batch.into() && depth < s.depth.into() && row < s.rows.into() && col < s.cols.into();
    if !inside {
        return 0.0;
    }
    let plane = if s.broadcast { 0 } else { batch as u32 * s.depth + depth as u32 };
    rounded(dtype, noise(31, plane, row as u32, col as u32))
}

fn source(dtype: DType) -> impl Fn(u32, u32, u32) -> f32 {
    move |plane, r, c| rounded(dtype, noise(31, plane, r, c))
}

#[test]
fn vectors_load_up_to_every_edge() {
    let mut ran_cases = 0;
    for &dtype in DType::FLOATS {
        for (along, size) in [
            (Along::Rows, (8, 16)),
            (Along::Rows, (24, 16)),
            (Along::Rows, (32, 16)),
            (Along::Cols, (8, 16)),
            (Along::Cols, (8, 48)),
        ] {
            for unit in [Unit::Tiles, Unit::Elements] {
                let mut t = OneTile::new(DType::F32, size);
                let global = t.input(dtype);
                let [batch, depth, row, col] = [(); 4].map(|()| t.u32_scalar());
                let at = Coord { batch: Some(batch), depth: Some(depth), row, col, unit };
                let len = if along == Along::Rows { size.0 } else { size.1 };
                let v = t.b.one(OpKind::LoadVector { global, at }, vector(dtype, len, along));
                let ran = t.finish(v);
                for shape in PLANES {
                    for place in PLACES {
                        let got = ran.run(&[(shape, &source(dtype))], &place.map(Arg::U32));
                        let [batch, depth, row, col] = place.map(u64::from);
                        let first = if unit == Unit::Tiles { col * u64::from(len) } else { col };
                        for r in 0..size.0 {
                            for c in 0..size.1 {
                                let i = if along == Along::Rows { r } else { c };
                                let want = wanted(dtype, shape, [batch, depth, row, first + u64::from(i)]);
                                let got = got[(r * size.1 + c) as usize];
                                assert_eq!(
                                    got, want,
                                    "{dtype} {along:?} {unit:?} {shape:?} {place:?} ({r}, {c})"
                                );
                            }
                        }
                        ran_cases += 1;
                    }
                }
            }
        }
    }
    assert_eq!(ran_cases, 3 * 5 * 2 * 8 * 17);
}

#[test]
fn scalars_load_up_to_every_edge() {
    for &dtype in DType::FLOATS {
        for unit in [Unit::Tiles, Unit::Elements] {
            let mut t = OneTile::new(DType::F32, (8, 16));
            let global = t.input(dtype);
            let [batch, depth, row, col] = [(); 4].map(|()| t.u32_scalar());
            let at = Coord { batch: Some(batch), depth: Some(depth), row, col, unit };
            let v = t.b.one(OpKind::LoadScalar { global, at }, F32);
            let ran = t.finish(v);
            for shape in PLANES {
                for place in PLACES {
                    let got = ran.run(&[(shape, &source(dtype))], &place.map(Arg::U32));
                    let want = wanted(dtype, shape, place.map(u64::from));
                    assert!(
                        got.iter().all(|&v| v == want),
                        "{dtype} {shape:?} {place:?}: {got:?}, not {want}"
                    );
                }
            }
        }
    }
}

/// A number that was loaded is uniform: it may say where a tile is loaded from.
#[test]
fn a_loaded_scalar_is_a_coordinate() {
    use tile_ir::ir::LoadForm;
    use tile_ir::types::{Role, ScalarType, Type};
    let mut t = OneTile::new(DType::F32, (8, 16));
    let (global, pages) = (t.input(DType::F32), t.input(DType::F32));
    let zero = t.b.u32(0);
    let at = Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Elements };
    let page = t.b.one(OpKind::LoadScalar { global: pages, at }, F32);
    let page = t.b.one(OpKind::Cast { value: page }, Type::Scalar(ScalarType::U32));
    let at = Coord { row: page, unit: Unit::Tiles, ..at };
    let x = t.b.load(global, at, LoadForm::Plain, support::tile(DType::F32, 8, 16, Role::Row));
    let two = t.b.f32(2.0);
    let x = t.b.map(MapBinary::Mul, x, two);
    let ran = t.finish(x);
    for page in 0..4u32 {
        let f = |_: u32, r: u32, c: u32| noise(6, 0, r, c);
        let g = |_: u32, _: u32, _: u32| page as f32;
        let got = ran.run(&[(Shape::plain(24, 16), &f), (Shape::plain(1, 1), &g)], &[]);
        for r in 0..8 {
            for c in 0..16 {
                let want = if page < 3 { 2.0 * noise(6, 0, 8 * page + r, c) } else { 0.0 };
                assert_eq!(got[(r * 16 + c) as usize], want, "page {page} ({r}, {c})");
            }
        }
    }
}
