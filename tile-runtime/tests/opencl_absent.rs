//! A machine without an OpenCL library. A process loads one library only, so this test has one for itself.

use std::path::Path;

use tile_runtime::opencl::Devices;
use tile_runtime::{Device, DeviceError, Tensor, Why};

#[test]
fn without_opencl_everything_else_works() {
    let refused =
        Devices::through(Some(Path::new("/nonexistent/libOpenCL.so"))).map(|_| ()).expect_err("absent");
    let DeviceError::NoOpenCl { ref reason } = refused else { panic!("{refused}") };
    assert!(reason.contains("/nonexistent/libOpenCL.so"), "{reason}");
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
