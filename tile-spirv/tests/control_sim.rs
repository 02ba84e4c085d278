//! Runs loops, branches and early returns on the simulator and compares with the same program in Rust.

#[path = "support/scalars.rs"]
mod scalars;
mod support;
#[path = "support/tensor.rs"]
mod tensor;

use scalars::{Show, arg, run, whole};
use support::{Build, U32, tile, tiles_at};
use tensor::{Ready, Shape, Tensor, launch, noise, rounded};
use tile_ir::ir::{Access, Coord, Exit, LoadForm, OpKind, Order, Unit, ValueId};
use tile_ir::scalar::{Binary, Compare, Const};
use tile_ir::types::{DType, Role, ScalarType, Type};
use tile_sim::{Arg, Memory};

/// Counts the runs of a loop and folds its counters: `count += 1; mix = mix * 3 ^ counter`.
fn counting(ty: ScalarType, step: u32) -> (Ready, u32) {
    let mut s = Show::new("count");
    let (lo, hi) = (s.b.scalar("lo", ty), s.b.scalar("hi", ty));
    let t = Type::Scalar(ty);
    let three = s.b.constant(match ty {
        ScalarType::U64 => Const::U64(3),
        ScalarType::I32 => Const::I32(3),
        ScalarType::U32 | ScalarType::F32 | ScalarType::Bool => Const::U32(3),
    });
    let (zero, one) = (s.b.u32(0), s.b.u32(1));
    let (counter, count, mix) = (s.b.kernel.new_value(t), s.b.kernel.new_value(U32), s.b.kernel.new_value(t));
    s.b.open();
    if ty == ScalarType::U32 {
        // A multiple of the counter that wraps must not end the loop.
        s.prefetch_at(counter);
    }
    let next_count = s.b.binary(Binary::Add, count, one);
    let tripled = s.b.binary(Binary::Mul, mix, three);
    let next_mix = s.b.binary(Binary::Xor, tripled, counter);
    let body = s.b.close(vec![counter, count, mix], Exit::Yield(vec![next_count, next_mix]));
    let results = s.b.push(OpKind::For { lo, hi, step, inits: vec![zero, three], body }, &[U32, t]);
    s.show(results[0]);
    s.show(results[1]);
    s.lower()
}

#[test]
fn loops_run_as_often_as_ranges() {
    let u = |lo: u32, hi: u32| (Const::U32(lo), Const::U32(hi));
    let i = |lo: i32, hi: i32| (Const::I32(lo), Const::I32(hi));
    let l = |lo: u64, hi: u64| (Const::U64(lo), Const::U64(hi));
    let max = u32::MAX;
    let cases = [
        (
            ScalarType::U32,
            1,
            vec![u(0, 0), u(0, 1), u(0, 9), u(5, 2), u(max - 5, max), u(max, 0), u(max, max)],
        ),
        (ScalarType::U32, 3, vec![u(0, 9), u(0, 10), u(1, 3), u(max - 7, max)]),
        (ScalarType::U32, 0x8000_0001, vec![u(0, max), u(1, max), u(0x7FFF_FFFF, max), u(3, 4)]),
        (ScalarType::U32, 1 << 29, vec![u(0, max), u(5, max), u(1 << 29, 1 << 31)]),
        (ScalarType::U32, max, vec![u(0, max), u(1, max), u(0, 1)]),
        (ScalarType::I32, 1, vec![i(-5, 7), i(7, -5), i(i32::MIN, i32::MIN + 3), i(i32::MAX - 2, i32::MAX)]),
        (ScalarType::I32, 0x4000_0000, vec![i(i32::MIN, i32::MAX), i(-1, i32::MAX), i(0, 1)]),
        (ScalarType::U64, 1, vec![l(0, 5), l(u64::MAX - 4, u64::MAX), l(9, 2), l(1 << 40, (1 << 40) + 3)]),
        (ScalarType::U64, max, vec![l(0, 5 << 32), l(7, u64::from(max) + 7), l(u64::MAX - 9, u64::MAX)]),
    ];
    for (ty, step, ranges) in cases {
        let (ready, shown) = counting(ty, step);
        for (lo, hi) in ranges {
            let (mut count, mut mix) = (0u32, 3u64);
            let wide = |c: Const| match c {
                Const::U32(v) => i128::from(v),
                Const::I32(v) => i128::from(v),
                Const::U64(v) => i128::from(v),
                Const::F32(_) | Const::Bool(_) => unreachable!("ranges are integers"),
            };
            let mut at = wide(lo);
            while at < wide(hi) {
                count += 1;
                mix = mix.wrapping_mul(3) ^ at as u64;
                at += i128::from(step);
            }
            let got = run(&ready, shown, &[arg(lo), arg(hi)]);
            let bits = if ty == ScalarType::U64 { u64::MAX } else { u64::from(u32::MAX) };
            assert_eq!(whole(&got[..4]), u64::from(count), "{ty} {lo}..{hi} by {step}: runs");
            assert_eq!(whole(&got[4..]) & bits, mix & bits, "{ty} {lo}..{hi} by {step}: counters");
        }
    }
}

#[test]
fn nested_loops_and_branches_carry_values() {
    let mut s = Show::new("nested");
    let (n, m) = (s.b.scalar("n", ScalarType::U32), s.b.scalar("m", ScalarType::U32));
    let (zero, one, two) = (s.b.u32(0), s.b.u32(1), s.b.u32(2));
    let (i, sum) = (s.b.kernel.new_value(U32), s.b.kernel.new_value(U32));
    s.b.open();
    let (j, inner) = (s.b.kernel.new_value(U32), s.b.kernel.new_value(U32));
    s.b.open();
    let product = s.b.binary(Binary::Mul, i, j);
    let even = s.b.binary(Binary::Rem, product, two);
    let even = s.b.compare(Compare::Eq, even, zero);
    s.b.open();
    let add = s.b.binary(Binary::Add, inner, product);
    let then = s.b.close(vec![], Exit::Yield(vec![add]));
    s.b.open();
    let shifted = s.b.binary(Binary::Mul, inner, two);
    let mixed = s.b.binary(Binary::Xor, shifted, m);
    let otherwise = s.b.close(vec![], Exit::Yield(vec![mixed]));
    let next = s.b.push(OpKind::If { cond: even, then, otherwise }, &[U32])[0];
    let body = s.b.close(vec![j, inner], Exit::Yield(vec![next]));
    let inner = s.b.push(OpKind::For { lo: one, hi: i, step: 2, inits: vec![sum], body }, &[U32])[0];
    let next = s.b.binary(Binary::Add, inner, i);
    let body = s.b.close(vec![i, sum], Exit::Yield(vec![next]));
    let total = s.b.push(OpKind::For { lo: zero, hi: n, step: 1, inits: vec![m], body }, &[U32])[0];
    s.show(total);
    let (ready, shown) = s.lower();
    for (n, m) in [(0, 5), (1, 0), (2, 9), (7, 1), (12, u32::MAX)] {
        let mut sum: u32 = m;
        for i in 0..n {
            for j in (1..i).step_by(2) {
                let product = i * j;
                sum = if product % 2 == 0 { sum.wrapping_add(product) } else { sum.wrapping_mul(2) ^ m };
            }
            sum = sum.wrapping_add(i);
        }
        let got = run(&ready, shown, &[Arg::U32(n), Arg::U32(m)]);
        assert_eq!(whole(&got), u64::from(sum), "n {n} m {m}");
    }
}

/// Returns from inside a loop when the counter reaches `stop`; the store after the loop must then not happen.
#[test]
fn an_early_return_ends_the_kernel() {
    for constant in [None, Some(true), Some(false)] {
        let mut s = Show::new("stop");
        let (n, stop) = (s.b.scalar("n", ScalarType::U32), s.b.scalar("stop", ScalarType::U32));
        let zero = s.b.u32(0);
        let i = s.b.kernel.new_value(U32);
        s.b.open();
        let cond = match constant {
            Some(v) => s.b.constant(Const::Bool(v)),
            None => s.b.compare(Compare::Eq, i, stop),
        };
        s.b.open();
        let then = s.b.close(vec![], Exit::Return);
        s.b.open();
        let otherwise = s.b.close(vec![], Exit::Yield(vec![]));
        s.b.push(OpKind::If { cond, then, otherwise }, &[]);
        let body = s.b.close(vec![i], Exit::Yield(vec![]));
        s.b.push(OpKind::For { lo: zero, hi: n, step: 1, inits: vec![], body }, &[]);
        let seven = s.b.constant(Const::F32(7f32.to_bits()));
        s.show(seven);
        let (ready, shown) = s.lower();
        for (n, stop) in [(0, 0), (3, 5), (3, 2), (3, 0), (1, 1)] {
            let got = run(&ready, shown, &[Arg::U32(n), Arg::U32(stop)]);
            let returns = constant.unwrap_or(stop < n) && n > 0;
            assert_eq!(got[0].is_nan(), returns, "n {n} stop {stop} {constant:?}");
        }
    }
}

/// A GEMM over some of the tiles along K: `for k in lo..hi step s`, loading at `k + off`.
#[derive(Clone, Copy, Debug)]
struct Part {
    step: u32,
    /// The bounds and the offset have known limits, so that the loop can be split.
    bounded: bool,
    /// The accumulator starts as zeros rather than from a tensor.
    zeros: bool,
    trans_b: bool,
    /// The loads stand in a branch inside the loop.
    in_branch: bool,
    /// The column is `2 * k + off`, which is not a counter plus something fixed.
    doubled: bool,
    /// Counter and offset are elements, so that columns may be odd.
    elements: bool,
}

/// A step whose multiples are 0 in 32 bits once multiplied by a tile's columns; such loops start at 0.
const HUGE: u32 = 1 << 28;

const TILE: (u32, u32, u32) = (16, 32, 16);

fn part_kernel(p: Part) -> Ready {
    let (bm, bn, bk) = TILE;
    let mut b = Build::new("part", "", (2, 2));
    let c = b.global("c", DType::F32, Access::Out);
    let a = b.global("a", DType::Bf16, Access::In);
    let w = b.global("b", DType::Bf16, Access::In);
    let start = b.global("start", DType::F32, Access::In);
    let [lo, hi, off] = ["lo", "hi", "off"].map(|n| b.scalar(n, ScalarType::U32));
    let limit = b.u32(1000);
    let clamp = |b: &mut Build, v: ValueId| if p.bounded { b.binary(Binary::Min, v, limit) } else { v };
    let (lo, hi, off) = (clamp(&mut b, lo), clamp(&mut b, hi), clamp(&mut b, off));
    let lo = if p.step == HUGE { b.u32(0) } else { lo };
    let at = b.own_tile(c, (bm, bn), Order::Linear);
    b.return_outside(c, (bm, bn), at);
    let acc = tile(DType::F32, bm, bn, Role::Acc);
    let init =
        if p.zeros { b.one(OpKind::Zeros, acc) } else { b.load(start, tiles_at(at), LoadForm::Plain, acc) };
    let (k, carried) = (b.kernel.new_value(U32), b.kernel.new_value(acc));
    let (always, two) = (b.constant(Const::U32(5)), b.u32(2));
    b.open();
    let scaled = if p.doubled { b.binary(Binary::Mul, k, two) } else { k };
    // The counter alone has a bound to get wrong; a sum with an argument has none.
    let col = if p.step == HUGE { scaled } else { b.binary(Binary::Add, scaled, off) };
    if p.in_branch {
        // `k != 5`: run 5 is left out.
        b.open();
    }
    let [batch, depth, row, n] = at;
    let (unit, row_size, n_size) = if p.elements { (Unit::Elements, bm, bn) } else { (Unit::Tiles, 1, 1) };
    let (by_row, by_n) = (b.u32(row_size), b.u32(n_size));
    let (row, n) = (b.binary(Binary::Mul, row, by_row), b.binary(Binary::Mul, n, by_n));
    let there = |row, col| Coord { batch: Some(batch), depth: Some(depth), row, col, unit };
    let x = b.load(a, there(row, col), LoadForm::Plain, tile(DType::Bf16, bm, bk, Role::Row));
    let y = if p.trans_b {
        let at = there(n, col);
        b.load(w, at, LoadForm::Transpose, tile(DType::Bf16, bk, bn, Role::VnniT))
    } else {
        let at = there(col, n);
        b.load(w, at, LoadForm::Transform, tile(DType::Bf16, bk, bn, Role::Vnni))
    };
    let mut next = b.one(OpKind::Mma { acc: carried, a: x, b: y }, acc);
    if p.in_branch {
        let then = b.close(vec![], Exit::Yield(vec![next]));
        b.open();
        let otherwise = b.close(vec![], Exit::Yield(vec![carried]));
        let cond = b.compare(Compare::Ne, k, always);
        next = b.push(OpKind::If { cond, then, otherwise }, &[acc])[0];
    }
    let body = b.close(vec![k, carried], Exit::Yield(vec![next]));
    let step = if p.elements { 16 * p.step } else { p.step };
    let sum = b.one(OpKind::For { lo, hi, step, inits: vec![init], body }, acc);
    b.push(OpKind::Store { global: c, tile: sum, at: tiles_at(at) }, &[]);
    Ready::new(&tile_spirv::lower(&b.finish()).expect("lowers")[0])
}

fn check_part(p: Part, ready: &Ready, (m, n, k): (u32, u32, u32), [lo, hi, off]: [u32; 3]) {
    let mut memory = Memory::new();
    let a_at = |r: u32, c: u32| rounded(DType::Bf16, noise(1, 0, r, c));
    let b_at = |r: u32, c: u32| rounded(DType::Bf16, noise(2, 0, r, c));
    let start_at = |r: u32, c: u32| noise(3, 0, r, c);
    let c = Tensor::map(&mut memory, DType::F32, Shape::plain(m, n), None);
    let a = Tensor::map(&mut memory, DType::Bf16, Shape::plain(m, k), Some(&|_, r, c| a_at(r, c)));
    let b_shape = if p.trans_b { Shape::plain(n, k) } else { Shape::plain(k, n) };
    let b = Tensor::map(
        &mut memory,
        DType::Bf16,
        b_shape,
        Some(&|_, r, c| if p.trans_b { b_at(c, r) } else { b_at(r, c) }),
    );
    let start = Tensor::map(&mut memory, DType::F32, Shape::plain(m, n), Some(&|_, r, c| start_at(r, c)));
    let args: Vec<Arg> =
        [&c, &a, &b, &start].iter().flat_map(|t| t.args()).chain([lo, hi, off].map(Arg::U32)).collect();
    launch(ready, &mut memory, &c, (TILE.0, TILE.1), (2, 2), &args)
        .unwrap_or_else(|e| panic!("{p:?} {m}x{n}x{k} {lo}..{hi}+{off}: {e}"));
    let got = c.read(&memory);
    for i in 0..m {
        for j in 0..n {
            let mut sum = if p.zeros { 0.0 } else { f64::from(start_at(i, j)) };
            let size = if p.elements { 1 } else { TILE.2 };
            let step = if p.elements { p.step * TILE.2 } else { p.step };
            for t in (lo..hi).step_by(step as usize) {
                let first = u64::from(if p.doubled { 2 * t } else { t }.wrapping_add(off)) * u64::from(size);
                if p.in_branch && t == 5 {
                    continue;
                }
                for kk in first..(first + u64::from(TILE.2)).min(k.into()) {
                    let kk = kk as u32;
                    sum += f64::from(a_at(i, kk)) * f64::from(b_at(kk, j));
                }
            }
            let got = f64::from(got[(i * n + j) as usize]);
            assert!(
                (got - sum).abs() < 1e-3,
                "{p:?} {m}x{n}x{k} {lo}..{hi}+{off} ({i}, {j}): {got}, not {sum}"
            );
        }
    }
}

#[test]
fn loops_split_at_the_edge_in_every_shape() {
    let mut ran = 0;
    for bits in 0..64 {
        let flag = |i: u32| bits >> i & 1 == 1;
        for step in [1, 3] {
            let p = Part {
                step,
                bounded: flag(0),
                zeros: flag(1),
                trans_b: flag(2),
                in_branch: flag(3),
                doubled: flag(4),
                elements: flag(5),
            };
            let ready = part_kernel(p);
            for size in [(17, 35, 101), (16, 32, 64), (33, 7, 19), (5, 40, 96), (20, 33, 1)] {
                if p.elements {
                    for range in [[0, 100, 0], [3, 99, 2], [16, 80, 1], [1, 33, 0], [0, 96, 31], [90, 120, 7]]
                    {
                        check_part(p, &ready, size, range);
                        ran += 1;
                    }
                    continue;
                }
                for range in
                    [[0, 7, 0], [0, 0, 0], [1, 9, 0], [0, 3, 2], [2, 30, 1], [6, 7, 0], [4, 2, 3], [0, 6, 90]]
                {
                    check_part(p, &ready, size, range);
                    ran += 1;
                }
            }
        }
    }
    assert_eq!(ran, 2560 + 1920);
}

#[test]
fn coordinates_beyond_32_bits_are_outside() {
    for bits in 0..8 {
        let flag = |i: u32| bits >> i & 1 == 1;
        let p = Part {
            step: HUGE,
            bounded: false,
            zeros: flag(0),
            trans_b: flag(1),
            in_branch: flag(2),
            doubled: false,
            elements: false,
        };
        let ready = part_kernel(p);
        for range in [[0, HUGE + 1, 0], [0, u32::MAX, 0], [0, 3, 0]] {
            check_part(p, &ready, (17, 35, 37), range);
        }
        let p = Part { step: 1, ..p };
        let ready = part_kernel(p);
        for range in [[0, 5, u32::MAX - 1], [HUGE, HUGE + 2, 0], [u32::MAX - 2, u32::MAX, 2], [2, 4, HUGE]] {
            check_part(p, &ready, (17, 35, 37), range);
        }
    }
}
