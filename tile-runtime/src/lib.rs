//! Devices, tensors, the launch contract, errors.
//!
//! A launch names a [`Device`], an instance of a kernel ([`contract`]) and its arguments: views of tensors and
//! scalars. Generated launchers build the arguments; [`launch()`] checks and runs them.
//!
//! *Guarantees*: launching is safe Rust: arguments that do not fit a kernel, share memory or exceed a limit are
//! typed errors that name the rule and the values. *Not here*: kernels (`tile_std`), what a body may do
//! (`tile_lang`), interpreting device modules (`tile_sim`).

#![deny(unsafe_code, reason = "allowed in host, tensor::{storage, view}, turns and opencl::{library, ocl}")]

pub mod cache;
pub mod contract;
pub mod device;
pub mod error;
#[allow(unsafe_code, reason = "bodies get places in tensors, and borrow the launch")]
mod host;
pub mod launch;
#[cfg(feature = "opencl")]
pub mod opencl;
#[cfg(feature = "sim")]
mod sim;
pub mod tensor;
mod turns;
pub mod xe_surface;

pub use contract::{
    AbsentModule, DType, Generic, GridInfo, GroupInfo, InstanceInfo, KernelInfo, ModuleInfo, ParamInfo,
    ParamKind, ScalarType,
};
pub use device::{Device, Why};
pub use error::{DeviceError, LaunchError, Race, TensorError};
pub use host::HostDevice;
#[cfg(feature = "sim")]
pub use launch::Mapped;
pub use launch::{
    Built, DeviceTimes, Event, LaunchArg, LaunchInput, LaunchOptions, LaunchOutput, Moved, Ran, Report,
    Staged, enqueue, launch,
};
#[cfg(feature = "opencl")]
pub use opencl::OpenClDevice;
#[cfg(feature = "sim")]
pub use sim::SimDevice;
pub use tensor::{AnyView, AnyViewMut, Axis, Shape, Tensor, TensorLayout, View, ViewMut};
pub use tile_lang::race::Worker;
