//! OpenCL devices behind a driver that lies and fails where it is told to: what no real driver here does on demand.
//!
//! *Not here*: launches that compute (`opencl_device`), commands and devices that fail under way (`opencl_lost`).

mod fake;
#[path = "kernels/mod.rs"]
mod kernels;
#[path = "kernels/lane.rs"]
mod lane;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fake::{Fake, Script, cpu, devices, gpu, only, run, scale, start, tensor};
use kernels::launch_plain;
use tile_runtime::cache::Cache;
use tile_runtime::opencl::Devices;
use tile_runtime::opencl::facts::{DPAS, DeviceFacts};
use tile_runtime::{
    Device, DeviceError, GroupInfo, InstanceInfo, LaunchError, LaunchOptions, Tensor, TensorError, launch,
};

#[test]
fn no_platform_and_no_device_are_typed_errors() {
    let (_, none) = devices(&[], None);
    assert!(none.all().is_empty() && none.gpu().is_none());
    for value in ["opencl", "opencl:0", "opencl:arc"] {
        let refused = none.select(value).expect_err("there is none");
        assert!(matches!(refused, DeviceError::NoDevice { .. }));
        let text = format!("`{value}` names no OpenCL device that can be used; there are: none");
        assert_eq!(refused.to_string(), text);
    }
    let script = Arc::new(Script::of(&[]));
    script.fail("clGetDeviceIDs", -6);
    let failed =
        Devices::with_driver(Arc::new(Fake(script)), None).map(|_| ()).expect_err("a driver that fails");
    let text = "the OpenCL driver failed: clGetDeviceIDs failed: CL_OUT_OF_HOST_MEMORY (-6)";
    assert_eq!(failed.to_string(), text);
    for call in ["clCreateContext", "clCreateCommandQueue"] {
        let script = Arc::new(Script::of(&[gpu()]));
        script.fail(call, -2);
        let failed = Devices::with_driver(Arc::new(Fake(script)), None).map(|_| ());
        assert!(matches!(failed, Err(DeviceError::Driver { .. })), "{call}");
    }
}

#[test]
fn a_gpu_without_block_io_is_refused_with_the_reason_and_never_gets_a_lane_module() {
    let old = DeviceFacts { name: "Old GPU".into(), extensions: vec![DPAS.into()], ..gpu() };
    let (_, devices) = devices(&[old.clone(), cpu(), gpu()], None);
    let refused = devices.select("opencl:old").expect_err("no block I/O");
    assert!(matches!(refused, DeviceError::Lacking { .. }));
    let text = refused.to_string();
    let start =
        "Old GPU, a GPU of A platform, driver 1.2.3 cannot run kernels: a GPU must have 2-D block I/O";
    assert!(text.starts_with(start), "{text}");
    assert!(devices.select("opencl:0").is_err());
    assert_eq!(devices.select("opencl").expect("the other GPU").facts().name, "A GPU");
    assert_eq!(devices.select("opencl:a cpu").expect("the CPU").facts().name, "A CPU");
    // Alone, it is what the error is about.
    let (_, alone) = self::devices(&[old], None);
    assert!(matches!(alone.select("opencl"), Err(DeviceError::Lacking { .. })));
}

#[test]
fn a_gpu_gets_the_xe_module_its_options_and_sixteen_lanes_per_sub_group() {
    let (script, device) = only(gpu());
    let (x, mut y) = (tensor(&device, 40), tensor(&device, 40));
    script.take(|_| true);
    let report = run(&device, &mut y, &x).expect("legal");
    let text = report.to_string();
    assert!(
        text.contains("xe module `scale`, because the GPU is a `pvc` with 2-D block I/O and DPAS"),
        "{text}"
    );
    let calls =
        script.take(|call| call.starts_with("options") || call.starts_with("run") || call.starts_with("arg"));
    assert_eq!(calls[0], "options -cl-intel-256-GRF-per-thread -igc_opts 'Key=1'");
    // 16 x 40 in work-groups of 2 x 2 tiles of 8 x 16: 1 x 2 work-groups of 4 sub-groups of 16 lanes.
    assert_eq!(calls.last().map(String::as_str), Some("run 128 by 64"));
    let shape: Vec<&str> = calls[1..9].iter().map(String::as_str).collect();
    // One plane has no strides.
    let expected = ["1 = 1", "2 = 1", "3 = 16", "4 = 40", "5 = 48", "6 = 0", "7 = 0", "8 = 0"];
    assert_eq!(shape, expected.map(|arg| format!("arg {arg}")));
}

#[test]
fn a_chain_of_launches_moves_no_element_and_a_read_moves_them_once() {
    let (script, device) = only(gpu());
    let (mut x, mut y, mut z) = (tensor(&device, 40), tensor(&device, 40), tensor(&device, 40));
    assert_eq!(script.transfers(), ["clEnqueueFillBuffer"; 3]);
    x.view_mut().row_mut(0, 0, 0).expect("a row").fill(3.0);
    assert!(script.transfers().is_empty(), "the process has the zeros, too");
    run(&device, &mut y, &x).expect("legal");
    assert_eq!(script.transfers(), ["clEnqueueWriteBuffer"]);
    run(&device, &mut z, &y).expect("legal");
    run(&device, &mut y, &z).expect("legal");
    assert!(script.transfers().is_empty());
    assert_eq!((y.to_vec().len(), y.get(0, 0, 1, 1)), (640, Some(0.0)));
    assert_eq!(script.transfers(), ["clEnqueueReadBuffer"]);
    assert_eq!(x.get(0, 0, 0, 5), Some(3.0));
    let copy = x.try_clone().expect("small");
    assert_eq!(script.transfers(), ["clEnqueueFillBuffer", "clEnqueueCopyBuffer"]);
    assert_eq!(copy.to_vec(), x.to_vec());
}

#[test]
fn where_memory_is_shared_nothing_is_copied() {
    let (script, device) = only(cpu());
    let (mut x, mut y) = (tensor(&device, 40), tensor(&device, 40));
    assert!(script.transfers().is_empty());
    x.view_mut().row_mut(0, 0, 0).expect("a row").fill(3.0);
    assert_eq!(script.transfers(), ["clEnqueueMapBuffer"]);
    run(&device, &mut y, &x).expect("legal");
    assert_eq!(script.transfers(), ["clEnqueueUnmapMemObject"]);
    let row = x.row(0, 0, 0).expect("a row");
    assert_eq!(script.transfers(), ["clEnqueueMapBuffer"]);
    // Mapped for reading, an input stays so: somebody may be looking at it.
    run(&device, &mut y, &x).expect("legal");
    assert!(script.transfers().is_empty());
    assert_eq!(row[0], 3.0);
    // A look after a write is a look as well: the mapping for writing does not outlive it.
    x.view_mut().row_mut(0, 0, 0).expect("a row").fill(4.0);
    let row = x.row(0, 0, 0).expect("a row");
    script.take(|_| true);
    run(&device, &mut y, &x).expect("legal");
    assert!(script.transfers().is_empty());
    assert_eq!(row[0], 4.0);
    // An output must be unmapped.
    assert_eq!(y.get(0, 0, 0, 0), Some(0.0));
    run(&device, &mut y, &x).expect("legal");
    assert_eq!(script.transfers(), ["clEnqueueMapBuffer", "clEnqueueUnmapMemObject"]);
}

#[test]
fn views_the_hardware_cannot_take_are_staged_or_refused() {
    let (script, device) = only(gpu());
    let on = Device::OpenCl(device.clone());
    let strict = LaunchOptions { strict: true, ..LaunchOptions::default() };
    // Rows of 64 bytes: the second one starts in the middle of the 128 bytes at which a part may start.
    let (x, wide) = (tensor(&device, 16), tensor(&device, 40));
    let mut y = Tensor::<f32>::with_shape_on(&on, [1, 1, 15, 16]).expect("small");
    let view = x.view().slice_rows(1..).expect("inside");
    script.take(|_| true);
    let args = &mut [(&mut y).into(), view.into(), 2.0f32.into()];
    let report = launch_plain(&on, scale(), args).expect("staged");
    let staged: Vec<_> = report.staged.iter().map(|staged| staged.parameter).collect();
    assert_eq!(staged, ["x"]);
    assert_eq!(script.transfers(), ["clEnqueueWriteBuffer"], "the process has the zeros, too");
    let args = &mut [(&mut y).into(), view.into(), 2.0f32.into()];
    let refused = launch(&on, scale(), args, &strict).expect_err("a copy");
    assert!(matches!(refused, LaunchError::Strict { parameter: "x", .. }), "{refused}");
    // Rows of 192 bytes: the third one starts 384 bytes after the first, a multiple of 128.
    let part = wide.view().slice_rows(2..).and_then(|view| view.slice_cols(5..21)).expect("inside");
    let mut z = Tensor::<f32>::with_shape_on(&on, part.shape()).expect("small");
    script.take(|_| true);
    launch(&on, scale(), &mut [(&mut z).into(), part.into(), 2.0f32.into()], &strict).expect("in place");
    assert_eq!(script.take(|call| call == "clCreateSubBuffer").len(), 1);
}

#[test]
fn offsets_are_counted_in_64_bits() {
    let (script, device) = only(cpu());
    let on = Device::OpenCl(device.clone());
    // More than 2^31 elements and 8 GiB. Nobody touches them, so they cost nothing.
    let (rows, cols) = (66_000, 32_768);
    let whole = match Tensor::<f32>::with_shape_on(&on, [1, 1, rows, cols]) {
        Ok(whole) => whole,
        Err(TensorError::OutOfMemory { .. }) => {
            println!("SKIPPED: this machine does not give out addresses for 8.7 GB");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(rows * whole.pitch() > 1 << 31);
    let x =
        whole.view().slice_rows(rows - 5..).and_then(|view| view.slice_cols(cols - 40..)).expect("inside");
    let mut y = Tensor::<f32>::with_shape_on(&on, x.shape()).expect("small");
    script.take(|_| true);
    let strict = LaunchOptions { strict: true, ..LaunchOptions::default() };
    launch(&on, scale(), &mut [(&mut y).into(), x.into(), 2.0f32.into()], &strict).expect("legal");
    let bytes = ((rows - 5) * whole.pitch() + cols - 40) * 4;
    let calls = script.take(|call| call.starts_with("part") || call.starts_with("arg 15 "));
    let expected = [format!("part at {}", bytes - bytes % 128), format!("arg 15 = {}", bytes % 128 / 4)];
    assert_eq!(calls, expected);
    let too_wide = Tensor::<f32>::with_shape_on(&on, [1, 1, 1 << 19, 1 << 19]).expect_err("1 TiB");
    assert!(matches!(too_wide, TensorError::OutOfMemory { .. }), "{too_wide}");
}

#[test]
fn every_call_of_a_launch_that_fails_is_a_typed_error() {
    let build = ["clCreateProgramWithIL", "clBuildProgram", "clCreateKernel", "clGetKernelInfo"];
    let submit =
        ["clSetKernelArg", "clEnqueueNDRangeKernel", "clFlush", "clWaitForEvents", "clGetEventProfilingInfo"];
    for call in build.into_iter().chain(submit) {
        let (script, device) = only(gpu());
        let (x, mut y) = (tensor(&device, 40), tensor(&device, 40));
        script.fail(call, -5);
        let refused = run(&device, &mut y, &x).expect_err(call);
        let text = refused.to_string();
        assert!(text.starts_with("scale<8, 16>") && text.contains(&format!("{call} failed")), "{text}");
        assert_eq!(matches!(refused, LaunchError::Build { .. }), build.contains(&call), "{text}");
        assert_eq!(matches!(refused, LaunchError::Failed { .. }), submit.contains(&call), "{text}");
        script.heal();
        run(&device, &mut y, &x).unwrap_or_else(|error| panic!("the next launch works: {error}"));
    }
}

#[test]
fn shared_memory_and_work_groups_beyond_the_device_are_refused_before_a_build() {
    let small = DeviceFacts { local_bytes: 1 << 10, max_work_group: 32, ..gpu() };
    let (script, device) = only(small);
    let (x, mut y) = (tensor(&device, 40), tensor(&device, 40));
    let shared = GroupInfo { waits: true, shared_bytes: 4096 };
    let instance: &InstanceInfo = Box::leak(Box::new(InstanceInfo { group: shared, ..*scale() }));
    script.take(|_| true);
    let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
    let refused = launch_plain(&Device::OpenCl(device.clone()), instance, args).expect_err("too much");
    let text = refused.to_string();
    assert!(matches!(refused, LaunchError::Lacking { .. }), "{text}");
    assert!(text.contains("a work-group has 64 work-items; 32 are possible"), "{text}");
    assert!(text.ends_with("a work-group needs 4096 bytes of local memory; there are 1024"), "{text}");
    assert!(script.take(|call| call.contains("Program")).is_empty(), "nothing was built");
}

#[test]
fn a_failed_build_shows_the_log() {
    let (script, device) = only(gpu());
    let (x, mut y) = (tensor(&device, 40), tensor(&device, 40));
    script.fail("clBuildProgram", -11);
    let text = run(&device, &mut y, &x).expect_err("it does not build").to_string();
    assert_eq!(
        text,
        "scale<8, 16> does not build for A GPU, a GPU of A platform, driver 1.2.3 with options \
         `-cl-intel-256-GRF-per-thread -igc_opts 'Key=1'`: clBuildProgram failed: CL_BUILD_PROGRAM_FAILURE (-11); \
         the driver's log:\nline 1: no such thing"
    );
}

#[test]
fn memory_that_cannot_be_had_is_a_typed_error() {
    let (script, device) = only(gpu());
    let on = Device::OpenCl(device.clone());
    let shape = [1, 1, 16, 40];
    script.fail("clCreateBuffer", -4);
    let refused = Tensor::<f32>::with_shape_on(&on, shape).expect_err("none left");
    assert!(matches!(refused, TensorError::OutOfMemory { shape: [1, 1, 16, 40], .. }), "{refused}");
    // The copy of a host tensor for one launch, too.
    let (x, mut y) =
        (Tensor::<f32>::zeros(16, 40).expect("small"), Tensor::<f32>::zeros(16, 40).expect("small"));
    let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
    let refused = launch_plain(&on, scale(), args).expect_err("none left");
    assert!(matches!(refused, LaunchError::OutOfMemory { parameter: "y", .. }), "{refused}");
    script.fail("clEnqueueFillBuffer", -36);
    let refused = Tensor::<f32>::with_shape_on(&on, shape).expect_err("no queue").to_string();
    let text =
        "the device that holds the tensor failed: clEnqueueFillBuffer failed: CL_INVALID_COMMAND_QUEUE (-36)";
    assert_eq!(refused, text);
    script.heal();
    let limited = DeviceFacts { largest_buffer_bytes: 4096, ..gpu() };
    let (_, limited) = only(limited);
    let refused =
        Tensor::<f32>::with_shape_on(&Device::OpenCl(limited), [1, 1, 64, 64]).expect_err("too large");
    assert!(matches!(refused, TensorError::OutOfMemory { .. }), "{refused}");
}

#[test]
fn a_transfer_that_fails_is_a_typed_error_and_invents_nothing() {
    for (facts, call) in [(gpu(), "clEnqueueReadBuffer"), (cpu(), "clEnqueueMapBuffer")] {
        let (script, device) = only(facts);
        let (x, mut y) = (tensor(&device, 40), tensor(&device, 40));
        run(&device, &mut y, &x).expect("legal");
        script.fail(call, -12);
        let text = format!("the device that holds the tensor failed: {call} failed: CL_MAP_FAILURE (-12)");
        assert_eq!(y.read().map(|_| ()).expect_err(call).to_string(), text);
        assert_eq!(y.to_device(&Device::host()).map(|_| ()).expect_err(call).to_string(), text);
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| y.to_vec()));
        let payload = looked.expect_err("a read without an error to return");
        assert_eq!(payload.downcast_ref::<String>(), Some(&text));
        // A host launch on it says so, too.
        let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
        let refused = launch_plain(&Device::host(), scale(), args).expect_err("not here");
        assert!(matches!(refused, LaunchError::Tensor { parameter: "y", .. }), "{refused}");
        script.heal();
        assert_eq!(y.read().expect("it works again").rows(), 16);
    }
}

#[test]
fn nothing_is_left_behind() {
    let (script, device) = only(gpu());
    let base = script.alive.load(Ordering::Relaxed);
    assert_eq!(base, 2, "context and queue");
    for _ in 0..10_000 {
        drop(tensor(&device, 16));
    }
    assert_eq!(script.alive.load(Ordering::Relaxed), base);
    *script.stuck.lock().expect("no panic") = true;
    for round in 0..30 {
        let (x, mut y) = (tensor(&device, 40), tensor(&device, 40));
        let event = start(&device, &mut y, &x).expect("legal");
        if round % 2 == 0 {
            drop(event);
        }
    }
    assert_eq!(device.under_way(), 30);
    // Buffers of tensors that are gone live on while commands use them: 30 times event, x and y.
    assert!(script.alive.load(Ordering::Relaxed) >= base + 90);
    *script.stuck.lock().expect("no panic") = false;
    assert_eq!(device.under_way(), 0);
    // The kernel is left; its program would be too, but this driver's kernels do not keep their program.
    assert_eq!(script.alive.load(Ordering::Relaxed), base + 1);
    drop(device);
    assert_eq!(script.alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_queue_that_grows_without_end_waits_for_its_oldest_command() {
    let (script, device) = only(gpu());
    let (x, mut y) = (tensor(&device, 40), tensor(&device, 40));
    *script.stuck.lock().expect("no panic") = true;
    script.take(|_| true);
    for _ in 0..1030 {
        drop(start(&device, &mut y, &x).expect("legal"));
    }
    assert_eq!(script.take(|call| call == "clWaitForEvents").len(), 6);
    assert_eq!(device.under_way(), 1024);
}

#[test]
fn a_cached_program_the_driver_refuses_is_built_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = Cache::in_folder(folder.path());
    let built = |fail: Option<&'static str>, facts: DeviceFacts| {
        let (script, devices) = devices(&[facts], Some(cache.clone()));
        let device = devices.select("opencl").expect("it can be used");
        let (x, mut y) = (tensor(&device, 40), tensor(&device, 40));
        if let Some(call) = fail {
            script.fail(call, -42);
        }
        run(&device, &mut y, &x).map(|report| report.built.map(|built| built.from_cache))
    };
    assert!(matches!(built(None, gpu()), Ok(Some(false))));
    assert!(matches!(built(None, gpu()), Ok(Some(true))));
    let newer = DeviceFacts { driver: "1.2.4".into(), ..gpu() };
    assert!(matches!(built(None, newer), Ok(Some(false))), "another driver has its own");
    assert!(matches!(built(Some("clCreateProgramWithBinary"), gpu()), Ok(Some(false))));
    assert!(matches!(built(None, gpu()), Ok(Some(true))), "and is stored again");
    // A driver that gives no binary is a driver without a cache.
    cache.clear().expect("removable");
    assert!(matches!(built(Some("clGetProgramInfo"), gpu()), Ok(Some(false))));
    assert_eq!(cache.contents().expect("readable").entries, 0);
}
