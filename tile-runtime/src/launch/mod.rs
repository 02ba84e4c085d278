//! Owns the launch: arguments, options, the report, and the way from a call to a device.
//!
//! *Guarantees*: an argument reaches a device only after `check` accepted it; a launch error comes from the
//! launch itself, never later; a report says which module ran and why. When [`launch`] returns, the outputs are
//! complete; [`enqueue`] returns an [`Event`]. *Not here*: execution (`host`, `sim`, `opencl`).

mod argument;
pub(crate) mod check;
#[cfg(any(feature = "sim", feature = "opencl"))]
pub(crate) mod copy;
mod event;

pub use argument::{LaunchInput, LaunchOutput};

use core::fmt;
use std::time::Duration;

use tile_lang::prelude::AnyElement;

use crate::contract::{InstanceInfo, ParamKind, ScalarType};
use crate::device::Device;
use crate::error::{LaunchError, TensorError};
use crate::tensor::{AnyView, AnyViewMut, Tensor, View, ViewMut};
use crate::xe_surface::Broken;

pub use event::{DeviceTimes, Event};

/// One argument of a launch.
pub enum LaunchArg<'a> {
    /// A tensor to read.
    In(AnyView<'a>),
    /// A tensor to write.
    Out(AnyViewMut<'a>),
    /// A `u32`.
    U32(u32),
    /// An `i32`.
    I32(i32),
    /// A `u64`.
    U64(u64),
    /// An `f32`.
    F32(f32),
    /// A `bool`.
    Bool(bool),
}

impl LaunchArg<'_> {
    /// What the argument is, in the words of a parameter.
    pub fn kind(&self) -> ParamKind {
        match self {
            LaunchArg::In(view) => ParamKind::In(view.dtype()),
            LaunchArg::Out(view) => ParamKind::Out(view.dtype()),
            LaunchArg::U32(_) => ParamKind::Scalar(ScalarType::U32),
            LaunchArg::I32(_) => ParamKind::Scalar(ScalarType::I32),
            LaunchArg::U64(_) => ParamKind::Scalar(ScalarType::U64),
            LaunchArg::F32(_) => ParamKind::Scalar(ScalarType::F32),
            LaunchArg::Bool(_) => ParamKind::Scalar(ScalarType::Bool),
        }
    }
}

impl LaunchArg<'_> {
    /// Makes a tensor of a device current in this process, for the devices that work in it.
    fn bring_home(&self) -> Result<(), TensorError> {
        match self {
            LaunchArg::In(view) => view.home().readable(),
            LaunchArg::Out(view) => view.home().writable(),
            LaunchArg::U32(_)
            | LaunchArg::I32(_)
            | LaunchArg::U64(_)
            | LaunchArg::F32(_)
            | LaunchArg::Bool(_) => Ok(()),
        }
    }

    /// All memory a tensor's view may touch; a device must have given it back. Nothing for a scalar.
    #[cfg(any(feature = "sim", feature = "opencl"))]
    pub(crate) fn region(&self) -> &[u8] {
        match self {
            LaunchArg::In(view) => view.region(),
            LaunchArg::Out(view) => view.region(),
            LaunchArg::U32(_)
            | LaunchArg::I32(_)
            | LaunchArg::U64(_)
            | LaunchArg::F32(_)
            | LaunchArg::Bool(_) => &[],
        }
    }
}

impl<'a, T: AnyElement> From<View<'a, T>> for LaunchArg<'a> {
    fn from(view: View<'a, T>) -> LaunchArg<'a> {
        LaunchArg::In(view.into())
    }
}

impl<'a, T: AnyElement> From<&'a Tensor<T>> for LaunchArg<'a> {
    fn from(tensor: &'a Tensor<T>) -> LaunchArg<'a> {
        tensor.view().into()
    }
}

impl<'a, T: AnyElement> From<ViewMut<'a, T>> for LaunchArg<'a> {
    fn from(view: ViewMut<'a, T>) -> LaunchArg<'a> {
        LaunchArg::Out(view.into())
    }
}

impl<'a, T: AnyElement> From<&'a mut Tensor<T>> for LaunchArg<'a> {
    fn from(tensor: &'a mut Tensor<T>) -> LaunchArg<'a> {
        tensor.view_mut().into()
    }
}

macro_rules! scalar_arguments {
    ($($ty:ty => $variant:ident),+) => {
        $(impl From<$ty> for LaunchArg<'_> {
            fn from(value: $ty) -> Self {
                LaunchArg::$variant(value)
            }
        })+
    };
}

scalar_arguments! { u32 => U32, i32 => I32, u64 => U64, f32 => F32, bool => Bool }

/// Choices of one launch.
#[derive(Clone, Copy, Default)]
pub struct LaunchOptions<'a> {
    /// Refuses to copy a tensor that the hardware cannot take where it lies; the error names the rule.
    pub strict: bool,
    /// Passes such a tensor on as it is, so that whoever executes the module must notice. For tests of the
    /// simulator and of modules; it wins over `strict`.
    pub force: bool,
    /// Looks for races between sub-groups while the host device runs, as the environment's `TILE_CHECK=race` does: slow, and
    /// exact for what the launch did. Other devices ignore it.
    pub races: bool,
    /// Is told (work-groups done, work-groups in total) now and then, from any thread; a later call may carry
    /// a smaller count. The simulator tells at the start and at the end only.
    pub progress: Option<&'a (dyn Fn(u64, u64) + Sync)>,
    /// What the simulator records, and how long it may run; ignored by other devices. The GPU generation it
    /// checks messages for is always that of the module it runs.
    #[cfg(feature = "sim")]
    pub sim: Option<&'a tile_sim::Options>,
}

impl fmt::Debug for LaunchOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaunchOptions")
            .field("strict", &self.strict)
            .field("force", &self.force)
            .field("races", &self.races)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

/// What a launch did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The kernel.
    pub kernel: &'static str,
    /// The instance.
    pub instance: &'static str,
    /// The device, as [`Device::name`] says it.
    pub device: &'static str,
    /// Which code ran, and why this one.
    pub ran: Ran,
    /// Work-groups executed.
    pub work_groups: u64,
    /// Time from the accepted arguments to complete outputs, copies included.
    pub elapsed: Duration,
    /// The tensors that were copied because the hardware cannot take them where they lie.
    pub staged: Vec<Staged>,
    /// The tensors that were copied because they are not on the device.
    pub moved: Vec<Moved>,
    /// The times the device measured; `None` on devices that work while they are called.
    pub times: Option<DeviceTimes>,
    /// How the module was compiled for the device, if this launch did it.
    pub built: Option<Built>,
    /// What the simulator counted; `None` on other devices and for launches without work-groups.
    #[cfg(feature = "sim")]
    pub counters: Option<tile_sim::Counters>,
    /// Where the simulator saw the tensors, in the order of the parameters; empty on other devices.
    #[cfg(feature = "sim")]
    pub mapped: Vec<Mapped>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { kernel, instance, device, ran, work_groups, elapsed, .. } = self;
        write!(f, "{kernel}{instance} on {device}: {work_groups} work-groups in {elapsed:?}; {ran}")?;
        self.built.iter().try_for_each(|built| write!(f, "; {built}"))?;
        self.moved.iter().try_for_each(|moved| write!(f, "; {moved}"))?;
        self.staged.iter().try_for_each(|staged| write!(f, "; {staged}"))
    }
}

/// The code a launch ran. Its text says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ran {
    /// The host body of the kernel.
    HostBody,
    /// A module for Xe GPUs, on the simulator.
    SimulatedXe {
        /// The entry point.
        entry: &'static str,
        /// The device whose module was taken.
        device: &'static str,
    },
    /// A module for CPUs, on the simulator.
    SimulatedLane {
        /// The entry point.
        entry: &'static str,
    },
    /// A module for Xe GPUs, on a GPU through OpenCL.
    OpenClXe {
        /// The entry point.
        entry: &'static str,
        /// The device whose module was taken.
        device: &'static str,
    },
    /// A module for CPUs, on a CPU through OpenCL.
    OpenClLane {
        /// The entry point.
        entry: &'static str,
    },
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ran::HostBody => f.write_str("host body, because the device is the host"),
            Ran::SimulatedXe { entry, device } => {
                write!(f, "xe module `{entry}` on the simulator, because it is compiled for `{device}`")
            }
            Ran::SimulatedLane { entry } => {
                write!(f, "lane module `{entry}` on the simulator, because it was asked for lane modules")
            }
            Ran::OpenClXe { entry, device } => {
                write!(f, "xe module `{entry}`, because the GPU is a `{device}` with 2-D block I/O and DPAS")
            }
            Ran::OpenClLane { entry } => write!(f, "lane module `{entry}`, because the device is a CPU"),
        }
    }
}

/// A tensor that was copied for a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Staged {
    /// The parameter.
    pub parameter: &'static str,
    /// The rule of the hardware the tensor breaks where it lies.
    pub broken: Broken,
    /// Bytes of the copy.
    pub bytes: usize,
}

impl fmt::Display for Staged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was copied ({} bytes): {}", self.parameter, self.bytes, self.broken)
    }
}

/// A tensor that was copied to the device for a launch, and back if it is an output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// The parameter.
    pub parameter: &'static str,
    /// Bytes from its first to its last element.
    pub bytes: usize,
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was moved to the device ({} bytes): it is not there", self.parameter, self.bytes)
    }
}

/// How a module became a program of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Built {
    /// True if the cache on disk had the program.
    pub from_cache: bool,
    /// Time it took.
    pub took: Duration,
    /// The build options.
    pub options: String,
}

impl fmt::Display for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.from_cache { "taken from the cache" } else { "built" };
        write!(f, "{how} in {:?}", self.took)?;
        if self.options.is_empty() { Ok(()) } else { write!(f, " with `{}`", self.options) }
    }
}

/// Where the simulator saw a tensor: the key to its counters per allocation.
#[cfg(feature = "sim")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mapped {
    /// The parameter.
    pub parameter: &'static str,
    /// Simulated address of the allocation that holds the tensor.
    pub address: u64,
    /// Bytes of the allocation.
    pub bytes: usize,
    /// Simulated address of element (0, 0, 0, 0).
    pub first: u64,
}

/// Launches one kernel instance on a device and waits for it.
///
/// The grid follows from the output that [`InstanceInfo::grid`] names. An empty output is fine: nothing runs.
///
/// # Errors
/// See [`LaunchError`]: each variant says what to do next.
pub fn launch(
    device: &Device,
    instance: &'static InstanceInfo,
    args: &mut [LaunchArg<'_>],
    options: &LaunchOptions<'_>,
) -> Result<Report, LaunchError> {
    let plan = check::check(instance, args)?;
    match device {
        Device::Host(host) => {
            bring_home(instance, args)?;
            host.run(&plan, options)
        }
        #[cfg(feature = "sim")]
        Device::Sim(sim) => {
            bring_home(instance, args)?;
            sim.run(&plan, args, options)
        }
        #[cfg(feature = "opencl")]
        Device::OpenCl(device) => device.run(&plan, args, options),
    }
}

/// Launches one kernel instance on a device without waiting for it.
///
/// The host and the simulator work while they are called; the event of such a launch is done. On a device with a
/// queue every output must be a tensor of that device, which the launch may go on writing after it returned; reading
/// such a tensor waits.
///
/// # Errors
/// See [`LaunchError`]; failures of the device come out of [`Event::wait`].
pub fn enqueue(
    device: &Device,
    instance: &'static InstanceInfo,
    args: &mut [LaunchArg<'_>],
    options: &LaunchOptions<'_>,
) -> Result<Event, LaunchError> {
    match device {
        #[cfg(feature = "opencl")]
        Device::OpenCl(device) => device.start(&check::check(instance, args)?, args, options),
        Device::Host(_) => launch(device, instance, args, options).map(Event::done),
        #[cfg(feature = "sim")]
        Device::Sim(_) => launch(device, instance, args, options).map(Event::done),
    }
}

/// Makes every tensor of a device current in this process.
fn bring_home(instance: &'static InstanceInfo, args: &[LaunchArg<'_>]) -> Result<(), LaunchError> {
    for (param, arg) in instance.params.iter().zip(args) {
        arg.bring_home().map_err(|source| LaunchError::Tensor {
            kernel: instance.kernel,
            instance: instance.name,
            parameter: param.name,
            source: Box::new(source),
        })?;
    }
    Ok(())
}
