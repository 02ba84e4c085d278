//! Owns tensors: memory with a shape, and borrowed views of it.
//!
//! A [`Tensor`] owns line-aligned, padded memory; a [`View`] or [`ViewMut`] borrows a part of a tensor or of a
//! plain slice. Shapes are always `[batch, depth, rows, cols]`.
//!
//! *Guarantees*: a view never reaches outside the memory it borrowed, and the elements of a [`ViewMut`] never
//! overlap. *Not here*: what a launch demands of a view (`launch`, `xe_surface`).

mod home;
mod layout;
mod owned;
#[allow(unsafe_code, reason = "allocates, and hands out what it allocated")]
mod storage;
#[allow(unsafe_code, reason = "typed views of memory that devices and threads share")]
mod view;

pub use layout::{Axis, LINE_BYTES, Shape, TensorLayout};
pub use owned::Tensor;
#[cfg(feature = "opencl")]
pub use storage::HostMemory;
pub use view::{AnyView, AnyViewMut, View, ViewMut};

#[cfg(feature = "opencl")]
pub(crate) use home::Home;
pub(crate) use view::Placed;
#[cfg(feature = "sim")]
pub(crate) use view::Region;
