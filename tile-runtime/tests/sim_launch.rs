//! Launches on the simulator with device modules assembled by hand.
//!
//! *Not here*: what the simulator makes of instructions (`tile_sim`), modules of our code generator (`tile_std`).

mod kernels;
#[path = "kernels/spirv.rs"]
mod spirv;

use kernels::{GEMM, launch_plain};
use spirv::{Edge, copy, scalars};
use tile_lang::prelude::{Element, bf16};
use tile_runtime::xe_surface::Broken;
use tile_runtime::{
    Axis, DType, Device, InstanceInfo, LaunchError, LaunchOptions, Shape, Tensor, TensorLayout, View,
    ViewMut, launch,
};

/// Elements that are exact in every type.
fn pattern<T: Element>(shape: Shape) -> Tensor<T> {
    Tensor::from_fn(shape, |b, d, r, c| T::from_f32(((b * 31 + d * 17 + r * 7 + c * 3) % 251) as f32))
        .expect("small")
}

fn nan<T: Element>() -> T {
    T::from_f32(f32::NAN)
}

#[test]
fn owned_tensors_are_copied_in_place_and_their_padding_stays() {
    let device = Device::sim();
    let instance = copy(DType::Bf16, Edge::Kept);
    for shape in [[1, 1, 1, 32], [1, 1, 8, 64], [2, 3, 13, 70], [1, 1, 100, 32], [0, 3, 4, 32], [1, 1, 0, 32]]
    {
        let mut x = pattern::<bf16>(shape);
        let mut y = Tensor::<bf16>::with_shape(shape).expect("small");
        x.fill_padding(nan());
        y.fill_padding(nan());
        let report =
            launch_plain(&device, instance, &mut [(&mut y).into(), (&x).into(), (&x).into()]).expect("legal");
        assert_eq!(y.to_vec(), x.to_vec(), "{shape:?}");
        assert!(y.padding().all(|e| e.to_f32().is_nan()), "{shape:?}");
        assert!(report.staged.is_empty(), "{report}");
        let [batch, depth, rows, cols] = shape;
        assert_eq!(report.work_groups as usize, batch * depth * rows.div_ceil(8) * cols.div_ceil(16));
        let bytes = report.counters.map(|counters| counters.bytes_loaded as usize);
        let none_ran = report.work_groups == 0;
        assert_eq!(bytes, (!none_ran).then_some(x.to_vec().len() * 2), "{shape:?}");
        assert!(report.mapped.iter().all(|m| m.address % 64 == 0 && m.first == m.address));
    }
}

#[test]
fn scalars_of_every_type_arrive() {
    let mut y = Tensor::<f32>::zeros(8, 16).expect("small");
    let args = &mut [
        (&mut y).into(),
        7u32.into(),
        (-7i32).into(),
        0x0123_4567_89ab_cdefu64.into(),
        1.5f32.into(),
        true.into(),
    ];
    launch_plain(&Device::sim(), scalars(), args).expect("legal");
    let expected = [7, -7i32 as u32, 0x89ab_cdef, 0x0123_4567, 1.5f32.to_bits(), 1, 0, 0];
    for (row, bits) in expected.into_iter().enumerate() {
        let row = y.row(0, 0, row).expect("inside");
        assert!(row.iter().all(|x| x.to_bits() == bits), "{row:?} is not {bits:#x}");
    }
}

/// Copies between parts of larger tensors and checks that only the part changed.
fn copy_parts(cols: [usize; 2], rows: [usize; 2]) -> tile_runtime::Report {
    let x = pattern::<bf16>([2, 2, 40, 150]);
    let mut y = Tensor::<bf16>::with_shape([2, 2, 50, 160]).expect("small");
    y.view_mut().copy_from(pattern::<bf16>([2, 2, 50, 160]).view()).expect("one shape");
    y.fill_padding(nan());
    let before = y.try_clone().expect("small");
    let from = x.view().slice_rows(rows[1]..rows[1] + 20).and_then(|v| v.slice_cols(cols[1]..cols[1] + 100));
    let to =
        y.view_mut().slice_rows(rows[0]..rows[0] + 20).and_then(|v| v.slice_cols(cols[0]..cols[0] + 100));
    let (from, to) = (from.expect("inside"), to.expect("inside"));
    let report = launch_plain(
        &Device::sim(),
        copy(DType::Bf16, Edge::Kept),
        &mut [to.into(), from.into(), from.into()],
    );
    let report = report.expect("legal");
    for (index, (after, before)) in y.iter().zip(before.iter()).enumerate() {
        let (plane, row, col) = (index / 8000, index % 8000 / 160, index % 160);
        let inside = (rows[0]..rows[0] + 20).contains(&row) && (cols[0]..cols[0] + 100).contains(&col);
        let expected = if inside {
            x.get(plane / 2, plane % 2, row - rows[0] + rows[1], col - cols[0] + cols[1]).expect("inside")
        } else {
            before
        };
        assert_eq!(after, expected, "plane {plane}, row {row}, col {col}");
    }
    assert!(y.padding().all(|e| e.to_f32().is_nan()));
    report
}

#[test]
fn even_offsets_shift_x_and_odd_ones_are_staged() {
    assert!(copy_parts([32, 0], [3, 7]).staged.is_empty());
    assert!(copy_parts([2, 36], [0, 1]).staged.is_empty());
    let report = copy_parts([3, 6], [1, 0]);
    let staged = report.staged.iter().map(|s| (s.parameter, s.broken)).collect::<Vec<_>>();
    assert_eq!(staged, [("y", Broken::Shift { shift_bytes: 6 })]);
    let text = report.to_string();
    let rule = "the first element must lie a multiple of 4 bytes after a 64-byte boundary; it lies 6 bytes after one";
    assert!(text.contains("`y` was copied (") && text.ends_with(rule), "{text}");
    assert_eq!(copy_parts([35, 1], [2, 2]).staged.len(), 3);
}

#[test]
fn slices_keep_their_address_and_may_need_a_copy() {
    let instance = copy(DType::F32, Edge::Kept);
    // 64-byte aligned memory to cut slices from.
    let source = pattern::<f32>([1, 1, 1, 4000]);
    let source = source.row(0, 0, 0).expect("one row");
    let mut target = Tensor::<f32>::zeros(1, 4000).expect("small");
    let run = |from: &[f32], to: &mut [f32], pitch: usize, options: &LaunchOptions<'_>| {
        let layout = TensorLayout::pitched([1, 1, 10, 24], pitch, 4).expect("legal");
        let expected = View::with_layout(from, layout).expect("long enough").to_vec();
        let args = &mut [
            ViewMut::with_layout(to, layout).expect("long enough").into(),
            View::with_layout(from, layout).expect("long enough").into(),
            View::with_layout(from, layout).expect("long enough").into(),
        ];
        let report = launch(&Device::sim(), instance, args, options)?;
        assert_eq!(View::with_layout(&*to, layout).expect("long enough").to_vec(), expected);
        Ok::<_, LaunchError>(report)
    };
    let mut whole = target.view_mut();
    let target = whole.row_mut(0, 0, 0).expect("one row");
    let default = LaunchOptions::default();
    let report = run(&source[..1000], &mut target[..1000], 28, &default).expect("legal");
    assert!(report.staged.is_empty(), "{report}");
    let report = run(&source[1..1000], &mut target[2..1000], 28, &default).expect("legal");
    assert!(report.staged.is_empty(), "{report}");
    assert_eq!(report.mapped.iter().map(|m| m.first % 64).collect::<Vec<_>>(), [8, 4, 4]);

    let report = run(&source[..1000], &mut target[..1000], 25, &default).expect("staged");
    assert_eq!(
        report.staged.iter().map(|s| s.broken).collect::<Vec<_>>(),
        [Broken::PitchMultiple { pitch_bytes: 100 }; 3]
    );
    let strict = LaunchOptions { strict: true, ..default };
    let refused = run(&source[..1000], &mut target[..1000], 25, &strict).expect_err("strict");
    assert_eq!(
        refused.to_string(),
        "copy<8, 16>: `y` would have to be copied, which `strict` forbids: the row pitch must be a multiple of 16 \
         bytes; it is 100"
    );
    let forced = LaunchOptions { force: true, strict: true, ..default };
    let refused = run(&source[..1000], &mut target[..1000], 25, &forced).expect_err("the simulator refuses");
    let LaunchError::Simulator { kernel: "copy", instance: "<8, 16>", ref source } = refused else {
        panic!("{refused}");
    };
    assert_eq!(source.rule(), Some(tile_sim::Rule::SurfacePitch));
    assert!(refused.to_string().starts_with("copy<8, 16> on the simulator: "), "{refused}");
}

#[test]
fn forcing_an_odd_shift_is_refused_by_the_simulator() {
    let x = pattern::<bf16>([1, 1, 8, 64]);
    let mut y = Tensor::<bf16>::zeros(8, 32).expect("small");
    let from = x.view().slice_cols(3..35).expect("inside");
    let options = LaunchOptions { force: true, ..LaunchOptions::default() };
    let args = &mut [(&mut y).into(), from.into(), from.into()];
    let refused = launch(&Device::sim(), copy(DType::Bf16, Edge::Kept), args, &options).expect_err("refused");
    let LaunchError::Simulator { source, .. } = refused else { panic!("{refused}") };
    assert!(
        matches!(source.rule(), Some(tile_sim::Rule::CoordinateAlignment | tile_sim::Rule::SurfaceWidth)),
        "{source}"
    );
    assert!(y.iter().all(|e| e.to_f32() == 0.0), "a failed launch changes no output");
}

#[test]
fn repeated_planes_are_read_again_in_place_and_staged() {
    let x = pattern::<f32>([1, 1, 9, 40]);
    for offset in [0, 1] {
        // f32 parts are never odd; an odd pitch makes the copy necessary.
        let memory = x.view().slice_cols(offset..offset + 33).expect("inside").to_vec();
        let from = if offset == 0 {
            x.view().slice_cols(..33).expect("inside")
        } else {
            View::from_slice(&memory, 9, 33).expect("exact")
        };
        let from =
            from.broadcast(Axis::Batch, 3).and_then(|v| v.broadcast(Axis::Depth, 2)).expect("one plane");
        let mut y = Tensor::<f32>::with_shape([3, 2, 9, 33]).expect("small");
        let args = &mut [(&mut y).into(), from.into(), from.into()];
        let report = launch_plain(&Device::sim(), copy(DType::F32, Edge::Kept), args).expect("legal");
        assert_eq!(y.to_vec(), from.to_vec());
        assert_eq!(report.staged.len(), 2 * offset);
        let most = 9 * (33 + 63) * 4 + 64;
        assert!(report.staged.iter().all(|s| s.bytes <= most), "one plane is copied, not six: {report}");
    }
}

#[test]
fn a_module_that_writes_beyond_its_output_is_an_error() {
    let x = pattern::<f32>([1, 1, 9, 40]);
    let mut y = Tensor::<f32>::zeros(9, 40).expect("small");
    y.fill_padding(f32::NAN);
    let args = &mut [(&mut y).into(), (&x).into(), (&x).into()];
    let refused = launch_plain(&Device::sim(), copy(DType::F32, Edge::Ignored), args).expect_err("stray");
    assert_eq!(
        refused.to_string(),
        "copy<8, 16>: a module must write elements of outputs only; it wrote the byte 162 bytes from the start of \
         the memory of `y`, which holds no element of an output"
    );
    assert!(y.padding().all(f32::is_nan) && y.iter().all(|e| e == 0.0), "a failed launch changes nothing");
    // (Byte 160 is the first of column 40; the low half of an f32 NaN is 0, as what was stored.) In a copy, too.
    let mut memory = vec![0.0f32; 9 * 33];
    let narrow = x.view().slice_cols(..33).expect("inside");
    let args =
        &mut [ViewMut::from_slice(&mut memory, 9, 33).expect("exact").into(), narrow.into(), narrow.into()];
    let refused = launch_plain(&Device::sim(), copy(DType::F32, Edge::Ignored), args).expect_err("stray");
    assert!(matches!(refused, LaunchError::StrayWrite { parameter: "y", .. }), "{refused}");
}

#[test]
fn a_module_that_writes_an_input_is_an_error() {
    let x = pattern::<f32>([1, 1, 8, 32]);
    let mut y = Tensor::<f32>::zeros(8, 32).expect("small");
    let args = &mut [(&mut y).into(), (&x).into(), (&x).into()];
    let refused =
        launch_plain(&Device::sim(), copy(DType::F32, Edge::InputWritten), args).expect_err("input");
    let LaunchError::Simulator { source, .. } = refused else { panic!("{refused}") };
    assert_eq!(source.rule(), Some(tile_sim::Rule::ReadOnly));
}

#[test]
fn limits_of_the_hardware_are_errors_even_without_strict() {
    // Memory that is never touched is never there.
    let tall = Tensor::<bf16>::zeros((1 << 24) + 1, 1).expect("a gibibyte of address space");
    let mut y = Tensor::<bf16>::zeros(8, 32).expect("small");
    let args = &mut [(&mut y).into(), (&tall).into(), (&tall).into()];
    let refused = launch_plain(&Device::sim(), copy(DType::Bf16, Edge::Kept), args).expect_err("too tall");
    assert_eq!(
        refused.to_string(),
        "copy<8, 16>: `x` does not fit a 2-D block surface: a plane must have at most 2^24 rows; it has 16777217"
    );
}

#[test]
fn missing_modules_are_errors_that_list_what_there_is() {
    let x = pattern::<f32>([1, 1, 8, 32]);
    let mut y = Tensor::<f32>::zeros(8, 32).expect("small");
    let device = Device::sim_as("cri").expect("known");
    let refused =
        launch_plain(&device, copy(DType::F32, Edge::Kept), &mut [(&mut y).into(), (&x).into(), (&x).into()]);
    assert_eq!(
        refused.expect_err("not compiled").to_string(),
        "copy<8, 16>: no `xe` module for device `cri`; modules: xe for pvc, bmg"
    );
    let (a, b) = (pattern::<bf16>([1, 1, 8, 8]), pattern::<bf16>([1, 1, 8, 8]));
    let refused = launch_plain(&Device::sim(), &GEMM, &mut [(&mut y).into(), (&a).into(), (&b).into()]);
    assert_eq!(
        refused.expect_err("host only").to_string(),
        "gemm<bf16, 32, 64, 32>: no `xe` module for device `any`; modules: none"
    );
}

#[test]
fn broken_words_are_errors() {
    let whole = copy(DType::F32, Edge::Kept);
    let cut = |words: &'static [u8]| -> &'static InstanceInfo {
        let module = tile_runtime::ModuleInfo { words, ..whole.modules[0] };
        Box::leak(Box::new(InstanceInfo { modules: Box::leak(Box::new([module])), ..*whole }))
    };
    let x = pattern::<f32>([1, 1, 8, 32]);
    let mut y = Tensor::<f32>::zeros(8, 32).expect("small");
    let mut refused = |instance| {
        launch_plain(&Device::sim(), instance, &mut [(&mut y).into(), (&x).into(), (&x).into()])
            .expect_err("broken")
    };
    let words = whole.modules[0].words;
    let odd = refused(cut(&words[..words.len() - 1]));
    assert!(odd.to_string().contains("SPIR-V has whole words of 4 bytes"), "{odd}");
    assert!(matches!(refused(cut(&words[..words.len() - 8])), LaunchError::Simulator { .. }));
}

#[test]
fn the_report_says_which_module_ran_and_records_on_request() {
    let x = pattern::<f32>([1, 1, 16, 32]);
    let mut y = Tensor::<f32>::zeros(16, 32).expect("small");
    let record = tile_sim::Options { traffic: true, messages: true, ..tile_sim::Options::default() };
    let options = LaunchOptions { sim: Some(&record), ..LaunchOptions::default() };
    let device = Device::sim_as("bmg").expect("known");
    let args = &mut [(&mut y).into(), (&x).into(), (&x).into()];
    let report = launch(&device, copy(DType::F32, Edge::Kept), args, &options).expect("legal");
    let text = report.to_string();
    assert!(text.starts_with("copy<8, 16> on sim: 4 work-groups in "), "{text}");
    assert!(
        text.ends_with("; xe module `copy` on the simulator, because it is compiled for `bmg`"),
        "{text}"
    );
    let counters = report.counters.expect("it ran");
    assert_eq!((counters.block_loads, counters.block_stores, counters.messages.len()), (4, 4, 8));
    let traffic = counters.traffic.expect("asked for");
    assert!(traffic.loaded.exactly_once() && traffic.stored.exactly_once());
    assert_eq!(traffic.allocations.len(), 2);
    assert!(report.mapped.iter().all(|m| traffic.allocations.contains_key(&m.address)));
}

#[test]
fn messages_for_an_input_without_elements_reach_memory() {
    // The module loads tiles of `x` for every tile of `y`, as a module that masks them afterwards would.
    let instance = copy(DType::F32, Edge::Kept);
    for shape in [[1, 1, 0, 40], [1, 1, 30, 0], [3, 1, 0, 40], [1, 1, 0, 0], [0, 1, 30, 40]] {
        let x = Tensor::<f32>::with_shape(shape).expect("small");
        let mut y = Tensor::from_fn([3, 1, 30, 40], |_, _, _, _| 1.0f32).expect("small");
        let args = &mut [(&mut y).into(), (&x).into(), (&x).into()];
        let report = launch_plain(&Device::sim(), instance, args).expect("legal");
        assert!(report.staged.is_empty(), "{report}");
        let borrowed = View::from_slice_with_shape(&[0.0f32][..0], shape).expect("no element");
        let args = &mut [(&mut y).into(), borrowed.into(), borrowed.into()];
        let report = launch_plain(&Device::sim(), instance, args).expect("legal");
        assert_eq!(report.staged.len(), 2, "{report}");
    }
}

#[test]
fn one_tensor_for_two_inputs_is_mapped_once() {
    let (x, other) = (pattern::<f32>([1, 1, 9, 40]), pattern::<f32>([1, 1, 9, 40]));
    let mut y = Tensor::<f32>::zeros(9, 40).expect("small");
    let instance = copy(DType::F32, Edge::Kept);
    let mut addresses = |args: [View<'_, f32>; 2]| {
        let args = &mut [(&mut y).into(), args[0].into(), args[1].into()];
        let report = launch_plain(&Device::sim(), instance, args).expect("legal");
        report.mapped.iter().map(|m| (m.parameter, m.address, m.first - m.address)).collect::<Vec<_>>()
    };
    let part = x.view().slice_rows(1..5).expect("inside");
    let [y, first, second] = addresses([x.view(), part])[..] else { panic!("three tensors") };
    assert_eq!([y.0, first.0, second.0], ["y", "x", "z"]);
    assert_eq!((first.1, first.2, second.2), (second.1, 0, 64 * 3));
    assert_ne!(y.1, first.1);
    let [_, first, second] = addresses([x.view(), other.view()])[..] else { panic!("three tensors") };
    assert_ne!(first.1, second.1);
}

#[test]
fn many_threads_launch_at_once() {
    let device = Device::sim();
    let instance = copy(DType::Bf16, Edge::Kept);
    std::thread::scope(|scope| {
        for rows in 1..9 {
            let device = device.clone();
            scope.spawn(move || {
                let x = pattern::<bf16>([1, 1, rows, 64]);
                let mut y = Tensor::<bf16>::with_shape([1, 1, rows, 64]).expect("small");
                launch_plain(&device, instance, &mut [(&mut y).into(), (&x).into(), (&x).into()])
                    .expect("legal");
                assert_eq!(y.to_vec(), x.to_vec());
            });
        }
    });
}

#[test]
fn progress_tells_of_every_work_group_of_a_small_launch() {
    let told = std::sync::Mutex::new(Vec::new());
    let progress = |done, total| told.lock().expect("no panic").push((done, total));
    let options = LaunchOptions { progress: Some(&progress), ..LaunchOptions::default() };
    let x = pattern::<f32>([1, 1, 9, 40]);
    let mut y = Tensor::<f32>::zeros(9, 40).expect("small");
    let args = &mut [(&mut y).into(), (&x).into(), (&x).into()];
    launch(&Device::sim(), copy(DType::F32, Edge::Kept), args, &options).expect("legal");
    let counts: Vec<(u64, u64)> = (0..=6).map(|done| (done, 6)).collect();
    assert_eq!(told.into_inner().expect("no panic"), counts);
}
