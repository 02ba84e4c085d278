//! Owns launches on OpenCL devices: arguments into buffers, the kernel into the queue, results back.
//!
//! *Assumes*: a [`Plan`], and the argument ABI of device modules: per tensor pointer, batch, depth, rows, cols,
//! pitch, x0, batch stride and depth stride in bytes; scalars as they are, `bool` as a 0 or 1 of 32 bits. One
//! dimension of work-items: the sub-groups of a work-group times 16 lanes (`xe`) or times one (`lane`, where a
//! work-item is a whole sub-group). *Guarantees*: a tensor of the device is used where it lies, if its target can
//! take it there; everything else is copied, which the report says and `strict` refuses. *Not here*: building
//! programs (`program`), who may look at a tensor when (`memory`).

use std::sync::PoisonError;
use std::time::Instant;

use super::device::{OpenClDevice, UnderWay};
use super::driver::{Backing, BufferHandle, DriverError, EventHandle, KernelArg};
use super::facts::{Target, XE_LANES};
use super::memory::DeviceMemory;
use crate::contract::{InstanceInfo, ModuleInfo};
use crate::error::LaunchError;
use crate::launch::check::{Checked, CheckedTensor, Plan, Scalar};
use crate::launch::copy::{copy_bytes, copy_layout, filled_copy, rows_of};
use crate::launch::{Event, LaunchArg, LaunchOptions, Moved, Ran, Report, Staged};
use crate::tensor::{Home, LINE_BYTES, TensorLayout};
use crate::xe_surface::{Candidate, Direct, place, place_anywhere};

/// One argument as the kernel takes it.
enum Arg {
    Buffer(BufferHandle),
    U32(u32),
    U64(u64),
    F32(f32),
}

/// A tensor that was copied to the device for one launch.
struct Copied {
    /// The parameter.
    index: usize,
    buffer: BufferHandle,
    layout: TensorLayout,
    bytes: usize,
}

/// A launch in the queue.
pub(crate) struct Queued {
    device: OpenClDevice,
    event: EventHandle,
    report: Report,
    start: Instant,
}

impl Queued {
    pub(crate) fn wait(mut self: Box<Self>) -> Result<Report, LaunchError> {
        let (kernel, instance) = (self.report.kernel, self.report.instance);
        let failed = |error: DriverError| LaunchError::Failed { kernel, instance, error };
        let waited = self.device.driver().wait(&self.event);
        self.device.let_go();
        waited.map_err(failed)?;
        self.report.elapsed = self.start.elapsed();
        self.report.times = Some(self.device.driver().times(&self.event).map_err(failed)?);
        Ok(self.report)
    }

    pub(crate) fn is_done(&self) -> bool {
        !matches!(self.device.driver().progress(&self.event), Ok(super::driver::Progress::Waiting))
    }
}

/// A launch under preparation.
struct Launch<'d> {
    device: &'d OpenClDevice,
    instance: &'static InstanceInfo,
    args: Vec<Arg>,
    copied: Vec<Copied>,
    staged: Vec<Staged>,
    moved: Vec<Moved>,
}

impl OpenClDevice {
    /// Runs an accepted launch and waits for it.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        args: &mut [LaunchArg<'_>],
        options: &LaunchOptions<'_>,
    ) -> Result<Report, LaunchError> {
        let start = Instant::now();
        let (event, copied) = self.submit(plan, args, options, true)?;
        let mut report = event.wait()?;
        for copy in copied.iter().filter(|copy| is_output(&plan.args[copy.index])) {
            self.copy_back(plan, &mut args[copy.index], copy)?;
        }
        report.elapsed = start.elapsed();
        if let Some(progress) = options.progress {
            progress(plan.groups, plan.groups);
        }
        Ok(report)
    }

    /// Puts an accepted launch into the queue.
    pub(crate) fn start(
        &self,
        plan: &Plan,
        args: &mut [LaunchArg<'_>],
        options: &LaunchOptions<'_>,
    ) -> Result<Event, LaunchError> {
        self.submit(plan, args, options, false).map(|(event, _)| event)
    }

    fn submit(
        &self,
        plan: &Plan,
        args: &[LaunchArg<'_>],
        options: &LaunchOptions<'_>,
        waits: bool,
    ) -> Result<(Event, Vec<Copied>), LaunchError> {
        let start = Instant::now();
        let instance = plan.instance;
        let (kernel, name) = (instance.kernel, instance.name);
        let failed = |error: DriverError| LaunchError::Failed { kernel, instance: name, error };
        let module = self.choose(instance)?;
        let (rows, cols) = instance.subgroups;
        let lanes = if module.target == "xe" { XE_LANES } else { 1 };
        let local = rows as usize * cols as usize * lanes;
        let global = global_size(instance, local, plan.groups)?;
        let ran = match self.target() {
            Target::Xe(device) => Ran::OpenClXe { entry: module.entry, device },
            Target::Lane => Ran::OpenClLane { entry: module.entry },
        };
        if plan.groups == 0 {
            return Ok((Event::done(plan.report("opencl", ran, start.elapsed(), Vec::new())), Vec::new()));
        }
        let (args_len, mut launch) = (argument_count(plan), Launch::new(self, instance));
        let (built, build_report) = self.built(instance, module, args_len, local)?;
        for (index, (checked, arg)) in plan.args.iter().zip(args).enumerate() {
            launch.argument(index, checked, arg, options, waits)?;
        }
        let event = {
            let handle = built.kernel.lock().unwrap_or_else(PoisonError::into_inner);
            for (index, arg) in launch.args.iter().enumerate() {
                let set = |arg: KernelArg<'_>| self.driver().set_arg(&handle, index as u32, arg);
                match arg {
                    Arg::Buffer(buffer) => set(KernelArg::Buffer(buffer)),
                    Arg::U32(value) => set(KernelArg::Bytes(&value.to_ne_bytes())),
                    Arg::U64(value) => set(KernelArg::Bytes(&value.to_ne_bytes())),
                    Arg::F32(value) => set(KernelArg::Bytes(&value.to_ne_bytes())),
                }
                .map_err(failed)?;
            }
            self.driver().enqueue(self.queue(), &handle, global, local).map_err(failed)?
        };
        let Launch { args, copied, staged, moved, .. } = launch;
        self.keep(UnderWay { event: event.clone(), keeps: Box::new(args) });
        self.driver().flush(self.queue()).map_err(failed)?;
        let mut report = plan.report("opencl", ran, start.elapsed(), staged);
        report.moved = moved;
        report.built = build_report;
        Ok((Event::queued(Queued { device: self.clone(), event, report, start }), copied))
    }

    /// The module the device takes.
    fn choose(&self, instance: &'static InstanceInfo) -> Result<&'static ModuleInfo, LaunchError> {
        let (found, device) = match self.target() {
            Target::Xe(device) => (instance.module("xe", device), device),
            Target::Lane => (instance.modules.iter().find(|module| module.target == "lane"), "a CPU"),
        };
        found.ok_or_else(|| LaunchError::NoModule {
            kernel: instance.kernel,
            instance: instance.name,
            target: self.target().name(),
            device,
            available: instance.list_modules(),
        })
    }

    /// Copies the rows of an output back to where its view is.
    fn copy_back(&self, plan: &Plan, arg: &mut LaunchArg<'_>, copy: &Copied) -> Result<(), LaunchError> {
        let (kernel, instance) = (plan.instance.kernel, plan.instance.name);
        let (LaunchArg::Out(view), Checked::Tensor(tensor)) = (arg, &plan.args[copy.index]) else {
            return Ok(());
        };
        let failed = |error: DriverError| LaunchError::Failed { kernel, instance, error };
        let mut after = vec![0; copy.bytes];
        self.driver().read(self.queue(), &copy.buffer, &mut after).map_err(failed)?;
        let parameter = plan.instance.params[copy.index].name;
        view.home().writable().map_err(|source| LaunchError::Tensor {
            kernel,
            instance,
            parameter,
            source: Box::new(source),
        })?;
        let region = view.region_mut();
        for (home, row) in rows_of(&tensor.placed, Some(copy.layout)) {
            region[home].copy_from_slice(&after[row]);
        }
        Ok(())
    }
}

impl<'d> Launch<'d> {
    fn new(device: &'d OpenClDevice, instance: &'static InstanceInfo) -> Launch<'d> {
        let (args, copied, staged, moved) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Launch { device, instance, args, copied, staged, moved }
    }

    /// Adds an argument, one or nine of the kernel's.
    fn argument(
        &mut self,
        index: usize,
        checked: &Checked,
        arg: &LaunchArg<'_>,
        options: &LaunchOptions<'_>,
        waits: bool,
    ) -> Result<(), LaunchError> {
        let tensor = match checked {
            Checked::Scalar(scalar) => {
                self.args.push(match scalar {
                    Scalar::U32(value) => Arg::U32(*value),
                    Scalar::I32(value) => Arg::U32(value.cast_unsigned()),
                    Scalar::U64(value) => Arg::U64(*value),
                    Scalar::F32(value) => Arg::F32(*value),
                    Scalar::Bool(value) => Arg::U32((*value).into()),
                });
                return Ok(());
            }
            Checked::Tensor(tensor) => tensor,
        };
        let (buffer, direct) = match arg.home().memory() {
            Some(memory) => self.at_home(index, tensor, arg, memory, options, waits)?,
            None => {
                let (parameter, bytes) = (self.instance.params[index].name, tensor.placed.span_bytes());
                if options.strict {
                    return Err(self.elsewhere(index, "this process"));
                }
                let (buffer, direct) = self.copy(index, tensor, arg, waits)?;
                self.moved.push(Moved { parameter, bytes });
                (buffer, direct)
            }
        };
        let [batch, depth, rows, cols] = tensor.shape;
        self.args.push(Arg::Buffer(buffer));
        self.args.extend([batch, depth, rows, cols, direct.pitch, direct.x0].map(Arg::U32));
        self.args.extend([direct.batch_stride_bytes, direct.depth_stride_bytes].map(Arg::U64));
        Ok(())
    }

    /// A tensor on a device: where it lies, or in an aligned copy.
    fn at_home(
        &mut self,
        index: usize,
        tensor: &CheckedTensor,
        arg: &LaunchArg<'_>,
        memory: &DeviceMemory,
        options: &LaunchOptions<'_>,
        waits: bool,
    ) -> Result<(BufferHandle, Direct), LaunchError> {
        let (kernel, instance) = (self.instance.kernel, self.instance.name);
        let parameter = self.instance.params[index].name;
        if !memory.device().is_same(self.device) {
            return Err(self.elsewhere(index, &memory.device().to_string()));
        }
        let offset = tensor.placed.offset_bytes();
        // Whoever has parts of buffers only at multiples of more than a line has bases there, too.
        let align = self.device.facts().part_align.max(LINE_BYTES);
        let part_at = offset - offset % align;
        let layout = tensor.placed.layout;
        let candidate = Candidate {
            address: (offset - part_at) as u64,
            element_bytes: tensor.placed.dtype.size_bytes(),
            shape: tensor.shape,
            pitch: layout.pitch() as u64,
            depth_stride: layout.depth_stride() as u64,
            batch_stride: layout.batch_stride() as u64,
            readable_bytes: (memory.host().bytes() - offset) as u64,
            base_align: align as u64,
        };
        let placed = match self.device.target() {
            Target::Lane => place_anywhere(&candidate),
            Target::Xe(_) => place(&candidate),
        };
        match placed {
            Ok(direct) => {
                let failed = |error: DriverError| LaunchError::Failed { kernel, instance, error };
                memory.hand_over(tensor.writable).map_err(failed)?;
                let bytes = memory.host().bytes() - part_at;
                let buffer = match part_at {
                    0 => memory.buffer().clone(),
                    _ => self.device.driver().part(memory.buffer(), part_at, bytes).map_err(failed)?,
                };
                Ok((buffer, direct))
            }
            Err(broken) if !broken.is_cured_by_copy() => {
                Err(LaunchError::Surface { kernel, instance, parameter, broken })
            }
            Err(broken) if options.strict => Err(LaunchError::Strict { kernel, instance, parameter, broken }),
            Err(broken) => {
                let copied = self.copy(index, tensor, arg, waits)?;
                self.staged.push(Staged { parameter, broken, bytes: tensor.placed.span_bytes() });
                Ok(copied)
            }
        }
    }

    /// An aligned copy of a tensor on the device, as long as the launch.
    fn copy(
        &mut self,
        index: usize,
        tensor: &CheckedTensor,
        arg: &LaunchArg<'_>,
        waits: bool,
    ) -> Result<(BufferHandle, Direct), LaunchError> {
        let (kernel, instance) = (self.instance.kernel, self.instance.name);
        let parameter = self.instance.params[index].name;
        if tensor.writable && !waits {
            return Err(LaunchError::MustWait { kernel, instance, parameter });
        }
        let tensor_failed =
            |source| LaunchError::Tensor { kernel, instance, parameter, source: Box::new(source) };
        arg.home().readable().map_err(tensor_failed)?;
        let element_bytes = tensor.placed.dtype.size_bytes() as usize;
        let out_of_memory = |bytes| LaunchError::OutOfMemory { kernel, instance, parameter, bytes };
        let layout = copy_layout(&tensor.placed, element_bytes).ok_or_else(|| out_of_memory(usize::MAX))?;
        let bytes = copy_bytes(&layout, element_bytes);
        if bytes as u64 > self.device.facts().largest_buffer_bytes {
            return Err(out_of_memory(bytes));
        }
        let mut room = Vec::new();
        room.try_reserve_exact(bytes).map_err(|_| out_of_memory(bytes))?;
        let filled = filled_copy(room, &tensor.placed, arg.region(), layout);
        let (driver, context) = (self.device.driver(), self.device.context());
        let failed = |error: DriverError| match error.is_out_of_memory() {
            true => out_of_memory(bytes),
            false => LaunchError::Failed { kernel, instance, error },
        };
        let buffer = driver.buffer(context, Backing::Device { bytes }).map_err(failed)?;
        driver.write(self.device.queue(), &buffer, &filled).map_err(failed)?;
        self.copied.push(Copied { index, buffer: buffer.clone(), layout, bytes });
        // Without elements all planes are one, see `xe_surface`.
        let stride = |stride: usize| if layout.is_empty() { 0 } else { (stride * element_bytes) as u64 };
        let direct = Direct {
            base: 0,
            x0: 0,
            pitch: layout.pitch() as u32,
            depth_stride_bytes: stride(layout.depth_stride()),
            batch_stride_bytes: stride(layout.batch_stride()),
        };
        Ok((buffer, direct))
    }

    fn elsewhere(&self, index: usize, holder: &str) -> LaunchError {
        LaunchError::Elsewhere {
            kernel: self.instance.kernel,
            instance: self.instance.name,
            parameter: self.instance.params[index].name,
            holder: holder.to_string(),
            device: self.device.to_string(),
        }
    }
}

/// Work-items of a launch. Modules count work-groups in 32 bits.
fn global_size(instance: &InstanceInfo, local: usize, groups: u64) -> Result<usize, LaunchError> {
    let count = u32::try_from(groups).ok().and_then(|count| local.checked_mul(count as usize));
    count.ok_or(LaunchError::WorkGroups {
        kernel: instance.kernel,
        instance: instance.name,
        groups: u128::from(groups),
        limit: u64::from(u32::MAX),
    })
}

fn is_output(checked: &Checked) -> bool {
    matches!(checked, Checked::Tensor(tensor) if tensor.writable)
}

/// Arguments of the kernel: nine for a tensor, one for a scalar.
fn argument_count(plan: &Plan) -> u32 {
    plan.args.iter().map(|arg| if matches!(arg, Checked::Tensor(_)) { 9 } else { 1 }).sum()
}

impl<'a> LaunchArg<'a> {
    fn home(&self) -> Home<'a> {
        match self {
            LaunchArg::In(view) => view.home(),
            LaunchArg::Out(view) => view.home(),
            LaunchArg::U32(_)
            | LaunchArg::I32(_)
            | LaunchArg::U64(_)
            | LaunchArg::F32(_)
            | LaunchArg::Bool(_) => Home::PROCESS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::tests::PLAIN;

    /// No memory has an output with that many work-groups, so the count stands alone here.
    #[test]
    fn more_work_groups_than_32_bits_count_are_an_error_that_says_how_many() {
        assert_eq!(
            global_size(&PLAIN, 512, (1 << 32) - 1).expect("the most there are"),
            512 * ((1 << 32) - 1)
        );
        let refused = global_size(&PLAIN, 512, 1 << 32).expect_err("one more");
        assert_eq!(
            refused.to_string(),
            "gemm<bf16, 32, true>: a launch has at most 4294967295 work-groups here; this one needs 4294967296"
        );
    }
}
