//! Runs every element-wise op on every kind of operand on the simulator and compares with the exact function.

mod support;
#[path = "support/tensor.rs"]
mod tensor;
#[path = "support/tiles.rs"]
mod tiles;

use support::{Build, tile, vector};
use tensor::{noise, rounded};
use tile_ir::ir::{OpKind, ValueId};
use tile_ir::map::{MapBinary, MapUnary};
use tile_ir::types::{Along, DType, Role, ScalarType};
use tile_sim::Arg;
use tiles::{OneTile, same};

const SIZE: (u32, u32) = (24, 48);

/// Below this a result may be flushed to 0 (`tile_ir::map`).
const LEAST: f64 = 1e-36;

fn exact(op: MapUnary, x: f64) -> f64 {
    match op {
        MapUnary::Abs => x.abs(),
        MapUnary::Neg => -x,
        MapUnary::Relu if x > 0.0 || x.is_nan() => x,
        MapUnary::Relu => 0.0,
        MapUnary::Exp2 => x.exp2(),
        MapUnary::Exp => x.exp(),
        MapUnary::Log2 => x.log2(),
        MapUnary::Log => x.ln(),
        MapUnary::Sqrt => x.sqrt(),
        MapUnary::Rsqrt => 1.0 / x.sqrt(),
        MapUnary::Recip => 1.0 / x,
        MapUnary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        MapUnary::Silu if x == f64::NEG_INFINITY => 0.0,
        MapUnary::Silu => x / (1.0 + (-x).exp()),
        MapUnary::Tanh => x.tanh(),
        MapUnary::Gelu if x == f64::NEG_INFINITY => 0.0,
        MapUnary::Gelu => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            x / (1.0 + (-2.0 * inner).exp())
        }
    }
}

fn exact_binary(op: MapBinary, a: f32, b: f32) -> f64 {
    let (x, y) = (f64::from(a), f64::from(b));
    match op {
        MapBinary::Add => x + y,
        MapBinary::Sub => x - y,
        MapBinary::Mul => x * y,
        MapBinary::Div => x / y,
        MapBinary::Min => x.min(y),
        MapBinary::Max => x.max(y),
    }
}

/// True when `got`, of type `dtype`, rounds a number within `ulp` units of the last place of f32 of `want`.
fn close(dtype: DType, ulp: u32, got: f32, want: f64) -> bool {
    let value = want as f32;
    if want.is_nan() || value.is_infinite() || value == 0.0 || ulp == 0 {
        return same(got, rounded(dtype, value)) || (want == 0.0 && got == 0.0);
    }
    if want.abs() < LEAST {
        return f64::from(got).abs() < 2.0 * LEAST;
    }
    let unit = 2f64.powi(want.abs().log2().floor() as i32 - 23);
    let reach = (f64::from(ulp) + 0.5) * unit;
    let (low, high) = (rounded(dtype, (want - reach) as f32), rounded(dtype, (want + reach) as f32));
    low <= got && got <= high
}

/// Edge values first, then noise of growing size.
fn element(dtype: DType, input: usize, row: u32, col: u32) -> f32 {
    const EDGES: [f32; 16] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        0.5,
        1e30,
        -1e30,
        1e-30,
        88.0,
        -88.0,
        0.6,
        -0.54,
        3.0,
    ];
    let i = row as usize * SIZE.1 as usize + col as usize;
    // Every pair of edges meets in the first 256 elements of two inputs.
    let edge = if input == 0 { i % 16 } else { i / 16 };
    let value = if i < 256 {
        EDGES[edge]
    } else {
        noise(input as u32 + 11, 0, row, col) * [1.0, 0.01, 20.0, 300.0][(row % 4) as usize]
    };
    rounded(dtype, value)
}

/// Elements whose reciprocal is a normal number, where a quotient's bound holds.
fn divides(dividend: f32, divisor: f32) -> bool {
    let (q, r) = (f64::from(dividend) / f64::from(divisor), 1.0 / f64::from(divisor));
    let normal = |v: f64| v.abs() > 1e-30 && v.abs() < 1e30;
    normal(q) && normal(r)
}

const TYPES: [(DType, Role); 4] =
    [(DType::F32, Role::Row), (DType::F32, Role::Acc), (DType::Bf16, Role::Row), (DType::F16, Role::Row)];

fn check(name: &str, dtype: DType, ulp: u32, got: &[f32], want: &dyn Fn(u32, u32) -> Option<f64>) {
    let mut compared = 0;
    for row in 0..SIZE.0 {
        for col in 0..SIZE.1 {
            let Some(want) = want(row, col) else { continue };
            let got = got[(row * SIZE.1 + col) as usize];
            assert!(close(dtype, ulp, got, want), "{name} {dtype} ({row}, {col}): {got:e}, not {want:e}");
            compared += 1;
        }
    }
    assert!(compared > SIZE.0 * SIZE.1 / 2, "{name} {dtype}: only {compared} compared");
}

#[test]
fn every_unary_op_on_every_tile() {
    for &op in MapUnary::ALL {
        for (dtype, role) in TYPES {
            let mut t = OneTile::new(dtype, SIZE);
            let x = t.tile(dtype, role);
            let y = t.b.unary(op, x);
            let f = |i: usize, r: u32, c: u32| element(dtype, i, r, c);
            let got = t.finish(y).run_fitting(&[None], &f, &[]);
            check(op.name(), dtype, op.ulp(), &got, &|r, c| Some(exact(op, f64::from(f(0, r, c)))));
        }
    }
}

#[test]
fn every_unary_op_on_vectors_and_scalars() {
    for &op in MapUnary::ALL {
        for &along in Along::ALL {
            for &dtype in DType::FLOATS {
                let mut t = OneTile::new(DType::F32, SIZE);
                let x = t.vector(dtype, along);
                let y = t.b.unary(op, x);
                let f = |_: usize, _: u32, c: u32| element(dtype, 0, 0, c);
                let got = t.finish(y).run_fitting(&[Some(along)], &f, &[]);
                let want =
                    |r, c| Some(exact(op, f64::from(f(0, 0, if along == Along::Rows { r } else { c }))));
                // Of a 16-bit vector the results are rounded to it.
                check(op.name(), dtype, op.ulp(), &got, &want);
            }
        }
        let mut t = OneTile::new(DType::F32, SIZE);
        let x = t.scalar(ScalarType::F32);
        let y = t.b.unary(op, x);
        let ran = t.finish(y);
        for i in 0..48 {
            let x = element(DType::F32, 0, i / 16 * 3, i % 16);
            let got = ran.run(&[], &[Arg::F32(x)]);
            check(op.name(), DType::F32, op.ulp(), &got, &|_, _| Some(exact(op, f64::from(x))));
        }
    }
}

/// Where the right operand comes from.
#[derive(Clone, Copy, Debug)]
enum Right {
    Tile,
    Vector(Along),
    Scalar,
}

#[test]
fn every_binary_op_on_every_tile_and_right_operand() {
    for &op in MapBinary::ALL {
        for (dtype, role) in TYPES {
            for right in [Right::Tile, Right::Vector(Along::Rows), Right::Vector(Along::Cols), Right::Scalar]
            {
                let mut t = OneTile::new(dtype, SIZE);
                let x = t.tile(dtype, role);
                let (y, inputs) = match right {
                    Right::Tile => (t.tile(dtype, role), vec![None, None]),
                    Right::Vector(along) => (t.vector(DType::F32, along), vec![None, Some(along)]),
                    Right::Scalar => (t.scalar(ScalarType::F32), vec![None]),
                };
                let z = t.b.map(op, x, y);
                let ran = t.finish(z);
                let of = if matches!(right, Right::Tile) { dtype } else { DType::F32 };
                let f = |i: usize, r: u32, c: u32| element(if i == 0 { dtype } else { of }, i, r, c);
                let numbers: &[f32] = if matches!(right, Right::Scalar) {
                    &[0.75, -3.0, f32::NAN, f32::INFINITY]
                } else {
                    &[0.0]
                };
                for &number in numbers {
                    let args: &[Arg] = if matches!(right, Right::Scalar) { &[Arg::F32(number)] } else { &[] };
                    // A vector's input has one row.
                    let second = |r: u32, c: u32| match right {
                        Right::Tile => f(1, r, c),
                        Right::Vector(Along::Rows) => 2.5 - f(1, 20, r),
                        Right::Vector(Along::Cols) => 2.5 - f(1, 20, c),
                        Right::Scalar => number,
                    };
                    let source = |i: usize, r: u32, c: u32| match right {
                        Right::Vector(_) if i == 1 => 2.5 - f(1, 20, c),
                        _ => f(i, r, c),
                    };
                    let got = ran.run_fitting(&inputs, &source, args);
                    let want = |r, c| {
                        let (a, b) = (f(0, r, c), second(r, c));
                        // Sums and products are rounded to f32 first, like every value.
                        let value = exact_binary(op, a, b);
                        let apart = op != MapBinary::Div || divides(a, b);
                        apart.then_some(if op.ulp() == 0 { f64::from(value as f32) } else { value })
                    };
                    if matches!(right, Right::Scalar) && op == MapBinary::Div && !number.is_normal() {
                        continue;
                    }
                    check(&format!("{} {right:?}", op.name()), dtype, op.ulp(), &got, &want);
                }
            }
        }
    }
}

#[test]
fn vectors_combine_with_vectors_and_scalars() {
    for &op in MapBinary::ALL {
        for &dtype in DType::FLOATS {
            for &along in Along::ALL {
                for scalar in [false, true] {
                    let mut t = OneTile::new(DType::F32, SIZE);
                    let x = t.vector(dtype, along);
                    let y = if scalar { t.scalar(ScalarType::F32) } else { t.vector(dtype, along) };
                    let z = t.b.map(op, x, y);
                    let f = |i: usize, _: u32, c: u32| rounded(dtype, 2.5 - noise(i as u32, 1, 0, c));
                    let inputs = [Some(along), Some(along)];
                    let args = [Arg::F32(-0.37)];
                    let got = t.finish(z).run_fitting(
                        &inputs[..if scalar { 1 } else { 2 }],
                        &f,
                        &args[..usize::from(scalar)],
                    );
                    for r in 0..SIZE.0 {
                        for c in 0..SIZE.1 {
                            let i = if along == Along::Rows { r } else { c };
                            let b = if scalar { -0.37 } else { f(1, 0, i) };
                            let want = exact_binary(op, f(0, 0, i), b);
                            let want = if op.ulp() == 0 { f64::from(want as f32) } else { want };
                            let got = got[(r * SIZE.1 + c) as usize];
                            assert!(
                                close(dtype, op.ulp(), got, want),
                                "{} {dtype} {along:?} scalar {scalar} ({r}, {c}): {got:e}, not {want:e}",
                                op.name()
                            );
                        }
                    }
                }
            }
        }
    }
}

/// Conversions, scaling and zeros of vectors.
#[test]
fn vectors_convert_scale_and_start_at_zero() {
    for &along in Along::ALL {
        for &from in DType::FLOATS {
            for &to in DType::FLOATS {
                let mut t = OneTile::new(DType::F32, SIZE);
                let x = t.vector(from, along);
                let by = t.scalar(ScalarType::F32);
                let len = t.b.kernel.ty(x).vector().expect("a vector").len;
                let ty = vector(to, len, along);
                let y = t.b.convert(x, ty);
                let y = t.b.one(OpKind::Scale { tile: y, by }, ty);
                let zeros = t.b.one(OpKind::Zeros, ty);
                let y = t.b.map(MapBinary::Add, zeros, y);
                let f = |_: usize, _: u32, c: u32| rounded(from, noise(9, 1, 0, c) * 1.001);
                let got = t.finish(y).run_fitting(&[Some(along)], &f, &[Arg::F32(1.37)]);
                for r in 0..SIZE.0 {
                    for c in 0..SIZE.1 {
                        let i = if along == Along::Rows { r } else { c };
                        let want = 0.0 + rounded(to, rounded(to, f(0, 0, i)) * 1.37);
                        assert!(
                            same(got[(r * SIZE.1 + c) as usize], want),
                            "{from} {to} {along:?} ({r}, {c})"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn fills_are_rounded_and_packed() {
    let value = 1.0 / 3.0;
    for (dtype, role) in TYPES {
        let mut t = OneTile::new(dtype, SIZE);
        let number = t.scalar(ScalarType::F32);
        let x = t.b.one(OpKind::Fill { value: number }, tile(dtype, SIZE.0, SIZE.1, role));
        let got = t.finish(x).run(&[], &[Arg::F32(value)]);
        assert!(got.iter().all(|&v| v == rounded(dtype, value)), "{dtype} {role}");
    }
    for &along in Along::ALL {
        for &dtype in DType::FLOATS {
            let mut t = OneTile::new(DType::F32, SIZE);
            let number = t.scalar(ScalarType::F32);
            let len = if along == Along::Rows { SIZE.0 } else { SIZE.1 };
            let x = t.b.one(OpKind::Fill { value: number }, vector(dtype, len, along));
            let got = t.finish(x).run(&[], &[Arg::F32(value)]);
            assert!(got.iter().all(|&v| v == rounded(dtype, value)), "{dtype} {along:?}");
        }
    }
    // A packed operand: the product of ones with it sums K equal numbers.
    for dtype in [DType::Bf16, DType::F16] {
        let size = (16, 32);
        let mut t = OneTile::new(DType::F32, size);
        let number = t.scalar(ScalarType::F32);
        let product = |b: &mut Build, number: ValueId| {
            let one = b.f32(1.0);
            let left = b.one(OpKind::Fill { value: one }, tile(dtype, 16, 16, Role::Row));
            let right = b.one(OpKind::Fill { value: number }, tile(dtype, 16, 32, Role::Vnni));
            let acc = tile(DType::F32, 16, 32, Role::Acc);
            let zeros = b.one(OpKind::Zeros, acc);
            b.one(OpKind::Mma { acc: zeros, a: left, b: right }, acc)
        };
        let x = product(&mut t.b, number);
        let got = t.finish(x).run(&[], &[Arg::F32(value)]);
        assert!(got.iter().all(|&v| (v - 16.0 * rounded(dtype, value)).abs() < 1e-4), "{dtype}");
    }
}
