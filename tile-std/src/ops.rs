//! Operations over tensors: plain functions that check shapes, choose an instance, and launch.
//!
//! Each has a form that makes the output and an `_into` form that writes to one, takes options and gives the report of
//! the launch; the instance it takes can be asked for (`explain_*`) and set ([`RowOptions::instance`]).
//!
//! *Guarantees*: shapes that do not fit are errors that print both shapes; tensors with a dimension of 0 are
//! fine. *Not here*: the kernels ([`crate::kernels`]).

mod attention;
mod decode;
pub(crate) mod dispatch;
mod elementwise;
pub mod gemm;
mod gemm_i8;
mod gemv;
mod norm;
mod qkv;
mod reduce;
mod rope;
mod softmax;
mod softmax_topk;

pub use attention::{
    AttentionError, AttentionOptions, attention, attention_into, attention_lse, attention_lse_into,
    explain_attention,
};
pub use decode::{DecodeOptions, decode, decode_into, explain_decode};
pub use dispatch::{Choice, Misfit, RowError, RowOptions};
pub use elementwise::{
    Transposable, cast, cast_into, explain_cast, explain_gelu_mul, explain_silu_mul, explain_transpose,
    gelu_mul, gelu_mul_into, silu_mul, silu_mul_into, transpose, transpose_into,
};
pub use gemm_i8::{explain_gemm_i8, gemm_i8, gemm_i8_into};
pub use gemv::{explain_gemv, gemv, gemv_into};
pub use norm::{
    LayerNorm, Normed, RmsNorm, add_layer_norm, add_layer_norm_into, add_rms_norm, add_rms_norm_into,
    explain_layer_norm, explain_rms_norm, layer_norm, layer_norm_into, rms_norm, rms_norm_into,
};
pub use qkv::{Qkv, QkvWeight, qkv, qkv_into};
pub use reduce::{
    argmax, argmax_into, explain_argmax, explain_row_mean, explain_row_sum, row_mean, row_mean_into, row_sum,
    row_sum_into,
};
pub use rope::{Rope, RopeLayout, explain_rope, rope, rope_into, rope_kv_write, rope_qk, rope_qk_into};
pub use softmax::{
    explain_log_softmax, explain_softmax, log_softmax, log_softmax_into, softmax, softmax_into,
};
pub use softmax_topk::{Denominator, explain_softmax_topk, softmax_topk, softmax_topk_into};
