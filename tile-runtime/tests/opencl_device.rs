//! Launches on a real OpenCL driver: Intel's runtime for CPUs, which `scripts/get-opencl` fetches.
//!
//! Without it the tests are skipped, by name; with `TILE_REQUIRE_OPENCL` set they fail. *Not here*: faults that the
//! real driver does not have (`opencl_faults`), what kernels compute.

#[path = "kernels/mod.rs"]
mod kernels;
#[path = "kernels/lane.rs"]
mod lane;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use kernels::launch_plain;
use rspirv::spirv::Capability;
use tile_runtime::cache::Cache;
use tile_runtime::opencl::driver::Driver;
use tile_runtime::opencl::facts::{Kind, Target};
use tile_runtime::opencl::ocl::Ocl;
use tile_runtime::opencl::{Devices, OpenClDevice};
use tile_runtime::{
    Axis, Device, Event, InstanceInfo, LaunchArg, LaunchError, LaunchOptions, Ran, Shape, Tensor,
    TensorError, View, ViewMut, enqueue, launch,
};

/// The driver that `scripts/get-opencl` fetches.
fn library() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate of a workspace");
    let tools =
        std::env::var_os("TILE_TOOLS_DIR").map_or_else(|| workspace.join("target/tools"), PathBuf::from);
    Some(tools.join("opencl/lib/libintelocl.so")).filter(|path| path.exists())
}

fn devices() -> Option<&'static Devices> {
    static DEVICES: OnceLock<Option<Devices>> = OnceLock::new();
    let load = || Some(Devices::with_driver(Arc::new(driver()?), None).expect("the driver works"));
    let devices = DEVICES.get_or_init(load).as_ref();
    let required = std::env::var_os("TILE_REQUIRE_OPENCL").is_some_and(|value| value != "0");
    assert!(devices.is_some() || !required, "scripts/get-opencl has not fetched the runtime");
    if devices.is_none() {
        let test = std::thread::current().name().unwrap_or("a test").to_string();
        eprintln!("skipped: {test}: run scripts/get-opencl first");
    }
    devices
}

fn driver() -> Option<Ocl> {
    // SAFETY: it is Intel's OpenCL; `Devices` calls it, and one test with a module that it takes or refuses.
    library().map(|path| unsafe { Ocl::load(&path) }.expect("a library that is there opens"))
}

/// The CPU as an OpenCL device.
fn cpu() -> Option<OpenClDevice> {
    Some(devices()?.select("opencl").expect("the runtime has a CPU device"))
}

/// Leaves the test if there is no runtime.
macro_rules! need {
    ($value:expr) => {
        match $value {
            Some(value) => value,
            None => return,
        }
    };
}

fn pattern(shape: Shape) -> Tensor<f32> {
    let value = |b, d, r, c| (b * 1000 + d * 300 + r * 17 + c) as f32 - 50.0;
    Tensor::from_fn(shape, value).expect("small")
}

fn doubled(x: &Tensor<f32>) -> Vec<f32> {
    x.iter().map(|x| 2.0 * x).collect()
}

/// The options of a launch that copies nothing.
const STRICT: LaunchOptions<'static> = LaunchOptions { strict: true, ..NONE };
#[cfg(feature = "sim")]
const NONE: LaunchOptions<'static> =
    LaunchOptions { strict: false, force: false, progress: None, sim: None, races: false };
#[cfg(not(feature = "sim"))]
const NONE: LaunchOptions<'static> =
    LaunchOptions { strict: false, force: false, progress: None, races: false };

fn start(device: &Device, y: &mut Tensor<f32>, x: &Tensor<f32>, alpha: f32) -> Result<Event, LaunchError> {
    enqueue(device, one_by_one(), &mut [y.into(), x.into(), alpha.into()], &STRICT)
}

fn one_by_one() -> &'static InstanceInfo {
    static INSTANCE: OnceLock<&InstanceInfo> = OnceLock::new();
    INSTANCE.get_or_init(|| lane::scale((1, 1), 1))
}

#[test]
fn the_cpu_is_found_by_capability_index_and_name() {
    let devices = need!(devices());
    let found = &devices.all()[0];
    assert_eq!((found.facts.kind, found.facts.shares_memory), (Kind::Cpu, true));
    assert!(found.facts.spir_v.contains(&(1, 2)), "{:?}", found.facts.spir_v);
    assert!(found.facts.local_bytes >= 32 << 10 && found.facts.part_align.is_power_of_two());
    let device = devices.select("opencl").expect("a CPU");
    assert_eq!(device.target(), Target::Lane);
    let half = &found.facts.name[..found.facts.name.len() / 2];
    for value in ["opencl:0".to_string(), format!("opencl:{}", half.to_uppercase())] {
        assert!(devices.select(&value).expect("the same").is_same(&device), "{value}");
    }
    assert!(devices.gpu().is_none());
    for value in ["opencl:7", "opencl:", "opencl:no such name"] {
        let refused = devices.select(value).expect_err("no such device").to_string();
        let text = format!("`{value}` names no OpenCL device that can be used; there are: 0 = ");
        assert!(refused.starts_with(&text), "{refused}");
    }
    let text = Device::OpenCl(device).to_string();
    assert!(text.starts_with("opencl (") && text.ends_with("; lane modules)"), "{text}");
}

#[test]
fn tensors_of_the_device_are_used_where_they_lie() {
    let device = Device::OpenCl(need!(cpu()));
    for subgroups in [(1, 1), (2, 3)] {
        let instance = lane::scale(subgroups, 1);
        for shape in [[1, 1, 1, 1], [1, 1, 8, 16], [1, 1, 33, 47], [3, 2, 9, 17], [1, 1, 100, 300]] {
            let mut x = pattern(shape).to_device(&device).expect("small");
            let mut y = Tensor::<f32>::with_shape_on(&device, shape).expect("small");
            x.fill_padding(f32::NAN);
            y.fill_padding(f32::NAN);
            let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
            let report = launch(&device, instance, args, &STRICT).expect("nothing to copy");
            assert_eq!(report.ran, Ran::OpenClLane { entry: "scale" });
            assert!(report.times.is_some() && report.moved.is_empty() && report.staged.is_empty());
            assert_eq!(y.to_vec(), doubled(&x), "{shape:?}");
            assert!(y.padding().all(f32::is_nan) && x.padding().all(f32::is_nan), "{shape:?}");
        }
    }
}

#[test]
fn tensors_of_the_process_are_moved_and_the_report_says_so() {
    let device = Device::OpenCl(need!(cpu()));
    let x = pattern([2, 1, 13, 21]);
    let mut y = Tensor::<f32>::with_shape([2, 1, 13, 21]).expect("small");
    y.fill_padding(f32::NAN);
    let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
    let report = launch_plain(&device, one_by_one(), args).expect("legal");
    let moved: Vec<_> = report.moved.iter().map(|moved| moved.parameter).collect();
    assert_eq!(moved, ["y", "x"]);
    assert!(report.to_string().contains("`y` was moved to the device ("), "{report}");
    assert!(report.to_string().contains("lane module `scale`, because the device is a CPU"), "{report}");
    assert_eq!(y.to_vec(), doubled(&x));
    assert!(y.padding().all(f32::is_nan));
    let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
    let refused = launch(&device, one_by_one(), args, &STRICT).expect_err("two copies").to_string();
    assert!(refused.starts_with("scale<8, 16>: `y` must be on opencl ("), "{refused}");
    assert!(refused.ends_with("this process holds it"), "{refused}");
    let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
    let refused = enqueue(&device, one_by_one(), args, &NONE).expect_err("an output to copy back");
    assert!(matches!(refused, LaunchError::MustWait { parameter: "y", .. }), "{refused}");
}

#[test]
fn parts_of_tensors_and_of_slices_work() {
    let device = Device::OpenCl(need!(cpu()));
    let whole = pattern([2, 1, 50, 90]).to_device(&device).expect("small");
    for (rows, cols) in [(0..50, 0..90), (3..20, 5..88), (49..50, 89..90), (1..9, 33..50)] {
        let x =
            whole.view().slice_rows(rows.clone()).and_then(|v| v.slice_cols(cols.clone())).expect("inside");
        let mut out = Tensor::<f32>::with_shape_on(&device, [2, 1, 60, 100]).expect("small");
        out.fill_padding(-1.0);
        let inner = |v: ViewMut<'_, f32>| -> Result<(), TensorError> {
            let y = v.slice_rows(7..7 + rows.len())?.slice_cols(3..3 + cols.len())?;
            let args = &mut [y.into(), x.into(), 2.0f32.into()];
            launch(&device, one_by_one(), args, &STRICT).expect("nothing to copy");
            Ok(())
        };
        inner(out.view_mut()).expect("inside");
        let y = out.view().slice_rows(7..7 + rows.len()).and_then(|v| v.slice_cols(3..3 + cols.len()));
        let y = y.expect("inside");
        assert!(y.iter().zip(x.iter()).all(|(y, x)| y == 2.0 * x), "{rows:?} {cols:?}");
        let written = out.iter().filter(|y| *y != 0.0).count();
        assert_eq!(written, x.iter().filter(|x| *x != 0.0).count(), "elements around the part changed");
    }
    // A slice with repeated planes, which is copied.
    let data: Vec<f32> = (0..35).map(|i| i as f32).collect();
    let x = View::from_slice(&data, 5, 7).and_then(|v| v.broadcast(Axis::Batch, 3)).expect("one plane");
    let mut y = Tensor::<f32>::with_shape([3, 1, 5, 7]).expect("small");
    launch_plain(&device, one_by_one(), &mut [(&mut y).into(), x.into(), 2.0f32.into()]).expect("legal");
    assert!(y.iter().zip(x.iter()).all(|(y, x)| y == 2.0 * x));
}

#[test]
fn scalars_of_every_type_arrive() {
    let device = Device::OpenCl(need!(cpu()));
    let mut y = Tensor::<f32>::zeros(8, 16).expect("small");
    let args: &mut [LaunchArg<'_>] = &mut [
        (&mut y).into(),
        0x1234_5678u32.into(),
        (-7i32).into(),
        0x1122_3344_5566_7788u64.into(),
        1.5f32.into(),
        true.into(),
    ];
    launch_plain(&device, lane::scalars(&[]), args).expect("legal");
    let bits: Vec<u32> = y.iter().take(6).map(f32::to_bits).collect();
    assert_eq!(bits, [0x1234_5678, (-7i32).cast_unsigned(), 0x5566_7788, 0x1122_3344, 1.5f32.to_bits(), 1]);
}

#[test]
fn empty_tensors_run_nothing() {
    let device = Device::OpenCl(need!(cpu()));
    for shape in [[1, 1, 0, 5], [0, 1, 4, 4], [1, 1, 5, 0]] {
        let x = Tensor::<f32>::with_shape_on(&device, shape).expect("small");
        let mut y = Tensor::<f32>::with_shape_on(&device, shape).expect("small");
        let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
        let report = launch_plain(&device, one_by_one(), args).expect("legal");
        assert_eq!((report.work_groups, report.times), (0, None));
        assert!(y.to_vec().is_empty());
    }
}

#[test]
fn launches_queue_up_and_reads_wait_for_them() {
    let device = Device::OpenCl(need!(cpu()));
    let slow = lane::scale((1, 1), 2000);
    let x = pattern([1, 1, 64, 64]).to_device(&device).expect("small");
    let [mut first, mut second, mut third] =
        [(); 3].map(|()| Tensor::<f32>::with_shape_on(&device, [1, 1, 64, 64]).expect("small"));
    let args = &mut [(&mut first).into(), (&x).into(), 2.0f32.into()];
    let event = enqueue(&device, slow, args, &STRICT).expect("legal");
    let event = event
        .then(|| start(&device, &mut second, &first, 3.0))
        .and_then(|event| event.then(|| start(&device, &mut third, &second, 5.0)))
        .expect("legal");
    // Nobody waited; reading does.
    assert!(third.iter().zip(x.iter()).all(|(y, x)| y == 30.0 * x));
    assert!(event.is_done());
    let report = event.wait().expect("it went well");
    assert!(report.times.expect("measured").ran > std::time::Duration::ZERO);
    // An input may be read while a launch reads it, and a tensor may be written after one wrote it.
    let row = x.row(0, 0, 0).expect("a row");
    let event = enqueue(&device, slow, &mut [(&mut first).into(), (&x).into(), 2.0f32.into()], &STRICT);
    assert_eq!(row[0], -50.0);
    drop(event.expect("legal"));
    first.view_mut().row_mut(0, 0, 0).expect("a row").fill(7.0);
    assert_eq!((first.get(0, 0, 0, 5), first.get(0, 0, 1, 0)), (Some(7.0), Some(2.0 * -33.0)));
}

#[test]
fn dropped_and_forgotten_events_and_tensors_are_harmless() {
    let cpu = need!(cpu());
    let device = Device::OpenCl(cpu.clone());
    let slow = lane::scale((1, 1), 500);
    for round in 0..20 {
        let x = pattern([1, 1, 40, 40]).to_device(&device).expect("small");
        let mut y = Tensor::<f32>::with_shape_on(&device, [1, 1, 40, 40]).expect("small");
        let event = enqueue(&device, slow, &mut [(&mut y).into(), (&x).into(), 2.0f32.into()], &STRICT);
        match round % 3 {
            0 => drop(event.expect("legal")),
            1 => std::mem::forget(event.expect("legal")),
            // The tensors go first.
            _ => {
                drop((x, y));
                event.expect("legal").wait().expect("it went well");
            }
        }
    }
    cpu.finish().expect("nothing failed");
    assert_eq!(cpu.under_way(), 0, "the device lets go of what it kept");
}

#[test]
fn many_threads_launch_at_once() {
    let device = Device::OpenCl(need!(cpu()));
    let shared = pattern([1, 1, 30, 30]).to_device(&device).expect("small");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (device, shared) = (device.clone(), &shared);
            scope.spawn(move || {
                for round in 0..30 {
                    let alpha = (thread * 100 + round) as f32;
                    let mut y = Tensor::<f32>::with_shape_on(&device, [1, 1, 30, 30]).expect("small");
                    let event = start(&device, &mut y, shared, alpha).expect("legal");
                    if round % 2 == 0 {
                        event.wait().expect("it went well");
                    }
                    assert!(y.iter().zip(shared.iter()).all(|(y, x)| y == alpha * x));
                }
            });
        }
    });
}

#[test]
fn tensors_move_between_devices() {
    let cpu = need!(cpu());
    let device = Device::OpenCl(cpu);
    // A second queue on the same hardware is another device.
    let other = Devices::with_driver(Arc::new(need!(driver())), None).expect("the driver works");
    let other = Device::OpenCl(other.select("opencl").expect("a CPU"));
    let mut host = pattern([2, 2, 5, 40]);
    host.fill_padding(f32::NAN);
    let there = host.to_device(&device).expect("small");
    let copy = there.try_clone().expect("small");
    let elsewhere = copy.to_device(&other).expect("small");
    let back = elsewhere.to_device(&Device::host()).expect("small");
    for tensor in [&there, &copy, &elsewhere, &back] {
        assert_eq!(tensor.to_vec(), host.to_vec());
        assert!(tensor.padding().filter(|x| x.is_nan()).count() >= host.padding().count());
    }
    let mut y = Tensor::<f32>::with_shape_on(&device, host.shape()).expect("small");
    let args = &mut [(&mut y).into(), (&elsewhere).into(), 2.0f32.into()];
    let refused = launch_plain(&device, one_by_one(), args).expect_err("of another device");
    let LaunchError::Elsewhere { parameter: "x", ref holder, .. } = refused else { panic!("{refused}") };
    assert!(holder.starts_with("opencl ("), "{refused}");
    // The host works in the memory of the process, whoever had it before.
    let report = launch_plain(
        &Device::host(),
        one_by_one(),
        &mut [(&mut y).into(), (&elsewhere).into(), 2.0f32.into()],
    );
    assert_eq!(report.expect("legal").ran, Ran::HostBody);
    // A device lives as long as its tensors.
    drop((device, other));
    assert_eq!(elsewhere.to_vec(), host.to_vec());
}

#[test]
fn ten_thousand_tensors_leave_nothing_behind() {
    let device = Device::OpenCl(need!(cpu()));
    let resident_kib = || {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line of it");
        line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).expect("a number")
    };
    let allocate = |count: usize| {
        for i in 0..count {
            let mut x = Tensor::<f32>::with_shape_on(&device, [1, 1, 64, 64]).expect("small");
            x.view_mut().row_mut(0, 0, i % 64).expect("inside").fill(1.0);
            if i % 16 == 0 {
                let mut y = Tensor::<f32>::with_shape_on(&device, [1, 1, 64, 64]).expect("small");
                drop(start(&device, &mut y, &x, 2.0).expect("legal"));
            }
        }
    };
    allocate(500);
    let before = resident_kib();
    allocate(10_000);
    let grown = resident_kib().saturating_sub(before);
    // Other tests run in this process. 10,000 tensors that leaked would be 160 MiB.
    assert!(grown < 80 << 10, "{grown} KiB more after 10,000 tensors of 16 KiB");
}

#[test]
fn programs_are_built_once_and_kept_on_disk() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = Cache::in_folder(folder.path());
    let words = lane::scale((1, 1), 3);
    let launched = || {
        let driver = Arc::new(driver()?);
        let devices = Devices::with_driver(driver, Some(cache.clone())).expect("the driver works");
        let device = Device::OpenCl(devices.select("opencl").expect("a CPU"));
        let x = pattern([1, 1, 9, 9]);
        let mut y = Tensor::<f32>::zeros(9, 9).expect("small");
        let mut run = || {
            let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
            launch_plain(&device, words, args).expect("legal").built
        };
        let (first, second) = (run(), run());
        assert_eq!(second, None, "a process builds once");
        assert_eq!(y.to_vec(), doubled(&x));
        first.map(|built| built.from_cache)
    };
    assert_eq!(need!(launched().map(Some)), Some(false));
    assert_eq!(launched(), Some(true));
    let entry =
        std::fs::read_dir(folder.path()).expect("readable").next().expect("one entry").expect("readable");
    let whole = std::fs::read(entry.path()).expect("readable");
    std::fs::write(entry.path(), &whole[..whole.len() - 5]).expect("writable");
    assert_eq!(launched(), Some(false), "a damaged entry is built again");
    assert_eq!(launched(), Some(true));
    cache.clear().expect("removable");
    assert_eq!(launched(), Some(false));
}

#[test]
fn a_module_the_device_cannot_take_is_refused_before_a_build() {
    let device = Device::OpenCl(need!(cpu()));
    let mut y = Tensor::<f32>::zeros(8, 16).expect("small");
    let mut refused = |extra: &[Capability]| {
        let args: &mut [LaunchArg<'_>] =
            &mut [(&mut y).into(), 0u32.into(), 0i32.into(), 0u64.into(), 0.0f32.into(), true.into()];
        launch_plain(&device, lane::scalars(extra), args).expect_err("not for a CPU").to_string()
    };
    let text = refused(&[Capability::SubgroupMatrixMultiplyAccumulateINTEL]);
    assert!(
        text.contains("cannot run its `lane` module: a GPU must have cl_intel_subgroup_matrix"),
        "{text}"
    );
    assert!(
        refused(&[Capability::SplitBarrierINTEL]).ends_with("it must have cl_intel_split_work_group_barrier")
    );
}

#[test]
fn modules_that_are_wrong_are_typed_errors() {
    let device = Device::OpenCl(need!(cpu()));
    let x = pattern([1, 1, 9, 9]).to_device(&device).expect("small");
    let mut y = Tensor::<f32>::with_shape_on(&device, [1, 1, 9, 9]).expect("small");
    let mut refused = |instance: &'static InstanceInfo| {
        let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
        launch_plain(&device, instance, args).expect_err("wrong")
    };
    let words = lane::scale_words();
    let text = refused(lane::scale_with("xe", words, "scale")).to_string();
    assert_eq!(text, "scale<8, 16>: no `lane` module for device `a CPU`; modules: xe for pvc, bmg");
    let text = refused(lane::scale_with("lane", words, "other")).to_string();
    assert!(text.ends_with("its `lane` module must be SPIR-V with an entry `other`"), "{text}");
    let odd = refused(lane::scale_with("lane", &words[..words.len() - 1], "scale"));
    assert!(matches!(odd, LaunchError::Description { .. }), "{odd}");
    // (This driver crashes on words that are no valid module; `spirv-val` judges ours.)
    let unknown = refused(lane::scale_with_option("-no-such-option"));
    let LaunchError::Build { kernel: "scale", instance: "<8, 16>", ref failure } = unknown else {
        panic!("{unknown}")
    };
    assert_eq!((&failure.options[..], failure.error.code), ("-no-such-option", -43));
    assert!(failure.log.contains("-no-such-option"), "{unknown}");
    assert!(unknown.to_string().contains("CL_INVALID_BUILD_OPTIONS"), "{unknown}");
    let text = refused(lane::scale_for_work_groups_of(4)).to_string();
    assert!(text.ends_with("its module must be for work-groups of 1 x 1 x 1; it is for 4 x 1 x 1"), "{text}");
    let one = lane::scalars(&[]);
    let lies = Box::leak(Box::new(InstanceInfo { modules: one.modules, ..*one_by_one() }));
    let text = refused(lies).to_string();
    assert!(text.ends_with("its module must take 19 arguments; the driver says 14"), "{text}");
}

#[test]
fn sizes_beyond_the_device_are_out_of_memory() {
    let device = Device::OpenCl(need!(cpu()));
    // 1 TiB, 2^38 elements; and a size no pointer reaches.
    let large = Tensor::<f32>::with_shape_on(&device, [1, 1, 1 << 19, 1 << 19]).expect_err("no such memory");
    assert!(matches!(large, TensorError::OutOfMemory { .. }), "{large}");
    let huge = Tensor::<f32>::with_shape_on(&device, [1, 1, usize::MAX, 4]).expect_err("not addressable");
    assert!(matches!(huge, TensorError::TooLarge { .. }), "{huge}");
}

#[test]
fn the_driver_tells_its_own_mistakes() {
    let driver = need!(driver());
    let (handle, _) = driver.devices().expect("it works").remove(0);
    let context = driver.context(&handle).expect("it works");
    let garbage = driver.program_from_il(&context, b"this is no module").map(|_| ());
    assert!(
        garbage.expect_err("not SPIR-V").to_string().starts_with("clCreateProgramWithIL failed: CL_INVALID")
    );
    let program = driver.program_from_il(&context, lane::scale_words()).expect("a module");
    let failure = driver.build(&program, &handle, "-no-such-option").expect_err("no such option");
    assert_eq!((failure.error.call, failure.error.code), ("clBuildProgram", -43));
    assert!(failure.log.contains("-no-such-option"), "{}", failure.log);
    let program = driver.program_from_il(&context, lane::scale_words()).expect("a module");
    driver.build(&program, &handle, "").expect("it builds");
    let missing = driver.kernel(&program, "no_such_kernel").map(|_| ());
    assert_eq!(missing.expect_err("none").name, "CL_INVALID_KERNEL_NAME");
}
