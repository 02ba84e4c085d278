//! Owns the seam to OpenCL: the calls the runtime makes, as a trait, and what they give.
//!
//! *Guarantees*: the device (`device`, `memory`, `launch`) makes no OpenCL call but through [`Driver`], so a test
//! can put another driver in place, which lies about a device or fails where it is told to. *Not here*: the real
//! driver (`ocl`), decisions about devices (`facts`).

use std::any::Any;
use std::sync::Arc;

use thiserror::Error;

use super::facts::DeviceFacts;
use crate::launch::DeviceTimes;
use crate::tensor::HostMemory;

/// An OpenCL call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{call} failed: {name} ({code})")]
pub struct DriverError {
    /// The OpenCL function.
    pub call: &'static str,
    /// What it returned; negative.
    pub code: i32,
    /// The name of the code in the specification, or what went wrong before the call.
    pub name: String,
}

impl DriverError {
    /// An error with this code.
    pub fn new(call: &'static str, code: i32) -> DriverError {
        DriverError { call, code, name: code_name(code).to_string() }
    }

    /// True if there was no memory for it, on the device or beside it.
    pub fn is_out_of_memory(&self) -> bool {
        // CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_INVALID_BUFFER_SIZE.
        matches!(self.code, -4 | -5 | -6 | -61)
    }
}

/// The specification's name of an error code.
pub(crate) fn code_name(code: i32) -> &'static str {
    match code {
        -1 => "CL_DEVICE_NOT_FOUND",
        -2 => "CL_DEVICE_NOT_AVAILABLE",
        -3 => "CL_COMPILER_NOT_AVAILABLE",
        -4 => "CL_MEM_OBJECT_ALLOCATION_FAILURE",
        -5 => "CL_OUT_OF_RESOURCES",
        -6 => "CL_OUT_OF_HOST_MEMORY",
        -7 => "CL_PROFILING_INFO_NOT_AVAILABLE",
        -11 => "CL_BUILD_PROGRAM_FAILURE",
        -12 => "CL_MAP_FAILURE",
        -13 => "CL_MISALIGNED_SUB_BUFFER_OFFSET",
        -14 => "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
        -30 => "CL_INVALID_VALUE",
        -33 => "CL_INVALID_DEVICE",
        -34 => "CL_INVALID_CONTEXT",
        -36 => "CL_INVALID_COMMAND_QUEUE",
        -38 => "CL_INVALID_MEM_OBJECT",
        -42 => "CL_INVALID_BINARY",
        -43 => "CL_INVALID_BUILD_OPTIONS",
        -44 => "CL_INVALID_PROGRAM",
        -45 => "CL_INVALID_PROGRAM_EXECUTABLE",
        -46 => "CL_INVALID_KERNEL_NAME",
        -48 => "CL_INVALID_KERNEL",
        -49 => "CL_INVALID_ARG_INDEX",
        -50 => "CL_INVALID_ARG_VALUE",
        -51 => "CL_INVALID_ARG_SIZE",
        -52 => "CL_INVALID_KERNEL_ARGS",
        -54 => "CL_INVALID_WORK_GROUP_SIZE",
        -55 => "CL_INVALID_WORK_ITEM_SIZE",
        -58 => "CL_INVALID_EVENT",
        -59 => "CL_INVALID_OPERATION",
        -61 => "CL_INVALID_BUFFER_SIZE",
        -63 => "CL_INVALID_GLOBAL_WORK_SIZE",
        -1001 => "CL_PLATFORM_NOT_FOUND_KHR",
        _ => "an error code of the driver",
    }
}

/// A program that did not build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildFailure {
    /// What the call returned.
    pub error: DriverError,
    /// What the compiler said; may be empty.
    pub log: String,
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)+) => {
        $(
            $(#[$doc])*
            #[derive(Clone)]
            pub struct $name(Arc<dyn Any + Send + Sync>);

            impl $name {
                /// Wraps what a driver needs to know the object again; dropping the last clone releases it.
                pub fn new(object: impl Any + Send + Sync) -> $name {
                    $name(Arc::new(object))
                }

                /// What [`Self::new`] wrapped, if it is of this type: an object of another driver is not.
                pub fn get<T: Any>(&self) -> Option<&T> {
                    self.0.downcast_ref()
                }
            }
        )+
    };
}

handles! {
    /// A device of a platform.
    DeviceHandle;
    /// A context with one device.
    ContextHandle;
    /// An in-order queue with profiling.
    QueueHandle;
    /// A program.
    ProgramHandle;
    /// A kernel of a program.
    KernelHandle;
    /// Memory of a context. It keeps the host memory it was made over.
    BufferHandle;
    /// A buffer mapped into this process.
    MapHandle;
    /// A command in a queue.
    EventHandle;
}

/// What a driver says of a kernel it built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelFacts {
    /// Arguments it takes.
    pub args: u32,
    /// Bytes of local memory it uses.
    pub local_bytes: u64,
    /// Most work-items of a work-group.
    pub max_work_group: usize,
    /// The work-group it was compiled for; zeros if it takes any.
    pub work_group: [usize; 3],
}

/// One argument of a kernel.
pub enum KernelArg<'a> {
    /// The start of a buffer.
    Buffer(&'a BufferHandle),
    /// A scalar: its bytes as they lie in memory.
    Bytes(&'a [u8]),
}

/// Where the memory of a new buffer is.
pub enum Backing {
    /// Memory of the device.
    Device {
        /// Bytes.
        bytes: usize,
    },
    /// This memory of the process, which the buffer keeps alive.
    Host(Arc<HostMemory>),
}

/// What a mapping is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
}

/// How far a command is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// In the queue, or running.
    Waiting,
    /// Done.
    Complete,
    /// It ended with this error.
    Failed(DriverError),
}

/// The OpenCL calls the runtime makes. Handles are those of the same driver.
///
/// Every method returns what the call returned; none panics and none retries. Calls that transfer memory block
/// until it is transferred.
pub trait Driver: Send + Sync {
    /// Every device of every platform, in the order of the platforms.
    ///
    /// # Errors
    /// Of the calls; no platform at all is an empty list.
    fn devices(&self) -> Result<Vec<(DeviceHandle, DeviceFacts)>, DriverError>;

    /// A context for one device.
    ///
    /// # Errors
    /// Of `clCreateContext`.
    fn context(&self, device: &DeviceHandle) -> Result<ContextHandle, DriverError>;

    /// An in-order queue that records times.
    ///
    /// # Errors
    /// Of `clCreateCommandQueue`.
    fn queue(&self, context: &ContextHandle, device: &DeviceHandle) -> Result<QueueHandle, DriverError>;

    /// A program from SPIR-V words as bytes.
    ///
    /// # Errors
    /// Of `clCreateProgramWithIL`.
    fn program_from_il(&self, context: &ContextHandle, il: &[u8]) -> Result<ProgramHandle, DriverError>;

    /// A program from what [`Driver::binary`] gave.
    ///
    /// # Errors
    /// Of `clCreateProgramWithBinary`.
    fn program_from_binary(
        &self,
        context: &ContextHandle,
        device: &DeviceHandle,
        binary: &[u8],
    ) -> Result<ProgramHandle, DriverError>;

    /// Builds a program.
    ///
    /// # Errors
    /// Of `clBuildProgram`, with the log.
    fn build(
        &self,
        program: &ProgramHandle,
        device: &DeviceHandle,
        options: &str,
    ) -> Result<(), BuildFailure>;

    /// The binary of a built program.
    ///
    /// # Errors
    /// Of `clGetProgramInfo`.
    fn binary(&self, program: &ProgramHandle) -> Result<Vec<u8>, DriverError>;

    /// A kernel of a built program.
    ///
    /// # Errors
    /// Of `clCreateKernel`.
    fn kernel(&self, program: &ProgramHandle, entry: &str) -> Result<KernelHandle, DriverError>;

    /// What the driver says of a kernel.
    ///
    /// # Errors
    /// Of `clGetKernelInfo` and `clGetKernelWorkGroupInfo`.
    fn kernel_facts(&self, kernel: &KernelHandle, device: &DeviceHandle) -> Result<KernelFacts, DriverError>;

    /// Sets an argument. Not for two threads at once on one kernel.
    ///
    /// # Errors
    /// Of `clSetKernelArg`.
    fn set_arg(&self, kernel: &KernelHandle, index: u32, arg: KernelArg<'_>) -> Result<(), DriverError>;

    /// Puts a kernel with its arguments into the queue.
    ///
    /// # Errors
    /// Of `clEnqueueNDRangeKernel`.
    fn enqueue(
        &self,
        queue: &QueueHandle,
        kernel: &KernelHandle,
        global: usize,
        local: usize,
    ) -> Result<EventHandle, DriverError>;

    /// A buffer.
    ///
    /// # Errors
    /// Of `clCreateBuffer`.
    fn buffer(&self, context: &ContextHandle, backing: Backing) -> Result<BufferHandle, DriverError>;

    /// The part of a buffer from an offset to an end; the offset obeys the device's alignment.
    ///
    /// # Errors
    /// Of `clCreateSubBuffer`.
    fn part(&self, buffer: &BufferHandle, offset: usize, bytes: usize) -> Result<BufferHandle, DriverError>;

    /// Copies memory of the process to the start of a buffer.
    ///
    /// # Errors
    /// Of `clEnqueueWriteBuffer`.
    fn write(&self, queue: &QueueHandle, buffer: &BufferHandle, bytes: &[u8]) -> Result<(), DriverError>;

    /// Copies the start of a buffer to memory of the process.
    ///
    /// # Errors
    /// Of `clEnqueueReadBuffer`.
    fn read(&self, queue: &QueueHandle, buffer: &BufferHandle, bytes: &mut [u8]) -> Result<(), DriverError>;

    /// Copies the start of a buffer to the start of another one.
    ///
    /// # Errors
    /// Of `clEnqueueCopyBuffer`.
    fn copy(
        &self,
        queue: &QueueHandle,
        from: &BufferHandle,
        to: &BufferHandle,
        bytes: usize,
    ) -> Result<(), DriverError>;

    /// Fills the start of a buffer with zeros.
    ///
    /// # Errors
    /// Of `clEnqueueFillBuffer`.
    fn zero(&self, queue: &QueueHandle, buffer: &BufferHandle, bytes: usize) -> Result<(), DriverError>;

    /// Maps a buffer over host memory, so that the process may use that memory.
    ///
    /// # Errors
    /// Of `clEnqueueMapBuffer`.
    fn map(
        &self,
        queue: &QueueHandle,
        buffer: &BufferHandle,
        access: Access,
        bytes: usize,
    ) -> Result<MapHandle, DriverError>;

    /// Gives a mapped buffer back to the device.
    ///
    /// # Errors
    /// Of `clEnqueueUnmapMemObject`.
    fn unmap(
        &self,
        queue: &QueueHandle,
        buffer: &BufferHandle,
        mapped: &MapHandle,
    ) -> Result<(), DriverError>;

    /// Waits for a command.
    ///
    /// # Errors
    /// Of `clWaitForEvents`, and the error the command ended with.
    fn wait(&self, event: &EventHandle) -> Result<(), DriverError>;

    /// How far a command is.
    ///
    /// # Errors
    /// Of `clGetEventInfo`.
    fn progress(&self, event: &EventHandle) -> Result<Progress, DriverError>;

    /// The times of a complete command.
    ///
    /// # Errors
    /// Of `clGetEventProfilingInfo`.
    fn times(&self, event: &EventHandle) -> Result<DeviceTimes, DriverError>;

    /// Sends what is in the queue to the device.
    ///
    /// # Errors
    /// Of `clFlush`.
    fn flush(&self, queue: &QueueHandle) -> Result<(), DriverError>;

    /// Waits until the queue is empty.
    ///
    /// # Errors
    /// Of `clFinish`.
    fn finish(&self, queue: &QueueHandle) -> Result<(), DriverError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_call_name_and_code() {
        let error = DriverError::new("clCreateBuffer", -4);
        assert_eq!(error.to_string(), "clCreateBuffer failed: CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)");
        assert!(error.is_out_of_memory());
        assert!(!DriverError::new("clFinish", -36).is_out_of_memory());
        assert_eq!(DriverError::new("f", -9999).to_string(), "f failed: an error code of the driver (-9999)");
    }

    #[test]
    fn a_handle_of_another_driver_is_told_apart() {
        let handle = EventHandle::new(7u32);
        assert_eq!(handle.get::<u32>(), Some(&7));
        assert_eq!(handle.get::<u64>(), None);
    }
}
