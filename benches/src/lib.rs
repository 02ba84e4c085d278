//! Benchmarks against peers: how contestants are measured side by side, and who the peers are.
//!
//! The programs are `src/bin/*`; each prints how it measured, and every figure is a ratio from one run.
//! *Not here*: tests. Nothing in this workspace passes or fails by the time it takes.
#![deny(unsafe_code)]

pub mod clock;
pub mod contest;
pub mod machine;
#[cfg(feature = "peers")]
pub mod peers;
