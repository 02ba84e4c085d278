//! Launches on the host device with kernels described by hand.
//!
//! *Not here*: what ops compute (`tile_lang`), accuracy over many shapes (`tile_std`).

mod kernels;

use std::num::NonZeroUsize;
use std::sync::Mutex;

use kernels::{AXPY, GEMM, GEMM_LARGE, GEMM_SMALL, launch_plain};
use tile_lang::prelude::bf16;
use tile_runtime::{
    Axis, Device, InstanceInfo, LaunchArg, LaunchError, LaunchOptions, Shape, Tensor, TensorLayout, View,
    ViewMut, launch,
};

/// Small integers: every product and sum is exact in f32.
fn pattern(shape: Shape, seed: usize) -> Tensor<bf16> {
    let value = |b, d, r, c| ((seed + b * 7 + d * 5 + r * 3 + c * 11 + r * c) % 9) as f32 - 4.0;
    Tensor::from_fn(shape, |b, d, r, c| bf16::from_f32(value(b, d, r, c))).expect("small")
}

fn reference(a: View<'_, bf16>, b: View<'_, bf16>) -> Vec<f32> {
    let [batches, depths, m, k] = a.shape();
    let n = b.cols();
    let mut c = Vec::new();
    for (batch, depth) in (0..batches).flat_map(|b| (0..depths).map(move |d| (b, d))) {
        let floats =
            |row: Option<&[bf16]>| row.expect("inside").iter().map(|x| x.to_f32()).collect::<Vec<_>>();
        let b_rows = (0..k).map(|i| floats(b.row(batch, depth, i))).collect::<Vec<_>>();
        for row in 0..m {
            let mut sums = vec![0.0f32; n];
            for (x, y) in floats(a.row(batch, depth, row)).iter().zip(&b_rows) {
                sums.iter_mut().zip(y).for_each(|(sum, y)| *sum += x * y);
            }
            c.extend(sums);
        }
    }
    c
}

/// Runs a GEMM with NaN in all padding and compares; returns the work-groups.
fn check_gemm(device: &Device, instance: &'static InstanceInfo, planes: [usize; 2], mnk: [usize; 3]) -> u64 {
    let [m, n, k] = mnk;
    let (mut a, mut b) = (pattern([planes[0], planes[1], m, k], 1), pattern([planes[0], planes[1], k, n], 2));
    let mut c = Tensor::<f32>::with_shape([planes[0], planes[1], m, n]).expect("small");
    a.fill_padding(bf16::NAN);
    b.fill_padding(bf16::NAN);
    c.fill_padding(f32::NAN);
    let report = launch_plain(device, instance, &mut [(&mut c).into(), (&a).into(), (&b).into()])
        .unwrap_or_else(|e| panic!("{mnk:?}: {e}"));
    assert!(c.to_vec() == reference(a.view(), b.view()), "wrong result for {planes:?} {mnk:?}");
    assert!(c.padding().all(f32::is_nan), "padding written for {planes:?} {mnk:?}");
    report.work_groups
}

#[test]
fn a_gemm_is_right_for_ragged_shapes_and_planes() {
    let device = Device::host();
    for mnk in [[0, 5, 3], [5, 0, 3], [5, 3, 0], [1, 1, 1], [33, 65, 31], [100, 40, 70], [8, 16, 16]] {
        for instance in [&GEMM, &GEMM_SMALL] {
            for planes in [[1, 1], [3, 2], [0, 1]] {
                check_gemm(&device, instance, planes, mnk);
            }
        }
    }
}

#[test]
fn the_grid_covers_the_output_in_work_groups() {
    let device = Device::host();
    // 8 x 4 sub-groups of 32 x 64: work-groups of 256 x 256.
    assert_eq!(check_gemm(&device, &GEMM, [1, 1], [256, 256, 8]), 1);
    assert_eq!(check_gemm(&device, &GEMM, [1, 1], [257, 256, 8]), 2);
    assert_eq!(check_gemm(&device, &GEMM, [2, 3], [257, 257, 8]), 24);
    assert_eq!(check_gemm(&device, &GEMM_SMALL, [1, 1], [256, 256, 8]), 32 * 16);
    assert_eq!(check_gemm(&device, &GEMM_SMALL, [1, 1], [0, 256, 8]), 0);
}

#[test]
fn tiles_of_megabytes_fit_the_stacks() {
    check_gemm(&Device::host(), &GEMM_LARGE, [1, 1], [513, 30, 20]);
}

#[test]
fn views_at_offsets_and_repeated_planes_work() {
    let (a, b) = (pattern([1, 1, 50, 60], 1), pattern([3, 1, 60, 40], 2));
    let a = a.view().slice_rows(3..40).and_then(|v| v.slice_cols(5..48)).expect("inside");
    let a = a.broadcast(Axis::Batch, 3).expect("one batch");
    let b = b.view().slice_rows(7..50).and_then(|v| v.slice_cols(1..38)).expect("inside");
    // The output is the inner part of a slice; all around it must stay.
    let mut memory = vec![-1.0f32; 3 * 40 * 41];
    let layout = TensorLayout::pitched([3, 1, 40, 41], 41, 4).expect("legal");
    let c = ViewMut::with_layout(&mut memory, layout)
        .and_then(|v| v.slice_rows(2..39))
        .and_then(|v| v.slice_cols(3..40))
        .expect("inside");
    let report = launch_plain(&Device::host(), &GEMM_SMALL, &mut [c.into(), a.into(), b.into()]);
    assert_eq!(report.expect("legal").work_groups, 3 * 5 * 3);
    let whole = View::with_layout(&memory, layout).expect("legal");
    let inner = whole.slice_rows(2..39).and_then(|v| v.slice_cols(3..40)).expect("inside");
    assert!(inner.to_vec() == reference(a, b));
    let outside = whole.iter().filter(|x| *x == -1.0).count();
    let inside = inner.iter().filter(|x| *x == -1.0).count();
    assert_eq!(outside - inside, 3 * (40 * 41 - 37 * 37), "bytes around the view changed");
}

#[test]
fn any_number_of_threads_gives_the_same_result() {
    for threads in [1, 2, 5] {
        let device = Device::host_with_threads(NonZeroUsize::new(threads).expect("not 0"));
        assert_eq!(device.to_string().contains("1 thread,"), threads == 1, "{device}");
        check_gemm(&device, &GEMM_SMALL, [2, 1], [130, 70, 33]);
    }
}

#[test]
fn many_threads_launch_at_once() {
    let device = Device::host();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let device = device.clone();
            scope.spawn(move || {
                for round in 0..6 {
                    let instance = if (thread + round) % 2 == 0 { &GEMM } else { &GEMM_SMALL };
                    check_gemm(&device, instance, [1, 1], [40 + thread, 30 + round, 20]);
                }
            });
        }
    });
}

fn scale(x: &Tensor<f32>, y: &mut Tensor<f32>, fail: u32) -> Result<u64, LaunchError> {
    let args = &mut [
        y.into(),
        x.into(),
        2.0f32.into(),
        (1u64 << 40).into(),
        (-7i32).into(),
        true.into(),
        fail.into(),
    ];
    launch_plain(&Device::host(), &AXPY, args).map(|report| report.work_groups)
}

#[test]
fn scalars_of_every_type_arrive() {
    let x = Tensor::from_fn([1, 1, 37, 19], |_, _, r, c| (r * 19 + c) as f32).expect("small");
    let mut y = Tensor::zeros(37, 19).expect("small");
    assert_eq!(scale(&x, &mut y, 0).expect("legal"), 3 * 2);
    assert!(y.iter().zip(x.iter()).all(|(y, x)| y == 2.0 * x));
}

#[test]
fn a_panic_in_a_body_is_an_error_and_the_pool_lives_on() {
    let x = Tensor::<f32>::zeros(64, 64).expect("small");
    let mut y = Tensor::zeros(64, 64).expect("small");
    for _ in 0..50 {
        let error = scale(&x, &mut y, 5).expect_err("tile row 4 panics");
        let LaunchError::Panicked { kernel: "axpy", instance: "<>", group, ref message } = error else {
            panic!("{error}");
        };
        assert!((8..12).contains(&group), "tile row 4 is in the third row of work-groups, not in {group}");
        assert!(message.contains("asked to panic in this row"), "{message}");
        let text = error.to_string();
        assert!(text.starts_with("axpy<>: a kernel body must not panic; work-group"), "{text}");
    }
    scale(&x, &mut y, 0).expect("the pool still works");
}

#[test]
fn progress_ends_at_the_total_and_is_not_told_of_every_group() {
    let told = Mutex::new(Vec::new());
    let progress = |done, total| told.lock().expect("no panic").push((done, total));
    let options = LaunchOptions { progress: Some(&progress), ..LaunchOptions::default() };
    let (a, b) = (pattern([1, 1, 800, 1], 1), pattern([1, 1, 1, 800], 2));
    let mut c = Tensor::<f32>::zeros(800, 800).expect("small");
    let args = &mut [LaunchArg::from(&mut c), (&a).into(), (&b).into()];
    launch(&Device::host(), &GEMM_SMALL, args, &options).expect("legal");
    let told = told.into_inner().expect("no panic");
    assert!(told.contains(&(5000, 5000)), "{told:?}");
    assert!((50..=101).contains(&told.len()), "{}", told.len());
}

#[test]
fn the_report_says_what_ran_and_why() {
    let (a, b) = (pattern([1, 1, 8, 8], 1), pattern([1, 1, 8, 8], 2));
    let mut c = Tensor::<f32>::zeros(8, 8).expect("small");
    let report = launch_plain(&Device::host(), &GEMM, &mut [(&mut c).into(), (&a).into(), (&b).into()]);
    let report = report.expect("legal");
    let text = report.to_string();
    assert!(text.starts_with("gemm<bf16, 32, 64, 32> on host: 1 work-groups in "), "{text}");
    assert!(text.ends_with("; host body, because the device is the host"), "{text}");
    assert!(report.staged.is_empty(), "the host takes every tensor where it lies");
}

/// Sub-group 0 waits; the others end.
fn waits_in_vain(cx: &tile_lang::group::Context<'_>, args: &tile_lang::launch::Args<'_>) {
    let _ = args.global_mut::<f32>(0);
    if cx.subgroup == 0 {
        tile_lang::ops::shared::barrier_in(cx);
    }
}

#[test]
fn a_barrier_that_not_all_reach_is_an_error_that_counts_them() {
    static APART: InstanceInfo = InstanceInfo {
        kernel: "apart",
        params: &[kernels::output("c", tile_runtime::DType::F32)],
        subgroups: (2, 2),
        group: tile_runtime::GroupInfo { waits: true, shared_bytes: 0 },
        run: waits_in_vain,
        ..GEMM_SMALL
    };
    let mut c = Tensor::<f32>::zeros(64, 64).expect("small");
    let error = launch_plain(&Device::host(), &APART, &mut [(&mut c).into()]).expect_err("nobody comes");
    let LaunchError::Barrier { subgroups, first: 0, waiting: 1, ended, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(*ended + 1, *subgroups);
    assert!(error.to_string().contains("1 of "), "{error}");
}
