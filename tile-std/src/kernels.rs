//! The kernels of the library. Each file holds the mathematics, the schedule and the kernel.
//!
//! *Not here*: which instance to take for which shape, and checks of shapes ([`crate::ops`]).

pub mod argmax;
pub mod attention;
pub mod cast;
pub mod decode;
pub mod gated;
pub mod gemm;
pub mod gemm_fused;
pub mod gemm_i8;
pub mod gemm_split;
pub mod gemv;
pub mod layer_norm;
pub mod rms_norm;
pub mod rope;
pub mod rope_pairs;
pub mod row_sum;
pub mod softmax;
pub mod softmax_topk;
pub mod softmax_wide;
pub mod transpose;
