//! Runs layout changes on the simulator: transposes in registers, while loading and while storing, and parts of tiles.

mod support;
#[path = "support/tensor.rs"]
mod tensor;
#[path = "support/tiles.rs"]
mod tiles;

use support::{Build, U32, tile};
use tensor::{Ready, Shape, Tensor, from_bits, launch, noise, rounded, to_bits};
use tile_ir::ir::{Access, Coord, Exit, LoadForm, OpKind, Order, Unit, ValueId};
use tile_ir::map::MapBinary;
use tile_ir::scalar::Binary;
use tile_ir::types::{DType, Role, ScalarType};
use tile_sim::{Arg, Memory};
use tiles::OneTile;

/// Sizes of a transposed tile as (rows, cols): one message, half of one, several.
const SIZES: [(u32, u32); 5] = [(8, 16), (16, 16), (24, 32), (32, 16), (16, 48)];

/// Shapes of a plane: cut by the hardware, odd, narrow, empty.
const PLANES: [(u32, u32, u32); 8] =
    [(40, 72, 0), (40, 71, 2), (17, 5, 0), (1, 33, 6), (33, 31, 30), (50, 14, 0), (0, 64, 0), (40, 0, 4)];

fn places(unit: Unit) -> &'static [[u32; 2]] {
    match unit {
        Unit::Tiles => &[[0, 0], [1, 0], [0, 1], [2, 2], [u32::MAX, 0], [0, u32::MAX], [1 << 28, 1 << 27]],
        Unit::Elements => &[
            [0, 0],
            [3, 1],
            [16, 32],
            [0, 37],
            [5, 64],
            [2, 63],
            [u32::MAX, 0],
            [0, u32::MAX],
            [1, u32::MAX - 8],
        ],
    }
}

/// Loads one transposed tile at (row, col), perhaps in a loop of one run whose counter is added to the column.
fn load_kernel(dtype: DType, size: (u32, u32), unit: Unit, in_loop: bool) -> Ready {
    let mut b = Build::new("load", "", (1, 1));
    b.kernel.unowned_stores = true;
    let c = b.global("c", dtype, Access::Out);
    let a = b.global("a", dtype, Access::In);
    let [row, col] = ["row", "col"].map(|n| b.scalar(n, ScalarType::U32));
    b.own_tile(c, size, Order::Linear);
    let zero = b.u32(0);
    let ty = tile(dtype, size.0, size.1, Role::Row);
    let load = |b: &mut Build, col: ValueId| {
        let at = Coord { batch: None, depth: None, row, col, unit };
        b.load(a, at, LoadForm::Transpose, ty)
    };
    let value = if in_loop {
        let one = b.u32(1);
        let (counter, carried) = (b.kernel.new_value(U32), b.kernel.new_value(ty));
        let zeros = b.one(OpKind::Zeros, ty);
        b.open();
        let sum = b.binary(Binary::Add, counter, col);
        let next = load(&mut b, sum);
        let body = b.close(vec![counter, carried], Exit::Yield(vec![next]));
        b.one(OpKind::For { lo: zero, hi: one, step: 1, inits: vec![zeros], body }, ty)
    } else {
        load(&mut b, col)
    };
    let origin = Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Tiles };
    b.push(OpKind::Store { global: c, tile: value, at: origin }, &[]);
    Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0])
}

#[test]
fn transposing_loads_of_row_tiles_keep_the_edge_rule() {
    let mut ran = 0;
    for &dtype in DType::COMPUTING {
        let value = |_: u32, r: u32, c: u32| rounded(dtype, 50.0 * noise(5, 0, r, c));
        for size in SIZES {
            for (unit, in_loop) in [(Unit::Tiles, false), (Unit::Tiles, true), (Unit::Elements, false)] {
                let ready = load_kernel(dtype, size, unit, in_loop);
                for (rows, cols, x0) in PLANES {
                    let source = Shape { x0, extra_pitch: 8, ..Shape::plain(rows, cols) };
                    for &[row, col] in places(unit) {
                        let mut memory = Memory::new();
                        let out = Tensor::map(&mut memory, dtype, Shape::plain(size.0, size.1), None);
                        let a = Tensor::map(&mut memory, dtype, source, Some(&value));
                        let mut args = [out.args(), a.args()].concat();
                        args.extend([row, col].map(Arg::U32));
                        let what = format!("{dtype} {size:?} {unit:?} {in_loop} {source:?} ({row}, {col})");
                        launch(&ready, &mut memory, &out, size, (1, 1), &args)
                            .unwrap_or_else(|e| panic!("{what}: {e}"));
                        let scale = |v: u32, by: u32| {
                            u64::from(v) * if unit == Unit::Tiles { u64::from(by) } else { 1 }
                        };
                        let (top, left) = (scale(row, size.1), scale(col, size.0));
                        for (i, got) in out.read(&memory).into_iter().enumerate() {
                            let (r, c) = (i as u64 / u64::from(size.1), i as u64 % u64::from(size.1));
                            let (y, x) = (top + c, left + r);
                            let inside = y < u64::from(rows) && x < u64::from(cols);
                            let want = if inside { value(0, y as u32, x as u32) } else { 0.0 };
                            assert_eq!(got, want, "{what} element ({r}, {c})");
                        }
                        ran += 1;
                    }
                }
            }
        }
    }
    assert_eq!(
        ran,
        DType::COMPUTING.len()
            * SIZES.len()
            * PLANES.len()
            * (2 * places(Unit::Tiles).len() + places(Unit::Elements).len())
    );
}

#[test]
fn transposed_stores_write_the_plane_and_nothing_else() {
    let mut ran = 0;
    for &dtype in DType::COMPUTING {
        let value = |_: u32, r: u32, c: u32| rounded(dtype, 50.0 * noise(9, 0, r, c));
        for size in SIZES {
            for unit in [Unit::Tiles, Unit::Elements] {
                let mut b = Build::new("store", "", (1, 1));
                b.kernel.unowned_stores = true;
                let c = b.global("c", dtype, Access::Out);
                let a = b.global("a", dtype, Access::In);
                let [batch, row, col] = ["batch", "row", "col"].map(|n| b.scalar(n, ScalarType::U32));
                b.own_tile(c, (8, 16), Order::Linear);
                let zero = b.u32(0);
                let origin = Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Tiles };
                let x = b.load(a, origin, LoadForm::Plain, tile(dtype, size.0, size.1, Role::Row));
                let at = Coord { batch: Some(batch), depth: None, row, col, unit };
                b.push(OpKind::StoreTranspose { global: c, tile: x, at }, &[]);
                let ready = Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0]);
                for (rows, cols, x0) in PLANES {
                    for &[row, col] in places(unit) {
                        for batch in [0, 1, 2, u32::MAX] {
                            let shape = Shape { batch: 2, x0, extra_pitch: 8, ..Shape::plain(rows, cols) };
                            let mut memory = Memory::new();
                            let c = Tensor::map(&mut memory, dtype, shape, None);
                            let a =
                                Tensor::map(&mut memory, dtype, Shape::plain(size.0, size.1), Some(&value));
                            let mut args = [c.args(), a.args()].concat();
                            args.extend([batch, row, col].map(Arg::U32));
                            let what = format!("{dtype} {size:?} {unit:?} {shape:?} {batch} ({row}, {col})");
                            let one = c.seen_as(Shape::plain(8, 16));
                            launch(&ready, &mut memory, &one, (8, 16), (1, 1), &args)
                                .unwrap_or_else(|e| panic!("{what}: {e}"));
                            let scale = |v: u32, by: u32| {
                                u64::from(v) * if unit == Unit::Tiles { u64::from(by) } else { 1 }
                            };
                            let (top, left) = (scale(row, size.1), scale(col, size.0));
                            let mut all = c.read(&memory).into_iter();
                            for plane in 0..2 {
                                for r in 0..u64::from(rows) {
                                    for c in 0..u64::from(cols) {
                                        let got = all.next().expect("an element");
                                        let (tr, tc) = (c.wrapping_sub(left), r.wrapping_sub(top));
                                        let inside = plane == batch
                                            && tr < u64::from(size.0)
                                            && tc < u64::from(size.1);
                                        if inside {
                                            assert_eq!(got, value(0, tr as u32, tc as u32), "{what} {r} {c}");
                                        } else {
                                            // The guard bytes are -1 as an integer.
                                            let untouched =
                                                got.is_nan() || (dtype == DType::I32 && got == -1.0);
                                            assert!(untouched, "{what}: ({plane}, {r}, {c}) was written");
                                        }
                                    }
                                }
                            }
                            ran += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(ran > 5000, "{ran} stores");
}

/// Every bit pattern stays what it is: NaN, infinities and zeros of both signs.
fn odd_value(dtype: DType, r: u32, c: u32) -> f32 {
    match (r * 7 + c * 3) % 11 {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        3 => -0.0,
        4 => 0.0,
        5 => from_bits(dtype, 3),
        _ => rounded(dtype, 50.0 * noise(3, 0, r, c)),
    }
}

#[test]
fn a_transpose_in_registers_moves_every_element() {
    for &dtype in DType::COMPUTING {
        for (rows, cols) in [(16, 16), (32, 16), (16, 48), (32, 32), (64, 32)] {
            for role in [Role::Row, Role::Acc] {
                if role == Role::Acc && !dtype.accumulates() {
                    continue;
                }
                let mut t = OneTile::new(dtype, (cols, rows));
                let global = t.input(dtype);
                let zero = t.b.u32(0);
                let at = Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Tiles };
                let x = t.b.load(global, at, LoadForm::Plain, tile(dtype, rows, cols, role));
                let y = t.b.one(OpKind::Transpose { tile: x }, tile(dtype, cols, rows, Role::Row));
                let ran = t.finish(y);
                let f = |_: u32, r: u32, c: u32| odd_value(dtype, r, c);
                let got = ran.run(&[(Shape::plain(rows, cols), &f)], &[]);
                for (i, got) in got.into_iter().enumerate() {
                    let (c, r) = (i as u32 / rows, i as u32 % rows);
                    let want = odd_value(dtype, r, c);
                    assert_eq!(to_bits(dtype, got), to_bits(dtype, want), "{dtype} {rows}x{cols} ({r}, {c})");
                }
            }
        }
    }
}

#[test]
fn parts_of_tiles_are_read_and_written_in_place() {
    for &dtype in DType::FLOATS {
        for (whole, part) in
            [((32, 64), (8, 16)), ((32, 64), (16, 32)), ((24, 48), (8, 48)), ((16, 32), (16, 32))]
        {
            for row in 0..whole.0 / part.0 {
                for col in 0..whole.1 / part.1 {
                    let mut t = OneTile::new(dtype, whole);
                    let x = t.tile(dtype, Role::Row);
                    let ty = tile(dtype, part.0, part.1, Role::Row);
                    let p = t.b.one(OpKind::SubTile { tile: x, at: (row, col) }, ty);
                    let one = t.b.f32(1.0);
                    let p = t.b.map(MapBinary::Add, p, one);
                    let kind = OpKind::SetSubTile { tile: x, part: p, at: (0, 0) };
                    let y = t.b.one(kind, tile(dtype, whole.0, whole.1, Role::Row));
                    let ran = t.finish(y);
                    let f = |_: u32, r: u32, c: u32| rounded(dtype, noise(4, 0, r, c));
                    let got = ran.run(&[(Shape::plain(whole.0, whole.1), &f)], &[]);
                    for (i, got) in got.into_iter().enumerate() {
                        let (r, c) = (i as u32 / whole.1, i as u32 % whole.1);
                        let want = if r < part.0 && c < part.1 {
                            rounded(dtype, f(0, row * part.0 + r, col * part.1 + c) + 1.0)
                        } else {
                            f(0, r, c)
                        };
                        assert_eq!(got, want, "{dtype} {whole:?} {part:?} ({row}, {col}) at ({r}, {c})");
                    }
                }
            }
        }
    }
}

/// A part of a packed tile multiplies like a tile of its own.
#[test]
fn parts_of_packed_tiles_multiply() {
    for form in [LoadForm::Transform, LoadForm::Transpose] {
        let role = if form == LoadForm::Transform { Role::Vnni } else { Role::VnniT };
        for at in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let mut t = OneTile::new(DType::F32, (8, 16));
            let (left, right) = (t.input(DType::Bf16), t.input(DType::Bf16));
            let zero = t.b.u32(0);
            let origin = Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Tiles };
            let x = t.b.load(left, origin, LoadForm::Plain, tile(DType::Bf16, 8, 16, Role::Row));
            let y = t.b.load(right, origin, form, tile(DType::Bf16, 32, 32, role));
            let part = t.b.one(OpKind::SubTile { tile: y, at }, tile(DType::Bf16, 16, 16, role));
            let acc = tile(DType::F32, 8, 16, Role::Acc);
            let zeros = t.b.one(OpKind::Zeros, acc);
            let product = t.b.one(OpKind::Mma { acc: zeros, a: x, b: part }, acc);
            let ran = t.finish(product);
            let a = |_: u32, r: u32, c: u32| ((r * 5 + c) % 7) as f32 - 3.0;
            let b = |_: u32, r: u32, c: u32| ((r * 3 + c * 11) % 9) as f32 - 4.0;
            let got = ran.run(&[(Shape::plain(8, 16), &a), (Shape::plain(32, 32), &b)], &[]);
            for r in 0..8 {
                for c in 0..16 {
                    let want: f32 = (0..16)
                        .map(|k| {
                            let (y, x) = (16 * at.0 + k, 16 * at.1 + c);
                            a(0, r, k) * if form == LoadForm::Transform { b(0, y, x) } else { b(0, x, y) }
                        })
                        .sum();
                    assert_eq!(got[(r * 16 + c) as usize], want, "{form:?} {at:?} ({r}, {c})");
                }
            }
        }
    }
}
