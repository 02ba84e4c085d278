//! Runs single loads and stores on the simulator: every form, element offsets, coordinates far outside, planes that
//! do not exist.

mod support;
#[path = "support/tensor.rs"]
mod tensor;

use support::{Build, U32, tile, tiles_at};
use tensor::{Ready, Shape, Tensor, launch, launch_with, noise, rounded};
use tile_ir::ir::{Access, Coord, Exit, LoadForm, OpKind, Order, Peers, Unit, ValueId};
use tile_ir::scalar::Binary;
use tile_ir::types::{DType, Role, ScalarType};
use tile_sim::{Arg, Memory};

/// Tile of the output in these tests.
const OUT: (u32, u32) = (16, 32);

/// What a load kernel loads, and from where.
#[derive(Clone, Copy, Debug)]
struct Case {
    dtype: DType,
    form: LoadForm,
    unit: Unit,
    /// Inside a loop of one run, whose counter is added to the column.
    in_loop: bool,
}

/// Loads one tile at parameters (batch, depth, row, col) and stores it; packed tiles are multiplied by the unit matrix.
fn load_kernel(case: Case) -> Ready {
    let Case { dtype, form, unit, in_loop } = case;
    let mut b = Build::new("load", "", (1, 1));
    b.kernel.unowned_stores = true;
    let c = b.global("c", DType::F32, Access::Out);
    let a = b.global("a", dtype, Access::In);
    let unit_matrix = b.global("unit", dtype, Access::In);
    let [batch, depth, row, col] = ["batch", "depth", "row", "col"].map(|n| b.scalar(n, ScalarType::U32));
    b.own_tile(c, OUT, Order::Linear);
    let zero = b.u32(0);
    let origin = Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Tiles };
    let out = tile(DType::F32, OUT.0, OUT.1, Role::Row);
    let acc = tile(DType::F32, OUT.0, OUT.1, Role::Acc);
    let load = |b: &mut Build, col: ValueId| {
        let at = Coord { batch: Some(batch), depth: Some(depth), row, col, unit };
        match form {
            LoadForm::Plain => {
                let x = b.load(a, at, form, tile(dtype, OUT.0, OUT.1, Role::Row));
                b.one(OpKind::Convert { tile: x }, out)
            }
            LoadForm::Transform | LoadForm::Transpose => {
                let role = if form == LoadForm::Transform { Role::Vnni } else { Role::VnniT };
                let y = b.load(a, at, form, tile(dtype, OUT.0, OUT.1, role));
                let left = b.load(unit_matrix, origin, LoadForm::Plain, tile(dtype, OUT.0, OUT.0, Role::Row));
                let zeros = b.one(OpKind::Zeros, acc);
                let product = b.one(OpKind::Mma { acc: zeros, a: left, b: y }, acc);
                b.one(OpKind::Convert { tile: product }, out)
            }
        }
    };
    let value = if in_loop {
        let one = b.u32(1);
        let (counter, carried) = (b.kernel.new_value(U32), b.kernel.new_value(out));
        let zeros = b.one(OpKind::Zeros, out);
        b.open();
        let sum = b.binary(Binary::Add, counter, col);
        let next = load(&mut b, sum);
        let body = b.close(vec![counter, carried], Exit::Yield(vec![next]));
        b.one(OpKind::For { lo: zero, hi: one, step: 1, inits: vec![zeros], body }, out)
    } else {
        load(&mut b, col)
    };
    b.push(OpKind::Store { global: c, tile: value, at: origin }, &[]);
    Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0])
}

fn check_load(case: Case, ready: &Ready, source: Shape, at: [u32; 4]) {
    let mut memory = Memory::new();
    let value = |plane: u32, r: u32, c: u32| rounded(case.dtype, noise(5, plane, r, c));
    let out = Tensor::map(&mut memory, DType::F32, Shape::plain(OUT.0, OUT.1), None);
    let a = Tensor::map(&mut memory, case.dtype, source, Some(&value));
    let unit =
        Tensor::map(&mut memory, case.dtype, Shape::plain(OUT.0, 64), Some(&|_, r, c| f32::from(r == c)));
    let mut args = out.args();
    args.extend(a.args());
    args.extend(unit.args());
    args.extend(at.map(Arg::U32));
    launch(ready, &mut memory, &out, OUT, (1, 1), &args)
        .unwrap_or_else(|e| panic!("{case:?} {source:?} {at:?}: {e}"));
    let got = out.read(&memory);
    let transposed = case.form == LoadForm::Transpose;
    let size = if transposed { (OUT.1, OUT.0) } else { OUT };
    let scale = |v: u32, size: u32| match case.unit {
        Unit::Tiles => u64::from(v) * u64::from(size),
        Unit::Elements => u64::from(v),
    };
    let (top, left) = (scale(at[2], size.0), scale(at[3], size.1));
    for r in 0..OUT.0 {
        for c in 0..OUT.1 {
            let (dr, dc) = if transposed { (c, r) } else { (r, c) };
            let (y, x) = (top + u64::from(dr), left + u64::from(dc));
            let inside = at[0] < source.batch
                && at[1] < source.depth
                && y < u64::from(source.rows)
                && x < u64::from(source.cols);
            let want = if inside {
                let plane = if source.broadcast { 0 } else { at[0] * source.depth + at[1] };
                value(plane, y as u32, x as u32)
            } else {
                0.0
            };
            let got = got[(r * OUT.1 + c) as usize];
            assert!(got == want, "{case:?} {source:?} {at:?} element ({r}, {c}): {got} instead of {want}");
        }
    }
}

fn cases() -> Vec<Case> {
    let mut out = vec![];
    for in_loop in [false, true] {
        for unit in [Unit::Tiles, Unit::Elements] {
            for dtype in [DType::F32, DType::Bf16, DType::F16] {
                out.push(Case { dtype, form: LoadForm::Plain, unit, in_loop });
            }
            for form in [LoadForm::Transform, LoadForm::Transpose] {
                out.push(Case { dtype: DType::Bf16, form, unit, in_loop });
            }
        }
    }
    out
}

#[test]
fn loads_give_the_plane_and_zeros_around_it() {
    let mut ran = 0;
    for case in cases() {
        let ready = load_kernel(case);
        for (rows, cols, x0) in
            [(40, 70, 0), (40, 71, 2), (17, 5, 0), (1, 33, 6), (33, 31, 30), (0, 64, 0), (40, 0, 4)]
        {
            let source = Shape { x0, extra_pitch: 8, ..Shape::plain(rows, cols) };
            let places = match case.unit {
                Unit::Tiles => {
                    vec![[0, 0], [1, 0], [0, 1], [2, 2], [u32::MAX, 0], [0, u32::MAX], [1 << 28, 1 << 27]]
                }
                Unit::Elements => vec![
                    [0, 0],
                    [3, 1],
                    [16, 32],
                    [0, 37],
                    [5, 64],
                    [u32::MAX, 0],
                    [0, u32::MAX],
                    [1, u32::MAX - 8],
                ],
            };
            for [row, col] in places {
                check_load(case, &ready, source, [0, 0, row, col]);
                ran += 1;
            }
        }
    }
    assert!(ran > 900, "{ran} loads");
}

#[test]
fn planes_that_do_not_exist_are_zeros() {
    for case in cases() {
        let ready = load_kernel(case);
        for broadcast in [false, true] {
            let source = Shape { batch: 2, depth: 3, broadcast, ..Shape::plain(20, 40) };
            for (batch, depth) in [(0, 0), (1, 2), (2, 0), (0, 3), (u32::MAX, 0), (0, u32::MAX)] {
                check_load(case, &ready, source, [batch, depth, 0, 0]);
            }
        }
    }
}

/// Stores an owned tile at a place the parameters give.
fn store_kernel(dtype: DType, unit: Unit) -> Ready {
    let mut b = Build::new("store", "", (1, 1));
    b.kernel.unowned_stores = true;
    let c = b.global("c", dtype, Access::Out);
    let a = b.global("a", dtype, Access::In);
    let [batch, row, col] = ["batch", "row", "col"].map(|n| b.scalar(n, ScalarType::U32));
    b.own_tile(c, OUT, Order::Linear);
    let zero = b.u32(0);
    let origin = Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Tiles };
    let x = b.load(a, origin, LoadForm::Plain, tile(dtype, OUT.0, OUT.1, Role::Row));
    let at = Coord { batch: Some(batch), depth: None, row, col, unit };
    b.push(OpKind::Store { global: c, tile: x, at }, &[]);
    Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0])
}

#[test]
fn stores_write_the_plane_and_nothing_else() {
    let mut ran = 0;
    for dtype in [DType::F32, DType::Bf16, DType::F16] {
        for unit in [Unit::Tiles, Unit::Elements] {
            let ready = store_kernel(dtype, unit);
            for (rows, cols, x0) in
                [(40, 70, 0), (40, 71, 2), (17, 5, 0), (1, 33, 6), (33, 31, 30), (33, 14, 0)]
            {
                for [batch, row, col] in [
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
                ] {
                    let shape = Shape { batch: 2, x0, extra_pitch: 8, ..Shape::plain(rows, cols) };
                    let value = |r: u32, c: u32| rounded(dtype, noise(9, 0, r, c));
                    let mut memory = Memory::new();
                    let c = Tensor::map(&mut memory, dtype, shape, None);
                    let a = Tensor::map(
                        &mut memory,
                        dtype,
                        Shape::plain(OUT.0, OUT.1),
                        Some(&|_, r, c| value(r, c)),
                    );
                    let mut args = c.args();
                    args.extend(a.args());
                    args.extend([batch, row, col].map(Arg::U32));
                    let one = c.seen_as(Shape::plain(OUT.0, OUT.1));
                    launch(&ready, &mut memory, &one, OUT, (1, 1), &args)
                        .unwrap_or_else(|e| panic!("{dtype} {unit:?} {shape:?} {batch} {row} {col}: {e}"));
                    let got = c.read(&memory);
                    let (top, left) = match unit {
                        Unit::Tiles => (u64::from(row) * u64::from(OUT.0), u64::from(col) * u64::from(OUT.1)),
                        Unit::Elements => (row.into(), col.into()),
                    };
                    let mut at = got.iter();
                    for p in 0..2 {
                        for r in 0..u64::from(rows) {
                            for c in 0..u64::from(cols) {
                                let mine = p == batch
                                    && (top..top + u64::from(OUT.0)).contains(&r)
                                    && (left..left + u64::from(OUT.1)).contains(&c);
                                let got = at.next().expect("one value per element");
                                if mine {
                                    let want = value((r - top) as u32, (c - left) as u32);
                                    assert!(
                                        *got == want,
                                        "{dtype} {unit:?} {shape:?} ({row}, {col}): element ({p}, {r}, {c}) is {got}, not {want}"
                                    );
                                } else {
                                    assert!(
                                        got.is_nan(),
                                        "{dtype} {unit:?} {shape:?} ({row}, {col}): element ({p}, {r}, {c}) was written"
                                    );
                                }
                            }
                        }
                    }
                    ran += 1;
                }
            }
        }
    }
    assert!(ran > 390, "{ran} stores");
}

/// The launch order as the contract states it.
fn owner(order: Option<u32>, id: u32, gm: u32, gn: u32) -> (u32, u32) {
    let Some(w) = order else { return (id / gn, id % gn) };
    let stack = u64::from(id) / (u64::from(w) * u64::from(gm));
    let first = (stack * u64::from(w)) as u32;
    let width = w.min(gn - first);
    let r = (u64::from(id) - stack * u64::from(w) * u64::from(gm)) as u32;
    let (mut row, mut c) = (r / width, r % width);
    if stack % 2 == 1 {
        row = gm - 1 - row;
    }
    if row % 2 == 1 {
        c = width - 1 - c;
    }
    (row, first + c)
}

#[test]
fn every_tile_has_the_owner_the_contract_names() {
    for which in ["linear", "upward", "snake"] {
        let mut b = Build::new("own", "", (2, 3));
        let c = b.global("c", DType::F32, Access::Out);
        let width = b.scalar("width", ScalarType::U32);
        let order = match which {
            "linear" => Order::Linear,
            "upward" => Order::Upward,
            _ => Order::Snake(width),
        };
        let at = b.own_tile(c, (8, 16), order);
        b.return_outside(c, (8, 16), at);
        let zeros = b.one(OpKind::Zeros, tile(DType::F32, 8, 16, Role::Row));
        b.push(OpKind::Store { global: c, tile: zeros, at: tiles_at(at) }, &[]);
        let ready = Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0]);
        for (rows, cols) in [(8, 16), (70, 200), (33, 500), (100, 47)] {
            for width in [1, 2, 3, 8, u32::MAX] {
                let mut memory = Memory::new();
                let shape = Shape { batch: 2, depth: 3, ..Shape::plain(rows, cols) };
                let c = Tensor::map(&mut memory, DType::F32, shape, None);
                let mut args = c.args();
                args.push(Arg::U32(width));
                let options = tile_sim::Options { messages: true, ..Default::default() };
                let ran = launch_with(&ready, &mut memory, &c, (8, 16), (2, 3), &args, &options);
                let got: Vec<(u32, u32, u64, i32, i32)> = ran
                    .expect("runs")
                    .messages
                    .iter()
                    .map(|m| (m.group[0], m.subgroup, m.base - c.address, m.y, m.x))
                    .collect();
                let (gm, gn) = (rows.div_ceil(8).div_ceil(2), cols.div_ceil(16).div_ceil(3));
                let mut want = vec![];
                for group in 0..gm * gn * 6 {
                    let (plane, id) = (group / (gm * gn), group % (gm * gn));
                    let (wm, wn) = owner((which == "snake").then_some(width), id, gm, gn);
                    let wm = if which == "upward" { gm - 1 - wm } else { wm };
                    for sg in 0..6 {
                        let (row, col) = ((wm * 2 + sg / 3) * 8, (wn * 3 + sg % 3) * 16);
                        if row < rows && col < cols {
                            want.push((group, sg, c.plane_offset(plane), row as i32, col as i32));
                        }
                    }
                }
                assert_eq!(got, want, "{rows}x{cols} {which} width {width}");
                assert!(c.read(&memory).iter().all(|v| *v == 0.0), "every element has an owner");
            }
        }
    }
}

/// Prefetches one tile of `a`, shared among the sub-groups of a work-group, and nothing else.
#[test]
fn shared_prefetches_cut_their_tile_into_disjoint_parts() {
    for (dtype, size, subgroups) in [
        (DType::Bf16, (32, 32), (8, 4)),
        (DType::Bf16, (32, 64), (8, 4)),
        (DType::F16, (16, 16), (2, 2)),
        (DType::F32, (32, 32), (8, 4)),
        (DType::Bf16, (128, 32), (2, 2)),
    ] {
        for peers in [Peers::Row, Peers::Col] {
            let mut b = Build::new("prefetch", "", subgroups);
            let c = b.global("c", DType::F32, Access::Out);
            let a = b.global("a", dtype, Access::In);
            b.own_tile(c, (8, 16), Order::Linear);
            let (row, col) = (b.u32(1), b.u32(2));
            let at = Coord { batch: None, depth: None, row, col, unit: Unit::Tiles };
            b.push(OpKind::Prefetch { global: a, at, tile: size, peers: Some(peers) }, &[]);
            let ready = Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0]);
            let mut memory = Memory::new();
            let c = Tensor::map(&mut memory, DType::F32, Shape::plain(8, 16), None);
            let a = Tensor::map(&mut memory, dtype, Shape::plain(3 * size.0, 4 * size.1), None);
            let args = [c.args(), a.args()].concat();
            let options = tile_sim::Options { traffic: true, messages: true, ..Default::default() };
            let ran =
                launch_with(&ready, &mut memory, &c, (8, 16), subgroups, &args, &options).expect("runs");
            let bytes = u64::from(size.0 * size.1 * dtype.size_bytes());
            let prefetched = ran.traffic.as_ref().expect("asked for").prefetched;
            // Every row (or column) of sub-groups fetches the whole tile once.
            let times = if peers == Peers::Row { subgroups.0 } else { subgroups.1 };
            assert_eq!(prefetched.bytes, bytes, "{dtype} {size:?} {peers:?}");
            assert_eq!((prefetched.least, prefetched.most), (times, times), "{dtype} {size:?} {peers:?}");
            let inside = ran.messages.iter().all(|m| {
                (m.y as u32) >= size.0
                    && (m.y as u32) < 2 * size.0
                    && (m.x as u32) >= 2 * size.1
                    && (m.x as u32) < 3 * size.1
            });
            assert!(inside, "{dtype} {size:?} {peers:?}: the tile is at (1, 2)");
        }
    }
}
