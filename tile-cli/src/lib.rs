//! The library behind `cargo tile`: what outside tools say about the kernels.
//!
//! *Owns*: finding and running Intel's offline compiler and the SPIR-V tools, reading their output, the gate
//! ([`verify`]) and the figures ([`inspect`]). *Assumes*: the tools that `scripts/get-tools` fetches.
//! *Guarantees*: every module goes through one seam, [`module::ModuleInput`], so a bare `.spv` file is judged by the
//! same code as a kernel. *Not here*: compiling kernels (they come compiled, in the binary).
#![forbid(unsafe_code)]

pub mod asm;
pub mod by_hand;
pub mod conform;
pub mod devices;
pub mod dump;
pub mod explain;
pub mod fuzz;
pub mod inspect;
pub mod interior;
pub mod kernels;
pub mod listing;
pub mod module;
pub mod ocloc;
pub mod reference;
pub mod run;
pub mod table;
pub mod tools;
pub mod verify;
pub mod visa;
pub mod waivers;
pub mod zeinfo;
