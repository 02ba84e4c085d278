//! Decoding against f64: every head size, groups of heads, numbers of splits, views with NaN around them, special scores;
//! host and simulator.

mod reference;

use reference::attention::{Case, row};
use reference::{FORMS, Form, Guarded, Rng};
use tile_std::ops::{
    AttentionError, AttentionOptions, DecodeOptions, attention, decode, decode_into, explain_decode,
};
use tile_std::prelude::*;

fn devices() -> [Device; 2] {
    [Device::host(), Device::sim()]
}

/// One case: `case.queries` is the group, and nothing is hidden.
fn run<T: MmaInput>(device: &Device, case: &Case, splits: Option<usize>, forms: [Form; 4], seed: u64) {
    let mut rng = Rng(seed);
    let Case { batch, heads, queries, keys, dim, v_dim, spread, rise, .. } = *case;
    let q = Guarded::<T>::new([batch, heads, queries, dim], forms[0], |_, _, _, c| {
        if rise != 0.0 && c == 0 { 8.0 } else { spread * rng.value() }
    });
    let k = Guarded::<T>::new([batch, heads, keys, dim], forms[1], |_, _, j, c| {
        if rise != 0.0 && c == 0 { rise * j as f32 } else { rng.value() }
    });
    let v = Guarded::<T>::new([batch, heads, keys, v_dim], forms[2], |_, _, _, _| rng.value());
    let mut o = Guarded::<T>::new([batch, heads, queries, v_dim], forms[3], |_, _, _, _| f32::NAN);
    let options = DecodeOptions { splits, ..DecodeOptions::default() };
    let told = || format!("{} {} {case:?} {splits:?} {forms:?} seed {seed:#x}", device.name(), T::DTYPE);
    decode_into(device, o.view_mut(), q.view(), k.view(), v.view(), &options)
        .unwrap_or_else(|e| panic!("{}: {e}", told()));
    assert!(q.is_intact() && k.is_intact() && v.is_intact() && o.is_intact(), "{}: outside changed", told());
    let numbers = |x: View<'_, T>| x.iter().map(|x| f64::from(x.to_f32())).collect::<Vec<f64>>();
    let (q, k, v, o) = (numbers(q.view()), numbers(k.view()), numbers(v.view()), numbers(o.view()));
    for at in 0..batch * heads * queries {
        let plane = at / queries * keys;
        let (k, v) = (&k[plane * dim..], &v[plane * v_dim..]);
        let want = row::<T>(case, 0, |c| q[at * dim + c], |j, c| k[j * dim + c], |j, c| v[j * v_dim + c]);
        for (c, (value, bound)) in want.into_iter().enumerate() {
            let found = o[at * v_dim + c];
            assert!((found - value).abs() <= bound, "{}: [{at}, {c}] is {found}, not {value}", told());
        }
    }
}

#[test]
fn every_head_size_group_and_number_of_splits() {
    let mut rng = Rng(0xDEC0_0001);
    for dim in [64, 96, 128, 256, 1, 40, 200] {
        for splits in [None, Some(1), Some(2), Some(5)] {
            let keys = [1, 31, 32, 33, 100, 200][rng.below(6) as usize];
            let group = [1, 4, 7, 8, 9, 17][rng.below(6) as usize];
            let mut form = || FORMS[rng.below(3) as usize];
            let forms = [form(), form(), form(), form()];
            let batch = 1 + rng.below(2) as usize;
            let case = Case { batch, ..Case::new(2, 2, group, keys, dim, false) };
            let seed = rng.next() | 1;
            for device in devices() {
                if rng.below(2) == 0 {
                    run::<bf16>(&device, &case, splits, forms, seed);
                } else {
                    run::<f16>(&device, &case, splits, forms, seed);
                }
            }
        }
    }
}

#[test]
fn splits_of_very_different_scores_are_joined() {
    for device in devices() {
        // From split to split the scores rise or fall by hundreds; and scores of tens of thousands.
        for rise in [3.0, -3.0, 0.05] {
            let case = Case { rise, ..Case::new(1, 1, 3, 300, 64, false) };
            run::<bf16>(&device, &case, Some(4), [Form::Owned; 4], 0xD1);
        }
        let case = Case { spread: 1e4, ..Case::new(1, 1, 5, 200, 96, false) };
        run::<bf16>(&device, &case, Some(3), [Form::Owned; 4], 0xD2);
    }
}

#[test]
fn splits_without_weight_do_not_count_and_nan_does() {
    for device in devices() {
        // Keys 0 to 63 have a score of minus infinity; in row 1 all keys have, and row 2 is NaN.
        let q = Tensor::from_fn([1, 1, 4, 64], |_, _, r, c| {
            bf16::from_f32(match (r, c) {
                (1, 1) => f32::NEG_INFINITY,
                (2, 2) => f32::NAN,
                (_, 3) => 1.0,
                _ => 0.0,
            })
        })
        .expect("small");
        let k = Tensor::from_fn([1, 1, 128, 64], |_, _, r, c| {
            bf16::from_f32(if r < 64 && c == 3 { f32::NEG_INFINITY } else { 1.0 })
        })
        .expect("small");
        let v = Tensor::from_fn([1, 1, 128, 64], |_, _, r, _| bf16::from_f32(r as f32)).expect("small");
        let options = DecodeOptions { splits: Some(4), ..DecodeOptions::default() };
        let o = decode(&device, &q, &k, &v, &options).expect("shapes fit");
        let of = |row| o.get(0, 0, row, 5).expect("inside").to_f32();
        assert_eq!((of(0), of(1), of(3)), (95.5, 0.0, 95.5), "{}", device.name());
        assert!(of(2).is_nan(), "{}: {}", device.name(), of(2));
    }
}

#[test]
fn decoding_is_attention_of_the_same_rows() {
    for device in devices() {
        let mut rng = Rng(17);
        let mut make =
            |rows| Tensor::from_fn([2, 2, rows, 64], |_, _, _, _| f16::from_f32(rng.value())).expect("small");
        let (q, k, v) = (make(4), make(150), make(150));
        let whole = attention(&device, &q, &k, &v, &AttentionOptions::default()).expect("shapes fit");
        let split = decode(&device, &q, &k, &v, &DecodeOptions::default()).expect("shapes fit");
        for (a, b) in whole.iter().zip(split.iter()) {
            // Each is rounded once more than the other's f32 numbers differ.
            assert!((a.to_f32() - b.to_f32()).abs() <= 2f32.powi(-9), "{}: {a} {b}", device.name());
        }
    }
}

#[test]
fn empty_tensors_and_wrong_calls() {
    for device in devices() {
        for shape in [[0, 2, 5, 64], [1, 0, 5, 64], [1, 2, 0, 64], [1, 2, 5, 0]] {
            let x = Tensor::<bf16>::with_shape(shape).expect("small");
            let o = decode(&device, &x, &x, &x, &DecodeOptions::default());
            assert_eq!(o.unwrap_or_else(|e| panic!("{shape:?}: {e}")).shape(), shape);
        }
        let q = Tensor::from_fn([1, 2, 3, 64], |_, _, _, _| bf16::ONE).expect("small");
        let none = Tensor::<bf16>::with_shape([1, 2, 0, 64]).expect("small");
        let o = decode(&device, &q, &none, &none, &DecodeOptions::default()).expect("shapes fit");
        assert!(o.iter().all(|x| x.to_f32() == 0.0));
    }
    let device = Device::host();
    let q = Tensor::<bf16>::with_shape([1, 4, 1, 64]).expect("small");
    let k = Tensor::<bf16>::with_shape([1, 2, 5, 64]).expect("small");
    let error =
        decode(&device, &q, &k, &k, &DecodeOptions::default()).expect_err("4 heads are not 2").to_string();
    assert!(error.contains("[1, 4, 1, 64]") && error.contains("[1, 2, 5, 64]"), "{error}");
    let mut o = Tensor::<bf16>::with_shape([1, 4, 2, 64]).expect("small");
    let error =
        decode_into(&device, &mut o, &q, &q, &q, &DecodeOptions::default()).expect_err("2 rows are not 1");
    assert!(matches!(error, AttentionError::Output { .. }), "{error}");
    let choice = explain_decode::<bf16>(
        &Device::sim(),
        [1, 8, 4, 80],
        [1, 8, 4096, 80],
        [1, 8, 4096, 80],
        &DecodeOptions::default(),
    );
    assert_eq!(
        choice.expect("it fits").to_string(),
        "decode<bf16, 96, 8, 32>: 32 splits of 128 keys for each of 8 heads"
    );
}
