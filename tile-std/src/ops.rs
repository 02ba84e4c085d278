//! Operations over tensors: plain functions that check shapes, choose an instance, and launch.
//!
//! *Guarantees*: shapes that do not fit are errors that print both shapes; tensors with a dimension of 0 are
//! fine. *Not here*: the kernels ([`crate::kernels`]).

mod attention;
pub(crate) mod dispatch;
pub mod gemm;

pub use attention::{AttentionError, AttentionOptions, attention, attention_into, explain_attention};
pub use dispatch::Choice;
