//! One program per task: the code behind `cargo run --example NAME`.
//!
//! A program is a function of its arguments and output streams, so that tests call it as it is; the files in
//! `examples/` only hand over those of the process. [`files`] reads and writes matrices as `.npy` and
//! `.safetensors` for all of them.
//!
//! *Guarantees*: whatever the arguments and files hold, a program ends with an answer or with one line that says
//! what is wrong, and then leaves no half-written file. *Not here*: kernels and devices (`tile_std`).
#![forbid(unsafe_code)]

pub mod decode_step;
pub mod files;
pub mod gemm;
pub mod matrix;
pub mod norms;
