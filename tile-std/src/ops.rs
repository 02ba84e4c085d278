//! Operations over tensors: plain functions that check shapes, choose an instance, and launch.
//!
//! *Guarantees*: shapes that do not fit are errors that print both shapes; tensors with a dimension of 0 are
//! fine. *Not here*: the kernels ([`crate::kernels`]).

pub mod gemm;
