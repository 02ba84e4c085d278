//! Devices, tensors, the launch contract, errors.

pub mod contract;

pub use contract::{
    DType, Generic, GridInfo, InstanceInfo, KernelInfo, ModuleInfo, ParamInfo, ParamKind, ScalarType,
};
pub mod error;
pub mod tensor;

pub use error::TensorError;
pub use tensor::{AnyView, AnyViewMut, Axis, Shape, Tensor, TensorLayout, View, ViewMut};
