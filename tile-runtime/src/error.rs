//! Owns the errors of this crate: one enum per concern.
//!
//! *Guarantees*: a message states the rule, then the values that broke it; a launch error names kernel and
//! instance. *Not here*: errors of the simulator (`tile_sim`), which a launch error carries as its source.

use thiserror::Error;

use crate::contract::ParamKind;
use crate::tensor::{Axis, Shape};
use crate::xe_surface::Broken;
use tile_lang::group::Stop;
use tile_lang::race::Worker;

/// A tensor or view that cannot be made, or an access outside of one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TensorError {
    /// Use a smaller shape: its size in bytes is not addressable.
    #[error("a tensor must be addressable; shape {shape:?} of {element_bytes}-byte elements is not")]
    TooLarge {
        /// The shape asked for.
        shape: Shape,
        /// Bytes of one element.
        element_bytes: usize,
    },
    /// Free memory or use a smaller shape.
    #[error("out of memory: shape {shape:?} needs {bytes} bytes")]
    OutOfMemory {
        /// The shape asked for.
        shape: Shape,
        /// Bytes asked for, padding included.
        bytes: usize,
    },
    /// Pass as many elements as the shape has.
    #[error("shape {shape:?} has {needed} elements; {given} were given")]
    Length {
        /// The shape asked for.
        shape: Shape,
        /// Elements the shape needs.
        needed: usize,
        /// Elements given.
        given: usize,
    },
    /// Pass a longer slice: the layout ends beyond it.
    #[error(
        "shape {shape:?} with pitch {pitch} ends {needed} elements after its start; the slice has {given}"
    )]
    Short {
        /// The shape asked for.
        shape: Shape,
        /// Elements from row to row.
        pitch: usize,
        /// Elements from the first to the last, both included.
        needed: usize,
        /// Elements of the slice.
        given: usize,
    },
    /// Use a pitch of at least the number of columns.
    #[error(
        "rows must not overlap: the pitch must be at least the columns; shape {shape:?} has pitch {pitch}"
    )]
    Pitch {
        /// The shape asked for.
        shape: Shape,
        /// Elements from row to row.
        pitch: usize,
    },
    /// Use strides under which every element of an output has its own place.
    #[error(
        "elements of an output must not overlap; shape {shape:?} has pitch {pitch}, depth stride \
         {depth_stride} and batch stride {batch_stride}"
    )]
    Overlap {
        /// The shape asked for.
        shape: Shape,
        /// Elements from row to row.
        pitch: usize,
        /// Elements from plane to plane.
        depth_stride: usize,
        /// Elements from batch entry to batch entry.
        batch_stride: usize,
    },
    /// Use tensors of one shape.
    #[error("both shapes must be equal; the target has {target:?} and the source has {source_shape:?}")]
    ShapeMismatch {
        /// Shape of the tensor written.
        target: Shape,
        /// Shape of the tensor read.
        source_shape: Shape,
    },
    /// Use a range inside the axis.
    #[error("{axis} {start}..{end} must lie in 0..{}; the shape is {shape:?}", shape[*axis as usize])]
    OutOfRange {
        /// The axis.
        axis: Axis,
        /// First index of the range.
        start: usize,
        /// One past the last index of the range.
        end: usize,
        /// The shape cut.
        shape: Shape,
    },
    /// Broadcast `batch` or `depth`, and only from size 1.
    #[error("only a batch or depth of 1 can be broadcast; {axis} of shape {shape:?} cannot become {size}")]
    Broadcast {
        /// The axis.
        axis: Axis,
        /// The size asked for.
        size: usize,
        /// The shape broadcast.
        shape: Shape,
    },
    /// Split columns of a view with a depth of 1, or the depth of one with a row per plane, into equal parts.
    #[error(
        "{axis} of shape {shape:?} cannot become {parts} parts: they must be equal, and {} must be 1",
        if *axis == Axis::Cols { "depth" } else { "rows" }
    )]
    Split {
        /// The axis.
        axis: Axis,
        /// The number of parts asked for.
        parts: usize,
        /// The shape split.
        shape: Shape,
    },
    /// The elements cannot be had: start over on a device that works.
    #[error("the device that holds the tensor failed: {reason}")]
    Device {
        /// What failed, with the driver's code.
        reason: String,
    },
}

/// A device that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// Choose one of the legal values.
    #[error("`{value}` does not name a device; legal values of TILE_DEVICE are {legal}")]
    Unknown {
        /// The value given.
        value: String,
        /// The legal values.
        legal: &'static str,
    },
    /// Choose another device, or install or enable what is missing.
    #[error("device `{device}` is not available: {reason}")]
    Unavailable {
        /// The device asked for.
        device: String,
        /// What is missing.
        reason: &'static str,
    },
    /// Install OpenCL (a driver brings it, or a package such as `ocl-icd-libopencl1`), or name the library.
    #[error("there is no OpenCL library: {reason}; TILE_OPENCL_LIBRARY can name one")]
    NoOpenCl {
        /// What the system said.
        reason: String,
    },
    /// Choose one of the devices there are, or install a driver.
    #[error("`{value}` names no OpenCL device that can be used; there are: {there}")]
    NoDevice {
        /// The value given.
        value: String,
        /// The devices there are, by index.
        there: String,
    },
    /// Choose another device, or update its driver.
    #[error("{device} cannot run kernels: {lacks}")]
    Lacking {
        /// The device.
        device: String,
        /// Everything it lacks.
        lacks: String,
    },
    /// Repair the installation of the driver, which failed to say what there is.
    #[error("the OpenCL driver failed: {reason}")]
    Driver {
        /// What failed, with the driver's code.
        reason: String,
    },
}

/// Two accesses to one element that nothing orders.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "sub-group {} of work-group {} {now} element {element:?} of `{memory}`, which sub-group {} of work-group {} {before}",
    by.subgroup, by.group, other.subgroup, other.group
)]
pub struct Race {
    /// The argument, or the variable of shared memory.
    pub memory: &'static str,
    /// Batch, depth, row, column.
    pub element: [u64; 4],
    /// The sub-group whose access was found to race.
    pub by: Worker,
    /// What it does.
    pub now: &'static str,
    /// The sub-group that was there before.
    pub other: Worker,
    /// What it did.
    pub before: &'static str,
}

/// A launch that was refused or failed. Unless a variant says otherwise nothing ran and no output changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// Pass one argument per parameter.
    #[error("{kernel}{instance}: one argument per parameter; the kernel has {needed} and {given} were given")]
    ArgumentCount {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// Parameters of the kernel.
        needed: usize,
        /// Arguments given.
        given: usize,
    },
    /// Pass what the parameter takes.
    #[error("{kernel}{instance}: `{parameter}` takes an argument of kind {needed}; {given} was given")]
    ArgumentKind {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What it takes.
        needed: ParamKind,
        /// What was given.
        given: String,
    },
    /// Use a smaller tensor: kernels count in 32 bits.
    #[error(
        "{kernel}{instance}: sizes must be below 2^32; `{parameter}` has {what} {size} (shape {shape:?})"
    )]
    Size {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Which size.
        what: &'static str,
        /// Its value.
        size: usize,
        /// The tensor's shape.
        shape: Shape,
    },
    /// Pass tensors that do not share memory.
    #[error(
        "{kernel}{instance}: an output must not share memory with another argument; `{first}` spans \
         {first_bytes} bytes and `{second}` starts {distance_bytes} bytes after its start"
    )]
    Aliasing {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The parameter that starts at the lower address.
        first: &'static str,
        /// The other parameter.
        second: &'static str,
        /// Bytes from the first to the last element of `first`.
        first_bytes: usize,
        /// Bytes from the start of `first` to the start of `second`.
        distance_bytes: usize,
    },
    /// Repair the kernel description: it was not made by `#[tile_kernel]` of this version.
    #[error("{kernel}{instance}: the kernel description is not usable: {rule}")]
    Description {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The rule it breaks, with its values.
        rule: String,
    },
    /// Use a smaller output or larger tiles.
    #[error("{kernel}{instance}: a launch has at most {limit} work-groups here; this one needs {groups}")]
    WorkGroups {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// Work-groups needed.
        groups: u128,
        /// Work-groups the device takes.
        limit: u64,
    },
    /// Use smaller tiles on the host device.
    #[error(
        "{kernel}{instance}: the tiles of a sub-group must fit a stack of {limit_bytes} bytes on the host; they \
         have {tile_bytes} bytes"
    )]
    Stack {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// Bytes of all tiles of a sub-group.
        tile_bytes: usize,
        /// The largest stack the host device makes.
        limit_bytes: usize,
    },
    /// Free threads or memory: the host device could not start its threads.
    #[error("{kernel}{instance}: cannot start {threads} threads with {stack_bytes}-byte stacks")]
    Threads {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// Threads wanted.
        threads: usize,
        /// Stack of each.
        stack_bytes: usize,
        /// What the system said.
        source: Box<dyn core::error::Error + Send + Sync>,
    },
    /// Repair the kernel: its body panicked on the host. Other work-groups may have run; outputs hold
    /// unspecified elements.
    #[error("{kernel}{instance}: a kernel body must not panic; work-group {group} did: {message}")]
    Panicked {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The work-group.
        group: u64,
        /// The panic's message.
        message: String,
    },
    /// Set `TILE_CHECK` to a legal value, or unset it.
    #[error("{kernel}{instance}: TILE_CHECK is `race` or unset; it is `{value}`")]
    Check {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The value given.
        value: String,
    },
    /// Repair the kernel: put a barrier between the two accesses, or keep them apart. Outputs hold unspecified elements.
    #[error(
        "{kernel}{instance}: two sub-groups touch one element, and one of them writes, only with a barrier between; {race}"
    )]
    Race {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// Who touched what.
        race: Box<Race>,
    },
    /// Repair the kernel: store before reading. Outputs hold unspecified elements.
    #[error(
        "{kernel}{instance}: shared memory is read where something was stored; sub-group {} of work-group {} reads element \
         {element:?} of `{memory}`, which nobody has stored",
        by.subgroup, by.group
    )]
    Unwritten {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The variable of shared memory.
        memory: &'static str,
        /// Batch, depth, row, column.
        element: [u64; 4],
        /// The sub-group that reads.
        by: Worker,
    },
    /// Free memory, or use smaller tiles: each sub-group of a work-group that waits at barriers has a stack of its own.
    #[error("{kernel}{instance}: cannot make {stacks} stacks of {stack_bytes} bytes, one per sub-group")]
    Stacks {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// Stacks wanted by one thread.
        stacks: usize,
        /// Bytes of each.
        stack_bytes: usize,
        /// What the system said.
        source: std::io::Error,
    },
    /// Repair the kernel: every sub-group of a work-group must come to its barriers. Other work-groups may have run;
    /// outputs hold unspecified elements.
    #[error(
        "{kernel}{instance}: every sub-group of a work-group comes to the same barrier; in work-group {group} {waiting} of {subgroups} \
         sub-groups wait at {at} (the first is sub-group {first}), {ended} have ended and {} wait elsewhere",
        subgroups - waiting - ended
    )]
    Barrier {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The work-group.
        group: u64,
        /// Its sub-groups.
        subgroups: u32,
        /// The first sub-group that waits.
        first: u32,
        /// Where it waits.
        at: Stop,
        /// Sub-groups that wait there.
        waiting: u32,
        /// Sub-groups that have ended.
        ended: u32,
    },
    /// Use a smaller tensor: no copy makes it fit the hardware.
    #[error("{kernel}{instance}: `{parameter}` does not fit a 2-D block surface: {broken}")]
    Surface {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The rule and its numbers.
        broken: Broken,
    },
    /// Pass an aligned tensor, or launch without `strict` to let the runtime copy it.
    #[error("{kernel}{instance}: `{parameter}` would have to be copied, which `strict` forbids: {broken}")]
    Strict {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The rule and its numbers.
        broken: Broken,
    },
    /// Use a device the instance was compiled for.
    #[error("{kernel}{instance}: no `{target}` module for device `{device}`; modules: {available}")]
    NoModule {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The code generation target needed.
        target: &'static str,
        /// The device asked for.
        device: &'static str,
        /// What the instance has.
        available: String,
    },
    /// Free memory: the launch needs a copy of a tensor.
    #[error("{kernel}{instance}: out of memory copying `{parameter}`: {bytes} bytes")]
    OutOfMemory {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Bytes asked for.
        bytes: usize,
    },
    /// Move the tensor to the device first (`Tensor::to_device`), or, if this process holds it, launch without
    /// `strict`.
    #[error("{kernel}{instance}: `{parameter}` must be on {device}; {holder} holds it")]
    Elsewhere {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Who holds the tensor.
        holder: String,
        /// The device of the launch.
        device: String,
    },
    /// Launch with `launch`, which waits, or make the output a tensor of the device.
    #[error(
        "{kernel}{instance}: `{parameter}` is an output that must be copied back, so the launch must wait"
    )]
    MustWait {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// Use another device: the one that holds a tensor failed.
    #[error("{kernel}{instance}: `{parameter}`: {source}")]
    Tensor {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What failed.
        source: Box<TensorError>,
    },
    /// Use another device, or update its driver: it lacks what the module needs.
    #[cfg(feature = "opencl")]
    #[error(
        "{kernel}{instance}: {device} cannot run its `{target}` module: {}",
        crate::opencl::facts::list(lacks)
    )]
    Lacking {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The code generation target of the module.
        target: &'static str,
        /// The device.
        device: String,
        /// What it lacks.
        lacks: Vec<crate::opencl::facts::Lack>,
    },
    /// Report it with the log: the driver does not build the module.
    #[cfg(feature = "opencl")]
    #[error("{kernel}{instance} does not build for {failure}")]
    Build {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// Device, options, error and log.
        failure: Box<crate::opencl::FailedBuild>,
    },
    /// Start over on a device that works: this one failed. Outputs hold unspecified elements.
    #[cfg(feature = "opencl")]
    #[error("{kernel}{instance} failed on the device: {error}")]
    Failed {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The call that failed.
        error: crate::opencl::driver::DriverError,
    },
    /// Report it: the module broke a rule, or the simulator lacks something. No output changed.
    #[cfg(feature = "sim")]
    #[error("{kernel}{instance} on the simulator: {source}")]
    Simulator {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// What the simulator found.
        source: tile_sim::SimError,
    },
    /// Report it: the module wrote outside a tensor. No output changed.
    #[error(
        "{kernel}{instance}: a module must write elements of outputs only; it wrote the byte {offset_bytes} bytes \
         from the start of the memory of `{parameter}`, which holds no element of an output"
    )]
    StrayWrite {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// The parameter whose memory changed.
        parameter: &'static str,
        /// Offset in the memory the parameter's view may touch.
        offset_bytes: usize,
    },
}
