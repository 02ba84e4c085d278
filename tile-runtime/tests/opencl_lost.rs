//! Commands that end with an error, transfers that fail and devices that are lost under way: each a typed error, and
//! no memory is freed that a command may still use.
//!
//! *Not here*: devices that cannot be had and launches that cannot start (`opencl_faults`).

mod fake;
#[path = "kernels/mod.rs"]
mod kernels;
#[path = "kernels/lane.rs"]
mod lane;

use std::sync::atomic::Ordering;

use fake::{COMMAND, cpu, devices, gpu, only, run, scale, start, tensor};
use kernels::launch_plain;
use tile_runtime::{Device, LaunchError, Tensor, TensorError};

#[test]
fn a_kernel_that_ends_with_an_error_is_told_by_its_event_and_the_next_one_runs() {
    for facts in [gpu(), cpu()] {
        let (script, device) = only(facts);
        let (x, mut y) = (tensor(&device, 40), tensor(&device, 40));
        let text =
            "scale<8, 16> failed on the device: clEnqueueNDRangeKernel failed: CL_OUT_OF_RESOURCES (-5)";
        let event = start(&device, &mut y, &x).expect("it is in the queue");
        script.fail(COMMAND, -5);
        assert!(event.is_done(), "a failed command is over");
        let failed = event.wait().expect_err("it asserts");
        assert!(matches!(failed, LaunchError::Failed { kernel: "scale", .. }), "{failed}");
        assert_eq!(failed.to_string(), text);
        // The same of a launch that waits, and of one whose event stands for two: the first failure is told.
        assert_eq!(run(&device, &mut y, &x).expect_err("it asserts").to_string(), text);
        let both = start(&device, &mut y, &x).and_then(|event| event.then(|| start(&device, &mut y, &x)));
        assert_eq!(both.expect("both are in the queue").wait().expect_err("both fail").to_string(), text);
        assert_eq!(device.under_way(), 0, "failed commands keep nothing");
        script.heal();
        run(&device, &mut y, &x).expect("the device goes on");
        assert_eq!(y.to_vec().len(), 640);
    }
}

#[test]
fn a_lost_device_is_told_by_whoever_waits() {
    let (script, device) = only(gpu());
    let (x, mut y) = (tensor(&device, 40), tensor(&device, 40));
    let event = start(&device, &mut y, &x).expect("it is in the queue");
    let event = event.then(|| start(&device, &mut y, &x)).expect("so is this");
    script.fail("clWaitForEvents", -2);
    let failed = event.wait().expect_err("the device is gone").to_string();
    assert_eq!(
        failed,
        "scale<8, 16> failed on the device: clWaitForEvents failed: CL_DEVICE_NOT_AVAILABLE (-2)"
    );
    script.fail("clFinish", -36);
    let text = "clFinish failed: CL_INVALID_COMMAND_QUEUE (-36)";
    assert_eq!(device.finish().expect_err("the queue is gone").to_string(), text);
}

#[test]
fn memory_of_a_command_that_nobody_could_wait_for_is_never_freed() {
    let (script, device) = only(cpu());
    let (x, mut y) = (tensor(&device, 40), tensor(&device, 40));
    *script.stuck.lock().expect("no panic") = true;
    drop(start(&device, &mut y, &x).expect("it is in the queue"));
    script.fail("clFinish", -36);
    drop((x, y, device));
    // The event and both buffers, in whose memory the command may still work; context, queue and kernel are released.
    assert_eq!(script.alive.load(Ordering::Relaxed), 3);
}

#[test]
fn every_transfer_that_fails_is_a_typed_error() {
    // The call, of a device with or without memory of its own; the tensors are x, which the process wrote last, and y,
    // which a launch did.
    type Act = fn(&Device, &mut Tensor<f32>, &mut Tensor<f32>) -> String;
    let launched: Act = |device, x, y| {
        let args = &mut [y.into(), (&*x).into(), 2.0f32.into()];
        let refused = launch_plain(device, scale(), args).expect_err("no transfer");
        assert!(matches!(refused, LaunchError::Failed { .. }), "{refused}");
        refused.to_string()
    };
    let cloned: Act = |_, _, y| {
        let refused = y.try_clone().expect_err("no transfer");
        assert!(matches!(refused, TensorError::Device { .. }), "{refused}");
        refused.to_string()
    };
    let read: Act = |_, _, y| y.read().map(|_| ()).expect_err("no transfer").to_string();
    let part: Act = |device, x, y| {
        let (y, x) = (y.view_mut().slice_rows(..8), x.view().slice_rows(8..));
        let args = &mut [y.expect("inside").into(), x.expect("inside").into(), 2.0f32.into()];
        launch_plain(device, scale(), args).expect_err("no part").to_string()
    };
    // Tensors of the process: what was computed must come back.
    let moved: Act = |device, x, y| {
        let x = x.to_device(&Device::host()).expect("the process has it");
        let mut y = Tensor::<f32>::with_shape(y.shape()).expect("small");
        let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
        launch_plain(device, scale(), args).expect_err("no transfer").to_string()
    };
    for (facts, call, act) in [
        (gpu(), "clEnqueueWriteBuffer", launched),
        (gpu(), "clEnqueueCopyBuffer", cloned),
        (gpu(), "clFinish", cloned),
        (gpu(), "clEnqueueFillBuffer", cloned),
        (gpu(), "clEnqueueReadBuffer", read),
        (gpu(), "clEnqueueReadBuffer", moved),
        (gpu(), "clEnqueueWriteBuffer", moved),
        (gpu(), "clCreateSubBuffer", part),
        (cpu(), "clEnqueueUnmapMemObject", launched),
        (cpu(), "clEnqueueMapBuffer", read),
        (cpu(), "clEnqueueCopyBuffer", cloned),
    ] {
        let (script, device) = only(facts);
        let (mut x, mut y) = (tensor(&device, 40), tensor(&device, 40));
        run(&device, &mut y, &x).expect("legal");
        x.view_mut().row_mut(0, 0, 0).expect("a row").fill(3.0);
        script.fail(call, -14);
        let text = act(&Device::OpenCl(device.clone()), &mut x, &mut y);
        assert!(text.contains(&format!("{call} failed: CL_EXEC_STATUS_ERROR")), "{call}: {text}");
        script.heal();
        run(&device, &mut y, &x).unwrap_or_else(|error| panic!("after {call}: {error}"));
        assert_eq!(x.get(0, 0, 0, 1), Some(3.0), "after {call}");
    }
}

#[test]
fn a_tensor_of_another_device_is_refused_by_name() {
    let other = fake::DeviceFacts { name: "Another GPU".into(), ..gpu() };
    let (script, devices) = devices(&[gpu(), other], None);
    let [one, two] = ["opencl:0", "opencl:1"].map(|value| devices.select(value).expect("both can be used"));
    let (x, mut y) = (tensor(&two, 40), tensor(&one, 40));
    for refused in [run(&one, &mut y, &x).map(|_| ()), start(&one, &mut y, &x).map(|_| ())] {
        let refused = refused.expect_err("x is elsewhere");
        let LaunchError::Elsewhere { parameter: "x", ref holder, .. } = refused else { panic!("{refused}") };
        assert!(holder.starts_with("opencl (Another GPU"), "{refused}");
    }
    // Copied over, it is taken; and a device that the program let go of lives as long as its tensors.
    let here = x.to_device(&Device::OpenCl(one.clone())).expect("small");
    run(&one, &mut y, &here).expect("legal");
    drop((one, two, devices));
    assert_eq!((x.to_vec().len(), y.to_vec().len()), (640, 640));
    drop((x, y, here));
    assert_eq!(script.alive.load(Ordering::Relaxed), 0);
}
