//! GEMM with epilogues and with a transposed A: ragged sizes, padded, offset and odd views, batches, special values and
//! refusals, on the host and the simulator, against f64.

mod reference;

use reference::layer::{Add, Case, run_types};
use reference::{FORMS, Rng};
use tile_std::kernels::gemm_fused::gemm_fused as kernel;
use tile_std::prelude::*;
use tile_std::{Activation, Addend, Epilogue, GemmError, GemmOptions, Generic, gemm_fused_into, gemm_into};

const ACTIVATIONS: [Activation; 4] =
    [Activation::Identity, Activation::Relu, Activation::Gelu, Activation::Silu];
const ADDS: [Add; 4] = [Add::Nothing, Add::Output, Add::Tensor, Add::Plane];

fn devices() -> [Device; 3] {
    [Device::host(), Device::sim(), Device::sim_lane()]
}

#[test]
fn epilogues_on_ragged_sizes() {
    let sizes = [0, 1, 7, 16, 33, 64, 65, 100];
    let mut rng = Rng(0xE91);
    let mut executed = 0;
    for (i, &m) in sizes.iter().enumerate() {
        for (j, &n) in sizes.iter().enumerate() {
            let k = sizes[(3 * i + 5 * j) % sizes.len()];
            let mut form = || FORMS[rng.below(3) as usize];
            let forms = [form(), form(), form(), form()];
            let case = Case {
                sizes: (m, n, k),
                batch: 1 + usize::from(rng.below(4) == 0),
                alpha: [1.0, -0.5, 0.0, 3.0][rng.below(4) as usize],
                bias: rng.below(3) > 0,
                activation: ACTIVATIONS[(i + j) % 4],
                add: ADDS[rng.below(4) as usize],
                forms,
                seed: rng.next() | 1,
            };
            let (transpose_a, transpose_b) = (rng.below(2) == 0, rng.below(2) == 0);
            let options = GemmOptions { transpose_a, transpose_b, ..GemmOptions::default() };
            let types = rng.below(6) as usize;
            for device in devices() {
                run_types(types, &device, &case, &options);
                executed += 1;
            }
        }
    }
    println!("{executed} products executed");
    assert_eq!(executed, 192);
}

#[test]
fn every_instance_does_every_epilogue() {
    for (i, instance) in kernel::INSTANCES.iter().enumerate() {
        let [
            Generic::Type(a),
            Generic::Type(c),
            Generic::Size(rows),
            ..,
            Generic::Flag(ta),
            Generic::Flag(tb),
        ] = instance.generics
        else {
            panic!("the kernel's generics are A, C, BM, BN, BK, TRANS_A, TRANS_B")
        };
        let types = match (*a == bf16::DTYPE, *c == f32::DTYPE) {
            (true, false) => 0,
            (true, true) => 1,
            (false, false) => 3,
            (false, true) => 4,
        };
        let options = GemmOptions {
            transpose_a: *ta,
            transpose_b: *tb,
            instance: Some(instance),
            ..GemmOptions::default()
        };
        for (j, activation) in ACTIVATIONS.into_iter().enumerate() {
            let add =
                [Add::Nothing, Add::Tensor, Add::Plane, if *rows == 32 { Add::Tensor } else { Add::Output }];
            let case = Case {
                sizes: (40, 70, 50),
                batch: 2,
                alpha: 0.75,
                bias: (i + j) % 2 == 0,
                activation,
                add: add[(i + j) % 4],
                forms: [FORMS[(i + j) % 3]; 4],
                seed: 0x5EED + i as u64,
            };
            // An instance for the host alone has nothing that the simulator could run.
            let devices = if instance.modules.is_empty() { &devices()[..1] } else { &devices()[..2] };
            for device in devices {
                let (_, report) = run_types(types, device, &case, &options);
                assert!(std::ptr::eq(report.plan.instance, instance), "{}", report.plan);
            }
        }
    }
}

#[test]
fn a_transposed_a_gives_the_bits_of_a_plain_one() {
    let mut rng = Rng(77);
    let a = Tensor::from_fn([2, 1, 75, 90], |_, _, _, _| f16::from_f32(rng.value())).expect("small");
    let turned =
        Tensor::from_fn([2, 1, 90, 75], |p, _, k, m| a.get(p, 0, m, k).expect("inside")).expect("small");
    let b = Tensor::from_fn([1, 1, 90, 70], |_, _, _, _| f16::from_f32(rng.value())).expect("small");
    for device in devices() {
        let mut plain = Tensor::<f32>::with_shape([2, 1, 75, 70]).expect("small");
        let mut other = Tensor::<f32>::with_shape([2, 1, 75, 70]).expect("small");
        gemm_into(&device, &mut plain, &a, &b, &GemmOptions::default()).expect("it fits");
        let options = GemmOptions { transpose_a: true, ..GemmOptions::default() };
        let report = gemm_into(&device, &mut other, &turned, &b, &options).expect("it fits");
        assert_eq!(report.plan.instance.kernel, "gemm_fused");
        assert!(plain.iter().zip(other.iter()).all(|(x, y)| x.to_bits() == y.to_bits()), "{}", device.name());
    }
}

#[test]
fn what_a_factor_of_zero_leaves_out_may_hold_nan() {
    for device in devices() {
        let nan = Tensor::from_fn([1, 1, 20, 20], |_, _, _, _| bf16::NAN).expect("small");
        let one = Tensor::from_fn([1, 1, 20, 20], |_, _, _, _| bf16::ONE).expect("small");
        let bias = Tensor::from_fn([1, 1, 1, 20], |_, _, _, c| bf16::from_f32(c as f32)).expect("small");
        let mut c = Tensor::from_fn([1, 1, 20, 20], |_, _, _, _| bf16::NAN).expect("small");
        let some = Epilogue { alpha: 0.0, bias: Some(bias.view()), ..Epilogue::default() };
        for add in [Addend::None, Addend::Output(0.0), Addend::Tensor(nan.view(), 0.0)] {
            let end = Epilogue { add, ..some };
            for (a, b) in [(&nan, &one), (&one, &nan)] {
                for transpose in [false, true] {
                    let options =
                        GemmOptions { transpose_a: transpose, transpose_b: transpose, ..Default::default() };
                    gemm_fused_into(&device, &mut c, a, b, &end, &options).expect("it fits");
                    assert!(c.iter().enumerate().all(|(i, x)| x.to_f32() == (i % 20) as f32), "{add:?}");
                }
            }
        }
        // And what is read spreads its NaN.
        let end = Epilogue { add: Addend::Tensor(nan.view(), 1.0), ..some };
        gemm_fused_into(&device, &mut c, &one, &one, &end, &GemmOptions::default()).expect("it fits");
        assert!(c.iter().all(bf16::is_nan));
    }
}

#[test]
fn nan_and_infinities_go_through() {
    for device in devices() {
        let a = Tensor::from_fn([1, 1, 40, 30], |_, _, r, k| {
            f16::from_f32(match (r, k) {
                (3, 7) => f32::NAN,
                (5, 29) => f32::INFINITY,
                (6, 0) => f32::NEG_INFINITY,
                _ => 0.5,
            })
        })
        .expect("small");
        let b = Tensor::from_fn([1, 1, 30, 50], |_, _, _, _| f16::ONE).expect("small");
        for activation in ACTIVATIONS {
            for add in [Addend::None, Addend::Output(0.0)] {
                let mut c = Tensor::<f32>::zeros(40, 50).expect("small");
                let bias = Tensor::from_fn(
                    [1, 1, 1, 50],
                    |_, _, _, c| {
                        if c == 49 { f32::NEG_INFINITY } else { 1.0 }
                    },
                )
                .expect("small");
                let end = Epilogue { activation, add, bias: Some(bias.view()), ..Epilogue::default() };
                gemm_fused_into(&device, &mut c, &a, &b, &end, &GemmOptions::default()).expect("it fits");
                let at = |r: usize, col: usize| c.get(0, 0, r, col).expect("inside");
                let told =
                    || format!("{} {activation:?}: {} {} {}", device.name(), at(3, 0), at(5, 0), at(6, 0));
                assert!((0..50).all(|col| at(3, col).is_nan()), "{}", told());
                assert!((0..49).all(|col| at(5, col) == f32::INFINITY), "{}", told());
                assert!(at(5, 49).is_nan(), "an infinity and its opposite: {}", told());
                let (low, lower) = (at(6, 0), at(7, 49));
                match activation {
                    Activation::Identity => assert!(low == f32::NEG_INFINITY && lower == low, "{}", told()),
                    Activation::Relu => assert!(low == 0.0 && lower == 0.0, "{}", told()),
                    // Their formulas have no value there; what matters is that no number comes out of it but 0.
                    Activation::Gelu | Activation::Silu => {
                        assert!(
                            (low == 0.0 || low.is_nan()) && (lower == 0.0 || lower.is_nan()),
                            "{}",
                            told()
                        );
                    }
                }
                assert!((at(7, 0) - 16.0).abs() < 1e-3, "others are as ever: {}", told());
            }
        }
    }
}

#[test]
fn wrong_calls_are_errors_with_both_shapes() {
    let device = Device::host();
    let (a, b) = (Tensor::<bf16>::zeros(4, 5).expect("small"), Tensor::<bf16>::zeros(5, 7).expect("small"));
    let mut c = Tensor::<f32>::zeros(4, 7).expect("small");
    let short = Tensor::<f32>::zeros(1, 6).expect("small");
    let mut run = |end: &Epilogue<'_, f32>, options: &GemmOptions<'_>| {
        gemm_fused_into(&device, &mut c, &a, &b, end, options).map(|_| ()).expect_err("it does not fit")
    };
    let end = Epilogue { bias: Some(short.view()), ..Epilogue::default() };
    let error = run(&end, &GemmOptions::default());
    let text = error.to_string();
    assert!(matches!(error, GemmError::Bias { .. }), "{text}");
    assert!(text.contains("[1, 1, 1, 6]") && text.contains("[1, 1, 4, 7]"), "{text}");
    let end = Epilogue { add: Addend::Tensor(short.view(), 1.0), ..Epilogue::default() };
    let error = run(&end, &GemmOptions::default());
    let text = error.to_string();
    assert!(matches!(error, GemmError::Addend { .. }), "{text}");
    assert!(text.contains("[1, 1, 1, 6]") && text.contains("[1, 1, 4, 7]"), "{text}");
    let options = GemmOptions { transpose_a: true, ..GemmOptions::default() };
    let text = run(&Epilogue::default(), &options).to_string();
    assert!(text.contains("A's rows (A is given as [K, M]) must equal B's rows"), "{text}");

    // Instances that do something else.
    let named = |name| kernel::KERNEL.find_named(name).expect("it is compiled");
    let some = Epilogue { alpha: 2.0, ..Epilogue::default() };
    for (instance, end, why) in [
        (named("<bf16, bf16, 32, 64, 32, false, false>"), &some, "other type of C"),
        (named("<bf16, f32, 32, 64, 32, true, false>"), &some, "other form of A"),
        (named("<bf16, f32, 32, 64, 32, false, true>"), &some, "other form of B"),
        (
            named("<bf16, f32, 32, 64, 32, false, false>"),
            &Epilogue { add: Addend::Output(1.0), ..some },
            "32 rows have no room for the old output",
        ),
        (
            tile_std::kernels::gemm::gemm::KERNEL
                .find_named("<bf16, f32, 32, 64, 32, false, true>")
                .expect("it is compiled"),
            &some,
            "it has no epilogue",
        ),
    ] {
        let options = GemmOptions { instance: Some(instance), ..GemmOptions::default() };
        let error = run(end, &options);
        assert!(matches!(error, GemmError::Instance { .. }), "{why}: {error}");
        assert!(
            error.to_string().contains(instance.name) && error.to_string().contains("epilogue"),
            "{error}"
        );
    }
}
