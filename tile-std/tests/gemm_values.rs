//! GEMM on special values and shapes: NaN and infinities inside, large products, broadcasts, refusals.

mod reference;

use reference::{Reference, Rng};
use tile_std::prelude::*;
use tile_std::{GemmError, GemmOptions, gemm, gemm_into};

fn devices() -> [Device; 2] {
    [Device::host(), Device::sim()]
}

#[test]
fn nan_and_infinities_inside_propagate() {
    let (m, n, k) = (40, 70, 50);
    for device in devices() {
        let mut rng = Rng(77);
        let special = |i: usize, j: usize| match (i, j) {
            (3, 7) => Some(f32::NAN),
            (5, 49) => Some(f32::INFINITY),
            (39, 0) => Some(f32::NEG_INFINITY),
            _ => None,
        };
        let a = Tensor::from_fn([1, 1, m, k], |_, _, i, j| {
            bf16::from_f32(special(i, j).unwrap_or_else(|| rng.value()))
        })
        .expect("small");
        // Column 69 meets the infinities with zeros, which gives NaN.
        let b = Tensor::from_fn([1, 1, k, n], |_, _, _, j| {
            bf16::from_f32(if j == 69 { 0.0 } else { rng.value() })
        })
        .expect("small");
        let c: Tensor<f32> = gemm(&device, &a, &b).expect("shapes fit");
        let at = |t: &Tensor<bf16>, r, c| f64::from(t.get(0, 0, r, c).expect("inside").to_f32());
        let reference = Reference::new((m, n, k), |i, s| at(&a, i, s), |s, j| at(&b, s, j));
        for i in 0..m * n {
            let found = f64::from(c.get(0, 0, i / n, i % n).expect("inside"));
            reference.check::<f32>(i, found).unwrap_or_else(|e| panic!("{}: {e}", device.name()));
        }
        assert!(reference.value[3 * n].is_nan() && reference.value[5 * n + 69].is_nan());
        assert!(reference.value[5 * n].is_infinite());
    }
}

#[test]
fn a_bf16_product_of_many_elements_is_close_in_frobenius_norm() {
    let (m, n, k) = (96, 128, 200);
    for device in devices() {
        let mut rng = Rng(5);
        let mut make = |rows, cols| {
            Tensor::from_fn([1, 1, rows, cols], |_, _, _, _| bf16::from_f32(rng.value())).expect("small")
        };
        let (a, b) = (make(m, k), make(k, n));
        let c: Tensor<bf16> = gemm(&device, &a, &b).expect("shapes fit");
        let at = |t: &Tensor<bf16>, r, c| f64::from(t.get(0, 0, r, c).expect("inside").to_f32());
        let reference = Reference::new((m, n, k), |i, s| at(&a, i, s), |s, j| at(&b, s, j));
        let (mut error, mut norm) = (0.0, 0.0);
        for (i, want) in reference.value.iter().enumerate() {
            error += (at(&c, i / n, i % n) - want).powi(2);
            norm += want * want;
        }
        let relative = (error / norm).sqrt();
        println!("{}: relative Frobenius error {relative:.2e} over {} elements", device.name(), m * n);
        assert!(relative <= 2e-3, "{}: {relative}", device.name());
    }
}

#[test]
fn host_results_do_not_depend_on_the_instance() {
    let (m, n, k) = (300, 270, 200);
    let mut rng = Rng(11);
    let mut make = |rows, cols| {
        Tensor::from_fn([1, 1, rows, cols], |_, _, _, _| bf16::from_f32(rng.value())).expect("small")
    };
    for transpose_b in [false, true] {
        let (a, b) = (make(m, k), if transpose_b { make(n, k) } else { make(k, n) });
        let mut first: Option<(&str, Vec<u32>)> = None;
        let mut executed = 0;
        for instance in tile_std::kernels::gemm::gemm::INSTANCES {
            use tile_std::Generic::{Flag, Type};
            let [Type(from), Type(to), _, _, _, Flag(form), _] = instance.generics else {
                panic!("the kernel's generics are A, C, BM, BN, BK, TRANS_B, PREFETCH")
            };
            if (*from, *to, *form) != (bf16::DTYPE, f32::DTYPE, transpose_b) {
                continue;
            }
            let mut c = Tensor::<f32>::zeros(m, n).expect("small");
            let options = GemmOptions { transpose_b, instance: Some(instance), ..GemmOptions::default() };
            gemm_into(&Device::host(), &mut c, &a, &b, &options).expect("shapes fit");
            let bits: Vec<u32> = c.iter().map(|x| x.to_bits()).collect();
            let (name, expected) = first.get_or_insert((instance.name, bits.clone()));
            assert!(*expected == bits, "{} and {name} differ", instance.name);
            executed += 1;
        }
        assert!(executed >= 5, "five tile sizes are compiled; {executed} ran");
    }
}

#[test]
fn host_results_do_not_depend_on_the_number_of_threads() {
    let mut rng = Rng(9);
    let mut make = |rows, cols| {
        Tensor::from_fn([1, 1, rows, cols], |_, _, _, _| f16::from_f32(rng.value())).expect("small")
    };
    let (a, b) = (make(130, 70), make(70, 150));
    let one = Device::host_with_threads(std::num::NonZeroUsize::MIN);
    let x: Tensor<f32> = gemm(&one, &a, &b).expect("shapes fit");
    let y: Tensor<f32> = gemm(&Device::host(), &a, &b).expect("shapes fit");
    assert!(x.iter().zip(y.iter()).all(|(p, q)| p.to_bits() == q.to_bits()));
}

#[test]
fn one_plane_serves_a_batch() {
    for device in devices() {
        let mut rng = Rng(3);
        let a = Tensor::from_fn([2, 3, 9, 20], |_, _, _, _| bf16::from_f32(rng.value())).expect("small");
        let b = Tensor::from_fn([1, 1, 20, 30], |_, _, _, _| bf16::from_f32(rng.value())).expect("small");
        let c: Tensor<f32> = gemm(&device, &a, &b).expect("planes of 1 repeat");
        assert_eq!(c.shape(), [2, 3, 9, 30]);
        for (batch, depth) in (0..6).map(|p| (p / 3, p % 3)) {
            let at = |i, s| f64::from(a.get(batch, depth, i, s).expect("inside").to_f32());
            let reference = Reference::new((9, 30, 20), at, |s, j| {
                f64::from(b.get(0, 0, s, j).expect("inside").to_f32())
            });
            for i in 0..9 * 30 {
                let found = f64::from(c.get(batch, depth, i / 30, i % 30).expect("inside"));
                reference
                    .check::<f32>(i, found)
                    .unwrap_or_else(|e| panic!("{}: plane {batch}, {depth}: {e}", device.name()));
            }
        }
    }
}

#[test]
fn wrong_calls_are_errors_with_both_shapes() {
    let device = Device::host();
    let a = Tensor::<bf16>::zeros(4, 5).expect("small");
    let b = Tensor::<bf16>::zeros(6, 7).expect("small");
    let error = gemm::<bf16, f32>(&device, &a, &b).expect_err("5 and 6 differ");
    assert!(matches!(error, GemmError::Inner { .. }), "{error}");
    let b = Tensor::<bf16>::zeros(5, 7).expect("small");
    let mut c = Tensor::<f32>::zeros(4, 8).expect("small");
    let error = gemm_into(&device, &mut c, &a, &b, &GemmOptions::default()).expect_err("8 columns are not 7");
    assert!(
        error.to_string().contains("[1, 1, 4, 7]") && error.to_string().contains("[1, 1, 4, 8]"),
        "{error}"
    );
    let mut c = Tensor::<f32>::zeros(4, 7).expect("small");
    let other = &tile_std::kernels::gemm::gemm::INSTANCES[0];
    assert_eq!(other.name, "<bf16, bf16, 32, 64, 32, false, true>");
    let options = GemmOptions { instance: Some(other), ..GemmOptions::default() };
    let error = gemm_into(&device, &mut c, &a, &b, &options).expect_err("it stores bf16");
    assert!(matches!(error, GemmError::Instance { .. }), "{error}");
}

#[test]
fn any_prefetch_distance_and_snake_width_gives_the_same_product() {
    let mut rng = Rng(21);
    let mut make = |rows, cols| {
        Tensor::from_fn([1, 1, rows, cols], |_, _, _, _| bf16::from_f32(rng.value())).expect("small")
    };
    let (a, b) = (make(300, 64), make(64, 600));
    for device in devices() {
        let want: Tensor<f32> = gemm(&device, &a, &b).expect("shapes fit");
        for (ahead, snake) in [(0, 1), (1, 2), (3, 0), (u32::MAX, u32::MAX), (2, 8)] {
            let mut c = Tensor::<f32>::zeros(300, 600).expect("small");
            let options = GemmOptions { ahead: Some(ahead), snake: Some(snake), ..GemmOptions::default() };
            gemm_into(&device, &mut c, &a, &b, &options).unwrap_or_else(|e| panic!("{ahead} {snake}: {e}"));
            assert!(
                c.iter().zip(want.iter()).all(|(p, q)| p.to_bits() == q.to_bits()),
                "{}: {ahead} {snake}",
                device.name()
            );
        }
    }
}
