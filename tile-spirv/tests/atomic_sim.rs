//! Runs atomic adds on the simulator: at every edge, many sub-groups into the same elements.

mod support;
#[path = "support/tensor.rs"]
mod tensor;

use support::{Build, F32, U32, tile, vector};
use tensor::{Ready, Shape, Tensor, launch, noise};
use tile_ir::ir::{Access, Coord, LoadForm, OpKind, Order, Place, Unit};
use tile_ir::map::MapBinary;
use tile_ir::types::{Along, DType, Role, ScalarType, Type};
use tile_sim::{Arg, Memory};

const PLANES: [(u32, u32, u32); 6] =
    [(40, 72, 0), (40, 71, 3), (17, 5, 0), (1, 33, 6), (0, 64, 0), (40, 0, 4)];

const PLACES: [[u32; 3]; 12] = [
    [0, 0, 0],
    [1, 1, 0],
    [0, 0, 1],
    [1, 2, 2],
    [2, 0, 0],
    [0, 3, 31],
    [1, 5, 7],
    [0, u32::MAX, 0],
    [0, 0, u32::MAX],
    [u32::MAX, 0, 0],
    [0, 0, 1 << 28],
    [0, 33, 68],
];

/// Adds a tile, or a vector that lies along a row, at a place the parameters give.
fn kernel(dtype: DType, size: (u32, u32), along: Option<Along>, unit: Unit) -> Ready {
    let mut b = Build::new("add", "", (1, 1));
    let c = b.global("c", dtype, Access::Out);
    let a = b.global("a", dtype, Access::In);
    let [batch, row, col] = ["batch", "row", "col"].map(|n| b.scalar(n, ScalarType::U32));
    b.own_tile(c, (8, 16), Order::Linear);
    let zero = b.u32(0);
    let origin = Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Tiles };
    let value = match along {
        None => b.load(a, origin, LoadForm::Plain, tile(dtype, size.0, size.1, Role::Row)),
        Some(along) => b.one(OpKind::LoadVector { global: a, at: origin }, vector(dtype, size.1, along)),
    };
    let at = Coord { batch: Some(batch), depth: None, row, col, unit };
    b.push(OpKind::AtomicAdd { global: c, value, at, vector: along.is_some() }, &[]);
    Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0])
}

#[test]
fn atomic_adds_touch_the_plane_and_nothing_else() {
    let mut ran = 0;
    let cases = [
        ((8, 16), None),
        ((16, 32), None),
        ((1, 48), Some(Along::Cols)),
        ((1, 8), Some(Along::Rows)),
        ((1, 24), Some(Along::Rows)),
    ];
    for (dtype, (size, along)) in [DType::F32, DType::I32].into_iter().flat_map(|d| cases.map(|c| (d, c))) {
        for unit in [Unit::Tiles, Unit::Elements] {
            let ready = kernel(dtype, size, along, unit);
            for (rows, cols, x0) in PLANES {
                for [batch, row, col] in PLACES {
                    let shape = Shape { batch: 2, x0, extra_pitch: 4, ..Shape::plain(rows, cols) };
                    let before = |p: u32, r: u32, c: u32| (1000.0 * noise(1, p, r, c)).round();
                    let added = |_: u32, r: u32, c: u32| (1000.0 * noise(2, 0, r, c)).round();
                    let mut memory = Memory::new();
                    let c = Tensor::map(&mut memory, dtype, shape, Some(&before));
                    let a = Tensor::map(&mut memory, dtype, Shape::plain(size.0, size.1), Some(&added));
                    let mut args = [c.args(), a.args()].concat();
                    args.extend([batch, row, col].map(Arg::U32));
                    let what =
                        format!("{dtype} {size:?} {along:?} {unit:?} {shape:?} {batch} ({row}, {col})");
                    let one = c.seen_as(Shape::plain(8, 16));
                    launch(&ready, &mut memory, &one, (8, 16), (1, 1), &args)
                        .unwrap_or_else(|e| panic!("{what}: {e}"));
                    let scale =
                        |v: u32, by: u32| u64::from(v) * if unit == Unit::Tiles { u64::from(by) } else { 1 };
                    let (top, left) = (scale(row, size.0), scale(col, size.1));
                    let mut all = c.read(&memory).into_iter();
                    for plane in 0..2 {
                        for r in 0..rows {
                            for col in 0..cols {
                                let got = all.next().expect("an element");
                                let (tr, tc) =
                                    (u64::from(r).wrapping_sub(top), u64::from(col).wrapping_sub(left));
                                let inside =
                                    plane == batch && tr < u64::from(size.0) && tc < u64::from(size.1);
                                let mut want = before(plane, r, col);
                                if inside {
                                    want += added(0, tr as u32, tc as u32);
                                }
                                assert_eq!(got, want, "{what}: ({plane}, {r}, {col})");
                            }
                        }
                    }
                    ran += 1;
                }
            }
        }
    }
    assert_eq!(ran, 2 * 5 * 2 * 6 * 12);
}

/// Every sub-group of every work-group adds to the same tile; whole numbers, so that the order does not show.
#[test]
fn all_sub_groups_add_to_one_tile() {
    let mut b = Build::new("add", "", (2, 3));
    let c = b.global("c", DType::F32, Access::Out);
    b.own_tile(c, (8, 16), Order::Linear);
    let id = b.one(OpKind::Place(Place::Id), U32);
    let number = b.one(OpKind::Cast { value: id }, Type::Scalar(ScalarType::F32));
    assert_eq!(b.kernel.ty(number), F32);
    let one = b.f32(1.0);
    let x = b.one(OpKind::Fill { value: number }, tile(DType::F32, 8, 16, Role::Acc));
    let x = b.map(MapBinary::Add, x, one);
    let zero = b.u32(0);
    let at = Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Tiles };
    b.push(OpKind::AtomicAdd { global: c, value: x, at, vector: false }, &[]);
    let ready = Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0]);
    let mut memory = Memory::new();
    let c = Tensor::map(&mut memory, DType::F32, Shape::plain(40, 100), Some(&|_, _, _| 1.0));
    launch(&ready, &mut memory, &c, (8, 16), (2, 3), &c.args()).expect("runs");
    // 3 x 3 work-groups of 6 sub-groups.
    let sum = 9.0 * (1..=6).sum::<u32>() as f32;
    for (i, got) in c.read(&memory).into_iter().enumerate() {
        let inside = i / 100 < 8 && i % 100 < 16;
        assert_eq!(got, if inside { 1.0 + sum } else { 1.0 }, "element {i}");
    }
}
