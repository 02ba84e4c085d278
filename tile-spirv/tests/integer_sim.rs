//! Runs ops on i32 tiles and vectors on the simulator and compares them, bit for bit, with `tile_ir::integer`: values
//! that wrap, the least and largest integers, edges of tensors. What surrounds the elements is 0xFF, and stays.

mod support;
#[path = "support/tensor.rs"]
mod tensor;
#[path = "support/tiles.rs"]
mod tiles;

use support::{tile, vector};
use tensor::{Shape, hash};
use tile_ir::integer;
use tile_ir::ir::{Coord, LoadForm, OpKind, Reduction, Unit};
use tile_ir::map::{MapBinary, MapUnary};
use tile_ir::types::{Along, DType, Role, ScalarType};
use tile_sim::Arg;
use tiles::OneTile;

const INT: DType = DType::I32;

/// Edge values, and others from all bits.
fn value(seed: u32, row: u32, col: u32) -> i32 {
    const EDGES: [i32; 8] = [i32::MIN, i32::MAX, -1, 0, 1, i32::MIN + 1, 65_537, -46_341];
    let x = hash(seed, row, col);
    if x.is_multiple_of(3) { EDGES[(x >> 8) as usize % 8] } else { x as i32 }
}

fn bits(seed: u32) -> impl Fn(u32, u32, u32) -> u32 {
    move |_, r, c| value(seed, r, c) as u32
}

fn each(size: (u32, u32), got: &[u32], what: &str, want: impl Fn(u32, u32) -> i32) {
    for r in 0..size.0 {
        for c in 0..size.1 {
            let got = got[(r * size.1 + c) as usize] as i32;
            assert_eq!(got, want(r, c), "{what} {size:?} ({r}, {c})");
        }
    }
}

#[test]
fn element_wise_ops_wrap() {
    let mut seen = 0;
    for size in [(8, 16), (16, 48)] {
        let shape = Shape::plain(size.0, size.1);
        for role in [Role::Row, Role::Acc] {
            for &op in MapUnary::ALL.iter().filter(|op| op.takes_integers()) {
                let mut t = OneTile::new(INT, size);
                let x = t.tile(INT, role);
                let y = t.b.unary(op, x);
                let got = t.finish(y).run_bits(&[(shape, &bits(1))], &[]);
                each(size, &got, op.name(), |r, c| {
                    integer::unary(op, value(1, r, c)).expect("an integer op")
                });
                seen += 1;
            }
        }
        for &op in MapBinary::ALL.iter().filter(|op| op.takes_integers()) {
            let of = |x, y| integer::binary(op, x, y).expect("an integer op");
            let mut t = OneTile::new(INT, size);
            let (x, y) = (t.tile(INT, Role::Row), t.tile(INT, Role::Row));
            let z = t.b.map(op, x, y);
            let got = t.finish(z).run_bits(&[(shape, &bits(1)), (shape, &bits(2))], &[]);
            each(size, &got, op.name(), |r, c| of(value(1, r, c), value(2, r, c)));
            let mut t = OneTile::new(INT, size);
            let x = t.tile(INT, Role::Row);
            let s = t.scalar(ScalarType::I32);
            let z = t.b.map(op, x, s);
            let ran = t.finish(z);
            for s in [i32::MIN, -3, 0, i32::MAX] {
                let got = ran.run_bits(&[(shape, &bits(1))], &[Arg::I32(s)]);
                each(size, &got, op.name(), |r, c| of(value(1, r, c), s));
            }
            for along in Along::ALL.iter().copied() {
                let mut t = OneTile::new(INT, size);
                let (x, v) = (t.tile(INT, Role::Row), t.vector(INT, along));
                let z = t.b.map(op, x, v);
                let len = if along == Along::Rows { size.0 } else { size.1 };
                let got = t.finish(z).run_bits(&[(shape, &bits(1)), (Shape::plain(1, len), &bits(2))], &[]);
                each(size, &got, op.name(), |r, c| {
                    of(value(1, r, c), value(2, 0, if along == Along::Rows { r } else { c }))
                });
                let mut t = OneTile::new(INT, size);
                let (v, w) = (t.vector(INT, along), t.vector(INT, along));
                let z = t.b.map(op, v, w);
                let row = Shape::plain(1, len);
                let got = t.finish(z).run_bits(&[(row, &bits(1)), (row, &bits(2))], &[]);
                each(size, &got, op.name(), |r, c| {
                    let i = if along == Along::Rows { r } else { c };
                    of(value(1, 0, i), value(2, 0, i))
                });
                seen += 2;
            }
            seen += 2;
        }
    }
    assert_eq!(seen, 2 * (2 * 2 + 5 * 6));
}

#[test]
fn reductions_wrap_with_and_without_a_running_value() {
    for size in [(8, 16), (16, 32), (24, 80)] {
        let shape = Shape::plain(size.0, size.1);
        for &how in Reduction::ALL {
            for along in Along::ALL.iter().copied() {
                let len = if along == Along::Rows { size.0 } else { size.1 };
                for with in [false, true] {
                    let mut t = OneTile::new(INT, size);
                    let x = t.tile(INT, Role::Row);
                    let running = with.then(|| t.vector(INT, along));
                    let kind = OpKind::Reduce { how, along, tile: x, running };
                    let name = kind.name();
                    let v = t.b.one(kind, vector(INT, len, along));
                    let (f, g) = (bits(4), bits(5));
                    let mut sources: Vec<tiles::BitSource<'_>> = vec![(shape, &f)];
                    if with {
                        sources.push((Shape::plain(1, len), &g));
                    }
                    let got = t.finish(v).run_bits(&sources, &[]);
                    each(size, &got, name, |r, c| {
                        let i = if along == Along::Rows { r } else { c };
                        let first = if with { value(5, 0, i) } else { integer::neutral(how) };
                        let fold = |sum, x| integer::combine(how, sum, x);
                        match along {
                            Along::Rows => (0..size.1).map(|c| value(4, r, c)).fold(first, fold),
                            Along::Cols => (0..size.0).map(|r| value(4, r, c)).fold(first, fold),
                        }
                    });
                }
            }
        }
    }
}

#[test]
fn masks_keep_bits_and_fill_integers() {
    let size = (8, 32);
    for kind in 0..4 {
        let mut t = OneTile::new(INT, size);
        let x = t.tile(INT, Role::Row);
        let (a, b) = (t.u32_scalar(), t.u32_scalar());
        let fill = t.scalar(ScalarType::I32);
        let kind_of = match kind {
            0 => OpKind::KeepFirst { tile: x, along: Along::Cols, keep: a, fill },
            1 => OpKind::KeepFirst { tile: x, along: Along::Rows, keep: a, fill },
            lower => OpKind::Triangle { tile: x, lower: lower == 2, row_start: a, col_start: b, fill },
        };
        let y = t.b.one(kind_of, tile(INT, size.0, size.1, Role::Row));
        let ran = t.finish(y);
        for (a, b) in [(0, 0), (3, 9), (20, 5), (u32::MAX, 1)] {
            let args = [Arg::U32(a), Arg::U32(b), Arg::I32(-7)];
            let got = ran.run_bits(&[(Shape::plain(size.0, size.1), &bits(6))], &args);
            each(size, &got, "a mask", |r, c| {
                let (row, col) = (u64::from(a) + u64::from(r), u64::from(b) + u64::from(c));
                let stays = match kind {
                    0 => c < a,
                    1 => r < a,
                    2 => col <= row,
                    _ => col >= row,
                };
                if stays { value(6, r, c) } else { -7 }
            });
        }
    }
}

#[test]
fn loads_give_0_outside_and_stores_stay_inside() {
    let places: [[u32; 2]; 6] = [[0, 0], [0, 1], [1, 0], [1, 2], [3, 0], [u32::MAX, u32::MAX]];
    for (rows, cols) in [(9, 40), (3, 17), (8, 3), (1, 1), (5, 0)] {
        let size = (8, 32);
        for x0 in [0, 1, 3] {
            let shape = Shape { x0, ..Shape::plain(rows, cols) };
            let mut t = OneTile::new(INT, size);
            let global = t.input(INT);
            let (row, col) = (t.u32_scalar(), t.u32_scalar());
            let at = Coord { batch: None, depth: None, row, col, unit: Unit::Tiles };
            let x = t.b.load(global, at, LoadForm::Plain, tile(INT, size.0, size.1, Role::Row));
            let ran = t.finish(x);
            for [row, col] in places {
                let got = ran.run_bits(&[(shape, &bits(7))], &[Arg::U32(row), Arg::U32(col)]);
                each(size, &got, "a load", |r, c| {
                    let (r, c) = (u64::from(row) * 8 + u64::from(r), u64::from(col) * 32 + u64::from(c));
                    let inside = r < u64::from(rows) && c < u64::from(cols);
                    if inside { value(7, r as u32, c as u32) } else { 0 }
                });
            }
        }
    }
}

#[test]
fn vectors_and_scalars_load_their_bits() {
    let size = (16, 16);
    for (cols, col) in [(16, 0), (40, 2), (33, 2), (5, 0), (5, 1), (0, 0)] {
        let shape = Shape::plain(2, cols);
        let mut t = OneTile::new(INT, size);
        let global = t.input(INT);
        let (row, c) = (t.u32_scalar(), t.u32_scalar());
        let at = Coord { batch: None, depth: None, row, col: c, unit: Unit::Tiles };
        let v = t.b.one(OpKind::LoadVector { global, at }, vector(INT, 16, Along::Cols));
        let got = t.finish(v).run_bits(&[(shape, &bits(8))], &[Arg::U32(1), Arg::U32(col)]);
        each(size, &got, "load_vec", |_, c| {
            let c = col * 16 + c;
            if c < cols { value(8, 1, c) } else { 0 }
        });
        let mut t = OneTile::new(INT, size);
        let global = t.input(INT);
        let (row, c) = (t.u32_scalar(), t.u32_scalar());
        let at = Coord { batch: None, depth: None, row, col: c, unit: Unit::Elements };
        let v = t.b.one(OpKind::LoadScalar { global, at }, tile_ir::types::Type::Scalar(ScalarType::I32));
        let got = t.finish(v).run_bits(&[(shape, &bits(8))], &[Arg::U32(1), Arg::U32(col)]);
        each(size, &got, "load_scalar", |_, _| if col < cols { value(8, 1, col) } else { 0 });
    }
}

#[test]
fn conversions_round_to_nearest_even_and_saturate() {
    let size = (8, 16);
    let shape = Shape::plain(size.0, size.1);
    const FLOATS: [f32; 16] = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        2_147_483_520.0,
        2_147_483_648.0,
        -2_147_483_648.0,
        -3.0e9,
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        -0.0,
        1.0e-40,
        8_388_609.0,
        -70_000.0,
    ];
    let float = |r: u32, c: u32| {
        if r.is_multiple_of(2) { FLOATS[c as usize] } else { value(9, r, c) as f32 / 1.0e6 }
    };
    for &dtype in DType::FLOATS {
        let mut t = OneTile::new(INT, size);
        let x = t.tile(dtype, Role::Row);
        let y = t.b.convert(x, tile(INT, size.0, size.1, Role::Row));
        let got = t.finish(y).run_bits(&[(shape, &|_, r, c| tensor::to_bits(dtype, float(r, c)))], &[]);
        each(size, &got, "to::<i32>", |r, c| integer::from_f32(tensor::rounded(dtype, float(r, c))));
        let mut t = OneTile::new(dtype, size);
        let x = t.tile(INT, Role::Row);
        let y = t.b.convert(x, tile(dtype, size.0, size.1, Role::Row));
        let got = t.finish(y).run_bits(&[(shape, &bits(10))], &[]);
        each(size, &got, "i32 to a float", |r, c| tensor::to_bits(dtype, value(10, r, c) as f32) as i32);
    }
}
