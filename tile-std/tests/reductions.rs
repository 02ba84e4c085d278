//! Sums, means and the columns of the largest elements, on ragged and degenerate shapes, views, and extreme values: host
//! and simulator against f64.

mod reference;
mod rows;

use reference::{FORMS, Form, Guarded, Rng};
use rows::{COLS, KINDS, ROWS, Rows, compare, devices};
use tile_std::ops::{
    RowError, RowOptions, argmax, argmax_into, explain_argmax, explain_row_mean, explain_row_sum,
    row_mean_into, row_sum_into,
};
use tile_std::prelude::*;
use tile_std::{Generic, InstanceInfo};

/// The sum is off by at most one unit of the sum of the sizes for every addition that an element goes through, of which
/// there are fewer than `n`; a mean rounds `1 / n` and its product once each.
fn sum(x: &[f64], mean: bool) -> (f64, f64) {
    let (n, unit) = (x.len() as f64, 1.0 / 16_777_216.0);
    let size = x.iter().map(|v| v.abs()).sum::<f64>();
    let total = x.iter().sum::<f64>();
    if mean { (total / n, unit * (n + 2.0) * size / n) } else { (total, unit * n * size) }
}

fn run_sum<T: Element>(
    device: &Device,
    shape: Shape,
    (mean, kind, forms, seed): (bool, Rows, [Form; 2], u64),
    instance: Option<&'static InstanceInfo>,
) {
    let told =
        format!("{} {shape:?} mean {mean} {kind:?} {forms:?} {} seed {seed:#x}", device.name(), T::DTYPE);
    let mut rng = Rng(seed);
    let x = Guarded::<T>::new(shape, forms[0], |_, _, r, c| kind.value(&mut rng, r, c, shape[3]));
    let out = [shape[0], shape[1], shape[2], 1];
    let mut y = Guarded::<f32>::new(out, forms[1], |_, _, _, _| f32::NAN);
    let f = if mean { row_mean_into } else { row_sum_into };
    let options = RowOptions { instance, ..RowOptions::default() };
    f(device, y.view_mut(), x.view(), &options).unwrap_or_else(|e| panic!("{told}: {e}"));
    assert!(x.is_intact() && y.is_intact(), "{told}: something outside a tensor changed");
    compare(&y, out, &told, |b, d, r| {
        vec![sum(&(0..shape[3]).map(|c| x.get(b, d, r, c)).collect::<Vec<_>>(), mean)]
    });
}

/// Equal elements, NaN and infinities abound; an element beyond the last column would be larger than most.
fn awkward(rng: &mut Rng, r: usize) -> f32 {
    match (r % 4, rng.below(9)) {
        (3, 0..5) => f32::NAN,
        (3, _) => f32::NEG_INFINITY,
        (_, 0) => f32::NAN,
        (_, 1) => f32::NEG_INFINITY,
        (2, 2) => f32::INFINITY,
        (_, i) => -(i as f32),
    }
}

fn run_argmax<T: Element>(
    device: &Device,
    shape: Shape,
    (forms, seed): ([Form; 2], u64),
    instance: Option<&'static InstanceInfo>,
) {
    let told = format!("{} {shape:?} {forms:?} {} seed {seed:#x}", device.name(), T::DTYPE);
    let mut rng = Rng(seed);
    let x = Guarded::<T>::new(shape, forms[0], |_, _, r, _| awkward(&mut rng, r));
    let mut y = Tensor::from_fn([shape[0], shape[1], shape[2], 3], |_, _, _, _| -5).expect("small");
    let options = RowOptions { instance, ..RowOptions::default() };
    let middle = y.view_mut().slice_cols(1..2).expect("inside");
    argmax_into(device, middle, x.view(), &options).unwrap_or_else(|e| panic!("{told}: {e}"));
    assert!(x.is_intact(), "{told}: something outside a tensor changed");
    for (b, d) in (0..shape[0] * shape[1]).map(|p| (p / shape[1], p % shape[1])) {
        for r in 0..shape[2] {
            let mut best = (f64::NEG_INFINITY, 0);
            for c in 0..shape[3] {
                let value = x.get(b, d, r, c);
                if value > best.0 {
                    best = (value, c);
                }
            }
            let found = [0, 1, 2].map(|c| y.get(b, d, r, c).expect("inside"));
            assert_eq!(found, [-5, best.1 as i32, -5], "{told}: row ({b}, {d}, {r})");
        }
    }
}

macro_rules! by_type {
    ($which:expr, $f:ident($($arg:expr),*)) => {
        match $which % 3 {
            0 => $f::<bf16>($($arg),*),
            1 => $f::<f16>($($arg),*),
            _ => $f::<f32>($($arg),*),
        }
    };
}

#[test]
fn ragged_shapes_views_and_extreme_values() {
    let mut rng = Rng(0x5E0D_0001);
    for (i, cols) in COLS.into_iter().enumerate() {
        for (j, kind) in KINDS.into_iter().enumerate() {
            let rows = ROWS[rng.below(ROWS.len() as u64) as usize];
            let planes = if cols < 300 && rng.below(3) == 0 { [2, 3] } else { [1, 1] };
            let mut form = || FORMS[rng.below(3) as usize];
            let (forms, seed) = ([form(), form()], rng.next() | 1);
            let shape = [planes[0], planes[1], rows, cols];
            for device in devices() {
                for mean in [false, true] {
                    by_type!(i + j, run_sum(&device, shape, (mean, kind, forms, seed), None));
                }
                if cols > 0 {
                    by_type!(i + j, run_argmax(&device, shape, (forms, seed), None));
                }
            }
        }
    }
}

#[test]
fn every_instance_takes_narrow_and_wide_rows() {
    let types = [bf16::DTYPE, f16::DTYPE, f32::DTYPE].map(Generic::Type);
    let which = |of: &Generic| types.iter().position(|t| t == of).expect("a float type");
    let mut executed = 0;
    let mut go = |instance: &'static InstanceInfo, mean: Option<bool>| {
        for device in devices() {
            if instance.modules.is_empty() && !matches!(device, Device::Host(_)) {
                continue;
            }
            for cols in [5, 1100] {
                let (shape, forms) = ([1, 1, 19, cols], [Form::Odd, Form::Owned]);
                let of = which(&instance.generics[0]);
                match mean {
                    Some(mean) => {
                        by_type!(
                            of,
                            run_sum(&device, shape, (mean, Rows::Plain, forms, 0x51), Some(instance))
                        );
                    }
                    None => by_type!(of, run_argmax(&device, shape, (forms, 0x51), Some(instance))),
                }
                executed += 1;
            }
        }
    };
    for instance in tile_std::kernels::row_sum::row_sum::INSTANCES {
        go(instance, Some(instance.generics[1] == Generic::Flag(true)));
    }
    for instance in tile_std::kernels::argmax::argmax::INSTANCES {
        go(instance, None);
    }
    assert_eq!(executed, 9 * 2 * (2 * 2 + 1));
}

#[test]
fn wrong_calls_are_errors_and_choices_say_why() {
    let device = Device::host();
    let x = Tensor::<f16>::zeros(4, 5).expect("small");
    let mut y = Tensor::<f32>::zeros(4, 2).expect("small");
    let error = row_sum_into(&device, &mut y, &x, &RowOptions::default()).expect_err("2 is not 1");
    let text = error.to_string();
    assert!(text.contains("the output is [1, 1, 4, 2]") && text.contains("x is [1, 1, 4, 5]"), "{text}");
    let error =
        argmax(&device, &Tensor::<f16>::zeros(4, 0).expect("small")).expect_err("rows without elements");
    assert!(error.to_string().contains("x is [1, 1, 4, 0]"), "{error}");
    assert_eq!(argmax(&device, &Tensor::<f16>::zeros(0, 0).expect("small")).expect("no rows").rows(), 0);
    let mut y = Tensor::<f32>::zeros(4, 1).expect("small");
    let options = RowOptions {
        instance: Some(explain_row_mean::<f16>(&device, x.shape()).instance),
        ..RowOptions::default()
    };
    let error = row_sum_into(&device, &mut y, &x, &options).expect_err("it computes means");
    assert!(matches!(error, RowError::Instance { .. }), "{error}");
    assert_eq!(
        explain_row_sum::<f32>(&Device::sim(), [1, 1, 1, 513]).instance.name,
        "<f32, false, 64, 16, true>"
    );
    assert_eq!(explain_argmax::<f32>(&Device::sim(), [1, 1, 1, 512]).instance.name, "<f32, 64, 1, false>");
}
