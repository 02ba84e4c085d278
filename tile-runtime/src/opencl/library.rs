//! Owns the OpenCL library: opening it, and the functions of it that the runtime calls.
//!
//! *Assumes*: functions have the types that the specification gives them, as `opencl-sys` writes them down.
//! *Guarantees*: the program links and starts without OpenCL, and defines no symbol of OpenCL, so a program may link
//! libOpenCL for itself and get that one; a library is never closed. *Not here*: calls (`ocl`).
//!
//! # Linking
//! `opencl-sys` declares types and constants only (its feature `static`, which would declare the functions for the
//! linker, is off). A linked libOpenCL would keep programs from starting where there is none, host device and all.

#![allow(unsafe_code, reason = "an OpenCL file: opens a library")]

use std::error::Error;
use std::path::{Path, PathBuf};

use libloading::Library;
use opencl_sys::cl_function_types as types;

/// The environment variable that names the OpenCL library, or a driver itself, in place of the system's.
pub const LIBRARY_VARIABLE: &str = "TILE_OPENCL_LIBRARY";

#[cfg(target_os = "windows")]
const LIBRARIES: &[&str] = &["OpenCL.dll"];
#[cfg(target_os = "macos")]
const LIBRARIES: &[&str] = &["/System/Library/Frameworks/OpenCL.framework/OpenCL"];
#[cfg(not(any(target_os = "windows", target_os = "macos")))]
const LIBRARIES: &[&str] = &["libOpenCL.so.1", "libOpenCL.so"];

macro_rules! functions {
    ($($name:ident: $ty:ident,)+) => {
        /// The functions of one library; `None` for those that it does not have.
        #[expect(non_snake_case, reason = "the names are those of the specification")]
        pub(super) struct Functions {
            $(pub(super) $name: types::$ty,)+
        }

        impl Functions {
            fn of(library: &Library) -> Functions {
                Functions {
                    $(
                        // SAFETY: the type is that of the function of this name; both come from one row below. What is
                        // found stays, for `open` never closes the library.
                        $name: unsafe { library.get::<types::$ty>(stringify!($name)) }
                            .ok()
                            .and_then(|found| *found),
                    )+
                }
            }
        }
    };
}

functions! {
    clGetPlatformIDs: clGetPlatformIDs_fn,
    clGetPlatformInfo: clGetPlatformInfo_fn,
    clGetDeviceIDs: clGetDeviceIDs_fn,
    clGetDeviceInfo: clGetDeviceInfo_fn,
    clCreateContext: clCreateContext_fn,
    clReleaseContext: clReleaseContext_fn,
    clCreateCommandQueue: clCreateCommandQueue_fn,
    clReleaseCommandQueue: clReleaseCommandQueue_fn,
    clCreateProgramWithIL: clCreateProgramWithIL_fn,
    clCreateProgramWithBinary: clCreateProgramWithBinary_fn,
    clBuildProgram: clBuildProgram_fn,
    clGetProgramInfo: clGetProgramInfo_fn,
    clGetProgramBuildInfo: clGetProgramBuildInfo_fn,
    clReleaseProgram: clReleaseProgram_fn,
    clCreateKernel: clCreateKernel_fn,
    clReleaseKernel: clReleaseKernel_fn,
    clGetKernelInfo: clGetKernelInfo_fn,
    clGetKernelWorkGroupInfo: clGetKernelWorkGroupInfo_fn,
    clSetKernelArg: clSetKernelArg_fn,
    clEnqueueNDRangeKernel: clEnqueueNDRangeKernel_fn,
    clCreateBuffer: clCreateBuffer_fn,
    clCreateSubBuffer: clCreateSubBuffer_fn,
    clReleaseMemObject: clReleaseMemObject_fn,
    clEnqueueReadBuffer: clEnqueueReadBuffer_fn,
    clEnqueueWriteBuffer: clEnqueueWriteBuffer_fn,
    clEnqueueCopyBuffer: clEnqueueCopyBuffer_fn,
    clEnqueueFillBuffer: clEnqueueFillBuffer_fn,
    clEnqueueMapBuffer: clEnqueueMapBuffer_fn,
    clEnqueueUnmapMemObject: clEnqueueUnmapMemObject_fn,
    clWaitForEvents: clWaitForEvents_fn,
    clGetEventInfo: clGetEventInfo_fn,
    clGetEventProfilingInfo: clGetEventProfilingInfo_fn,
    clReleaseEvent: clReleaseEvent_fn,
    clFlush: clFlush_fn,
    clFinish: clFinish_fn,
}

impl Functions {
    /// The functions of the library at `path`.
    ///
    /// # Errors
    /// What the system said when it could not be opened.
    ///
    /// # Safety
    /// The library is an implementation of OpenCL or a loader of one.
    pub(super) unsafe fn open(path: &Path) -> Result<&'static Functions, String> {
        // SAFETY: opening it runs its initialisers, which are those of an OpenCL by this function's contract.
        match unsafe { Library::new(path) } {
            // Drivers start threads that outlive every handle; a process opens one or two libraries.
            Ok(library) => Ok(Box::leak(Box::new(Functions::of(Box::leak(Box::new(library)))))),
            Err(error) => {
                let source = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                Err(format!("{} cannot be opened: {source}", path.display()))
            }
        }
    }

    /// The functions of the library that `TILE_OPENCL_LIBRARY` names, else of the system's.
    ///
    /// # Errors
    /// What the system said when none could be opened.
    pub(super) fn of_process() -> Result<&'static Functions, String> {
        let candidates = match std::env::var_os(LIBRARY_VARIABLE) {
            Some(named) => vec![PathBuf::from(named)],
            None => LIBRARIES.iter().map(PathBuf::from).collect(),
        };
        let mut reasons = Vec::new();
        for candidate in candidates {
            // SAFETY: the names are those of OpenCL on each system; whoever sets the variable, which is documented to
            // name an OpenCL, answers for what it names, as with the variables of the system's own loader.
            match unsafe { Functions::open(&candidate) } {
                Ok(functions) => return Ok(functions),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(reasons.join("; "))
    }
}
