//! A program that has an OpenCL of its own beside this crate: what is linked under the names of OpenCL is its own.
//!
//! The functions below stand for a libOpenCL that the program links. If this crate defined functions of these names,
//! the program would not link, or one of the two would get the calls of the other.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use tile_runtime::Device;
use tile_runtime::opencl::Devices;

static CALLS: AtomicU32 = AtomicU32::new(0);

/// Counts its calls and has one platform, which is none of a real driver.
#[unsafe(no_mangle)]
extern "C" fn clGetPlatformIDs(_: u32, _: *mut *mut c_void, found: *mut u32) -> i32 {
    CALLS.fetch_add(1, Ordering::Relaxed);
    if !found.is_null() {
        // SAFETY: the caller passes null or a place for the count.
        unsafe { *found = 1 };
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn clFinish(_: *mut c_void) -> i32 {
    CALLS.fetch_add(1, Ordering::Relaxed);
    7
}

unsafe extern "C" {
    #[link_name = "clGetPlatformIDs"]
    fn linked_platform_ids(count: u32, out: *mut *mut c_void, found: *mut u32) -> i32;
    #[link_name = "clFinish"]
    fn linked_finish(queue: *mut c_void) -> i32;
}

#[test]
fn an_opencl_that_the_program_links_is_left_alone() {
    // Whatever is found on this machine, it is not found through what the program linked.
    let found = Devices::of_process().map(|devices| devices.all().len());
    let _ = Device::select(Some("opencl"));
    assert_eq!(CALLS.load(Ordering::Relaxed), 0, "{found:?}");
    let mut platforms = 0;
    // SAFETY: both are defined above.
    let codes = unsafe {
        let ids = linked_platform_ids(0, std::ptr::null_mut(), &raw mut platforms);
        (ids, linked_finish(std::ptr::null_mut()))
    };
    assert_eq!((codes, platforms, CALLS.load(Ordering::Relaxed)), ((0, 7), 1, 2));
}
