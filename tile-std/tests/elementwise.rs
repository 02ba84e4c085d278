//! Gated activations, conversions and transposes on ragged and degenerate shapes, views, and extreme values: host and
//! simulator against f64 or exactly.

mod reference;
mod rows;

use reference::{FORMS, Guarded, Rng};
use rows::{COLS, KINDS, ROWS, Rows, compare, devices};
use tile_std::ops::{
    RowError, RowOptions, Transposable, cast_into, explain_cast, explain_gelu_mul, explain_silu_mul,
    explain_transpose, gelu_mul_into, silu_mul_into, transpose_into,
};
use tile_std::prelude::*;

const UNIT: f64 = 1.0 / 16_777_216.0;

/// `silu(x) * up`: 13 units in the last place for the function, one for the product.
fn silu(x: f64, up: f64) -> (f64, f64) {
    // At -inf the limit.
    let open = if x == f64::NEG_INFINITY { 0.0 } else { x / (1.0 + (-x).exp()) };
    (open * up, 28.0 * UNIT * (open * up).abs() + 1e-36 * (1.0 + up.abs()))
}

/// `gelu(x) * up`: 256 units in the last place for the function, one for the product.
fn gelu(x: f64, up: f64) -> (f64, f64) {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
    let open = if x == f64::NEG_INFINITY { 0.0 } else { 0.5 * x * (1.0 + inner.tanh()) };
    // Where the tanh is -1 in f32, what is left of x is of the size of its rounding.
    let rest = if x < 0.0 && x.is_finite() { x.abs() * UNIT } else { 0.0 };
    (open * up, 514.0 * UNIT * (open * up).abs() + rest * up.abs() + 1e-36 * (1.0 + up.abs()))
}

fn run_gated<T: Element>(device: &Device, shape: Shape, with_gelu: bool, kind: Rows, seed: u64) {
    let told = format!("{} {shape:?} gelu {with_gelu} {kind:?} {} seed {seed:#x}", device.name(), T::DTYPE);
    let mut rng = Rng(seed);
    let mut form = || FORMS[rng.below(3) as usize];
    let forms = [form(), form(), form()];
    let gate = Guarded::<T>::new(shape, forms[0], |_, _, r, c| kind.value(&mut rng, r, c, shape[3]));
    let up = Guarded::<T>::new(shape, forms[1], |_, _, _, _| rng.value());
    let mut y = Guarded::<T>::new(shape, forms[2], |_, _, _, _| f32::NAN);
    let f = if with_gelu { gelu_mul_into } else { silu_mul_into };
    f(device, y.view_mut(), gate.view(), up.view(), &RowOptions::default())
        .unwrap_or_else(|e| panic!("{told}: {e}"));
    assert!(
        gate.is_intact() && up.is_intact() && y.is_intact(),
        "{told}: something outside a tensor changed"
    );
    compare(&y, shape, &told, |b, d, r| {
        let of = if with_gelu { gelu } else { silu };
        (0..shape[3]).map(|c| of(gate.get(b, d, r, c), up.get(b, d, r, c))).collect()
    });
}

#[test]
fn gated_activations_of_ragged_shapes_views_and_extreme_values() {
    let mut rng = Rng(0x6A7E_0001);
    for (i, cols) in COLS.into_iter().enumerate() {
        for (j, kind) in KINDS.into_iter().enumerate() {
            for gelu in [false, true] {
                let rows = ROWS[rng.below(ROWS.len() as u64) as usize];
                let planes = if cols < 300 && rng.below(3) == 0 { [2, 3] } else { [1, 1] };
                let (shape, seed) = ([planes[0], planes[1], rows, cols], rng.next() | 1);
                for device in devices() {
                    match (i + j) % 3 {
                        0 => run_gated::<bf16>(&device, shape, gelu, kind, seed),
                        1 => run_gated::<f16>(&device, shape, gelu, kind, seed),
                        _ => run_gated::<f32>(&device, shape, gelu, kind, seed),
                    }
                }
            }
        }
    }
}

/// Elements of every type as bits of i32 or f32 that say all of them.
trait Sample: AnyElement + Default + PartialEq {
    const FLOAT: bool;
    fn make(value: f32) -> Self;
    fn to_f64(self) -> f64;
}

macro_rules! samples {
    ($($float:ty),+; $($int:ty),+) => {
        $(impl Sample for $float {
            const FLOAT: bool = true;
            fn make(value: f32) -> Self { <$float as Element>::from_f32(value) }
            fn to_f64(self) -> f64 { f64::from(Element::to_f32(self)) }
        })+
        $(impl Sample for $int {
            const FLOAT: bool = false;
            fn make(value: f32) -> Self { value as $int }
            fn to_f64(self) -> f64 { self as f64 }
        })+
    };
}

samples!(bf16, f16, f32; i8, u8, i32);

/// What `.to` promises: nearest even; integers saturate, NaN gives 0; integers go to 16-bit floats by way of f32.
fn converted<T: Sample, U: Sample>(x: T) -> U {
    let x = x.to_f64();
    if U::FLOAT {
        return U::make(x as f32);
    }
    let (least, most) = match U::DTYPE.name() {
        "i8" => (-128.0, 127.0),
        "u8" => (0.0, 255.0),
        _ => (f64::from(i32::MIN), f64::from(i32::MAX)),
    };
    let whole = if x.is_nan() { 0.0 } else { x.round_ties_even().clamp(least, most) };
    // `as` saturates an f32, so the numbers at both ends of i32 come out right.
    U::make(whole as f32)
}

fn run_cast<T: Sample, U: Sample>(rng: &mut Rng) {
    for cols in [0, 1, 7, 16, 17, 31, 64, 65, 255, 257] {
        let rows = ROWS[rng.below(ROWS.len() as u64) as usize];
        let offset = [0, 32, 3][rng.below(3) as usize];
        let value = |rng: &mut Rng| match rng.below(12) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => f32::NEG_INFINITY,
            3 => 2.5,
            4 => -3.5,
            5 => 1e9,
            _ => rng.value() * 100.0,
        };
        // A view into a larger tensor, whose other elements must not be touched.
        let x = Tensor::from_fn([1, 1, rows + 2, cols + offset + 5], |_, _, _, _| T::make(value(rng)))
            .expect("small");
        let part = x
            .view()
            .slice_rows(1..1 + rows)
            .and_then(|v| v.slice_cols(offset..offset + cols))
            .expect("inside");
        for device in devices() {
            let mut y = Tensor::from_fn([1, 1, rows + 2, cols + offset + 5], |_, _, _, _| U::make(77.0))
                .expect("small");
            let out = y.view_mut().slice_rows(1..1 + rows).and_then(|v| v.slice_cols(offset..offset + cols));
            cast_into(&device, out.expect("inside"), part, &RowOptions::default()).expect("shapes fit");
            for (r, c) in (0..y.rows() * y.cols()).map(|i| (i / y.cols(), i % y.cols())) {
                let (got, from) = (y.get(0, 0, r, c).expect("inside"), x.get(0, 0, r, c).expect("inside"));
                let inside = (1..1 + rows).contains(&r) && (offset..offset + cols).contains(&c);
                let want: U = if inside { converted(from) } else { U::make(77.0) };
                assert!(
                    got == want || got.to_f64().is_nan() && want.to_f64().is_nan(),
                    "{}: {} to {} of {} at ({r}, {c}) of {rows} x {cols}: {} is not {}",
                    device.name(),
                    T::DTYPE,
                    U::DTYPE,
                    from.to_f64(),
                    got.to_f64(),
                    want.to_f64()
                );
            }
        }
    }
}

#[test]
fn every_conversion_is_exact() {
    let mut rng = Rng(0xCA57_0001);
    macro_rules! all {
        ($($from:ty => $($to:ty),+;)+) => { $($(run_cast::<$from, $to>(&mut rng);)+)+ };
    }
    all! {
        bf16 => f16, f32, i8, u8, i32;
        f16 => bf16, f32, i8, u8, i32;
        f32 => bf16, f16, i8, u8, i32;
        i8 => bf16, f16, f32, u8, i32;
        u8 => bf16, f16, f32, i8, i32;
        i32 => bf16, f16, f32, i8, u8;
    }
}

fn run_transpose<T: Element + Transposable>(rng: &mut Rng, [rows, cols]: [usize; 2]) {
    let planes = if rng.below(3) == 0 { [2, 3] } else { [1, 1] };
    let mut form = || FORMS[rng.below(3) as usize];
    let forms = [form(), form()];
    let shape = [planes[0], planes[1], rows, cols];
    let value = |r: usize, c: usize| match (r * 7 + c) % 50 {
        3 => f32::INFINITY,
        4 => f32::NAN,
        i => (i + r * 3) as f32,
    };
    let x = Guarded::<T>::new(shape, forms[0], |b, d, r, c| value(r + b + d, c));
    for device in devices() {
        let mut y = Guarded::<T>::new([planes[0], planes[1], cols, rows], forms[1], |_, _, _, _| -1.0);
        transpose_into(&device, y.view_mut(), x.view(), &RowOptions::default()).expect("shapes fit");
        assert!(x.is_intact() && y.is_intact(), "something outside a tensor changed");
        for (b, d) in (0..planes[0] * planes[1]).map(|p| (p / planes[1], p % planes[1])) {
            for (r, c) in (0..rows * cols).map(|i| (i / cols, i % cols)) {
                let (got, want) = (y.get(b, d, c, r), x.get(b, d, r, c));
                let same = got == want || got.is_nan() && want.is_nan();
                assert!(same, "{} {} {shape:?} {forms:?}: ({b}, {d}, {r}, {c})", device.name(), T::DTYPE);
            }
        }
    }
}

#[test]
fn transposes_are_exact() {
    let mut rng = Rng(0x7245_0001);
    for (i, &cols) in COLS.iter().enumerate() {
        for (j, rows) in [0, 1, 16, 31, 33, 65].into_iter().enumerate() {
            match (i + j) % 3 {
                0 => run_transpose::<bf16>(&mut rng, [rows, cols]),
                1 => run_transpose::<f16>(&mut rng, [rows, cols]),
                _ => run_transpose::<f32>(&mut rng, [rows, cols]),
            }
        }
    }
    let x = Tensor::from_fn([1, 1, 37, 50], |_, _, r, c| (r * 1000 + c) as i32 - 9).expect("small");
    for device in devices() {
        let y = tile_std::ops::transpose(&device, &x).expect("shapes fit");
        assert!((0..37 * 50).all(|i| y.get(0, 0, i % 50, i / 50) == x.get(0, 0, i / 50, i % 50)));
    }
}

#[test]
fn wrong_calls_are_errors_and_choices_say_why() {
    let device = Device::host();
    let (a, b) = (Tensor::<f16>::zeros(4, 5).expect("small"), Tensor::<f16>::zeros(4, 6).expect("small"));
    let mut y = Tensor::<f16>::zeros(4, 5).expect("small");
    let error = silu_mul_into(&device, &mut y, &a, &b, &RowOptions::default()).expect_err("5 is not 6");
    let text = error.to_string();
    assert!(text.contains("up is [1, 1, 4, 6]") && text.contains("the gate is [1, 1, 4, 5]"), "{text}");
    let error = cast_into(&device, &mut y, &a, &RowOptions::default()).expect_err("both are f16");
    assert!(matches!(error, RowError::Types { .. }) && error.to_string().contains("f16"), "{error}");
    let error = transpose_into(&device, &mut y, &a, &RowOptions::default()).expect_err("4 x 5 is not 5 x 4");
    assert!(error.to_string().contains("the output is [1, 1, 4, 5]"), "{error}");
    let instance = Some(explain_gelu_mul::<f16>(&device, a.shape()).instance);
    let options = RowOptions { instance, ..RowOptions::default() };
    let error = silu_mul_into(&device, &mut y, &a, &a, &options).expect_err("it computes gelu");
    assert!(matches!(error, RowError::Instance { .. }), "{error}");
    assert!(explain_cast::<f16, f16>(&device, a.shape()).is_none());
    let why = [
        explain_silu_mul::<bf16>(&device, a.shape()).to_string(),
        explain_transpose::<i32>(&Device::sim(), a.shape()).to_string(),
    ];
    assert_eq!(
        why,
        [
            "gated<bf16, false, 8, 128>: rows of 5 columns take the instance for any width on the host",
            "transpose<i32, 32, 32>: rows of 5 columns take the instance for any width on GPUs"
        ]
    );
}
