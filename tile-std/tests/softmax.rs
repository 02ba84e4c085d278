//! Softmax and log-softmax on ragged and degenerate shapes, views, and extreme values: host and simulator against f64.

mod reference;
mod rows;

use reference::{FORMS, Form, Guarded, Rng};
use rows::{COLS, KINDS, ROWS, Rows, compare, devices};
use tile_std::ops::{
    RowError, RowOptions, explain_log_softmax, explain_softmax, log_softmax_into, softmax_into,
};
use tile_std::prelude::*;
use tile_std::{Generic, InstanceInfo};

/// A row of the softmax, or of its logarithm, with error bounds.
///
/// With `d = x - m`, exact up to half a unit in the last place of `d`, the exponent `d * log2(e)` is off by at most
/// `3 * 2^-24 * |d| * log2(e)` (one rounding of `d`, one of the constant, one of the product), which turns into that
/// relative error of the power times `ln 2`; `exp2` and `recip` add 4 and 3 units. The sum is of positive terms, `n` of
/// them, and its error relative: that of its terms weighed by their size, and `n * 2^-24` at the most. A product with the
/// factor of a sub-group adds the same kinds of error once more.
fn expected(x: &[f64], log: bool) -> Vec<(f64, f64)> {
    const UNIT: f64 = 1.0 / 16_777_216.0;
    let bad =
        x.iter().any(|v| v.is_nan() || *v == f64::INFINITY) || x.iter().all(|v| *v == f64::NEG_INFINITY);
    if bad {
        return vec![(f64::NAN, 0.0); x.len()];
    }
    let m = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = x.iter().map(|v| (v - m).exp()).collect();
    let sum: f64 = powers.iter().sum();
    let relative = |d: f64| UNIT * (6.0 * d.abs().min(200.0) + 16.0);
    let of_sum =
        x.iter().zip(&powers).map(|(v, p)| p * relative(v - m)).sum::<f64>() / sum + x.len() as f64 * UNIT;
    x.iter()
        .zip(&powers)
        .map(|(v, p)| {
            let d = v - m;
            if log {
                let want = d - sum.ln();
                // Two differences, and a logarithm of 6 units.
                (want, UNIT * (d.abs() + want.abs() + 6.0 * sum.ln()) + of_sum)
            } else {
                // Powers below the smallest normal number may be flushed to 0.
                (p / sum, p / sum * (relative(d) + of_sum) + 2e-36)
            }
        })
        .collect()
}

struct Case {
    shape: Shape,
    log: bool,
    kind: Rows,
    forms: [Form; 2],
    seed: u64,
    instance: Option<&'static InstanceInfo>,
}

fn run<T: Element>(device: &Device, case: &Case) {
    let Case { shape, log, kind, forms, seed, instance } = *case;
    let told =
        format!("{} {shape:?} log {log} {kind:?} {forms:?} {} seed {seed:#x}", device.name(), T::DTYPE);
    let mut rng = Rng(seed);
    let x = Guarded::<T>::new(shape, forms[0], |_, _, r, c| kind.value(&mut rng, r, c, shape[3]));
    let mut y = Guarded::<T>::new(shape, forms[1], |_, _, _, _| f32::NAN);
    let options = RowOptions { instance, ..RowOptions::default() };
    let f = if log { log_softmax_into } else { softmax_into };
    f(device, y.view_mut(), x.view(), &options).unwrap_or_else(|e| panic!("{told}: {e}"));
    assert!(x.is_intact() && y.is_intact(), "{told}: something outside a tensor changed");
    compare(&y, shape, &told, |b, d, r| {
        let row: Vec<f64> = (0..shape[3]).map(|c| x.get(b, d, r, c)).collect();
        expected(&row, log)
    });
}

fn any_type(device: &Device, case: &Case, which: u64) {
    match which % 3 {
        0 => run::<bf16>(device, case),
        1 => run::<f16>(device, case),
        _ => run::<f32>(device, case),
    }
}

#[test]
fn ragged_shapes_views_and_extreme_values() {
    let mut rng = Rng(0x50F7_0001);
    let mut executed = 0;
    for (i, cols) in COLS.into_iter().enumerate() {
        for (j, kind) in KINDS.into_iter().enumerate() {
            for log in [false, true] {
                let rows = ROWS[rng.below(ROWS.len() as u64) as usize];
                let planes = if cols < 300 && rng.below(3) == 0 { [2, 3] } else { [1, 1] };
                let mut form = || FORMS[rng.below(3) as usize];
                let forms = [form(), form()];
                let shape = [planes[0], planes[1], rows, cols];
                let case = Case { shape, log, kind, forms, seed: rng.next() | 1, instance: None };
                for device in devices() {
                    any_type(&device, &case, (i + j) as u64 + u64::from(log));
                    executed += 1;
                }
            }
        }
    }
    assert_eq!(executed, 12 * 4 * 2 * 2);
}

#[test]
fn every_instance_takes_narrow_and_wide_rows() {
    let mut executed = 0;
    for instance in tile_std::kernels::softmax::softmax::INSTANCES {
        let [Generic::Type(of), Generic::Flag(log), Generic::Size(n), Generic::Size(g), _] =
            *instance.generics
        else {
            panic!("the kernel's generics are T, LOG, N, G, SHARED")
        };
        // Beyond what the sub-groups of a work-group hold, and short of it.
        for cols in [(n * g) as usize / 2 + 3, (n * g) as usize + n as usize / 2 + 1] {
            let host_only = instance.modules.is_empty();
            if cols > 40_000 {
                continue;
            }
            for device in devices().into_iter().filter(|d| !host_only || matches!(d, Device::Host(_))) {
                let (shape, forms) = ([1, 1, 3, cols], [Form::Odd, Form::Owned]);
                let case =
                    Case { shape, log, kind: Rows::Plain, forms, seed: 0x51, instance: Some(instance) };
                let which = [bf16::DTYPE, f16::DTYPE, f32::DTYPE].iter().position(|t| *t == of);
                any_type(&device, &case, which.expect("a float type") as u64);
                executed += 1;
            }
        }
    }
    assert!(executed >= 3 * 2 * (3 * 2 * 2 + 3), "{executed}");
}

#[test]
fn rows_too_wide_for_a_work_group_take_two_kernels() {
    let sim = Device::sim();
    for (i, kind) in KINDS.into_iter().enumerate() {
        for (log, cols) in [(false, 8192 + 17), (true, 4096 + 129)] {
            let name = if log { explain_log_softmax::<f32> } else { explain_softmax::<f32> };
            assert_eq!(name(&sim, [1, 1, 9, cols]).instance.kernel, "softmax_apply");
            assert_eq!(name(&Device::host(), [1, 1, 9, cols]).instance.kernel, "softmax");
            let (shape, forms) = ([1, 1, 9, cols], [FORMS[i % 3], Form::Odd]);
            let case = Case { shape, log, kind, forms, seed: 0x51DE + i as u64, instance: None };
            any_type(&sim, &case, i as u64 + u64::from(log));
        }
    }
}

#[test]
fn the_two_kernels_for_wide_rows_run_on_the_host_as_well() {
    use tile_std::kernels::softmax_wide::{softmax_apply, softmax_sums};
    let (host, mut rng) = (Device::host(), Rng(0x71DE));
    let x = Tensor::from_fn([2, 1, 11, 500], |_, _, r, c| Rows::Special.value(&mut rng, r, c, 500))
        .expect("small");
    let column = || Tensor::<f32>::with_shape([2, 1, 11, 1]).expect("small");
    let (mut tops, mut sums) = (column(), column());
    softmax_sums::launch::<f32, 128, 32>(&host, &mut tops, &mut sums, &x).expect("shapes fit");
    let mut y = Guarded::<f32>::new([2, 1, 11, 500], Form::Aligned, |_, _, _, _| -1.0);
    softmax_apply::launch::<f32, false, 128>(&host, y.view_mut(), &x, &tops, &sums).expect("shapes fit");
    assert!(y.is_intact());
    compare(&y, [2, 1, 11, 500], "host, two kernels", |b, d, r| {
        let row = x.row(b, d, r).expect("inside");
        expected(&row.iter().map(|v| f64::from(*v)).collect::<Vec<_>>(), false)
    });
}

#[test]
fn wrong_calls_are_errors() {
    let device = Device::host();
    let x = Tensor::<bf16>::zeros(4, 5).expect("small");
    let mut y = Tensor::<bf16>::zeros(4, 6).expect("small");
    let error = softmax_into(&device, &mut y, &x, &RowOptions::default()).expect_err("5 is not 6");
    let text = error.to_string();
    assert!(text.contains("[1, 1, 4, 5]") && text.contains("[1, 1, 4, 6]"), "{text}");
    let mut y = Tensor::<bf16>::zeros(4, 5).expect("small");
    let other = explain_softmax::<f32>(&device, x.shape()).instance;
    let options = RowOptions { instance: Some(other), ..RowOptions::default() };
    let error = softmax_into(&device, &mut y, &x, &options).expect_err("it computes f32");
    assert!(
        matches!(error, RowError::Instance { .. }) && error.to_string().contains("<bf16, false, ..>"),
        "{error}"
    );
}

#[test]
fn the_choice_says_why() {
    let (host, sim) = (Device::host(), Device::sim());
    let narrow = explain_softmax::<bf16>(&sim, [1, 1, 8, 100]);
    assert_eq!(
        narrow.to_string(),
        "softmax<bf16, false, 128, 1, false>: rows of 100 columns take the instance for up to 128 columns on GPUs"
    );
    let names = [
        explain_log_softmax::<f16>(&sim, [1, 1, 8, 1024]).instance.name,
        explain_log_softmax::<f16>(&sim, [1, 1, 8, 1025]).instance.name,
        explain_softmax::<f32>(&host, [1, 1, 8, 8193]).instance.name,
    ];
    assert_eq!(
        names,
        ["<f16, true, 128, 8, true>", "<f16, true, 128, 32, true>", "<f32, false, 4096, 4, true>"]
    );
}
