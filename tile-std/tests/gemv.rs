//! The product of a matrix and a few vectors on ragged and degenerate shapes, views, and extreme values: host and simulator
//! against f64.

mod reference;
mod rows;

use reference::{FORMS, Form, Guarded, Reference, Rng, ulp};
use rows::devices;
use tile_std::ops::{RowOptions, explain_gemv, gemv, gemv_into};
use tile_std::prelude::*;
use tile_std::{Generic, InstanceInfo};

/// What is added to the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Add {
    Nothing,
    Bias,
    Residual,
}

#[derive(Clone, Copy)]
struct Case {
    planes: [usize; 2],
    /// W has planes of its own.
    own_planes: bool,
    m: usize,
    n: usize,
    k: usize,
    add: Add,
    /// Of each tensor: w, x, add, y.
    forms: [Form; 4],
    /// Factor of every value of x.
    size: f32,
    seed: u64,
    instance: Option<&'static InstanceInfo>,
}

/// The products are summed in f32 in any order, so each may be off by `k` units of the sum of the sizes; the addend makes one
/// more sum of it, and the result is rounded once.
fn run<T: Element, C: Element>(device: &Device, case: &Case) {
    let Case { planes: [batch, depth], own_planes, m, n, k, add, forms, size, seed, instance } = *case;
    let told = format!(
        "{} {}->{} {batch}x{depth} own {own_planes} {m}x{n}x{k} {add:?} {forms:?} seed {seed:#x}",
        device.name(),
        T::DTYPE,
        C::DTYPE
    );
    let mut rng = Rng(seed);
    let [wb, wd] = if own_planes { [batch, depth] } else { [1, 1] };
    let w = Guarded::<T>::new([wb, wd, n, k], forms[0], |_, _, _, _| rng.value());
    let x = Guarded::<T>::new([batch, depth, m, k], forms[1], |_, _, _, _| rng.value() * size);
    let more_shape = if add == Add::Residual { [batch, depth, m, n] } else { [1, 1, 1, n] };
    let more = Guarded::<C>::new(more_shape, forms[2], |_, _, _, _| rng.value());
    let mut y = Guarded::<C>::new([batch, depth, m, n], forms[3], |_, _, _, _| f32::NAN);
    let options = RowOptions { instance, ..RowOptions::default() };
    let with = (add != Add::Nothing).then(|| more.view());
    gemv_into(device, y.view_mut(), w.view(), x.view(), with, &options)
        .unwrap_or_else(|e| panic!("{told}: {e}"));
    assert!(w.is_intact() && x.is_intact() && y.is_intact(), "{told}: something outside a tensor changed");
    for (b, d) in (0..batch * depth).map(|p| (p / depth, p % depth)) {
        let plane = if own_planes { (b, d) } else { (0, 0) };
        let product =
            Reference::new((m, n, k), |r, i| x.get(b, d, r, i), |i, c| w.get(plane.0, plane.1, c, i));
        for (r, c) in (0..m * n).map(|i| (i / n, i % n)) {
            let i = r * n + c;
            let plus = match add {
                Add::Nothing => 0.0,
                Add::Bias => more.get(0, 0, 0, c),
                Add::Residual => more.get(b, d, r, c),
            };
            let want = product.value[i] + plus;
            let found = y.get(b, d, r, c);
            let before = (k as f64 + 1.0) * 2f64.powi(-24) * (product.magnitude[i] + plus.abs());
            let most = before + 0.5 * ulp::<C>(want.abs() + before);
            assert!((found - want).abs() <= most, "{told}: ({b}, {d}, {r}, {c}) is {found}, not {want}");
        }
    }
}

fn any_types(device: &Device, case: &Case, which: u64) {
    match which % 9 {
        0 => run::<bf16, bf16>(device, case),
        1 => run::<f16, f16>(device, case),
        2 => run::<f32, f32>(device, case),
        3 => run::<bf16, f32>(device, case),
        4 => run::<f16, f32>(device, case),
        5 => run::<f32, bf16>(device, case),
        6 => run::<bf16, f16>(device, case),
        7 => run::<f16, bf16>(device, case),
        _ => run::<f32, f16>(device, case),
    }
}

/// Columns of Y around the edges of a work-group's 16, and rows of W around those of 4.
const NS: [usize; 8] = [0, 1, 3, 4, 5, 16, 17, 50];

/// Lengths around the edges of a lane's 8 elements, of a message of 128, and of a piece of 256 and 512.
const KS: [usize; 10] = [0, 1, 7, 8, 127, 128, 129, 256, 515, 1111];

#[test]
fn ragged_shapes_and_views() {
    let mut rng = Rng(0x0063_0001);
    let mut executed = 0;
    for (i, n) in NS.into_iter().enumerate() {
        for (j, k) in KS.into_iter().enumerate() {
            let mut form = || FORMS[rng.below(3) as usize];
            let forms = [form(), form(), form(), form()];
            let case = Case {
                planes: if rng.below(4) == 0 { [2, 2] } else { [1, 1] },
                own_planes: rng.below(2) == 0,
                m: [1, 1, 2, 4, 9][rng.below(5) as usize],
                n,
                k,
                add: [Add::Nothing, Add::Bias, Add::Residual][rng.below(3) as usize],
                forms,
                size: 1.0,
                seed: rng.next() | 1,
                instance: None,
            };
            for device in devices() {
                any_types(&device, &case, (i + j) as u64);
                executed += 1;
            }
        }
    }
    assert_eq!(executed, NS.len() * KS.len() * 2);
}

#[test]
fn no_rows_and_more_rows_than_sub_groups() {
    for (i, m) in [0, 8, 33].into_iter().enumerate() {
        let forms = [Form::Odd, Form::Aligned, Form::Owned, Form::Odd];
        let (planes, own_planes, size, seed, instance) = ([1, 1], false, 1.0, 0x77, None);
        let case =
            Case { planes, own_planes, m, n: 20, k: 300, add: Add::Residual, forms, size, seed, instance };
        for device in devices() {
            any_types(&device, &case, i as u64);
        }
    }
}

#[test]
fn every_instance_takes_short_and_long_rows() {
    let mut executed = 0;
    for instance in tile_std::kernels::gemv::gemv::INSTANCES {
        let [Generic::Type(of), Generic::Type(to), Generic::Size(piece), Generic::Size(split)] =
            *instance.generics
        else {
            panic!("the kernel's generics are T, C, L, SPLIT")
        };
        let all = [bf16::DTYPE, f16::DTYPE, f32::DTYPE];
        let pairs = [(0, 0), (1, 1), (2, 2), (0, 2), (1, 2), (2, 0), (0, 1), (1, 0), (2, 1)];
        let which = pairs.iter().position(|&(t, c)| all[t] == of && all[c] == to).expect("float types");
        let host_only = instance.modules.is_empty();
        for k in [piece as usize - 3, (piece * (split + 1)) as usize + 5] {
            for device in devices().into_iter().filter(|d| !host_only || matches!(d, Device::Host(_))) {
                let forms = [Form::Owned, Form::Odd, Form::Owned, Form::Aligned];
                let (planes, own_planes, size, seed) = ([1, 1], true, 100.0, 0x31 + k as u64);
                let (m, n, add, instance) = (3, 18, Add::Bias, Some(instance));
                let case = Case { planes, own_planes, m, n, k, add, forms, size, seed, instance };
                any_types(&device, &case, which as u64);
                executed += 1;
            }
        }
    }
    assert_eq!(executed, 9 * (2 * 2 * 2 + 2));
}

#[test]
fn infinities_and_nan_reach_their_column_alone() {
    let (n, k) = (21, 300);
    for device in devices() {
        let w = Tensor::from_fn([1, 1, n, k], |_, _, r, c| {
            bf16::from_f32(match (r, c) {
                (2, 299) => f32::NAN,
                (3, 7) => f32::INFINITY,
                (20, 0) => f32::NEG_INFINITY,
                (5, 17) => 0.0,
                _ => 1.0,
            })
        })
        .expect("small");
        // 0 times NaN is NaN; infinity less infinity too.
        let x = Tensor::from_fn([1, 1, 1, k], |_, _, _, c| bf16::from_f32(if c == 17 { 1e4 } else { 1.0 }))
            .expect("small");
        let y: Tensor<f32> = gemv(&device, &w, &x).expect("shapes fit");
        for (c, found) in y.to_vec().into_iter().enumerate() {
            let all = 299.0 + bf16::from_f32(1e4).to_f32();
            let want = match c {
                2 => f32::NAN,
                3 => f32::INFINITY,
                20 => f32::NEG_INFINITY,
                5 => 299.0,
                _ => all,
            };
            assert!(found == want || found.is_nan() && want.is_nan(), "{}: {c}: {found}", device.name());
        }
    }
}

#[test]
fn a_row_of_no_columns_is_what_is_added() {
    for device in devices() {
        let (w, x) =
            (Tensor::<f16>::zeros(20, 0).expect("empty"), Tensor::<f16>::zeros(2, 0).expect("empty"));
        let bias = Tensor::from_fn([1, 1, 1, 20], |_, _, _, c| c as f32).expect("small");
        let mut y = Tensor::<f32>::zeros(2, 20).expect("small");
        gemv_into(&device, &mut y, &w, &x, Some(bias.view()), &RowOptions::default()).expect("shapes fit");
        assert!(y.to_vec().into_iter().enumerate().all(|(i, v)| v == (i % 20) as f32), "{y:?}");
    }
}

#[test]
fn wrong_calls_are_errors_with_both_shapes() {
    let device = Device::host();
    let w = Tensor::<bf16>::zeros(4, 5).expect("small");
    let x = Tensor::<bf16>::zeros(1, 6).expect("small");
    let error = gemv::<bf16, f32>(&device, &w, &x).expect_err("6 is not 5").to_string();
    assert!(error.contains("w is [1, 1, 4, 5]") && error.contains("x is [1, 1, 1, 6]"), "{error}");
    let x = Tensor::<bf16>::zeros(1, 5).expect("small");
    let by = &RowOptions::default();
    let mut y = Tensor::<bf16>::zeros(1, 5).expect("small");
    let error = gemv_into(&device, &mut y, &w, &x, None, by).expect_err("5 is not 4").to_string();
    assert!(error.contains("the output is [1, 1, 1, 5]"), "{error}");
    let mut y = Tensor::<bf16>::zeros(1, 4).expect("small");
    let bias = Tensor::<bf16>::zeros(2, 4).expect("small");
    let error =
        gemv_into(&device, &mut y, &w, &x, Some(bias.view()), by).expect_err("2 is not 1").to_string();
    assert!(error.contains("the addend is [1, 1, 2, 4]"), "{error}");
    let instance = Some(explain_gemv::<bf16, f32>(&device, y.shape()).instance);
    let options = RowOptions { instance, ..RowOptions::default() };
    let error = gemv_into(&device, &mut y, &w, &x, None, &options).expect_err("it makes f32").to_string();
    assert!(error.contains("bf16, bf16"), "{error}");
    let planes = Tensor::with_shape([3, 1, 4, 5]).expect("small");
    let error = gemv::<bf16, f32>(&device, &planes, &x).expect_err("3 planes of 1").to_string();
    assert!(error.contains("batch and depth of w"), "{error}");
}
