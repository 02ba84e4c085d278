//! Devices, tensors, the launch contract, errors.

pub mod contract;

pub use contract::{
    DType, Generic, GridInfo, InstanceInfo, KernelInfo, ModuleInfo, ParamInfo, ParamKind, ScalarType,
};
