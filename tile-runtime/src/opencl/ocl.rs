//! Owns the real OpenCL driver: the only file that calls OpenCL, through the `ocl` project's bindings.
//!
//! *Assumes*: handles of the trait's calls were made here (`Object`), each of its kind. *Guarantees*: the
//! program links and starts without OpenCL, whose absence is an error of [`Ocl::load`]; an object is released
//! once, when its last handle goes; memory handed to a buffer lives as long as the buffer. *Not here*: when a
//! call is made (`device`, `memory`, `launch`).
//!
//! # Linking
//! `cl-sys` declares the functions for the linker. This file defines those that it calls, and each finds its
//! namesake in the library that [`Ocl::load`] opened. A linked libOpenCL would keep programs from starting where
//! there is none, host device and all.
//!
//! # Why `ocl_core::ffi` and not the wrappers around it
//! The wrappers of ocl-core 0.11 wait ten seconds if there is no platform, take a failed build without a log for a
//! good one, and panic when a release fails or a code is unknown. A lost device must stay an error.

use std::error::Error;
use std::ffi::{CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use libloading::Library;
use ocl_core::ffi::{self, cl_bitfield, cl_bool, cl_int, cl_uint};

use super::driver::{
    Access, Backing, BufferHandle, BuildFailure, ContextHandle, DeviceHandle, Driver, DriverError,
    EventHandle, KernelArg, KernelFacts, KernelHandle, MapHandle, ProgramHandle, Progress, QueueHandle,
};
use super::facts::{DeviceFacts, number, text};
use crate::launch::DeviceTimes;
use crate::tensor::HostMemory;

/// The environment variable that names the OpenCL library, or a driver itself, in place of the system's.
pub const LIBRARY_VARIABLE: &str = "TILE_OPENCL_LIBRARY";

#[cfg(target_os = "windows")]
const LIBRARIES: &[&str] = &["OpenCL.dll"];
#[cfg(target_os = "macos")]
const LIBRARIES: &[&str] = &["/System/Library/Frameworks/OpenCL.framework/OpenCL"];
#[cfg(not(any(target_os = "windows", target_os = "macos")))]
const LIBRARIES: &[&str] = &["libOpenCL.so.1", "libOpenCL.so"];

/// The library of this process, or why there is none.
static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();

/// `CL_INVALID_OPERATION`: what a function gives that the library does not have.
const NO_FUNCTION: cl_int = -59;
const TRUE: cl_bool = 1;

/// A handle of OpenCL.
type Raw = *mut c_void;
type Size = usize;
type Events = *const Raw;
type NewEvent = *mut Raw;
type Code = *mut cl_int;
type Text = *const c_char;

/// The function `name` of the library.
fn find<F: Copy>(name: &[u8]) -> Option<F> {
    let library = LIBRARY.get()?.as_ref().ok()?;
    // SAFETY: `forward!` names functions of the OpenCL specification with the types it gives them, which are those
    // of `cl-sys`; the library is never closed.
    unsafe { library.get::<F>(name).ok().map(|symbol| *symbol) }
}

/// Writes the code for a missing function and gives the null handle.
///
/// # Safety
/// `code` is null or may be written.
unsafe fn no_handle(code: Code) -> Raw {
    if !code.is_null() {
        // SAFETY: by this function's contract.
        unsafe { *code = NO_FUNCTION };
    }
    ptr::null_mut()
}

/// Defines OpenCL functions that call their namesakes in the library, or fail as the last expression says.
macro_rules! forward {
    ($($name:ident($($arg:ident: $ty:ty),+) -> $ret:ty: $fail:expr;)+) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the names are those of the specification")]
            unsafe extern "system" fn $name($($arg: $ty),+) -> $ret {
                type Function = unsafe extern "system" fn($($ty),+) -> $ret;
                static FOUND: OnceLock<Option<Function>> = OnceLock::new();
                match FOUND.get_or_init(|| find(concat!(stringify!($name), "\0").as_bytes())) {
                    // SAFETY: the caller's promises are those of the namesake.
                    Some(function) => unsafe { function($($arg),+) },
                    #[allow(unused_unsafe, reason = "only handles come with a place for the code")]
                    // SAFETY: the place for the code is the caller's.
                    None => unsafe { $fail },
                }
            }
        )+
    };
}

forward! {
    clGetPlatformIDs(n: cl_uint, out: *mut Raw, found: *mut cl_uint) -> cl_int: NO_FUNCTION;
    clGetPlatformInfo(id: Raw, what: cl_uint, n: Size, out: Raw, needs: *mut Size) -> cl_int: NO_FUNCTION;
    clGetDeviceIDs(p: Raw, kind: cl_bitfield, n: cl_uint, out: *mut Raw, found: *mut cl_uint) -> cl_int: NO_FUNCTION;
    clGetDeviceInfo(id: Raw, what: cl_uint, n: Size, out: Raw, needs: *mut Size) -> cl_int: NO_FUNCTION;
    clCreateContext(p: *const isize, n: cl_uint, d: Events, f: Raw, user: Raw, code: Code) -> Raw: no_handle(code);
    clReleaseContext(id: Raw) -> cl_int: NO_FUNCTION;
    clCreateCommandQueue(c: Raw, d: Raw, flags: cl_bitfield, code: Code) -> Raw: no_handle(code);
    clReleaseCommandQueue(id: Raw) -> cl_int: NO_FUNCTION;
    clCreateProgramWithIL(c: Raw, il: *const c_void, n: Size, code: Code) -> Raw: no_handle(code);
    clCreateProgramWithBinary(
        c: Raw, n: cl_uint, d: Events, sizes: *const Size, data: *const *const u8, each: *mut cl_int, code: Code
    ) -> Raw: no_handle(code);
    clBuildProgram(p: Raw, n: cl_uint, d: Events, options: Text, f: Raw, user: Raw) -> cl_int: NO_FUNCTION;
    clGetProgramInfo(id: Raw, what: cl_uint, n: Size, out: Raw, needs: *mut Size) -> cl_int: NO_FUNCTION;
    clGetProgramBuildInfo(id: Raw, d: Raw, what: cl_uint, n: Size, out: Raw, needs: *mut Size) -> cl_int: NO_FUNCTION;
    clReleaseProgram(id: Raw) -> cl_int: NO_FUNCTION;
    clCreateKernel(p: Raw, name: Text, code: Code) -> Raw: no_handle(code);
    clReleaseKernel(id: Raw) -> cl_int: NO_FUNCTION;
    clGetKernelInfo(id: Raw, what: cl_uint, n: Size, out: Raw, needs: *mut Size) -> cl_int: NO_FUNCTION;
    clGetKernelWorkGroupInfo(id: Raw, d: Raw, what: cl_uint, n: Size, out: Raw, needs: *mut Size) -> cl_int: NO_FUNCTION;
    clSetKernelArg(id: Raw, index: cl_uint, n: Size, value: *const c_void) -> cl_int: NO_FUNCTION;
    clEnqueueNDRangeKernel(
        q: Raw, k: Raw, dims: cl_uint, from: *const Size, global: *const Size, local: *const Size, n: cl_uint, w: Events,
        e: NewEvent
    ) -> cl_int: NO_FUNCTION;
    clCreateBuffer(c: Raw, flags: cl_bitfield, n: Size, host: Raw, code: Code) -> Raw: no_handle(code);
    clCreateSubBuffer(b: Raw, flags: cl_bitfield, kind: cl_uint, what: *const c_void, code: Code) -> Raw: no_handle(code);
    clReleaseMemObject(id: Raw) -> cl_int: NO_FUNCTION;
    clEnqueueReadBuffer(
        q: Raw, b: Raw, block: cl_bool, from: Size, size: Size, out: Raw, n: cl_uint, w: Events, e: NewEvent
    ) -> cl_int: NO_FUNCTION;
    clEnqueueWriteBuffer(
        q: Raw, b: Raw, block: cl_bool, from: Size, size: Size, data: *const c_void, n: cl_uint, w: Events, e: NewEvent
    ) -> cl_int: NO_FUNCTION;
    clEnqueueCopyBuffer(
        q: Raw, b: Raw, to: Raw, from: Size, at: Size, size: Size, n: cl_uint, w: Events, e: NewEvent
    ) -> cl_int: NO_FUNCTION;
    clEnqueueFillBuffer(
        q: Raw, b: Raw, pattern: *const c_void, bytes: Size, at: Size, size: Size, n: cl_uint, w: Events, e: NewEvent
    ) -> cl_int: NO_FUNCTION;
    clEnqueueMapBuffer(
        q: Raw, b: Raw, block: cl_bool, flags: cl_bitfield, at: Size, size: Size, n: cl_uint, w: Events, e: NewEvent,
        code: Code
    ) -> Raw: no_handle(code);
    clEnqueueUnmapMemObject(q: Raw, b: Raw, mapped: Raw, n: cl_uint, w: Events, e: NewEvent) -> cl_int: NO_FUNCTION;
    clWaitForEvents(n: cl_uint, list: Events) -> cl_int: NO_FUNCTION;
    clGetEventInfo(id: Raw, what: cl_uint, n: Size, out: Raw, needs: *mut Size) -> cl_int: NO_FUNCTION;
    clGetEventProfilingInfo(id: Raw, what: cl_uint, n: Size, out: Raw, needs: *mut Size) -> cl_int: NO_FUNCTION;
    clReleaseEvent(id: Raw) -> cl_int: NO_FUNCTION;
    clFlush(q: Raw) -> cl_int: NO_FUNCTION;
    clFinish(q: Raw) -> cl_int: NO_FUNCTION;
}

/// An OpenCL object and what must outlive it.
struct Object {
    raw: Raw,
    /// Gives the object back; `None` for those that are not counted.
    release: Option<unsafe extern "system" fn(Raw) -> cl_int>,
    keeps: Keeps,
}

/// What an object needs for as long as it lives.
enum Keeps {
    Nothing,
    Memory(Arc<HostMemory>),
    Parent(#[expect(dead_code, reason = "it is dropped, not read")] BufferHandle),
}

// SAFETY: OpenCL objects may be used from any thread (OpenCL 3.0 API, "Multiple Host Threads"); the exception,
// setting arguments of one kernel at once, is in the contract of `Driver::set_arg`.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    fn counted(raw: Raw, release: unsafe extern "system" fn(Raw) -> cl_int) -> Object {
        Object { raw, release: Some(release), keeps: Keeps::Nothing }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the call that made the object gave us one reference, which nobody else releases.
            // A failed release leaves nothing to do: the device is gone.
            let _ = unsafe { release(self.raw) };
        }
    }
}

macro_rules! raw {
    ($call:literal, $handle:expr) => {
        match $handle.get::<Object>() {
            Some(object) => object.raw,
            None => {
                let name = "an object of another driver".to_string();
                return Err(DriverError { call: $call, code: -30, name });
            }
        }
    };
}

fn checked(call: &'static str, code: cl_int) -> Result<(), DriverError> {
    if code == 0 { Ok(()) } else { Err(DriverError::new(call, code)) }
}

/// The answer of an info call, whose size is asked first.
fn answer(
    call: &'static str,
    ask: impl Fn(usize, *mut c_void, *mut usize) -> cl_int,
) -> Result<Vec<u8>, DriverError> {
    let mut bytes = 0;
    checked(call, ask(0, ptr::null_mut(), &raw mut bytes))?;
    let mut value = vec![0u8; bytes];
    if bytes > 0 {
        checked(call, ask(bytes, value.as_mut_ptr().cast(), ptr::null_mut()))?;
    }
    Ok(value)
}

/// The OpenCL library of this process.
pub struct Ocl {
    _loaded: (),
}

impl Ocl {
    /// Opens the OpenCL library: the one at `path`, else the one `TILE_OPENCL_LIBRARY` names, else the system's. The
    /// first call decides for the process.
    ///
    /// # Errors
    /// What the system said when the library could not be opened.
    pub fn load(path: Option<&Path>) -> Result<Ocl, String> {
        let asked =
            || path.map(Path::to_path_buf).or_else(|| std::env::var_os(LIBRARY_VARIABLE).map(PathBuf::from));
        let candidates =
            || asked().map_or_else(|| LIBRARIES.iter().map(PathBuf::from).collect(), |one| vec![one]);
        let open = || {
            let mut reasons = Vec::new();
            for candidate in candidates() {
                // SAFETY: opening it runs its initialisers, which is what naming a driver asks for.
                match unsafe { Library::new(&candidate) } {
                    Ok(library) => return Ok(library),
                    Err(error) => {
                        let source = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                        reasons.push(format!("{} cannot be opened: {source}", candidate.display()));
                    }
                }
            }
            Err(reasons.join("; "))
        };
        match LIBRARY.get_or_init(open) {
            Ok(_) => Ok(Ocl { _loaded: () }),
            Err(reason) => Err(reason.clone()),
        }
    }
}

fn platforms() -> Result<Vec<Raw>, DriverError> {
    let call = "clGetPlatformIDs";
    let mut count = 0;
    // SAFETY: a null list of length 0 only asks for the count.
    let code = unsafe { ffi::clGetPlatformIDs(0, ptr::null_mut(), &raw mut count) };
    if code == -1001 {
        return Ok(Vec::new());
    }
    checked(call, code)?;
    let mut ids = vec![ptr::null_mut(); count as usize];
    if count > 0 {
        // SAFETY: `ids` has room for `count` handles.
        checked(call, unsafe { ffi::clGetPlatformIDs(count, ids.as_mut_ptr(), ptr::null_mut()) })?;
    }
    Ok(ids)
}

fn device_ids(platform: Raw) -> Result<Vec<Raw>, DriverError> {
    let call = "clGetDeviceIDs";
    let all = ffi::CL_DEVICE_TYPE_ALL;
    let mut count = 0;
    // SAFETY: a null list of length 0 only asks for the count; the platform is one the library gave.
    let code = unsafe { ffi::clGetDeviceIDs(platform, all, 0, ptr::null_mut(), &raw mut count) };
    if code == -1 {
        return Ok(Vec::new());
    }
    checked(call, code)?;
    let mut ids = vec![ptr::null_mut(); count as usize];
    if count > 0 {
        // SAFETY: `ids` has room for `count` handles.
        let code = unsafe { ffi::clGetDeviceIDs(platform, all, count, ids.as_mut_ptr(), ptr::null_mut()) };
        checked(call, code)?;
    }
    Ok(ids)
}

impl Driver for Ocl {
    fn devices(&self) -> Result<Vec<(DeviceHandle, DeviceFacts)>, DriverError> {
        let mut devices = Vec::new();
        for platform in platforms()? {
            // SAFETY: `answer` gives a size and a buffer of that size; 0x0902 is CL_PLATFORM_NAME.
            let name = answer("clGetPlatformInfo", |n, out, needs| unsafe {
                ffi::clGetPlatformInfo(platform, 0x0902, n, out, needs)
            })?;
            for raw in device_ids(platform)? {
                let object = Object { raw, release: None, keeps: Keeps::Nothing };
                let facts = DeviceFacts::from_answers(text(&name), |what| {
                    // SAFETY: as above; the device is one the library gave.
                    answer("clGetDeviceInfo", |n, out, needs| unsafe {
                        ffi::clGetDeviceInfo(raw, what, n, out, needs)
                    })
                })?;
                devices.push((DeviceHandle::new(object), facts));
            }
        }
        Ok(devices)
    }

    fn context(&self, device: &DeviceHandle) -> Result<ContextHandle, DriverError> {
        let call = "clCreateContext";
        let (device, mut code) = (raw!("clCreateContext", device), 0);
        // SAFETY: one device, no properties, no callback.
        let raw = unsafe {
            ffi::clCreateContext(ptr::null(), 1, &raw const device, None, ptr::null_mut(), &raw mut code)
        };
        checked(call, code)?;
        Ok(ContextHandle::new(Object::counted(raw, ffi::clReleaseContext)))
    }

    fn queue(&self, context: &ContextHandle, device: &DeviceHandle) -> Result<QueueHandle, DriverError> {
        let call = "clCreateCommandQueue";
        let (context, device) = (raw!("clCreateCommandQueue", context), raw!("clCreateCommandQueue", device));
        let mut code = 0;
        // SAFETY: live handles.
        let raw = unsafe {
            ffi::clCreateCommandQueue(context, device, ffi::CL_QUEUE_PROFILING_ENABLE, &raw mut code)
        };
        checked(call, code)?;
        Ok(QueueHandle::new(Object::counted(raw, ffi::clReleaseCommandQueue)))
    }

    fn program_from_il(&self, context: &ContextHandle, il: &[u8]) -> Result<ProgramHandle, DriverError> {
        let call = "clCreateProgramWithIL";
        let (context, mut code) = (raw!("clCreateProgramWithIL", context), 0);
        // SAFETY: a live context and `il.len()` readable bytes, which the call copies.
        let raw = unsafe { ffi::clCreateProgramWithIL(context, il.as_ptr().cast(), il.len(), &raw mut code) };
        checked(call, code)?;
        Ok(ProgramHandle::new(Object::counted(raw, ffi::clReleaseProgram)))
    }

    fn program_from_binary(
        &self,
        context: &ContextHandle,
        device: &DeviceHandle,
        binary: &[u8],
    ) -> Result<ProgramHandle, DriverError> {
        let call = "clCreateProgramWithBinary";
        let context = raw!("clCreateProgramWithBinary", context);
        let device = raw!("clCreateProgramWithBinary", device);
        let (bytes, data, mut each, mut code) = (binary.len(), binary.as_ptr(), 0, 0);
        // SAFETY: lists of length 1 and `bytes` readable bytes, which the call copies.
        let raw = unsafe {
            ffi::clCreateProgramWithBinary(
                context,
                1,
                &raw const device,
                &raw const bytes,
                &raw const data,
                &raw mut each,
                &raw mut code,
            )
        };
        checked(call, code)?;
        let program = ProgramHandle::new(Object::counted(raw, ffi::clReleaseProgram));
        checked(call, each)?;
        Ok(program)
    }

    fn build(
        &self,
        program: &ProgramHandle,
        device: &DeviceHandle,
        options: &str,
    ) -> Result<(), BuildFailure> {
        let handles = || -> Result<(Raw, Raw), DriverError> {
            Ok((raw!("clBuildProgram", program), raw!("clBuildProgram", device)))
        };
        let failure = |error| BuildFailure { error, log: String::new() };
        let (program, device) = handles().map_err(failure)?;
        let invalid = |_| failure(DriverError::new("clBuildProgram", -43));
        let options = CString::new(options).map_err(invalid)?;
        // SAFETY: live handles, one device, a string that ends in a zero, no callback.
        let code = unsafe {
            ffi::clBuildProgram(program, 1, &raw const device, options.as_ptr(), None, ptr::null_mut())
        };
        let error = match checked("clBuildProgram", code) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        // SAFETY: `answer` gives a size and a buffer of that size; 0x1183 is CL_PROGRAM_BUILD_LOG.
        let log = answer("clGetProgramBuildInfo", |n, out, needs| unsafe {
            ffi::clGetProgramBuildInfo(program, device, 0x1183, n, out, needs)
        });
        Err(BuildFailure { error, log: log.map(|bytes| text(&bytes)).unwrap_or_default() })
    }

    fn binary(&self, program: &ProgramHandle) -> Result<Vec<u8>, DriverError> {
        let call = "clGetProgramInfo";
        let program = raw!("clGetProgramInfo", program);
        // SAFETY: `answer` gives a size and a buffer of that size.
        let sizes = answer(call, |n, out, needs| unsafe {
            ffi::clGetProgramInfo(program, ffi::CL_PROGRAM_BINARY_SIZES, n, out, needs)
        })?;
        let mut binary = vec![0u8; number(&sizes) as usize];
        let mut place: Raw = binary.as_mut_ptr().cast();
        let what = ffi::CL_PROGRAM_BINARIES;
        // SAFETY: the program has one device, so the answer is one pointer, to room for as many bytes as it said.
        let code = unsafe {
            ffi::clGetProgramInfo(program, what, size_of::<Raw>(), (&raw mut place).cast(), ptr::null_mut())
        };
        checked(call, code)?;
        Ok(binary)
    }

    fn kernel(&self, program: &ProgramHandle, entry: &str) -> Result<KernelHandle, DriverError> {
        let call = "clCreateKernel";
        let (program, mut code) = (raw!("clCreateKernel", program), 0);
        let entry = CString::new(entry).map_err(|_| DriverError::new(call, -46))?;
        // SAFETY: a live program and a string that ends in a zero.
        let raw = unsafe { ffi::clCreateKernel(program, entry.as_ptr(), &raw mut code) };
        checked(call, code)?;
        Ok(KernelHandle::new(Object::counted(raw, ffi::clReleaseKernel)))
    }

    fn kernel_facts(&self, kernel: &KernelHandle, device: &DeviceHandle) -> Result<KernelFacts, DriverError> {
        let kernel = raw!("clGetKernelInfo", kernel);
        let device = raw!("clGetKernelWorkGroupInfo", device);
        // SAFETY: `answer` gives a size and a buffer of that size.
        let args = answer("clGetKernelInfo", |n, out, needs| unsafe {
            ffi::clGetKernelInfo(kernel, ffi::CL_KERNEL_NUM_ARGS, n, out, needs)
        })?;
        let ask = |what: cl_uint| {
            // SAFETY: as above.
            answer("clGetKernelWorkGroupInfo", |n, out, needs| unsafe {
                ffi::clGetKernelWorkGroupInfo(kernel, device, what, n, out, needs)
            })
        };
        let sizes = ask(ffi::CL_KERNEL_COMPILE_WORK_GROUP_SIZE)?;
        let mut work_group = [0; 3];
        for (size, bytes) in work_group.iter_mut().zip(sizes.chunks(size_of::<usize>())) {
            *size = number(bytes) as usize;
        }
        Ok(KernelFacts {
            args: number(&args) as u32,
            local_bytes: number(&ask(ffi::CL_KERNEL_LOCAL_MEM_SIZE)?),
            max_work_group: number(&ask(0x11b0)?) as usize, // CL_KERNEL_WORK_GROUP_SIZE
            work_group,
        })
    }

    fn set_arg(&self, kernel: &KernelHandle, index: u32, arg: KernelArg<'_>) -> Result<(), DriverError> {
        let kernel = raw!("clSetKernelArg", kernel);
        let code = match arg {
            KernelArg::Buffer(buffer) => {
                let buffer: Raw = raw!("clSetKernelArg", buffer);
                // SAFETY: a live kernel and a live buffer, whose handle the call copies.
                unsafe { ffi::clSetKernelArg(kernel, index, size_of::<Raw>(), (&raw const buffer).cast()) }
            }
            KernelArg::Bytes(bytes) => {
                // SAFETY: a live kernel and `bytes.len()` readable bytes, which the call copies.
                unsafe { ffi::clSetKernelArg(kernel, index, bytes.len(), bytes.as_ptr().cast()) }
            }
        };
        checked("clSetKernelArg", code)
    }

    fn enqueue(
        &self,
        queue: &QueueHandle,
        kernel: &KernelHandle,
        global: usize,
        local: usize,
    ) -> Result<EventHandle, DriverError> {
        let call = "clEnqueueNDRangeKernel";
        let (queue, kernel) = (raw!("clEnqueueNDRangeKernel", queue), raw!("clEnqueueNDRangeKernel", kernel));
        let mut event = ptr::null_mut();
        // SAFETY: live handles, one dimension. What the kernel does to its buffers is the launch's concern: it
        // passes buffers whose memory no reference of this process covers (`memory`).
        let code = unsafe {
            ffi::clEnqueueNDRangeKernel(
                queue,
                kernel,
                1,
                ptr::null(),
                &raw const global,
                &raw const local,
                0,
                ptr::null(),
                &raw mut event,
            )
        };
        checked(call, code)?;
        Ok(EventHandle::new(Object::counted(event, ffi::clReleaseEvent)))
    }

    fn buffer(&self, context: &ContextHandle, backing: Backing) -> Result<BufferHandle, DriverError> {
        let call = "clCreateBuffer";
        let (context, mut code) = (raw!("clCreateBuffer", context), 0);
        let (flags, bytes, host, keeps) = match backing {
            Backing::Device { bytes } => (0, bytes, ptr::null_mut(), Keeps::Nothing),
            Backing::Host(memory) => {
                (ffi::CL_MEM_USE_HOST_PTR, memory.bytes(), memory.base().cast(), Keeps::Memory(memory))
            }
        };
        // SAFETY: a live context; host memory has that many bytes and outlives the buffer, which keeps it.
        let raw = unsafe {
            ffi::clCreateBuffer(context, ffi::CL_MEM_READ_WRITE | flags, bytes, host, &raw mut code)
        };
        checked(call, code)?;
        Ok(BufferHandle::new(Object { raw, release: Some(ffi::clReleaseMemObject), keeps }))
    }

    fn part(&self, buffer: &BufferHandle, offset: usize, bytes: usize) -> Result<BufferHandle, DriverError> {
        let call = "clCreateSubBuffer";
        let (parent, mut code) = (raw!("clCreateSubBuffer", buffer), 0);
        // The specification's cl_buffer_region: origin, size.
        let region = [offset, bytes];
        // SAFETY: a live buffer and a region as the specification lays it out; the call checks its bounds.
        let raw = unsafe {
            ffi::clCreateSubBuffer(
                parent,
                0,
                ffi::CL_BUFFER_CREATE_TYPE_REGION,
                region.as_ptr().cast(),
                &raw mut code,
            )
        };
        checked(call, code)?;
        let keeps = Keeps::Parent(buffer.clone());
        Ok(BufferHandle::new(Object { raw, release: Some(ffi::clReleaseMemObject), keeps }))
    }

    fn write(&self, queue: &QueueHandle, buffer: &BufferHandle, bytes: &[u8]) -> Result<(), DriverError> {
        let call = "clEnqueueWriteBuffer";
        let (q, b) = (raw!("clEnqueueWriteBuffer", queue), raw!("clEnqueueWriteBuffer", buffer));
        let (len, data) = (bytes.len(), bytes.as_ptr().cast());
        // SAFETY: live handles and `len` readable bytes until the call, which blocks, returns.
        checked(call, unsafe {
            ffi::clEnqueueWriteBuffer(q, b, TRUE, 0, len, data, 0, ptr::null(), ptr::null_mut())
        })
    }

    fn read(&self, queue: &QueueHandle, buffer: &BufferHandle, bytes: &mut [u8]) -> Result<(), DriverError> {
        let call = "clEnqueueReadBuffer";
        let (q, b) = (raw!("clEnqueueReadBuffer", queue), raw!("clEnqueueReadBuffer", buffer));
        let (len, data) = (bytes.len(), bytes.as_mut_ptr().cast());
        // SAFETY: live handles and `len` writable bytes until the call, which blocks, returns.
        checked(call, unsafe {
            ffi::clEnqueueReadBuffer(q, b, TRUE, 0, len, data, 0, ptr::null(), ptr::null_mut())
        })
    }

    fn copy(
        &self,
        queue: &QueueHandle,
        from: &BufferHandle,
        to: &BufferHandle,
        bytes: usize,
    ) -> Result<(), DriverError> {
        let call = "clEnqueueCopyBuffer";
        let queue = raw!("clEnqueueCopyBuffer", queue);
        let (from, to) = (raw!("clEnqueueCopyBuffer", from), raw!("clEnqueueCopyBuffer", to));
        // SAFETY: live handles; the call checks the bounds.
        checked(call, unsafe {
            ffi::clEnqueueCopyBuffer(queue, from, to, 0, 0, bytes, 0, ptr::null(), ptr::null_mut())
        })
    }

    fn zero(&self, queue: &QueueHandle, buffer: &BufferHandle, bytes: usize) -> Result<(), DriverError> {
        let call = "clEnqueueFillBuffer";
        let (q, b) = (raw!("clEnqueueFillBuffer", queue), raw!("clEnqueueFillBuffer", buffer));
        let pattern = (&raw const ZERO).cast();
        // SAFETY: live handles and a pattern of one byte, which the call copies; the call checks the bounds.
        checked(call, unsafe {
            ffi::clEnqueueFillBuffer(q, b, pattern, 1, 0, bytes, 0, ptr::null(), ptr::null_mut())
        })
    }

    fn map(
        &self,
        queue: &QueueHandle,
        buffer: &BufferHandle,
        access: Access,
        bytes: usize,
    ) -> Result<MapHandle, DriverError> {
        let call = "clEnqueueMapBuffer";
        let (q, b, mut code) = (raw!("clEnqueueMapBuffer", queue), raw!("clEnqueueMapBuffer", buffer), 0);
        let flags = match access {
            Access::Read => ffi::CL_MAP_READ,
            Access::Write => ffi::CL_MAP_READ | ffi::CL_MAP_WRITE,
        };
        // SAFETY: live handles; the call checks the bounds.
        let raw = unsafe {
            ffi::clEnqueueMapBuffer(
                q,
                b,
                TRUE,
                flags,
                0,
                bytes,
                0,
                ptr::null(),
                ptr::null_mut(),
                &raw mut code,
            )
        };
        checked(call, code)?;
        match buffer.get::<Object>().map(|object| &object.keeps) {
            // The specification promises this of buffers over host memory.
            Some(Keeps::Memory(memory)) if memory.base().cast() == raw => {}
            _ => {
                let name = "the driver mapped the buffer elsewhere than over its host memory".to_string();
                return Err(DriverError { call, code: -12, name });
            }
        }
        Ok(MapHandle::new(Object { raw, release: None, keeps: Keeps::Nothing }))
    }

    fn unmap(
        &self,
        queue: &QueueHandle,
        buffer: &BufferHandle,
        mapped: &MapHandle,
    ) -> Result<(), DriverError> {
        let call = "clEnqueueUnmapMemObject";
        let (q, b) = (raw!("clEnqueueUnmapMemObject", queue), raw!("clEnqueueUnmapMemObject", buffer));
        let mapped = raw!("clEnqueueUnmapMemObject", mapped);
        // SAFETY: live handles and what mapping this buffer gave.
        checked(call, unsafe { ffi::clEnqueueUnmapMemObject(q, b, mapped, 0, ptr::null(), ptr::null_mut()) })
    }

    fn wait(&self, event: &EventHandle) -> Result<(), DriverError> {
        let raw: Raw = raw!("clWaitForEvents", event);
        // SAFETY: one live event.
        let waited = checked("clWaitForEvents", unsafe { ffi::clWaitForEvents(1, &raw const raw) });
        // The wait only says that the command failed; the event says how.
        match (waited, self.progress(event)) {
            (_, Ok(Progress::Failed(error))) => Err(error),
            (waited, _) => waited,
        }
    }

    fn progress(&self, event: &EventHandle) -> Result<Progress, DriverError> {
        let event = raw!("clGetEventInfo", event);
        // SAFETY: `answer` gives a size and a buffer of that size.
        let status = answer("clGetEventInfo", |n, out, needs| unsafe {
            ffi::clGetEventInfo(event, ffi::CL_EVENT_COMMAND_EXECUTION_STATUS, n, out, needs)
        })?;
        Ok(match number(&status) as u32 as i32 {
            0 => Progress::Complete,
            code if code < 0 => Progress::Failed(DriverError::new("clEnqueueNDRangeKernel", code)),
            _ => Progress::Waiting,
        })
    }

    fn times(&self, event: &EventHandle) -> Result<DeviceTimes, DriverError> {
        let event = raw!("clGetEventProfilingInfo", event);
        let ask = |what: cl_uint| {
            // SAFETY: `answer` gives a size and a buffer of that size.
            let bytes = answer("clGetEventProfilingInfo", |n, out, needs| unsafe {
                ffi::clGetEventProfilingInfo(event, what, n, out, needs)
            })?;
            Ok(number(&bytes))
        };
        // CL_PROFILING_COMMAND_QUEUED, _START and _END, in nanoseconds.
        let (queued, start, end) = (ask(0x1280)?, ask(0x1282)?, ask(0x1283)?);
        let between = |from: u64, to: u64| Duration::from_nanos(to.saturating_sub(from));
        Ok(DeviceTimes { waited: between(queued, start), ran: between(start, end) })
    }

    fn flush(&self, queue: &QueueHandle) -> Result<(), DriverError> {
        let queue = raw!("clFlush", queue);
        // SAFETY: a live queue.
        checked("clFlush", unsafe { ffi::clFlush(queue) })
    }

    fn finish(&self, queue: &QueueHandle) -> Result<(), DriverError> {
        let queue = raw!("clFinish", queue);
        // SAFETY: a live queue.
        checked("clFinish", unsafe { ffi::clFinish(queue) })
    }
}

/// The pattern buffers are filled with.
static ZERO: u8 = 0;
