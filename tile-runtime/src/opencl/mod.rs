//! OpenCL devices: Intel GPUs run the `xe` module of a kernel, CPUs its `lane` module.
//!
//! [`Devices`] finds them, [`OpenClDevice`] is one of them. All calls go through [`driver::Driver`]; the real one is
//! [`ocl::Ocl`]. *Guarantees*: nothing of OpenCL is needed to start a program, and without it every entry point is a
//! typed error. *Not here*: code generation, and what the arguments of a launch must obey on any device (`launch`).

mod device;
pub mod driver;
pub mod facts;
mod launch;
mod library;
mod memory;
pub mod needs;
pub mod ocl;
mod program;

pub use device::{Devices, Found, OpenClDevice};
pub(crate) use launch::Queued;
pub use library::LIBRARY_VARIABLE;
pub(crate) use memory::DeviceMemory;
pub use program::FailedBuild;
