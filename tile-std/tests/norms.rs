//! The norms on ragged and degenerate shapes, views, and extreme values: host and simulator against f64.

mod reference;
mod rows;

use reference::{FORMS, Form, Guarded, Rng};
use rows::{COLS, KINDS, ROWS, Rows, compare, devices};
use tile_std::ops::{
    LayerNorm, RmsNorm, RowError, RowOptions, add_layer_norm_into, add_rms_norm, add_rms_norm_into,
    explain_rms_norm, layer_norm, layer_norm_into, rms_norm_into,
};
use tile_std::prelude::*;
use tile_std::{Generic, InstanceInfo};

const UNIT: f64 = 1.0 / 16_777_216.0;

/// A norm of a row, with error bounds.
///
/// The squares are positive, so their sum is off by at most `n` units relative to itself, and the root halves that; the
/// quotient by `n`, `eps` and `rsqrt` add 1, 1 and 4 units, the products with the inverse and the weight 1 each.
fn rms(x: &[f64], weight: &[f64], eps: f64) -> Vec<(f64, f64)> {
    let n = x.len() as f64;
    let inverse = 1.0 / (x.iter().map(|v| v * v).sum::<f64>() / n + eps).sqrt();
    let relative = UNIT * (0.5 * n + 8.0);
    x.iter().zip(weight).map(|(v, w)| (v * inverse * w, (v * inverse * w).abs() * relative + 1e-37)).collect()
}

/// A layer norm of a row, with error bounds.
///
/// The mean is off by at most `n + 1` units of the mean of the sizes, and so is every difference; that moves a difference
/// by that much, and the variance by its square (the differences from the true mean add up to 0), and by `n` units
/// relative to itself. One unit each for the products and the sum with the bias.
fn layer(x: &[f64], weight: &[f64], bias: &[f64], eps: f64) -> Vec<(f64, f64)> {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    let inverse = 1.0 / (variance + eps).sqrt();
    let off = UNIT * (n + 1.0) * x.iter().map(|v| v.abs()).sum::<f64>() / n;
    // How much larger or smaller the root may be, relative to itself.
    let root = UNIT * (0.5 * n + 8.0) + 0.5 * off * off * inverse * inverse;
    x.iter()
        .zip(weight.iter().zip(bias))
        .map(|(v, (w, b))| {
            let (scaled, want) = ((v - mean) * inverse * w, (v - mean) * inverse * w + b);
            let moved = (off + UNIT * (v - mean).abs()) * inverse * w.abs();
            (want, moved * (1.0 + root) + scaled.abs() * root + UNIT * want.abs() + 1e-37)
        })
        .collect()
}

#[derive(Clone, Copy)]
struct Case {
    shape: Shape,
    layer: bool,
    add: bool,
    kind: Rows,
    forms: [Form; 4],
    eps: f32,
    seed: u64,
    instance: Option<&'static InstanceInfo>,
}

fn run<T: Element>(device: &Device, case: &Case) {
    let Case { shape, layer: is_layer, add, kind, forms, eps, seed, instance } = *case;
    let name = if is_layer { "layer" } else { "rms" };
    let told = format!(
        "{} {name} {shape:?} add {add} {kind:?} {forms:?} {} seed {seed:#x}",
        device.name(),
        T::DTYPE
    );
    let mut rng = Rng(seed);
    let x = Guarded::<T>::new(shape, forms[0], |_, _, r, c| kind.value(&mut rng, r, c, shape[3]));
    let more = Guarded::<T>::new(shape, forms[1], |_, _, _, _| rng.value());
    let line = [1, 1, 1, shape[3]];
    let weight = Guarded::<T>::new(line, forms[2], |_, _, _, _| rng.value());
    let bias = Guarded::<T>::new(line, forms[2], |_, _, _, _| rng.value());
    let mut y = Guarded::<T>::new(shape, forms[3], |_, _, _, _| f32::NAN);
    let mut sum = Guarded::<T>::new(shape, forms[3], |_, _, _, _| f32::NAN);
    let options = RowOptions { instance, ..RowOptions::default() };
    let by_rms = RmsNorm { weight: weight.view(), eps };
    let by_layer = LayerNorm { weight: weight.view(), bias: bias.view(), eps };
    let done = match (is_layer, add) {
        (false, false) => rms_norm_into(device, y.view_mut(), x.view(), &by_rms, &options),
        (true, false) => layer_norm_into(device, y.view_mut(), x.view(), &by_layer, &options),
        (false, true) => add_rms_norm_into(
            device,
            (y.view_mut(), sum.view_mut()),
            x.view(),
            more.view(),
            &by_rms,
            &options,
        ),
        (true, true) => {
            let out = (y.view_mut(), sum.view_mut());
            add_layer_norm_into(device, out, x.view(), more.view(), &by_layer, &options)
        }
    };
    done.unwrap_or_else(|e| panic!("{told}: {e}"));
    let all = [&x, &more, &weight, &bias, &y, &sum];
    assert!(all.iter().all(|t| t.is_intact()), "{told}: something outside a tensor changed");
    let line = |t: &Guarded<T>| (0..shape[3]).map(|c| t.get(0, 0, 0, c)).collect::<Vec<f64>>();
    let (weight, bias) = (line(&weight), line(&bias));
    // The sum in f32, as the kernel has it.
    let row = |b: usize, d: usize, r: usize| -> Vec<f64> {
        let more = |c| if add { more.get(b, d, r, c) } else { 0.0 };
        (0..shape[3]).map(|c| f64::from((x.get(b, d, r, c) + more(c)) as f32)).collect()
    };
    compare(&y, shape, &told, |b, d, r| {
        let x = row(b, d, r);
        if is_layer { layer(&x, &weight, &bias, eps.into()) } else { rms(&x, &weight, eps.into()) }
    });
    if add {
        compare(&sum, shape, &told, |b, d, r| row(b, d, r).into_iter().map(|v| (v, 0.0)).collect());
    }
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
    let mut rng = Rng(0x0047_0001);
    let mut executed = 0;
    for (i, cols) in COLS.into_iter().enumerate() {
        for (j, kind) in KINDS.into_iter().enumerate() {
            for which in 0..4u64 {
                let (layer, add) = (which & 1 == 1, which & 2 == 2);
                let rows = ROWS[rng.below(ROWS.len() as u64) as usize];
                let planes = if cols < 300 && rng.below(3) == 0 { [2, 3] } else { [1, 1] };
                let mut form = || FORMS[rng.below(3) as usize];
                let forms = [form(), form(), form(), form()];
                let shape = [planes[0], planes[1], rows, cols];
                let case =
                    Case { shape, layer, add, kind, forms, eps: 1e-3, seed: rng.next() | 1, instance: None };
                for device in devices() {
                    any_type(&device, &case, (i + j) as u64 + which / 2);
                    executed += 1;
                }
            }
        }
    }
    assert_eq!(executed, 12 * 4 * 4 * 2);
}

#[test]
fn every_instance_takes_narrow_and_wide_rows() {
    let mut executed = 0;
    let rms = tile_std::kernels::rms_norm::rms_norm::INSTANCES.iter().map(|i| (i, false));
    let layer = tile_std::kernels::layer_norm::layer_norm::INSTANCES.iter().map(|i| (i, true));
    for (instance, layer) in rms.chain(layer) {
        let [Generic::Type(of), Generic::Flag(add), Generic::Size(n), Generic::Size(g), _] =
            *instance.generics
        else {
            panic!("the kernel's generics are T, ADD, N, G, SHARED")
        };
        // Short of what the sub-groups of a work-group hold, and beyond it.
        for cols in [(n * g) as usize / 2 + 3, (n * g) as usize + n as usize / 2 + 1] {
            let host_only = instance.modules.is_empty();
            if cols > 10_000 {
                continue;
            }
            for device in devices().into_iter().filter(|d| !host_only || matches!(d, Device::Host(_))) {
                let forms = [Form::Odd, Form::Owned, Form::Owned, Form::Aligned];
                let (kind, seed, instance) = (Rows::Plain, 0x51, Some(instance));
                let case =
                    Case { shape: [1, 1, 3, cols], layer, add, kind, forms, eps: 1e-5, seed, instance };
                let which = [bf16::DTYPE, f16::DTYPE, f32::DTYPE].iter().position(|t| *t == of);
                any_type(&device, &case, which.expect("a float type") as u64);
                executed += 1;
            }
        }
    }
    assert!(executed >= 2 * 6 * (4 * 2 * 2 + 2), "{executed}");
}

#[test]
fn the_variance_of_rows_far_from_0_does_not_cancel() {
    // E[x^2] - E[x]^2 would be 0, or less, in f32 here: 1e12 + 1 less 1e12.
    let x =
        Tensor::from_fn([1, 1, 9, 1000], |_, _, _, c| 1e6 + if c.is_multiple_of(2) { 1.0f32 } else { -1.0 })
            .expect("small");
    let (one, zero) = (vec![1.0f32; 1000], vec![0.0f32; 1000]);
    let weight = View::from_slice(&one, 1, 1000).expect("1000 elements");
    let bias = View::from_slice(&zero, 1, 1000).expect("1000 elements");
    for device in devices() {
        let y = layer_norm(&device, &x, &LayerNorm { weight, bias, eps: 0.0 }).expect("shapes fit");
        for (i, value) in y.iter().enumerate() {
            let want = if i.is_multiple_of(2) { 1.0 } else { -1.0 };
            // The mean may be off by 1000 units of 1e6, 60; that it is not shows that lanes are added in a tree.
            assert!((value - want).abs() < 0.07, "{}: element {i} is {value}", device.name());
        }
    }
}

#[test]
fn the_norm_is_of_the_sum_before_it_is_rounded() {
    // 256 + 1 is 257, which bf16 rounds to 256. Beside it 1 becomes sqrt(2) / 257 = 0.99602 / 181, not 0.99991 / 181.
    let pair =
        |values: [f32; 2]| Tensor::from_slice(1, 2, &values.map(bf16::from_f32)).expect("two elements");
    let (x, residual, weight) = (pair([256.0, 1.0]), pair([1.0, 0.0]), pair([1.0, 181.0]));
    for device in devices() {
        let norm = RmsNorm { weight: weight.view(), eps: 0.0 };
        let out = add_rms_norm(&device, &x, &residual, &norm).expect("shapes fit");
        assert_eq!(out.sum.get(0, 0, 0, 0).map(|v| v.to_f32()), Some(256.0));
        assert_eq!(out.y.get(0, 0, 0, 1).map(|v| v.to_f32()), Some(0.99609375), "{}", device.name());
    }
}

#[test]
fn wrong_calls_are_errors_with_both_shapes() {
    let device = Device::host();
    let x = Tensor::<f16>::zeros(4, 5).expect("small");
    let six = Tensor::<f16>::zeros(1, 6).expect("small");
    let five = Tensor::<f16>::zeros(1, 5).expect("small");
    let mut y = Tensor::<f16>::zeros(4, 5).expect("small");
    let norm = RmsNorm { weight: six.view(), eps: 0.0 };
    let error = rms_norm_into(&device, &mut y, &x, &norm, &RowOptions::default()).expect_err("6 is not 5");
    let text = error.to_string();
    assert!(text.contains("the weight is [1, 1, 1, 6]") && text.contains("x is [1, 1, 4, 5]"), "{text}");
    let norm = LayerNorm { weight: five.view(), bias: six.view(), eps: 0.0 };
    let error = layer_norm(&device, &x, &norm).expect_err("6 is not 5");
    assert!(error.to_string().contains("the bias is [1, 1, 1, 6]"), "{error}");
    let residual = Tensor::<f16>::zeros(3, 5).expect("small");
    let norm = RmsNorm { weight: five.view(), eps: 0.0 };
    let error = add_rms_norm(&device, &x, &residual, &norm).expect_err("3 is not 4");
    assert!(error.to_string().contains("the residual is [1, 1, 3, 5]"), "{error}");
    let instance = Some(explain_rms_norm::<f16>(&device, x.shape(), true).instance);
    let options = RowOptions { instance, ..RowOptions::default() };
    let error = rms_norm_into(&device, &mut y, &x, &norm, &options).expect_err("it adds a residual");
    assert!(matches!(error, RowError::Instance { .. }), "{error}");
}
