//! Lowering of tile IR to SPIR-V words, per target.
//!
//! | file | owns |
//! |---|---|
//! | `module` | ids, types, constants, blocks; where pure instructions are placed |
//! | `arith` | folded integer arithmetic |
//! | `facts` | bounds of scalar values |
//! | `lanes` | register layout of each role, shapes of block messages |
//! | `abi` | parameters, surfaces, the launch order |
//! | `coord` | coordinates in elements |
//! | `control`, `loops`, `exits` | regions, branches, values; loops; `while`, `break`, `continue` |
//! | `edge` | masks and the split of loops at an untrusted edge |
//! | `scalar`, `ops` | single ops, one file per family |
//!
//! *Assumes* a [`Verified`] kernel. *Guarantees*: equal kernels give equal words; no panic.
//! *Not here*: what an op means (`tile-ir`), whether another tool accepts the words (`cargo tile verify`).
#![forbid(unsafe_code)]

mod abi;
mod arith;
mod control;
mod coord;
mod edge;
mod exits;
mod facts;
mod lanes;
mod loops;
mod module;
mod ops;
mod scalar;
pub mod xe;

pub use rspirv::spirv::Capability;
use tile_ir::legal::{BlockOp, Device};
use tile_ir::verify::Verified;

/// A kernel instance as words for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The target's name.
    pub target: &'static str,
    /// The SPIR-V words.
    pub words: Vec<u32>,
    /// The name of the entry point.
    pub entry: String,
    /// Devices the words are meant for.
    pub devices: Vec<Device>,
    /// Options the device compiler must be given.
    pub options: Vec<&'static str>,
    /// Options of Intel's graphics compiler itself (`-igc_opts`), as `NAME=value`.
    pub igc_options: Vec<&'static str>,
    /// Capabilities the module declares.
    pub capabilities: Vec<Capability>,
    /// Extensions the module declares.
    pub extensions: Vec<&'static str>,
}

/// Why a verified kernel has no words for a target. Each names what to change in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// No block message has the shape; use a tile size that is a multiple of one.
    #[error(
        "no {op:?} message moves a block of {rows}x{cols} elements of {elem_bytes} bytes; use another tile size"
    )]
    NoMessage {
        /// Kind of message.
        op: BlockOp,
        /// Bytes of an element.
        elem_bytes: u32,
        /// Rows wanted.
        rows: u32,
        /// Columns wanted.
        cols: u32,
    },
    /// A shared prefetch cannot be cut; use another tile size or grid.
    #[error("a shared prefetch cuts its tile into equal block messages; {0}")]
    PrefetchCut(String),
    /// A prefetch names more than any first-level cache holds; use a smaller tile.
    #[error(
        "a prefetch may name at most {most} bytes, what a first-level cache holds; this one names {bytes}"
    )]
    PrefetchSize {
        /// Bytes named.
        bytes: u64,
        /// Most bytes.
        most: u64,
    },
    /// The kernel breaks a rule the verifier should have reported: a defect of the compiler.
    #[error("the compiler's representation of the kernel is malformed: {0}; please report this")]
    Malformed(&'static str),
}

/// A family of devices that share an instruction set as SPIR-V shows it.
pub trait Target: Sync {
    /// The name, as in `ModuleInfo::target`.
    fn name(&self) -> &'static str;

    /// Lowers a kernel to words for this target.
    ///
    /// # Errors
    /// When the target has no instruction for something the kernel uses.
    fn lower(&self, kernel: &Verified) -> Result<Module, LowerError>;
}

/// Every target, in the order in which modules are listed.
pub const TARGETS: &[&dyn Target] = &[&xe::Xe];

/// Lowers a kernel for every target.
///
/// # Errors
/// The first target's complaint.
pub fn lower(kernel: &Verified) -> Result<Vec<Module>, LowerError> {
    TARGETS.iter().map(|target| target.lower(kernel)).collect()
}
