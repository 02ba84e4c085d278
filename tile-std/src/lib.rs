//! Tile kernels for Intel GPUs in Rust: the kernel language, and a kernel library written in it.
//!
//! This is the one crate to depend on. [`prelude`] brings the language ([`tile_kernel`] and its vocabulary) and
//! the host side ([`Device`], [`Tensor`]); [`ops`] are ready-made operations over tensors; [`kernels`] are the
//! kernels behind them, for those who choose instances themselves.
//!
//! ```
//! use tile_std::prelude::*;
//!
//! let a = Tensor::from_fn([1, 1, 3, 4], |_, _, r, c| bf16::from_f32((r + c) as f32))?;
//! let b = Tensor::from_fn([1, 1, 4, 2], |_, _, r, c| bf16::from_f32((r * 2 + c) as f32))?;
//! let c: Tensor<f32> = tile_std::gemm(&Device::host(), &a, &b)?;
//! assert_eq!(c.to_vec(), [28.0, 34.0, 40.0, 50.0, 52.0, 66.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! *Not here*: what the ops of the language do on the host (`tile_lang`), devices and tensors
//! (`tile_runtime`), the compiler (`tile_front` and below).
#![forbid(unsafe_code)]

extern crate self as tile_std;

pub mod functions;
pub mod kernels;
pub mod ops;

pub use ops::gemm::{
    Activation, Addend, Ending, Epilogue, GemmError, GemmOptions, GemmPlan, GemmReport, SplitForm,
    explain_gemm, gemm, gemm_fused_into, gemm_into,
};
pub use tile_lang::prelude::{bf16, f16};
pub use tile_macros::{tile_fn, tile_kernel};
pub use tile_runtime::{
    Device, DeviceError, Event, Generic, InstanceInfo, KernelInfo, LaunchError, LaunchInput, LaunchOptions,
    LaunchOutput, ModuleInfo, Race, Report, Shape, Tensor, TensorError, View, ViewMut, Why, Worker,
};

/// Everything a kernel author and a caller of kernels write.
pub mod prelude {
    pub use crate::{
        Device, Event, LaunchError, LaunchOptions, Report, Shape, Tensor, TensorError, View, ViewMut,
        tile_fn, tile_kernel,
    };
    pub use tile_lang::prelude::*;
}

/// Every kernel of the library, for tools that list, dump or verify them.
pub static KERNELS: &[&KernelInfo] = &[
    &kernels::argmax::argmax::KERNEL,
    &kernels::attention::attention::KERNEL,
    &kernels::cast::cast::KERNEL,
    &kernels::decode::decode::KERNEL,
    &kernels::decode::merge::KERNEL,
    &kernels::gated::gated::KERNEL,
    &kernels::gemm::gemm::KERNEL,
    &kernels::gemm_fused::gemm_fused::KERNEL,
    &kernels::gemm_i8::gemm_i8::KERNEL,
    &kernels::gemm_split::gemm_join::KERNEL,
    &kernels::gemm_split::gemm_split::KERNEL,
    &kernels::gemm_split::gemm_split_atomic::KERNEL,
    &kernels::gemv::gemv::KERNEL,
    &kernels::layer_norm::layer_norm::KERNEL,
    &kernels::rms_norm::rms_norm::KERNEL,
    &kernels::rope::rope::KERNEL,
    &kernels::rope_pairs::rope_pairs::KERNEL,
    &kernels::row_sum::row_sum::KERNEL,
    &kernels::softmax::softmax::KERNEL,
    &kernels::softmax_topk::softmax_topk::KERNEL,
    &kernels::softmax_wide::softmax_apply::KERNEL,
    &kernels::softmax_wide::softmax_sums::KERNEL,
    &kernels::transpose::transpose::KERNEL,
];

/// What generated code names. Not an interface: it changes with the code generator.
#[doc(hidden)]
pub mod __private {
    pub use tile_lang::global::gl;
    pub use tile_lang::group::Context;
    pub use tile_lang::launch::Args;
    pub use tile_lang::prelude::{
        Acc, AnyElement, Element, Linear, MmaInput, Own, Peers, PerCol, PerRow, Row, Snake, Upward, Vnni,
        VnniT, Wide, bf16, elements, f16, rt, rv, st, sv, tf32,
    };
    pub use tile_lang::{ops, scalar, witness};
    pub use tile_macros::{tile_fn_collect, tile_kernel_collect};
    pub use tile_runtime::{
        AbsentModule, DType, Device, Event, Generic, GridInfo, GroupInfo, InstanceInfo, KernelInfo,
        LaunchArg, LaunchError, LaunchInput, LaunchOptions, LaunchOutput, ModuleInfo, ParamInfo, ParamKind,
        Report, ScalarType, View, ViewMut, enqueue, launch,
    };
}

/// Runs the program of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// Runs the examples of the language reference.
#[cfg(doctest)]
#[doc = include_str!("../../docs/language.md")]
struct Language;
