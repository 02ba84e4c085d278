//! Intel's OpenCL runtime for CPUs as a device of tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tile_runtime::opencl::Devices;
use tile_runtime::opencl::ocl::Ocl;
use tile_std::prelude::Device;

/// The CPU that `scripts/get-opencl` makes a device of; `None` says on the standard error that the test is skipped.
///
/// # Panics
/// When it is not there although `TILE_REQUIRE_OPENCL` is set.
pub fn cpu(test: &str) -> Option<Device> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate of a workspace");
    let tools =
        std::env::var_os("TILE_TOOLS_DIR").map_or_else(|| workspace.join("target/tools"), PathBuf::from);
    let library = tools.join("opencl/lib/libintelocl.so");
    if !library.exists() {
        let required = std::env::var_os("TILE_REQUIRE_OPENCL").is_some_and(|value| value != "0");
        assert!(!required, "scripts/get-opencl has not fetched the runtime");
        eprintln!("skipped: {test}: run scripts/get-opencl first");
        return None;
    }
    // SAFETY: it is Intel's OpenCL; only `Devices` calls it.
    let driver = unsafe { Ocl::load(&library) }.expect("a library that is there opens");
    let devices = Devices::with_driver(Arc::new(driver), None).expect("the driver works");
    Some(Device::OpenCl(devices.select("opencl").expect("the runtime has a CPU device")))
}
