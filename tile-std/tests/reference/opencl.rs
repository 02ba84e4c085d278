//! Intel's OpenCL runtime for CPUs as a device of tests, and the way to PoCL.

#![allow(dead_code, reason = "each test program uses a part")]

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
    let library = tool(test, "opencl/lib/libintelocl.so", "scripts/get-opencl", "TILE_REQUIRE_OPENCL")?;
    // SAFETY: it is Intel's OpenCL; only `Devices` calls it.
    let driver = unsafe { Ocl::load(&library) }.expect("a library that is there opens");
    let devices = Devices::with_driver(Arc::new(driver), None).expect("the driver works");
    Some(Device::OpenCl(devices.select("opencl").expect("the runtime has a CPU device")))
}

/// The program that runs others with PoCL, which `scripts/get-tools --pocl` fetches; `None` as for [`cpu`].
///
/// # Panics
/// When it is not there although `TILE_REQUIRE_POCL` is set.
pub fn pocl(test: &str) -> Option<PathBuf> {
    tool(test, "pocl/bin/with-pocl", "scripts/get-tools --pocl", "TILE_REQUIRE_POCL")
}

/// A file below the folder of the tools.
fn tool(test: &str, name: &str, script: &str, required: &str) -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate of a workspace");
    let tools =
        std::env::var_os("TILE_TOOLS_DIR").map_or_else(|| workspace.join("target/tools"), PathBuf::from);
    let found = tools.join(name);
    if found.exists() {
        return Some(found);
    }
    let required = std::env::var_os(required).is_some_and(|value| value != "0");
    assert!(!required, "{script} has not fetched {name}");
    eprintln!("skipped: {test}: run {script} first");
    None
}
