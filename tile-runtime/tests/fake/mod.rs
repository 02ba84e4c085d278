//! An OpenCL driver that lies and fails where it is told to: what no real driver here does on demand. It keeps buffers
//! as bytes and runs no kernel.

// Not every test program uses all of it.
#![allow(dead_code)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tile_runtime::cache::Cache;
use tile_runtime::opencl::driver::{
    Access, Backing, BufferHandle, BuildFailure, ContextHandle, DeviceHandle, Driver, DriverError,
    EventHandle, KernelArg, KernelFacts, KernelHandle, MapHandle, ProgramHandle, Progress, QueueHandle,
};
pub use tile_runtime::opencl::facts::DeviceFacts;
use tile_runtime::opencl::facts::{BLOCK_IO, DPAS, INTEL, Kind};
use tile_runtime::opencl::{Devices, OpenClDevice};
use tile_runtime::{
    Device, DeviceTimes, Event, InstanceInfo, LaunchError, LaunchOptions, Report, Tensor, enqueue, launch,
};

use crate::lane;

/// What fails when a kernel ends with an error, such as one that asserts: the command, not a call.
pub const COMMAND: &str = "the command";

/// What the driver does and has done.
#[derive(Default)]
pub struct Script {
    pub facts: Vec<DeviceFacts>,
    /// The call that fails, and its code.
    fails: Mutex<Option<(&'static str, i32)>>,
    calls: Mutex<Vec<String>>,
    /// Objects that were made and not released.
    pub alive: Arc<AtomicUsize>,
    /// Commands do not end while this is set.
    pub stuck: Mutex<bool>,
}

pub struct Fake(pub Arc<Script>);

/// An object that counts itself.
struct Object {
    alive: Arc<AtomicUsize>,
    bytes: Mutex<Vec<u8>>,
}

impl Drop for Object {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Fake {
    fn call(&self, call: &'static str) -> Result<(), DriverError> {
        self.0.calls.lock().expect("no panic").push(call.to_string());
        match *self.0.fails.lock().expect("no panic") {
            Some((name, code)) if name == call => Err(DriverError::new(call, code)),
            _ => Ok(()),
        }
    }

    fn made(&self, call: &'static str, bytes: Vec<u8>) -> Result<Object, DriverError> {
        self.call(call)?;
        self.0.alive.fetch_add(1, Ordering::Relaxed);
        Ok(Object { alive: self.0.alive.clone(), bytes: Mutex::new(bytes) })
    }
}

fn bytes_of(buffer: &BufferHandle) -> std::sync::MutexGuard<'_, Vec<u8>> {
    buffer.get::<Object>().expect("a buffer of this driver").bytes.lock().expect("no panic")
}

impl Driver for Fake {
    fn devices(&self) -> Result<Vec<(DeviceHandle, DeviceFacts)>, DriverError> {
        self.call("clGetDeviceIDs")?;
        Ok(self.0.facts.iter().map(|facts| (DeviceHandle::new(()), facts.clone())).collect())
    }

    fn context(&self, _: &DeviceHandle) -> Result<ContextHandle, DriverError> {
        self.made("clCreateContext", vec![]).map(ContextHandle::new)
    }

    fn queue(&self, _: &ContextHandle, _: &DeviceHandle) -> Result<QueueHandle, DriverError> {
        self.made("clCreateCommandQueue", vec![]).map(QueueHandle::new)
    }

    fn program_from_il(&self, _: &ContextHandle, il: &[u8]) -> Result<ProgramHandle, DriverError> {
        self.made("clCreateProgramWithIL", il.to_vec()).map(ProgramHandle::new)
    }

    fn program_from_binary(
        &self,
        _: &ContextHandle,
        _: &DeviceHandle,
        binary: &[u8],
    ) -> Result<ProgramHandle, DriverError> {
        self.made("clCreateProgramWithBinary", binary.to_vec()).map(ProgramHandle::new)
    }

    fn build(&self, _: &ProgramHandle, _: &DeviceHandle, options: &str) -> Result<(), BuildFailure> {
        self.0.calls.lock().expect("no panic").push(format!("options {options}"));
        let failure = |error| BuildFailure { error, log: "line 1: no such thing".into() };
        self.call("clBuildProgram").map_err(failure)
    }

    fn binary(&self, program: &ProgramHandle) -> Result<Vec<u8>, DriverError> {
        self.call("clGetProgramInfo")?;
        Ok(program.get::<Object>().expect("a program").bytes.lock().expect("no panic").clone())
    }

    fn kernel(&self, _: &ProgramHandle, _: &str) -> Result<KernelHandle, DriverError> {
        self.made("clCreateKernel", vec![]).map(KernelHandle::new)
    }

    fn kernel_facts(&self, _: &KernelHandle, _: &DeviceHandle) -> Result<KernelFacts, DriverError> {
        self.call("clGetKernelInfo")?;
        Ok(KernelFacts { args: 19, local_bytes: 1024, max_work_group: 1024, work_group: [0; 3] })
    }

    fn set_arg(&self, _: &KernelHandle, index: u32, arg: KernelArg<'_>) -> Result<(), DriverError> {
        if let KernelArg::Bytes(bytes) = arg {
            let value = bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            self.0.calls.lock().expect("no panic").push(format!("arg {index} = {value}"));
        }
        self.call("clSetKernelArg")
    }

    fn enqueue(
        &self,
        _: &QueueHandle,
        _: &KernelHandle,
        global: usize,
        local: usize,
    ) -> Result<EventHandle, DriverError> {
        self.0.calls.lock().expect("no panic").push(format!("run {global} by {local}"));
        self.made("clEnqueueNDRangeKernel", vec![]).map(EventHandle::new)
    }

    fn buffer(&self, _: &ContextHandle, backing: Backing) -> Result<BufferHandle, DriverError> {
        let bytes = match backing {
            Backing::Device { bytes } => vec![0xaa; bytes],
            Backing::Host(_) => vec![],
        };
        self.made("clCreateBuffer", bytes).map(BufferHandle::new)
    }

    fn part(&self, _: &BufferHandle, offset: usize, _: usize) -> Result<BufferHandle, DriverError> {
        assert!(offset.is_multiple_of(128), "the offset of a part is aligned");
        self.0.calls.lock().expect("no panic").push(format!("part at {offset}"));
        self.made("clCreateSubBuffer", vec![]).map(BufferHandle::new)
    }

    fn write(&self, _: &QueueHandle, buffer: &BufferHandle, bytes: &[u8]) -> Result<(), DriverError> {
        self.call("clEnqueueWriteBuffer")?;
        bytes_of(buffer)[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, _: &QueueHandle, buffer: &BufferHandle, bytes: &mut [u8]) -> Result<(), DriverError> {
        self.call("clEnqueueReadBuffer")?;
        bytes.copy_from_slice(&bytes_of(buffer)[..bytes.len()]);
        Ok(())
    }

    fn copy(
        &self,
        _: &QueueHandle,
        from: &BufferHandle,
        to: &BufferHandle,
        bytes: usize,
    ) -> Result<(), DriverError> {
        self.call("clEnqueueCopyBuffer")?;
        let from = bytes_of(from)[..bytes].to_vec();
        bytes_of(to)[..bytes].copy_from_slice(&from);
        Ok(())
    }

    fn zero(&self, _: &QueueHandle, buffer: &BufferHandle, bytes: usize) -> Result<(), DriverError> {
        self.call("clEnqueueFillBuffer")?;
        bytes_of(buffer)[..bytes].fill(0);
        Ok(())
    }

    fn map(&self, _: &QueueHandle, _: &BufferHandle, _: Access, _: usize) -> Result<MapHandle, DriverError> {
        self.made("clEnqueueMapBuffer", vec![]).map(MapHandle::new)
    }

    fn unmap(&self, _: &QueueHandle, _: &BufferHandle, _: &MapHandle) -> Result<(), DriverError> {
        self.call("clEnqueueUnmapMemObject")
    }

    fn wait(&self, event: &EventHandle) -> Result<(), DriverError> {
        self.call("clWaitForEvents")?;
        match self.progress(event)? {
            Progress::Failed(error) => Err(error),
            Progress::Complete | Progress::Waiting => Ok(()),
        }
    }

    fn progress(&self, _: &EventHandle) -> Result<Progress, DriverError> {
        let stuck = *self.0.stuck.lock().expect("no panic");
        Ok(match *self.0.fails.lock().expect("no panic") {
            Some((COMMAND, code)) => Progress::Failed(DriverError::new("clEnqueueNDRangeKernel", code)),
            _ if stuck => Progress::Waiting,
            _ => Progress::Complete,
        })
    }

    fn times(&self, _: &EventHandle) -> Result<DeviceTimes, DriverError> {
        self.call("clGetEventProfilingInfo").map(|()| DeviceTimes::default())
    }

    fn flush(&self, _: &QueueHandle) -> Result<(), DriverError> {
        self.call("clFlush")
    }

    fn finish(&self, _: &QueueHandle) -> Result<(), DriverError> {
        self.call("clFinish")
    }
}

/// A GPU with memory of its own.
pub fn gpu() -> DeviceFacts {
    DeviceFacts {
        platform: "A platform".into(),
        name: "A GPU".into(),
        kind: Kind::Gpu,
        vendor: INTEL,
        version: "OpenCL 3.0".into(),
        driver: "1.2.3".into(),
        spir_v: vec![(1, 2)],
        extensions: vec![BLOCK_IO.into(), DPAS.into()],
        subgroup_sizes: vec![16, 32],
        architecture: Some(12 << 22 | 60 << 14),
        local_bytes: 128 << 10,
        memory_bytes: 1 << 36,
        largest_buffer_bytes: 1 << 35,
        max_work_group: 1024,
        shares_memory: false,
        part_align: 128,
    }
}

/// A CPU, which shares memory.
pub fn cpu() -> DeviceFacts {
    DeviceFacts { name: "A CPU".into(), kind: Kind::Cpu, extensions: vec![], shares_memory: true, ..gpu() }
}

pub fn devices(facts: &[DeviceFacts], cache: Option<Cache>) -> (Arc<Script>, Devices) {
    let script = Arc::new(Script::of(facts));
    let devices = Devices::with_driver(Arc::new(Fake(script.clone())), cache).expect("nothing fails yet");
    (script, devices)
}

pub fn only(facts: DeviceFacts) -> (Arc<Script>, OpenClDevice) {
    let (script, devices) = devices(&[facts], None);
    let device = devices.select("opencl").expect("it can be used");
    (script, device)
}

impl Script {
    /// A driver of these devices that does what it is told.
    pub fn of(facts: &[DeviceFacts]) -> Script {
        Script { facts: facts.to_vec(), ..Script::default() }
    }

    pub fn fail(&self, call: &'static str, code: i32) {
        *self.fails.lock().expect("no panic") = Some((call, code));
    }

    pub fn heal(&self) {
        *self.fails.lock().expect("no panic") = None;
    }

    /// The calls since the last time, those that match.
    pub fn take(&self, keep: impl Fn(&str) -> bool) -> Vec<String> {
        let calls = std::mem::take(&mut *self.calls.lock().expect("no panic"));
        calls.into_iter().filter(|call| keep(call)).collect()
    }

    pub fn transfers(&self) -> Vec<String> {
        self.take(|call| {
            ["Read", "Write", "Map", "Unmap", "Copy", "Fill"].iter().any(|word| call.contains(word))
        })
    }
}

pub fn tensor(device: &OpenClDevice, cols: usize) -> Tensor<f32> {
    Tensor::with_shape_on(&Device::OpenCl(device.clone()), [1, 1, 16, cols]).expect("small")
}

pub fn run(device: &OpenClDevice, y: &mut Tensor<f32>, x: &Tensor<f32>) -> Result<Report, LaunchError> {
    let strict = LaunchOptions { strict: true, ..LaunchOptions::default() };
    let device = Device::OpenCl(device.clone());
    launch(&device, scale(), &mut [y.into(), x.into(), 2.0f32.into()], &strict)
}

pub fn scale() -> &'static InstanceInfo {
    static INSTANCE: OnceLock<&InstanceInfo> = OnceLock::new();
    INSTANCE.get_or_init(|| lane::scale((2, 2), 1))
}

/// As [`run`], without waiting.
pub fn start(device: &OpenClDevice, y: &mut Tensor<f32>, x: &Tensor<f32>) -> Result<Event, LaunchError> {
    let args = &mut [y.into(), x.into(), 2.0f32.into()];
    enqueue(&Device::OpenCl(device.clone()), scale(), args, &LaunchOptions::default())
}
