//! Interpreter of SPIR-V words on lock-step sub-groups of 16 lanes.
//!
//! It executes OpenCL-flavoured SPIR-V (Kernel, Physical64) with Intel's 2-D block, matrix and sub-group
//! extensions, exactly as the words say, and checks every rule whose breach the hardware would answer with
//! wrong numbers instead of an error: alignment, surface sizes, uniform operands, full sub-groups, bounds,
//! undefined arithmetic, declared capabilities.
//!
//! Three kinds of error never mix: a broken rule ([`SimError::Rule`]), something not implemented
//! ([`SimError::Unsupported`]), and a bug of this crate ([`SimError::Bug`]).
//!
//! ```
//! # fn main() -> Result<(), tile_sim::SimError> {
//! # let words: Vec<u32> = Vec::new();
//! let Ok(module) = tile_sim::Module::parse(&words) else { return Ok(()) };
//! let mut memory = tile_sim::Memory::new();
//! let input = memory.map(vec![0; 4096], 0);
//! let launch = tile_sim::Launch {
//!     entry: "copy",
//!     groups: [1, 1, 1],
//!     local: [16, 1, 1],
//!     args: &[tile_sim::Arg::Pointer(input), tile_sim::Arg::U32(64)],
//! };
//! let counters = tile_sim::run(&module, &mut memory, &launch)?;
//! println!("{} dpas, {} bytes loaded", counters.dpas, counters.bytes_loaded);
//! # Ok(())
//! # }
//! ```
//!
//! *Assumes*: nothing about who made the words; this crate must not depend on the compiler it judges.
//! *Guarantees*: no input makes it panic; a run ends (step limit); results and counters are deterministic.
//! *Not here*: timing. Counters are counts, not cycles. Races on work-group memory are detected, races on global memory
//! are not: sub-groups of a work-group run one after another between barriers.
#![forbid(unsafe_code)]

mod access;
mod alu;
mod block;
mod convert;
mod counters;
mod decode;
mod decode_alu;
mod decode_group;
mod dpas;
mod error;
mod functions;
mod group;
mod inst;
mod instructions;
mod lanes;
mod memory;
mod module;
mod opencl_std;
mod requirements;
mod run;
mod shapes;
mod shared;
mod subgroup;
mod types;
mod wide;

pub use block::BlockKind;
pub use counters::{AllocationTraffic, Counters, Footprint, Message, SubgroupTally, Tally, Traffic};
pub use error::{Place, Rule, SimError};
pub use memory::Memory;
pub use module::{Module, ParamKind};
pub use run::{Arg, Launch, Options, run, run_telling, run_with};
pub use shapes::Hardware;
