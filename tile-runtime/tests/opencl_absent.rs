//! A machine without an OpenCL library.

use std::process::Command;

use tile_runtime::opencl::{Devices, LIBRARY_VARIABLE};
use tile_runtime::{Device, DeviceError, Tensor, Why};

/// A library that is on no machine.
const NOWHERE: &str = "/nonexistent/libOpenCL.so";

/// A process looks for OpenCL once, where its environment says, so the test has a process for itself.
#[test]
fn without_opencl_everything_else_works() {
    let this = std::env::current_exe().expect("a running program");
    let args = ["--exact", "in_an_environment_without_opencl", "--ignored"];
    let ran = Command::new(this).args(args).env(LIBRARY_VARIABLE, NOWHERE).output().expect("it ran before");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "it is run by the test above"]
fn in_an_environment_without_opencl() {
    let refused = Devices::of_process().map(|_| ()).expect_err("absent");
    let DeviceError::NoOpenCl { ref reason } = refused else { panic!("{refused}") };
    assert!(reason.contains(NOWHERE), "{reason}");
    assert!(refused.to_string().ends_with("; TILE_OPENCL_LIBRARY can name one"), "{refused}");
    for value in ["opencl", "opencl:0", "opencl:arc"] {
        assert_eq!(Device::select(Some(value)).map(|_| ()).expect_err("absent"), refused);
    }
    let (device, why) = Device::select(None).expect("the host is always there");
    assert_eq!(device.name(), "host");
    assert_eq!(why, Why::NoGpu { reason: refused.to_string() });
    let x = Tensor::<f32>::with_shape_on(&device, [1, 1, 2, 2]).expect("small");
    assert_eq!(x.to_vec(), [0.0; 4]);
}
