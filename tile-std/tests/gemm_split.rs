//! GEMM with a split K: both forms, all element types, ragged and empty sizes, equal bits in every run, against f64.

mod reference;

use std::num::NonZeroUsize;

use reference::layer::{Add, Case, run_types};
use reference::{FORMS, Form, Rng};
use tile_std::kernels::gemm_split::{gemm_split, gemm_split_atomic};
use tile_std::ops::gemm_i8;
use tile_std::prelude::*;
use tile_std::{Activation, GemmError, GemmOptions, Generic, SplitForm, gemm_into};

const SPLIT_FORMS: [SplitForm; 2] = [SplitForm::TwoPass, SplitForm::Atomic];

fn devices() -> [Device; 2] {
    [Device::host(), Device::sim()]
}

fn case(sizes: (usize, usize, usize)) -> Case {
    Case {
        sizes,
        batch: 1,
        alpha: 1.0,
        bias: false,
        activation: Activation::Identity,
        add: Add::Nothing,
        forms: [Form::Owned; 4],
        seed: 0x517,
    }
}

#[test]
fn splits_on_ragged_sizes_with_epilogues() {
    let mut rng = Rng(0x5917);
    let sizes = [1, 7, 17, 64, 100];
    for (i, &m) in sizes.iter().enumerate() {
        for (j, &n) in sizes.iter().enumerate() {
            let mut form = || FORMS[rng.below(3) as usize];
            let forms = [form(), form(), form(), form()];
            let this = Case {
                batch: 1 + (i + j) % 2,
                alpha: [1.0, -0.5][rng.below(2) as usize],
                bias: rng.below(2) == 0,
                activation: [Activation::Silu, Activation::Gelu, Activation::Relu][(i + j) % 3],
                add: [Add::Nothing, Add::Output, Add::Tensor, Add::Plane][rng.below(4) as usize],
                forms,
                seed: rng.next() | 1,
                ..case((m, n, [0, 31, 65, 200, 257][(2 * i + j) % 5]))
            };
            let options = GemmOptions {
                transpose_a: rng.below(2) == 0,
                transpose_b: rng.below(2) == 0,
                split: Some([2, 3, 7, 1000][rng.below(4) as usize]),
                split_form: SPLIT_FORMS[rng.below(2) as usize],
                ..GemmOptions::default()
            };
            let types = rng.below(6) as usize;
            for device in devices() {
                let (_, report) = run_types(types, &device, &this, &options);
                // K of one step has one split, which needs no second launch.
                let steps = this.sizes.2.div_ceil(32);
                assert_eq!(report.plan.splits > 1, steps > 1, "{}", report.plan);
                assert!(report.join.is_some() || steps <= 1, "{}", report.plan);
            }
        }
    }
}

#[test]
fn every_instance_splits_and_every_split_joins() {
    let kernels =
        [(SplitForm::TwoPass, gemm_split::INSTANCES), (SplitForm::Atomic, gemm_split_atomic::INSTANCES)];
    for (split_form, instances) in kernels {
        for instance in instances {
            let [Generic::Type(a), .., Generic::Flag(transpose_a), Generic::Flag(transpose_b)] =
                instance.generics
            else {
                panic!("the kernel's generics are A, BM, BN, BK, TRANS_A, TRANS_B")
            };
            let options = GemmOptions {
                transpose_a: *transpose_a,
                transpose_b: *transpose_b,
                split: Some(2),
                split_form,
                instance: Some(instance),
                ..GemmOptions::default()
            };
            let first = if *a == bf16::DTYPE { 0 } else { 3 };
            let this = Case { batch: 2, add: Add::Output, ..case((40, 70, 100)) };
            for (i, types) in (first..first + 3).enumerate() {
                let (_, report) = run_types(types, &devices()[i % 2], &this, &options);
                assert!(std::ptr::eq(report.plan.instance, instance), "{}", report.plan);
                assert_eq!(report.join.expect("it was split").kernel, "gemm_join");
            }
        }
    }
}

#[test]
fn two_passes_give_equal_bits_in_every_run_with_any_number_of_threads() {
    let mut rng = Rng(0xB175);
    let a = Tensor::from_fn([1, 1, 70, 900], |_, _, _, _| bf16::from_f32(rng.value())).expect("small");
    let b = Tensor::from_fn([1, 1, 900, 150], |_, _, _, _| bf16::from_f32(rng.value())).expect("small");
    let bits = |device: &Device, split| {
        let mut c = Tensor::<f32>::zeros(70, 150).expect("small");
        let options = GemmOptions { split: Some(split), ..GemmOptions::default() };
        let report = gemm_into(device, &mut c, &a, &b, &options).expect("shapes fit");
        assert_eq!(report.plan.splits, split);
        c.iter().map(f32::to_bits).collect::<Vec<u32>>()
    };
    let threads = [1, 2, 3, 7].map(|n| Device::host_with_threads(NonZeroUsize::new(n).expect("not 0")));
    for split in [2, 5] {
        let first = bits(&threads[0], split);
        for device in threads.iter().chain(&threads) {
            assert!(bits(device, split) == first, "{split} splits");
        }
        let on_sim = bits(&Device::sim(), split);
        assert!(bits(&Device::sim(), split) == on_sim, "{split} splits on the simulator");
    }
    assert!(bits(&threads[0], 2) != bits(&threads[0], 5), "another number of splits adds in another order");
}

#[test]
fn both_forms_are_exact_where_sums_are() {
    for device in devices() {
        for split_form in SPLIT_FORMS {
            let a = Tensor::from_fn([1, 1, 50, 400], |_, _, r, k| bf16::from_f32(((r + k) % 5) as f32))
                .expect("small");
            let b = Tensor::from_fn([1, 1, 400, 90], |_, _, k, c| bf16::from_f32((k * c % 7) as f32))
                .expect("small");
            let mut c = Tensor::<f32>::zeros(50, 90).expect("small");
            let options = GemmOptions { split: Some(4), split_form, ..GemmOptions::default() };
            let report = gemm_into(&device, &mut c, &a, &b, &options).expect("shapes fit");
            assert_eq!(report.plan.splits, 4, "{}", report.plan);
            for (r, col) in (0..50 * 90).map(|i| (i / 90, i % 90)) {
                let want: usize = (0..400).map(|k| (r + k) % 5 * (k * col % 7)).sum();
                assert_eq!(c.get(0, 0, r, col), Some(want as f32), "{} {split_form:?}", device.name());
            }
        }
    }
}

#[test]
fn few_tiles_with_a_long_k_are_split_by_themselves() {
    let this = case((8, 40, 2100));
    let (_, report) = run_types(0, &Device::sim(), &this, &GemmOptions::default());
    assert_eq!((report.plan.splits, report.product.kernel), (14, "gemm_split"), "{}", report.plan);
    let (_, report) = run_types(0, &Device::host(), &this, &GemmOptions::default());
    assert_eq!((report.plan.splits, report.product.kernel), (1, "gemm"), "{}", report.plan);
    let whole = GemmOptions { split: Some(1), ..GemmOptions::default() };
    let (_, report) = run_types(0, &Device::sim(), &this, &whole);
    assert_eq!(report.product.kernel, "gemm");
}

#[test]
fn empty_products_can_be_split() {
    let options = GemmOptions { split: Some(3), ..GemmOptions::default() };
    for sizes in [(0, 40, 100), (40, 0, 100), (40, 33, 0)] {
        for split_form in SPLIT_FORMS {
            for device in devices() {
                let this = Case { bias: true, ..case(sizes) };
                run_types(1, &device, &this, &GemmOptions { split_form, ..options });
            }
        }
    }
}

#[test]
fn splits_that_an_instance_does_not_make_are_refused() {
    let (a, b) = (Tensor::<bf16>::zeros(4, 99).expect("small"), Tensor::<bf16>::zeros(99, 7).expect("small"));
    let mut c = Tensor::<f32>::zeros(4, 7).expect("small");
    let plain = tile_std::kernels::gemm::gemm::KERNEL.find_named("<bf16, f32, 32, 64, 32, false, true>");
    let atomic = gemm_split_atomic::KERNEL.find_named("<bf16, 32, 64, 32, false, false>");
    assert!(plain.is_some() && atomic.is_some());
    for instance in [plain, atomic] {
        let options = GemmOptions { instance, split: Some(2), ..GemmOptions::default() };
        let error = gemm_into(&Device::host(), &mut c, &a, &b, &options).expect_err("it cannot");
        assert!(matches!(error, GemmError::Instance { .. }), "{error}");
        assert!(error.to_string().contains("in 2 splits (TwoPass)"), "{error}");
    }
    let bytes = Tensor::<i8>::zeros(8, 8).expect("small");
    let mut sums = Tensor::<i32>::zeros(8, 8).expect("small");
    for (options, name) in [
        (GemmOptions { split: Some(2), ..GemmOptions::default() }, "`split`"),
        (GemmOptions { transpose_a: true, ..GemmOptions::default() }, "`transpose_a`"),
    ] {
        let error = tile_std::ops::gemm_i8_into(&Device::host(), &mut sums, &bytes, &bytes, &options)
            .expect_err("bytes have no such form");
        assert!(error.to_string().contains(name) && error.to_string().contains("gemm_i8"), "{error}");
    }
    assert!(gemm_i8(&Device::host(), &bytes, &bytes).is_ok());
}
