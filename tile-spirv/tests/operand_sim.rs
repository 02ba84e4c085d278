//! Runs tiles of bytes and of tf32 on the simulator: products in every form and mixture, at ragged sizes and odd places,
//! copies, conversions. What surrounds the elements is 0xFF, and stays.

mod support;
#[path = "support/tensor.rs"]
mod tensor;
#[path = "support/tiles.rs"]
mod tiles;

use support::{Build, tile};
use tensor::{Ready, Shape, Tensor, hash, launch};
use tile_ir::integer;
use tile_ir::ir::{Access, Coord, LoadForm, OpKind, Order, Unit};
use tile_ir::types::{DType, Role, ScalarType, Type};
use tile_sim::{Arg, Memory};

const BYTES: [DType; 2] = [DType::I8, DType::U8];

/// A byte, the limits often.
fn byte(seed: u32, row: u32, col: u32) -> u32 {
    let x = hash(seed, row, col);
    if x.is_multiple_of(4) { [0x80, 0x7F, 0xFF, 0][(x >> 9) as usize % 4] } else { x >> 7 & 0xFF }
}

fn int_of(dtype: DType, bits: u32) -> i32 {
    if dtype == DType::I8 { i32::from(bits as u8 as i8) } else { i32::from(bits as u8) }
}

/// `c = a * b` over one tile of K per run of a loop; `b` is [N, K] if transposed.
struct Product {
    a: DType,
    b: DType,
    tile: (u32, u32, u32),
    transposed: bool,
}

impl Product {
    fn ready(&self) -> Ready {
        let (m, n, k) = self.tile;
        let (in_a, in_b) = (self.a.in_memory(), self.b.in_memory());
        let mut b = Build::new("product", "", (1, 1));
        let c = b.global("c", self.a.wide(), Access::Out);
        let (x, y) = (b.global("a", in_a, Access::In), b.global("b", in_b, Access::In));
        let trips = b.scalar("trips", ScalarType::U32);
        let own = b.own_tile(c, (m, n), Order::Linear);
        let acc = tile(self.a.wide(), m, n, Role::Acc);
        let zeros = b.one(OpKind::Zeros, acc);
        let zero = b.u32(0);
        let (i, carried) = (b.kernel.new_value(Type::Scalar(ScalarType::U32)), b.kernel.new_value(acc));
        b.open();
        let at = |row, col| Coord { batch: None, depth: None, row, col, unit: Unit::Tiles };
        let left = b.load(x, at(own[2], i), LoadForm::Plain, tile(self.a, m, k, Role::Row));
        let right = if self.transposed {
            b.load(y, at(own[3], i), LoadForm::Transpose, tile(self.b, k, n, Role::VnniT))
        } else {
            b.load(y, at(i, own[3]), LoadForm::Transform, tile(self.b, k, n, Role::Vnni))
        };
        let sum = b.one(OpKind::Mma { acc: carried, a: left, b: right }, acc);
        let body = b.close(vec![i, carried], tile_ir::ir::Exit::Yield(vec![sum]));
        let kind = OpKind::For { lo: zero, hi: trips, step: 1, inits: vec![zeros], body };
        let total = b.push(kind, &[acc])[0];
        let owned =
            Coord { batch: Some(own[0]), depth: Some(own[1]), row: own[2], col: own[3], unit: Unit::Tiles };
        b.push(OpKind::Store { global: c, tile: total, at: owned }, &[]);
        Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0])
    }

    /// Runs over matrices whose bits `f` and `g` give, `b`'s as [K, N].
    fn run(
        &self,
        ready: &Ready,
        (m, n, k): (u32, u32, u32),
        x0: u32,
        f: &dyn Fn(u32, u32) -> u32,
        g: &dyn Fn(u32, u32) -> u32,
    ) -> Vec<u32> {
        let mut memory = Memory::new();
        let c = Tensor::map(&mut memory, self.a.wide(), Shape::plain(m, n), None);
        let a = Shape { x0, ..Shape::plain(m, k) };
        let a = Tensor::map_bits(&mut memory, self.a.in_memory(), a, Some(&|_, r, c| f(r, c)));
        let (rows, cols) = if self.transposed { (n, k) } else { (k, n) };
        let b = Shape { x0, ..Shape::plain(rows, cols) };
        let transposed = self.transposed;
        let b = Tensor::map_bits(
            &mut memory,
            self.b.in_memory(),
            b,
            Some(&|_, r, c| if transposed { g(c, r) } else { g(r, c) }),
        );
        let mut args = [c.args(), a.args(), b.args()].concat();
        args.push(Arg::U32(k.div_ceil(self.tile.2)));
        launch(ready, &mut memory, &c, (self.tile.0, self.tile.1), (1, 1), &args).expect("runs");
        c.read_bits(&memory)
    }
}

#[test]
fn products_of_bytes_are_exact_in_every_mixture() {
    let mut seen = 0;
    for a in BYTES {
        for b in BYTES {
            for transposed in [false, true] {
                for tile in [(8, 16, 32), (16, 32, 64), (24, 64, 96)] {
                    let product = Product { a, b, tile, transposed };
                    let ready = product.ready();
                    for (m, n, k, x0) in [
                        (8, 16, 32, 0),
                        (13, 37, 65, 4),
                        (1, 1, 1, 0),
                        (9, 70, 130, 8),
                        (25, 66, 31, 0),
                        (3, 17, 64, 0),
                        (5, 5, 0, 0),
                    ] {
                        let (f, g) = (|r, c| byte(1, r, c), |r, c| byte(2, r, c));
                        let got = product.run(&ready, (m, n, k), x0, &f, &g);
                        for r in 0..m {
                            for c in 0..n {
                                let want = (0..k).fold(0i32, |sum, i| {
                                    sum.wrapping_add(int_of(a, byte(1, r, i)) * int_of(b, byte(2, i, c)))
                                });
                                let got = got[(r * n + c) as usize] as i32;
                                assert_eq!(
                                    got, want,
                                    "{a} x {b} {tile:?} {transposed} {m}x{n}x{k}+{x0} ({r}, {c})"
                                );
                            }
                        }
                        seen += 1;
                    }
                }
            }
        }
    }
    assert_eq!(seen, 4 * 2 * 3 * 7);
}

/// Eleven bits of significand in a few binades: products and short sums are exact in f32 once operands are rounded.
fn coarse(seed: u32, row: u32, col: u32) -> f32 {
    let x = hash(seed, row, col);
    let value = ((x >> 8 & 0x3F) as f32 - 31.0) / 8.0;
    // Bits that tf32 does not have: below half of its last place, so that rounding and truncation differ for some.
    let noise = if x & 1 == 0 { 1.0 + f32::EPSILON * (x >> 20 & 0xFFF) as f32 } else { 1.0 };
    value * noise
}

fn tf32(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits((bits + 0xFFF + (bits >> 13 & 1)) & !0x1FFF)
}

#[test]
fn products_of_tf32_round_their_operands_to_nearest_even() {
    let mut rounded_up = 0;
    for transposed in [false, true] {
        for tile in [(8, 16, 8), (16, 32, 16), (24, 48, 40)] {
            let product = Product { a: DType::Tf32, b: DType::Tf32, tile, transposed };
            let ready = product.ready();
            for (m, n, k, x0) in
                [(8, 16, 8, 0), (13, 37, 21, 1), (1, 1, 1, 0), (9, 70, 33, 3), (25, 3, 5, 0), (5, 5, 0, 0)]
            {
                let (f, g) = (
                    |r, c| coarse(3, r, c).to_bits(),
                    |r, c| (coarse(4, r, c) * (4097.0 / 4096.0)).to_bits(),
                );
                let got = product.run(&ready, (m, n, k), x0, &f, &g);
                for r in 0..m {
                    for c in 0..n {
                        let mut want = 0f32;
                        for i in 0..k {
                            let (a, b) = (f32::from_bits(f(r, i)), f32::from_bits(g(i, c)));
                            rounded_up += u32::from(tf32(a).abs() > a.abs() || tf32(b).abs() > b.abs());
                            want = tf32(a).mul_add(tf32(b), want);
                        }
                        let got = f32::from_bits(got[(r * n + c) as usize]);
                        assert_eq!(got, want, "{tile:?} {transposed} {m}x{n}x{k}+{x0} ({r}, {c})");
                    }
                }
            }
        }
    }
    assert!(rounded_up > 1000, "{rounded_up} operands are rounded up, where dropping bits would show");
}

/// Copies a tensor of bytes tile by tile, so that loads and stores meet every edge.
#[test]
fn bytes_are_copied_up_to_every_edge() {
    for dtype in BYTES {
        for size in [(8, 32), (16, 96)] {
            let mut b = Build::new("copy", "", (2, 1));
            let (c, a) = (b.global("c", dtype, Access::Out), b.global("a", dtype, Access::In));
            let own = b.own_tile(c, size, Order::Linear);
            let at = Coord {
                batch: Some(own[0]),
                depth: Some(own[1]),
                row: own[2],
                col: own[3],
                unit: Unit::Tiles,
            };
            let x = b.load(a, at, LoadForm::Plain, tile(dtype, size.0, size.1, Role::Row));
            b.push(OpKind::Store { global: c, tile: x, at }, &[]);
            let ready = Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0]);
            for (rows, cols) in
                [(8, 32), (17, 64), (9, 65), (9, 66), (9, 67), (3, 33), (20, 130), (1, 1), (2, 63), (40, 97)]
            {
                for x0 in [0, 4, 12] {
                    let shape = Shape { x0, ..Shape::plain(rows, cols) };
                    let mut memory = Memory::new();
                    let out = Tensor::map(&mut memory, dtype, shape, None);
                    let input = Tensor::map_bits(&mut memory, dtype, shape, Some(&|_, r, c| byte(5, r, c)));
                    let args = [out.args(), input.args()].concat();
                    launch(&ready, &mut memory, &out, size, (2, 1), &args).expect("runs");
                    for (i, got) in (0..).zip(out.read_bits(&memory)) {
                        let (r, c) = (i / cols, i % cols);
                        assert_eq!(got, byte(5, r, c), "{dtype} {size:?} {rows}x{cols}+{x0} ({r}, {c})");
                    }
                }
            }
        }
    }
}

/// Loads in every form at elements that are no multiple of 4 bytes, and stores there.
#[test]
fn bytes_are_moved_at_any_element() {
    for dtype in BYTES {
        let mut b = Build::new("moved", "", (1, 1));
        b.kernel.unowned_stores = true;
        let (c, a) = (b.global("c", dtype, Access::Out), b.global("a", dtype, Access::In));
        let [row, col, to_row, to_col] = ["r", "c", "tr", "tc"].map(|n| b.scalar(n, ScalarType::U32));
        b.own_tile(c, (64, 256), Order::Linear);
        let at = |row, col| Coord { batch: None, depth: None, row, col, unit: Unit::Elements };
        let x = b.load(a, at(row, col), LoadForm::Plain, tile(dtype, 8, 64, Role::Row));
        b.push(OpKind::Store { global: c, tile: x, at: at(to_row, to_col) }, &[]);
        let ready = Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0]);
        let (rows, cols) = (19, 101);
        for place in
            [[0, 0, 0, 0], [3, 1, 2, 3], [12, 38, 11, 40], [5, 99, 4, 1], [1, 42, 0, 37], [30, 2, 1, 1]]
        {
            let [row, col, to_row, to_col] = place;
            let shape = Shape::plain(rows, cols);
            let mut memory = Memory::new();
            let out = Tensor::map_bits(&mut memory, dtype, shape, Some(&|_, _, _| 0x55));
            let input = Tensor::map_bits(&mut memory, dtype, shape, Some(&|_, r, c| byte(6, r, c)));
            let mut args = [out.args(), input.args()].concat();
            args.extend(place.map(Arg::U32));
            launch(&ready, &mut memory, &out, (64, 256), (1, 1), &args).expect("runs");
            for (i, got) in (0..).zip(out.read_bits(&memory)) {
                let (r, c) = (i / cols, i % cols);
                let stored = (to_row..to_row + 8).contains(&r) && (to_col..to_col + 64).contains(&c);
                let want = if stored {
                    let (r, c) = (row + r - to_row, col + c - to_col);
                    if r < rows && c < cols { byte(6, r, c) } else { 0 }
                } else {
                    0x55
                };
                assert_eq!(got, want, "{dtype} {place:?} ({r}, {c})");
            }
        }
    }
}

/// Packed operands at odd elements: a product with a left operand of ones in one place shows single elements.
#[test]
fn packed_bytes_load_at_any_element() {
    for transposed in [false, true] {
        for dtype in BYTES {
            let mut b = Build::new("picked", "", (1, 1));
            let c = b.global("c", DType::I32, Access::Out);
            let (x, y) = (b.global("x", dtype, Access::In), b.global("y", dtype, Access::In));
            let (row, col) = (b.scalar("row", ScalarType::U32), b.scalar("col", ScalarType::U32));
            let own = b.own_tile(c, (8, 32), Order::Linear);
            let at = |row, col, unit| Coord { batch: None, depth: None, row, col, unit };
            let left =
                b.load(x, at(own[2], own[3], Unit::Tiles), LoadForm::Plain, tile(dtype, 8, 32, Role::Row));
            let (form, role) = if transposed {
                (LoadForm::Transpose, Role::VnniT)
            } else {
                (LoadForm::Transform, Role::Vnni)
            };
            let right = b.load(y, at(row, col, Unit::Elements), form, tile(dtype, 32, 32, role));
            let acc = tile(DType::I32, 8, 32, Role::Acc);
            let zeros = b.one(OpKind::Zeros, acc);
            let sum = b.one(OpKind::Mma { acc: zeros, a: left, b: right }, acc);
            let owned = Coord { batch: Some(own[0]), depth: Some(own[1]), ..at(own[2], own[3], Unit::Tiles) };
            b.push(OpKind::Store { global: c, tile: sum, at: owned }, &[]);
            let ready = Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0]);
            let (rows, cols) = (50, 71);
            for (row, col) in [(0, 0), (3, 4), (2, 1), (11, 42), (30, 70), (19, 39), (60, 3)] {
                let mut memory = Memory::new();
                let out = Tensor::map(&mut memory, DType::I32, Shape::plain(8, 32), None);
                // Row r of the left operand picks row 4 r + 3 of the right one.
                let pick = |_: u32, r: u32, c: u32| u32::from(c == 4 * r + 3);
                let x = Tensor::map_bits(&mut memory, dtype, Shape::plain(8, 32), Some(&pick));
                let y = Tensor::map_bits(
                    &mut memory,
                    dtype,
                    Shape::plain(rows, cols),
                    Some(&|_, r, c| byte(7, r, c)),
                );
                let mut args = [out.args(), x.args(), y.args()].concat();
                args.extend([Arg::U32(row), Arg::U32(col)]);
                launch(&ready, &mut memory, &out, (8, 32), (1, 1), &args).expect("runs");
                for (i, got) in (0..).zip(out.read_bits(&memory)) {
                    let (k, n) = (4 * (i / 32) + 3, i % 32);
                    let (r, c) = if transposed { (row + n, col + k) } else { (row + k, col + n) };
                    let want = if r < rows && c < cols { int_of(dtype, byte(7, r, c)) } else { 0 };
                    assert_eq!(got as i32, want, "{dtype} {transposed} ({row}, {col}): k {k} n {n}");
                }
            }
        }
    }
}

#[test]
fn conversions_of_bytes_saturate_and_round() {
    let size = (16, 64);
    let shape = Shape::plain(size.0, size.1);
    let wide = |r, c| {
        let x = hash(8, r, c);
        if x.is_multiple_of(3) { x as i32 } else { (x >> 8 & 0x3FF) as i32 - 512 }
    };
    for byte_type in BYTES {
        for &other in DType::FLOATS.iter().chain(&[DType::I32, DType::I8, DType::U8]) {
            let mut t = tiles::OneTile::new(other, size);
            let x = t.tile(byte_type, Role::Row);
            let y = t.b.convert(x, tile(other, size.0, size.1, Role::Row));
            let got = t.finish(y).run_bits(&[(shape, &|_, r, c| byte(9, r, c))], &[]);
            for (i, got) in (0..).zip(got) {
                let value = int_of(byte_type, byte(9, i / size.1, i % size.1));
                let want = match other {
                    DType::I8 | DType::U8 => integer::saturate(other, value) as u32 & 0xFF,
                    DType::I32 => value as u32,
                    _ => tensor::to_bits(other, value as f32),
                };
                assert_eq!(got, want, "{byte_type} {value} to {other}");
            }
            if other.size_bytes() == 1 {
                continue;
            }
            let mut t = tiles::OneTile::new(byte_type, size);
            let x = t.tile(other, Role::Row);
            let y = t.b.convert(x, tile(byte_type, size.0, size.1, Role::Row));
            let float = |r: u32, c: u32| match hash(10, r, c) % 16 {
                0 => f32::NAN,
                1 => f32::INFINITY,
                2 => f32::NEG_INFINITY,
                _ => wide(r, c) as f32 / 4.0,
            };
            let source = |_: u32, r: u32, c: u32| match other {
                DType::I32 => wide(r, c) as u32,
                _ => tensor::to_bits(other, float(r, c)),
            };
            let got = t.finish(y).run_bits(&[(shape, &source)], &[]);
            for (i, got) in (0..).zip(got) {
                let (r, c) = (i / size.1, i % size.1);
                let value = match other {
                    DType::I32 => wide(r, c),
                    _ => integer::from_f32(tensor::rounded(other, float(r, c))),
                };
                let want = integer::saturate(byte_type, value) as u32 & 0xFF;
                assert_eq!(got, want, "{other} {value} to {byte_type} ({r}, {c})");
            }
        }
    }
}

#[test]
fn single_bytes_load_as_scalars() {
    for dtype in BYTES {
        let mut t = tiles::OneTile::new(DType::I32, (8, 16));
        let global = t.input(dtype);
        let (row, col) = (t.u32_scalar(), t.u32_scalar());
        let at = Coord { batch: None, depth: None, row, col, unit: Unit::Elements };
        let value = t.b.one(OpKind::LoadScalar { global, at }, Type::Scalar(ScalarType::I32));
        let ran = t.finish(value);
        let f = |_: u32, r: u32, c: u32| byte(11, r, c);
        for (r, c) in [(0, 0), (1, 7), (4, 12), (5, 3), (0, 13), (u32::MAX, 0)] {
            let got = ran.run_bits(&[(Shape::plain(5, 13), &f)], &[Arg::U32(r), Arg::U32(c)]);
            let want = if r < 5 && c < 13 { int_of(dtype, byte(11, r, c)) } else { 0 };
            assert!(got.iter().all(|&v| v as i32 == want), "{dtype} ({r}, {c})");
        }
    }
}
