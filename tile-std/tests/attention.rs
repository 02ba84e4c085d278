//! Attention against f64: every head size, ragged and unequal lengths, groups of heads, causal or not, views of every
//! form with NaN around them, extreme and special scores; host and simulator.

mod reference;

use reference::attention::{Case, log_sum_exp, row};
use reference::{FORMS, Form, Guarded, Rng};
use tile_std::ops::{
    AttentionError, AttentionOptions, attention, attention_into, attention_lse, attention_lse_into,
};
use tile_std::prelude::*;

fn devices() -> [Device; 2] {
    [Device::host(), Device::sim()]
}

fn run<T: MmaInput>(device: &Device, case: &Case, forms: [Form; 4], seed: u64) -> Vec<f64> {
    let mut rng = Rng(seed);
    let Case { batch, heads, kv_heads, queries, keys, dim, v_dim, causal, spread, rise } = *case;
    let q = Guarded::<T>::new([batch, heads, queries, dim], forms[0], |_, _, _, c| {
        if rise != 0.0 && c == 0 { 8.0 } else { spread * rng.value() }
    });
    let k = Guarded::<T>::new([batch, kv_heads, keys, dim], forms[1], |_, _, j, c| {
        if rise != 0.0 && c == 0 { rise * j as f32 } else { rng.value() }
    });
    let v = Guarded::<T>::new([batch, kv_heads, keys, v_dim], forms[2], |_, _, _, _| rng.value());
    let mut o = Guarded::<T>::new([batch, heads, queries, v_dim], forms[3], |_, _, _, _| f32::NAN);
    let options = AttentionOptions { causal, ..AttentionOptions::default() };
    let told = || format!("{} {} {case:?} {forms:?} seed {seed:#x}", device.name(), T::DTYPE);
    attention_into(device, o.view_mut(), q.view(), k.view(), v.view(), &options)
        .unwrap_or_else(|e| panic!("{}: {e}", told()));
    assert!(q.is_intact() && k.is_intact() && v.is_intact() && o.is_intact(), "{}: outside changed", told());
    let numbers = |x: View<'_, T>| x.iter().map(|x| f64::from(x.to_f32())).collect::<Vec<f64>>();
    let (q, k, v, o) = (numbers(q.view()), numbers(k.view()), numbers(v.view()), numbers(o.view()));
    for (at, plane) in (0..batch * heads * queries).map(|n| (n, n / queries)) {
        let kv = (plane / heads * kv_heads + plane % heads / (heads / kv_heads)) * keys;
        let (i, k, v) = (at % queries, &k[kv * dim..], &v[kv * v_dim..]);
        let want = row::<T>(case, i, |c| q[at * dim + c], |j, c| k[j * dim + c], |j, c| v[j * v_dim + c]);
        for (c, (value, bound)) in want.into_iter().enumerate() {
            let found = o[at * v_dim + c];
            assert!(
                (found - value).abs() <= bound,
                "{}: plane {plane} [{i}, {c}] is {found}, not {value} within {bound:e}",
                told()
            );
        }
    }
    o
}

/// Cases of every head size on ragged lengths.
fn ragged(device: &Device) {
    let mut rng = Rng(0xA77E_0001);
    let lengths = [1, 7, 8, 15, 16, 17, 31, 32, 33, 50, 65];
    let mut executed = 0;
    for dim in [64, 96, 128, 256, 1, 20, 80, 200] {
        for causal in [false, true] {
            for _ in 0..2 {
                let mut length = || lengths[rng.below(11) as usize];
                let (queries, keys) = (length(), length());
                let (heads, kv_heads) =
                    [(1, 1), (2, 2), (4, 2), (3, 1), (1, 1), (2, 1)][rng.below(6) as usize];
                let mut form = || FORMS[rng.below(3) as usize];
                let forms = [form(), form(), form(), form()];
                let batch = 1 + rng.below(2) as usize;
                let case = Case { batch, ..Case::new(heads, kv_heads, queries, keys, dim, causal) };
                let seed = rng.next() | 1;
                if rng.below(2) == 0 {
                    run::<bf16>(device, &case, forms, seed);
                } else {
                    run::<f16>(device, &case, forms, seed);
                }
                executed += 1;
            }
        }
    }
    println!("{}: {executed} cases executed, seed 0xA77E0001", device.name());
}

#[test]
fn every_head_size_on_ragged_lengths_on_the_host() {
    ragged(&Device::host());
}

#[test]
fn every_head_size_on_ragged_lengths_on_the_simulator() {
    ragged(&Device::sim());
}

#[test]
fn every_instance_agrees_with_the_reference() {
    use tile_std::Generic::{Size, Type};
    let mut executed = 0;
    for instance in tile_std::kernels::attention::attention::INSTANCES {
        let [Type(dtype), Size(dim), ..] = instance.generics else {
            panic!("the generics begin with T and D")
        };
        // An instance for the host alone has no module for the simulator.
        let device = if instance.modules.is_empty() { Device::host() } else { Device::sim() };
        let dim = *dim as usize;
        let case = Case::new(1, 1, 35, 50, dim, true);
        fn go<T: MmaInput>(device: &Device, case: &Case, instance: &'static tile_std::InstanceInfo) {
            let mut rng = Rng(0x1257);
            let mut make = |rows| {
                Tensor::from_fn([1, 1, rows, case.dim], |_, _, _, _| T::from_f32(rng.value())).expect("small")
            };
            let (q, k, v) = (make(35), make(50), make(50));
            let options =
                AttentionOptions { causal: true, instance: Some(instance), ..AttentionOptions::default() };
            let o =
                attention(device, &q, &k, &v, &options).unwrap_or_else(|e| panic!("{}: {e}", instance.name));
            let at = |t: &Tensor<T>, r, c| f64::from(t.get(0, 0, r, c).expect("inside").to_f32());
            for i in 0..35 {
                let want = row::<T>(case, i, |c| at(&q, i, c), |j, c| at(&k, j, c), |j, c| at(&v, j, c));
                for (c, (value, bound)) in want.into_iter().enumerate() {
                    let found = at(&o, i, c);
                    assert!((found - value).abs() <= bound, "{}: {found}, not {value}", instance.name);
                }
            }
        }
        if *dtype == bf16::DTYPE {
            go::<bf16>(&device, &case, instance)
        } else {
            go::<f16>(&device, &case, instance)
        }
        executed += 1;
    }
    assert_eq!(executed, tile_std::kernels::attention::attention::INSTANCES.len());
}

#[test]
fn the_log_sum_exp_of_every_row() {
    let mut rng = Rng(0x15E);
    let mut masked = 0;
    let cases = [
        (64, false, (35, 20)),
        (20, true, (50, 37)),
        (96, true, (16, 64)),
        (128, false, (9, 0)),
        (256, true, (20, 7)),
    ];
    for (i, (dim, causal, lengths)) in cases.into_iter().enumerate() {
        for (queries, keys) in [lengths, (1, 33)] {
            let case = Case { batch: 2, ..Case::new(4, 2, queries, keys, dim, causal) };
            for device in devices() {
                let mut make = |heads, rows| {
                    let value = |_, _, _, _| bf16::from_f32(3.0 * rng.value());
                    Tensor::from_fn([2, heads, rows, dim], value).expect("small")
                };
                let (q, k, v) = (make(4, queries), make(2, keys), make(2, keys));
                let mut o = Tensor::<bf16>::with_shape([2, 4, queries, dim]).expect("small");
                let mut lse = Guarded::<f32>::new([2, 4, 1, queries], FORMS[i % 3], |_, _, _, _| f32::NAN);
                let options = AttentionOptions { causal, ..AttentionOptions::default() };
                let told = format!("{} {case:?}", device.name());
                attention_lse_into(&device, (o.view_mut(), lse.view_mut()), &q, &k, &v, &options)
                    .unwrap_or_else(|e| panic!("{told}: {e}"));
                assert!(lse.is_intact(), "{told}: something outside changed");
                let plain = attention(&device, &q, &k, &v, &options).expect("shapes fit");
                assert_eq!(plain.to_vec(), o.to_vec(), "{told}: the output is another without it");
                for (b, h, i) in (0..8 * queries).map(|n| (n / queries / 4, n / queries % 4, n % queries)) {
                    let at =
                        |t: &Tensor<bf16>, h, r, c| f64::from(t.get(b, h, r, c).expect("inside").to_f32());
                    let (want, bound) =
                        log_sum_exp(&case, i, |c| at(&q, h, i, c), |j, c| at(&k, h / 2, j, c));
                    let found = lse.get(b, h, 0, i);
                    masked += usize::from(want == f64::NEG_INFINITY);
                    assert!(
                        found == want || (found - want).abs() <= bound,
                        "{told}: query {i} of head {h}: {found}, not {want} within {bound:e}"
                    );
                }
            }
        }
    }
    assert!(masked > 300, "{masked}");
}

#[test]
fn a_log_sum_exp_of_another_shape_is_an_error() {
    let device = Device::host();
    let zeros = |rows, cols| Tensor::<f16>::with_shape([1, 2, rows, cols]).expect("small");
    let (q, k) = (zeros(3, 64), zeros(5, 64));
    let mut o = zeros(3, 64);
    let mut lse = Tensor::<f32>::with_shape([1, 2, 3, 1]).expect("small");
    let options = AttentionOptions::default();
    let error = attention_lse_into(&device, (o.view_mut(), lse.view_mut()), &q, &k, &k, &options);
    let text = error.expect_err("rows are not columns").to_string();
    assert!(text.contains("[1, 2, 1, 3]") && text.contains("[1, 2, 3, 1]"), "{text}");
    let error = attention_lse(&device, &q, &k, &zeros(5, 0), &options).expect_err("V has no columns");
    assert!(matches!(error, AttentionError::LogSumExp { .. }), "{error}");
}

#[test]
fn the_frobenius_norm_of_the_error_is_small() {
    let case = Case::new(2, 1, 70, 300, 64, false);
    for device in devices() {
        let mut rng = Rng(5);
        let mut make = |heads, rows| {
            Tensor::from_fn([1, heads, rows, 64], |_, _, _, _| bf16::from_f32(rng.value())).expect("small")
        };
        let (q, k, v) = (make(2, 70), make(1, 300), make(1, 300));
        let o = attention(&device, &q, &k, &v, &AttentionOptions::default()).expect("shapes fit");
        let at = |t: &Tensor<bf16>, h, r, c| f64::from(t.get(0, h, r, c).expect("inside").to_f32());
        let (mut error, mut norm) = (0.0, 0.0);
        for (h, i) in (0..140).map(|n| (n / 70, n % 70)) {
            let want =
                row::<bf16>(&case, i, |c| at(&q, h, i, c), |j, c| at(&k, 0, j, c), |j, c| at(&v, 0, j, c));
            for (c, (value, _)) in want.into_iter().enumerate() {
                error += (at(&o, h, i, c) - value).powi(2);
                norm += value * value;
            }
        }
        let relative = (error / norm).sqrt();
        println!("{}: relative Frobenius error {relative:.2e}", device.name());
        assert!(relative <= 4e-3, "{}: {relative}", device.name());
    }
}

#[test]
fn scores_of_ten_thousand_are_exact_enough() {
    for device in devices() {
        for causal in [false, true] {
            // Elements of Q up to 2e4 make scores of tens of thousands.
            let case = Case { spread: 1e4, ..Case::new(2, 2, 40, 70, 64, causal) };
            run::<bf16>(&device, &case, [Form::Owned; 4], 0xE1);
        }
    }
}

#[test]
fn scores_that_rise_and_fall_from_tile_to_tile() {
    for device in devices() {
        // Over 8 (to base 2) after two tiles of 32 keys, in every tile, never, and down.
        for rise in [0.1, 0.5, 0.001, -0.5] {
            let case = Case { rise, ..Case::new(1, 1, 20, 260, 64, rise == 0.5) };
            run::<bf16>(&device, &case, [Form::Owned; 4], 0xE5);
            run::<f16>(&device, &case, [Form::Owned; 4], 0xE6);
        }
    }
}

#[test]
fn rows_that_see_no_key_are_zero() {
    for device in devices() {
        for (queries, keys) in [(50, 20), (33, 1), (7, 0), (100, 64)] {
            // Query i sees a key where i + keys >= queries.
            let case = Case::new(2, 1, queries, keys, 64, true);
            let o = run::<bf16>(&device, &case, [Form::Owned; 4], 0xE3);
            let blind = queries - keys;
            assert!(o[..blind * 64].iter().all(|x| *x == 0.0), "{queries} {keys}");
        }
        let o = run::<f16>(&device, &Case::new(1, 1, 9, 0, 128, false), [Form::Owned; 4], 0xE4);
        assert!(o.iter().all(|x| *x == 0.0));
    }
}

#[test]
fn equal_scores_give_the_mean() {
    for device in devices() {
        let q = Tensor::from_fn([1, 1, 20, 64], |_, _, _, _| bf16::from_f32(3.0)).expect("small");
        let k = Tensor::from_fn([1, 1, 64, 64], |_, _, _, _| bf16::from_f32(-5.0)).expect("small");
        let v = Tensor::from_fn([1, 1, 64, 64], |_, _, r, c| bf16::from_f32(((r + c) % 4) as f32))
            .expect("small");
        let o = attention(&device, &q, &k, &v, &AttentionOptions::default()).expect("shapes fit");
        assert!(o.iter().all(|x| x.to_f32() == 1.5), "{}", device.name());
    }
}

#[test]
fn infinities_and_nan_in_scores_stay_in_their_rows() {
    for device in devices() {
        // Row 3: plus infinity, NaN. Row 5: minus infinity everywhere, 0. Row 6: NaN. Row 9: minus infinity but for key 4.
        let q = Tensor::from_fn([1, 1, 20, 64], |_, _, r, c| {
            bf16::from_f32(match (r, c) {
                (3, 0) => f32::INFINITY,
                (5, 0) => f32::NEG_INFINITY,
                (6, 0) => f32::NAN,
                (9, 1) => f32::NEG_INFINITY,
                (_, 0) => 0.5,
                (_, _) => 0.25,
            })
        })
        .expect("small");
        let k = Tensor::from_fn([1, 1, 40, 64], |_, _, r, c| {
            bf16::from_f32(if c == 1 && r == 4 { -1.0 } else { 1.0 })
        })
        .expect("small");
        let v = Tensor::from_fn([1, 1, 40, 64], |_, _, r, _| bf16::from_f32(r as f32)).expect("small");
        let o = attention(&device, &q, &k, &v, &AttentionOptions::default()).expect("shapes fit");
        for (r, c) in (0..20 * 64).map(|n| (n / 64, n % 64)) {
            let x = o.get(0, 0, r, c).expect("inside").to_f32();
            let right = match r {
                // Minus infinity times -1 is plus infinity: the row is NaN.
                3 | 6 | 9 => x.is_nan(),
                5 => x == 0.0,
                _ => (x - 19.5).abs() < 0.5,
            };
            assert!(right, "{}: [{r}, {c}] is {x}", device.name());
        }
    }
}

#[test]
fn a_scale_of_zero_or_below_is_as_good_as_any() {
    for device in devices() {
        let mut rng = Rng(8);
        let mut make =
            |rows| Tensor::from_fn([1, 1, rows, 64], |_, _, _, _| f16::from_f32(rng.value())).expect("small");
        let (q, k, v) = (make(20), make(50), make(50));
        let of = |q: &Tensor<f16>, scale| {
            let options =
                AttentionOptions { causal: true, scale: Some(scale), ..AttentionOptions::default() };
            attention(&device, q, &k, &v, &options).expect("shapes fit")
        };
        let negated = Tensor::from_fn([1, 1, 20, 64], |_, _, r, c| {
            f16::from_f32(-q.get(0, 0, r, c).expect("inside").to_f32())
        })
        .expect("small");
        assert_eq!(of(&q, -0.2).to_vec(), of(&negated, 0.2).to_vec(), "{}", device.name());
        let zero = Tensor::with_shape([1, 1, 20, 64]).expect("small");
        assert_eq!(of(&q, 0.0).to_vec(), of(&zero, 1.0).to_vec(), "{}", device.name());
    }
}

#[test]
fn empty_tensors_are_fine() {
    for device in devices() {
        for shape in [[0, 2, 5, 64], [1, 0, 5, 64], [1, 2, 0, 64], [1, 2, 5, 0]] {
            let x = Tensor::<bf16>::with_shape(shape).expect("small");
            let o = attention(&device, &x, &x, &x, &AttentionOptions::default());
            assert_eq!(o.unwrap_or_else(|e| panic!("{shape:?}: {e}")).shape(), shape);
        }
        let none = Tensor::<bf16>::with_shape([1, 2, 6, 0]).expect("small");
        let v = Tensor::from_fn([1, 2, 6, 32], |_, _, r, _| bf16::from_f32(r as f32)).expect("small");
        let o = attention(&device, &none, &none, &v, &AttentionOptions::default()).expect("shapes fit");
        assert!(o.iter().all(|x| x.to_f32() == 2.5), "a head of no columns gives equal scores");
    }
}

#[test]
fn heads_may_lie_side_by_side() {
    // [batch, queries, heads, dim], as a projection writes it.
    let (batch, rows, heads, dim) = (2, 21, 3, 64);
    let shape = [batch, heads, rows, dim];
    let strided = tile_runtime::TensorLayout::strided(shape, heads * dim, dim, rows * heads * dim, 2)
        .expect("heads side by side");
    let mut rng = Rng(31);
    let mut make =
        || -> Vec<bf16> { (0..batch * rows * heads * dim).map(|_| bf16::from_f32(rng.value())).collect() };
    let (q, k, v) = (make(), make(), make());
    let view =
        |x: &Vec<bf16>| Tensor::from_view(View::with_layout(x, strided).expect("it fits")).expect("small");
    for device in devices() {
        let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
        let want = attention(&device, &view(&q), &view(&k), &view(&v), &options).expect("shapes fit");
        let of = |x| View::with_layout(x, strided).expect("it fits");
        let mut o = vec![bf16::NAN; q.len()];
        let out = ViewMut::with_layout(&mut o, strided).expect("it fits");
        attention_into(&device, out, of(&q), of(&k), of(&v), &options).expect("shapes fit");
        let found = View::with_layout(&o, strided).expect("it fits");
        assert_eq!(found.to_vec(), want.to_vec(), "{}", device.name());
    }
}

#[test]
fn tiles_that_no_query_sees_are_not_visited() {
    let dpas = |causal| {
        let x = Tensor::<bf16>::zeros(512, 64).expect("small");
        let mut o = Tensor::<bf16>::zeros(512, 64).expect("small");
        let options = AttentionOptions { causal, ..AttentionOptions::default() };
        let report = attention_into(&Device::sim(), &mut o, &x, &x, &x, &options).expect("shapes fit");
        report.counters.expect("the simulator counts").total.dpas
    };
    // 64 sub-groups of 8 rows, 16 tiles of 32 keys; sub-group i sees (i + 4) / 4 of them. Per tile 8 for the scores (64 x 32
    // by 16 x 16) and 8 for V.
    let tiles: u64 = (0..64).map(|i| (i + 4) / 4).sum();
    assert_eq!((dpas(false), dpas(true)), (64 * 16 * 16, tiles * 16));
}

#[test]
fn wrong_calls_are_errors() {
    let device = Device::host();
    let q = Tensor::<bf16>::with_shape([1, 4, 5, 64]).expect("small");
    let k = Tensor::<bf16>::with_shape([1, 3, 5, 64]).expect("small");
    let error =
        attention(&device, &q, &k, &k, &AttentionOptions::default()).expect_err("4 is no multiple of 3");
    assert!(
        error.to_string().contains("[1, 4, 5, 64]") && error.to_string().contains("[1, 3, 5, 64]"),
        "{error}"
    );
    let mut o = Tensor::<bf16>::with_shape([1, 4, 6, 64]).expect("small");
    let error =
        attention_into(&device, &mut o, &q, &q, &q, &AttentionOptions::default()).expect_err("6 is not 5");
    assert!(matches!(error, AttentionError::Output { .. }), "{error}");
    let instance = tile_std::kernels::attention::attention::KERNEL.find_named("<f16, 64, 16, 32>");
    assert!(instance.is_some());
    let options = AttentionOptions { instance, ..AttentionOptions::default() };
    let error = attention(&device, &q, &q, &q, &options).expect_err("it takes f16");
    assert!(matches!(error, AttentionError::Instance { .. }), "{error}");
}
