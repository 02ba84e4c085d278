//! Owns the real OpenCL driver: the only file that calls OpenCL.
//!
//! *Assumes*: handles of the trait's calls were made here (`Object`), each of its kind. *Guarantees*: a function that
//! the library lacks is an error of the call; an object is released once, when its last handle goes; memory handed to
//! a buffer lives as long as the buffer. *Not here*: the library and its functions (`library`), when a call is made
//! (`device`, `memory`, `launch`).

#![allow(unsafe_code, reason = "an OpenCL file: calls OpenCL")]

use std::ffi::{CString, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use opencl_sys::{self as ffi, cl_int, cl_uint};

use super::driver::{
    Access, Backing, BufferHandle, BuildFailure, ContextHandle, DeviceHandle, Driver, DriverError,
    EventHandle, KernelArg, KernelFacts, KernelHandle, MapHandle, ProgramHandle, Progress, QueueHandle,
};
use super::facts::{DeviceFacts, number, text};
use super::library::Functions;
use crate::launch::DeviceTimes;
use crate::tensor::HostMemory;

/// A handle of OpenCL.
type Raw = *mut c_void;

/// An OpenCL object and what must outlive it.
struct Object {
    raw: Raw,
    /// Gives the object back; `None` for those that are not counted.
    release: Option<Release>,
    keeps: Keeps,
}

/// A function that gives an object back.
type Release = unsafe extern "C" fn(Raw) -> cl_int;

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
    /// An object that the caller owns one reference of. A library without the function keeps it.
    fn counted(raw: Raw, release: Option<Release>) -> Object {
        Object { raw, release, keeps: Keeps::Nothing }
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
    ($call:expr, $handle:expr) => {
        match $handle.get::<Object>() {
            Some(object) => object.raw,
            None => {
                let name = "an object of another driver".to_string();
                return Err(DriverError { call: $call, code: ffi::CL_INVALID_VALUE, name });
            }
        }
    };
}

/// A function of the library, or its absence as the error of a call.
macro_rules! function {
    ($ocl:ident.$name:ident) => {
        match $ocl.functions.$name {
            Some(function) => function,
            None => {
                let name = "the OpenCL library has no such function".to_string();
                return Err(DriverError { call: stringify!($name), code: ffi::CL_INVALID_OPERATION, name });
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

/// An OpenCL library.
pub struct Ocl {
    functions: &'static Functions,
}

impl Ocl {
    /// The library at `path`: an OpenCL driver, or a loader of drivers.
    ///
    /// # Errors
    /// What the system said when the library could not be opened.
    ///
    /// # Safety
    /// The library is an implementation of OpenCL or a loader of one. Who calls the methods of [`Driver`] other than
    /// through [`Devices`](super::Devices) obeys OpenCL: programs are what a compiler of kernels made, a kernel that is
    /// enqueued stays within the buffers set, and handles come from this value.
    pub unsafe fn load(path: &Path) -> Result<Ocl, String> {
        // SAFETY: by this function's contract.
        unsafe { Functions::open(path) }.map(|functions| Ocl { functions })
    }

    /// The library that `TILE_OPENCL_LIBRARY` names, else the system's.
    ///
    /// # Errors
    /// What the system said when no library could be opened.
    pub(super) fn of_process() -> Result<Ocl, String> {
        Functions::of_process().map(|functions| Ocl { functions })
    }

    fn platforms(&self) -> Result<Vec<Raw>, DriverError> {
        let call = "clGetPlatformIDs";
        let mut count = 0;
        // SAFETY: a null list of length 0 only asks for the count.
        let code = unsafe { function!(self.clGetPlatformIDs)(0, ptr::null_mut(), &raw mut count) };
        if code == -1001 {
            return Ok(Vec::new());
        }
        checked(call, code)?;
        let mut ids = vec![ptr::null_mut(); count as usize];
        if count > 0 {
            // SAFETY: `ids` has room for `count` handles.
            checked(call, unsafe {
                function!(self.clGetPlatformIDs)(count, ids.as_mut_ptr(), ptr::null_mut())
            })?;
        }
        Ok(ids)
    }

    fn device_ids(&self, platform: Raw) -> Result<Vec<Raw>, DriverError> {
        let call = "clGetDeviceIDs";
        let all = ffi::CL_DEVICE_TYPE_ALL;
        let mut count = 0;
        // SAFETY: a null list of length 0 only asks for the count; the platform is one the library gave.
        let code =
            unsafe { function!(self.clGetDeviceIDs)(platform, all, 0, ptr::null_mut(), &raw mut count) };
        if code == -1 {
            return Ok(Vec::new());
        }
        checked(call, code)?;
        let mut ids = vec![ptr::null_mut(); count as usize];
        if count > 0 {
            // SAFETY: `ids` has room for `count` handles.
            let code = unsafe {
                function!(self.clGetDeviceIDs)(platform, all, count, ids.as_mut_ptr(), ptr::null_mut())
            };
            checked(call, code)?;
        }
        Ok(ids)
    }

    fn build_program(
        &self,
        program: &ProgramHandle,
        device: &DeviceHandle,
        options: &str,
    ) -> Result<(), DriverError> {
        let call = "clBuildProgram";
        let (program, device) = (raw!(call, program), raw!(call, device));
        let options =
            CString::new(options).map_err(|_| DriverError::new(call, ffi::CL_INVALID_BUILD_OPTIONS))?;
        let (build, options) = (function!(self.clBuildProgram), options.as_ptr());
        // SAFETY: live handles, one device, a string that ends in a zero, no callback.
        checked(call, unsafe { build(program, 1, &raw const device, options, None, ptr::null_mut()) })
    }

    fn build_log(&self, program: &ProgramHandle, device: &DeviceHandle) -> Result<String, DriverError> {
        let call = "clGetProgramBuildInfo";
        let (program, device) = (raw!(call, program), raw!(call, device));
        let about = function!(self.clGetProgramBuildInfo);
        // SAFETY: `answer` gives a size and a buffer of that size.
        let log = answer(call, |n, out, needs| unsafe {
            about(program, device, ffi::CL_PROGRAM_BUILD_LOG, n, out, needs)
        });
        log.map(|bytes| text(&bytes))
    }
}

impl Driver for Ocl {
    fn devices(&self) -> Result<Vec<(DeviceHandle, DeviceFacts)>, DriverError> {
        let mut devices = Vec::new();
        let (about_platform, about_device) =
            (function!(self.clGetPlatformInfo), function!(self.clGetDeviceInfo));
        for platform in self.platforms()? {
            // SAFETY: `answer` gives a size and a buffer of that size.
            let name = answer("clGetPlatformInfo", |n, out, needs| unsafe {
                about_platform(platform, ffi::CL_PLATFORM_NAME, n, out, needs)
            })?;
            for raw in self.device_ids(platform)? {
                let object = Object { raw, release: None, keeps: Keeps::Nothing };
                let facts = DeviceFacts::from_answers(text(&name), |what| {
                    // SAFETY: as above; the device is one the library gave.
                    answer("clGetDeviceInfo", |n, out, needs| unsafe {
                        about_device(raw, what, n, out, needs)
                    })
                })?;
                devices.push((DeviceHandle::new(object), facts));
            }
        }
        Ok(devices)
    }

    fn context(&self, device: &DeviceHandle) -> Result<ContextHandle, DriverError> {
        let call = "clCreateContext";
        let (device, mut code) = (raw!(call, device), 0);
        // SAFETY: one device, no properties, no callback.
        let raw = unsafe {
            function!(self.clCreateContext)(
                ptr::null(),
                1,
                &raw const device,
                None,
                ptr::null_mut(),
                &raw mut code,
            )
        };
        checked(call, code)?;
        Ok(ContextHandle::new(Object::counted(raw, self.functions.clReleaseContext)))
    }

    fn queue(&self, context: &ContextHandle, device: &DeviceHandle) -> Result<QueueHandle, DriverError> {
        let call = "clCreateCommandQueue";
        let (context, device) = (raw!(call, context), raw!(call, device));
        let mut code = 0;
        // SAFETY: live handles.
        let raw = unsafe {
            function!(self.clCreateCommandQueue)(
                context,
                device,
                ffi::CL_QUEUE_PROFILING_ENABLE,
                &raw mut code,
            )
        };
        checked(call, code)?;
        Ok(QueueHandle::new(Object::counted(raw, self.functions.clReleaseCommandQueue)))
    }

    fn program_from_il(&self, context: &ContextHandle, il: &[u8]) -> Result<ProgramHandle, DriverError> {
        let call = "clCreateProgramWithIL";
        let (context, mut code) = (raw!(call, context), 0);
        // SAFETY: a live context and `il.len()` readable bytes, which the call copies.
        let raw = unsafe {
            function!(self.clCreateProgramWithIL)(context, il.as_ptr().cast(), il.len(), &raw mut code)
        };
        checked(call, code)?;
        Ok(ProgramHandle::new(Object::counted(raw, self.functions.clReleaseProgram)))
    }

    fn program_from_binary(
        &self,
        context: &ContextHandle,
        device: &DeviceHandle,
        binary: &[u8],
    ) -> Result<ProgramHandle, DriverError> {
        let call = "clCreateProgramWithBinary";
        let context = raw!(call, context);
        let device = raw!(call, device);
        let (bytes, mut data, mut each, mut code) = (binary.len(), binary.as_ptr(), 0, 0);
        // SAFETY: lists of length 1 and `bytes` readable bytes, which the call copies.
        let raw = unsafe {
            function!(self.clCreateProgramWithBinary)(
                context,
                1,
                &raw const device,
                &raw const bytes,
                &raw mut data,
                &raw mut each,
                &raw mut code,
            )
        };
        checked(call, code)?;
        let program = ProgramHandle::new(Object::counted(raw, self.functions.clReleaseProgram));
        checked(call, each)?;
        Ok(program)
    }

    fn build(
        &self,
        program: &ProgramHandle,
        device: &DeviceHandle,
        options: &str,
    ) -> Result<(), BuildFailure> {
        self.build_program(program, device, options).map_err(|error| {
            // The error of the build is the one to tell, whether or not there is a log.
            let log = self.build_log(program, device).unwrap_or_default();
            BuildFailure { error, log }
        })
    }

    fn binary(&self, program: &ProgramHandle) -> Result<Vec<u8>, DriverError> {
        let call = "clGetProgramInfo";
        let (program, about) = (raw!(call, program), function!(self.clGetProgramInfo));
        // SAFETY: `answer` gives a size and a buffer of that size.
        let sizes = answer(call, |n, out, needs| unsafe {
            about(program, ffi::CL_PROGRAM_BINARY_SIZES, n, out, needs)
        })?;
        let mut binary = vec![0u8; number(&sizes) as usize];
        let mut place: Raw = binary.as_mut_ptr().cast();
        // SAFETY: the program has one device, so the answer is one pointer, to room for as many bytes as it said.
        let code = unsafe {
            about(
                program,
                ffi::CL_PROGRAM_BINARIES,
                size_of::<Raw>(),
                (&raw mut place).cast(),
                ptr::null_mut(),
            )
        };
        checked(call, code)?;
        Ok(binary)
    }

    fn kernel(&self, program: &ProgramHandle, entry: &str) -> Result<KernelHandle, DriverError> {
        let call = "clCreateKernel";
        let (program, mut code) = (raw!(call, program), 0);
        let entry = CString::new(entry).map_err(|_| DriverError::new(call, -46))?;
        // SAFETY: a live program and a string that ends in a zero.
        let raw = unsafe { function!(self.clCreateKernel)(program, entry.as_ptr(), &raw mut code) };
        checked(call, code)?;
        Ok(KernelHandle::new(Object::counted(raw, self.functions.clReleaseKernel)))
    }

    fn kernel_facts(&self, kernel: &KernelHandle, device: &DeviceHandle) -> Result<KernelFacts, DriverError> {
        let kernel = raw!("clGetKernelInfo", kernel);
        let device = raw!("clGetKernelWorkGroupInfo", device);
        let about_groups = function!(self.clGetKernelWorkGroupInfo);
        let about_kernel = function!(self.clGetKernelInfo);
        // SAFETY: `answer` gives a size and a buffer of that size.
        let args = answer("clGetKernelInfo", |n, out, needs| unsafe {
            about_kernel(kernel, ffi::CL_KERNEL_NUM_ARGS, n, out, needs)
        })?;
        let ask = |what: cl_uint| {
            // SAFETY: as above.
            answer("clGetKernelWorkGroupInfo", |n, out, needs| unsafe {
                about_groups(kernel, device, what, n, out, needs)
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
            max_work_group: number(&ask(ffi::CL_KERNEL_WORK_GROUP_SIZE)?) as usize,
            work_group,
        })
    }

    fn set_arg(&self, kernel: &KernelHandle, index: u32, arg: KernelArg<'_>) -> Result<(), DriverError> {
        let kernel = raw!("clSetKernelArg", kernel);
        let code = match arg {
            KernelArg::Buffer(buffer) => {
                let buffer: Raw = raw!("clSetKernelArg", buffer);
                // SAFETY: a live kernel and a live buffer, whose handle the call copies.
                unsafe {
                    function!(self.clSetKernelArg)(
                        kernel,
                        index,
                        size_of::<Raw>(),
                        (&raw const buffer).cast(),
                    )
                }
            }
            KernelArg::Bytes(bytes) => {
                // SAFETY: a live kernel and `bytes.len()` readable bytes, which the call copies.
                unsafe { function!(self.clSetKernelArg)(kernel, index, bytes.len(), bytes.as_ptr().cast()) }
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
        let (queue, kernel) = (raw!(call, queue), raw!(call, kernel));
        let mut event = ptr::null_mut();
        // SAFETY: live handles, one dimension. What the kernel does to its buffers is the launch's concern: it
        // passes buffers whose memory no reference of this process covers (`memory`).
        let code = unsafe {
            function!(self.clEnqueueNDRangeKernel)(
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
        Ok(EventHandle::new(Object::counted(event, self.functions.clReleaseEvent)))
    }

    fn buffer(&self, context: &ContextHandle, backing: Backing) -> Result<BufferHandle, DriverError> {
        let call = "clCreateBuffer";
        let (context, mut code) = (raw!(call, context), 0);
        let (flags, bytes, host, keeps) = match backing {
            Backing::Device { bytes } => (0, bytes, ptr::null_mut(), Keeps::Nothing),
            Backing::Host(memory) => {
                (ffi::CL_MEM_USE_HOST_PTR, memory.bytes(), memory.base().cast(), Keeps::Memory(memory))
            }
        };
        // SAFETY: a live context; host memory has that many bytes and outlives the buffer, which keeps it.
        let raw = unsafe {
            function!(self.clCreateBuffer)(
                context,
                ffi::CL_MEM_READ_WRITE | flags,
                bytes,
                host,
                &raw mut code,
            )
        };
        checked(call, code)?;
        Ok(BufferHandle::new(Object { raw, release: self.functions.clReleaseMemObject, keeps }))
    }

    fn part(&self, buffer: &BufferHandle, offset: usize, bytes: usize) -> Result<BufferHandle, DriverError> {
        let call = "clCreateSubBuffer";
        let (parent, mut code) = (raw!(call, buffer), 0);
        // The specification's cl_buffer_region: origin, size.
        let region = [offset, bytes];
        // SAFETY: a live buffer and a region as the specification lays it out; the call checks its bounds.
        let raw = unsafe {
            function!(self.clCreateSubBuffer)(
                parent,
                0,
                ffi::CL_BUFFER_CREATE_TYPE_REGION,
                region.as_ptr().cast(),
                &raw mut code,
            )
        };
        checked(call, code)?;
        let keeps = Keeps::Parent(buffer.clone());
        Ok(BufferHandle::new(Object { raw, release: self.functions.clReleaseMemObject, keeps }))
    }

    fn write(&self, queue: &QueueHandle, buffer: &BufferHandle, bytes: &[u8]) -> Result<(), DriverError> {
        let call = "clEnqueueWriteBuffer";
        let (q, b) = (raw!(call, queue), raw!(call, buffer));
        let (len, data) = (bytes.len(), bytes.as_ptr().cast());
        // SAFETY: live handles and `len` readable bytes until the call, which blocks, returns.
        checked(call, unsafe {
            function!(self.clEnqueueWriteBuffer)(
                q,
                b,
                ffi::CL_TRUE,
                0,
                len,
                data,
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        })
    }

    fn read(&self, queue: &QueueHandle, buffer: &BufferHandle, bytes: &mut [u8]) -> Result<(), DriverError> {
        let call = "clEnqueueReadBuffer";
        let (q, b) = (raw!(call, queue), raw!(call, buffer));
        let (len, data) = (bytes.len(), bytes.as_mut_ptr().cast());
        // SAFETY: live handles and `len` writable bytes until the call, which blocks, returns.
        checked(call, unsafe {
            function!(self.clEnqueueReadBuffer)(
                q,
                b,
                ffi::CL_TRUE,
                0,
                len,
                data,
                0,
                ptr::null(),
                ptr::null_mut(),
            )
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
        let queue = raw!(call, queue);
        let (from, to) = (raw!(call, from), raw!(call, to));
        // SAFETY: live handles; the call checks the bounds.
        checked(call, unsafe {
            function!(self.clEnqueueCopyBuffer)(queue, from, to, 0, 0, bytes, 0, ptr::null(), ptr::null_mut())
        })
    }

    fn zero(&self, queue: &QueueHandle, buffer: &BufferHandle, bytes: usize) -> Result<(), DriverError> {
        let call = "clEnqueueFillBuffer";
        let (q, b) = (raw!(call, queue), raw!(call, buffer));
        let zero = 0u8;
        let pattern = (&raw const zero).cast();
        // SAFETY: live handles and a pattern of one byte, which the call copies; the call checks the bounds.
        checked(call, unsafe {
            function!(self.clEnqueueFillBuffer)(q, b, pattern, 1, 0, bytes, 0, ptr::null(), ptr::null_mut())
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
        let (q, b, mut code) = (raw!(call, queue), raw!(call, buffer), 0);
        let flags = match access {
            Access::Read => ffi::CL_MAP_READ,
            Access::Write => ffi::CL_MAP_READ | ffi::CL_MAP_WRITE,
        };
        // SAFETY: live handles; the call checks the bounds.
        let raw = unsafe {
            function!(self.clEnqueueMapBuffer)(
                q,
                b,
                ffi::CL_TRUE,
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
        let (q, b) = (raw!(call, queue), raw!(call, buffer));
        let mapped = raw!(call, mapped);
        // SAFETY: live handles and what mapping this buffer gave.
        checked(call, unsafe {
            function!(self.clEnqueueUnmapMemObject)(q, b, mapped, 0, ptr::null(), ptr::null_mut())
        })
    }

    fn wait(&self, event: &EventHandle) -> Result<(), DriverError> {
        let raw: Raw = raw!("clWaitForEvents", event);
        // SAFETY: one live event.
        let waited =
            checked("clWaitForEvents", unsafe { function!(self.clWaitForEvents)(1, &raw const raw) });
        // The wait only says that the command failed; the event says how.
        match (waited, self.progress(event)) {
            (_, Ok(Progress::Failed(error))) => Err(error),
            (waited, _) => waited,
        }
    }

    fn progress(&self, event: &EventHandle) -> Result<Progress, DriverError> {
        let (event, about) = (raw!("clGetEventInfo", event), function!(self.clGetEventInfo));
        // SAFETY: `answer` gives a size and a buffer of that size.
        let status = answer("clGetEventInfo", |n, out, needs| unsafe {
            about(event, ffi::CL_EVENT_COMMAND_EXECUTION_STATUS, n, out, needs)
        })?;
        Ok(match number(&status) as u32 as i32 {
            0 => Progress::Complete,
            code if code < 0 => Progress::Failed(DriverError::new("clEnqueueNDRangeKernel", code)),
            _ => Progress::Waiting,
        })
    }

    fn times(&self, event: &EventHandle) -> Result<DeviceTimes, DriverError> {
        let call = "clGetEventProfilingInfo";
        let (event, about) = (raw!(call, event), function!(self.clGetEventProfilingInfo));
        let ask = |what: cl_uint| {
            // SAFETY: `answer` gives a size and a buffer of that size.
            let bytes = answer(call, |n, out, needs| unsafe { about(event, what, n, out, needs) })?;
            Ok(number(&bytes))
        };
        // In nanoseconds.
        let queued = ask(ffi::CL_PROFILING_COMMAND_QUEUED)?;
        let (start, end) = (ask(ffi::CL_PROFILING_COMMAND_START)?, ask(ffi::CL_PROFILING_COMMAND_END)?);
        let between = |from: u64, to: u64| Duration::from_nanos(to.saturating_sub(from));
        Ok(DeviceTimes { waited: between(queued, start), ran: between(start, end) })
    }

    fn flush(&self, queue: &QueueHandle) -> Result<(), DriverError> {
        let queue = raw!("clFlush", queue);
        // SAFETY: a live queue.
        checked("clFlush", unsafe { function!(self.clFlush)(queue) })
    }

    fn finish(&self, queue: &QueueHandle) -> Result<(), DriverError> {
        let queue = raw!("clFinish", queue);
        // SAFETY: a live queue.
        checked("clFinish", unsafe { function!(self.clFinish)(queue) })
    }
}
