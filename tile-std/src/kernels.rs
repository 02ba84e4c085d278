//! The kernels of the library. Each file holds the mathematics, the schedule and the kernel.
//!
//! *Not here*: which instance to take for which shape, and checks of shapes ([`crate::ops`]).

pub mod attention;
pub mod gemm;
