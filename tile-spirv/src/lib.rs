//! Lowering of tile IR to SPIR-V words, per target.
//!
//! | file | owns |
//! |---|---|
//! | `module` | ids, types, constants, blocks; where pure instructions are placed |
//! | `arith` | folded integer arithmetic |
//! | `facts` | bounds of scalar values |
//! | `lanes` | `xe`: register layout of each role, shapes of block messages |
//! | `abi` | parameters, surfaces, the launch order |
//! | `coord` | coordinates in elements |
//! | `control`, `loops`, `exits` | regions, branches, values; loops; `while`, `break`, `continue` |
//! | `edge` | `xe`: masks and the split of loops at an untrusted edge |
//! | `scalar` | scalar ops |
//! | `ops` | `xe`: ops on tiles and vectors, one file per family |
//! | `lane` | `lane`: tiles in memory, and the same ops on them, one file per family |
//!
//! Everything but the ops on tiles and vectors is shared: a target that keeps tiles in memory gives their values *homes*
//! where control flow meets, and one that keeps them in registers gives them phis.
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
pub mod lane;
mod lanes;
mod loops;
mod module;
mod ops;
mod scalar;
pub mod xe;

pub use rspirv::spirv::Capability;
use tile_ir::legal::BlockOp;
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
    pub devices: Vec<&'static str>,
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
    /// The target has no lowering of an op: the instance has no module for it.
    #[error("target `{target}` has no lowering of `{op}`")]
    NoLowering {
        /// The target.
        target: &'static str,
        /// The op, as kernel source spells it.
        op: &'static str,
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
pub const TARGETS: &[&dyn Target] = &[&xe::Xe, &lane::Lane];

/// What became of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lowered {
    /// Its modules, in the order of [`TARGETS`].
    pub modules: Vec<Module>,
    /// The targets that lack an op of it.
    pub absent: Vec<Absent>,
}

/// A target a kernel has no module for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The target's name.
    pub target: &'static str,
    /// The op it lacks, as kernel source spells it.
    pub op: &'static str,
}

/// Lowers a kernel for every target and says which of them lack one of its ops.
///
/// # Errors
/// The first target's complaint about something that no other op would mend.
pub fn compile(kernel: &Verified) -> Result<Lowered, LowerError> {
    let mut out = Lowered::default();
    for target in TARGETS {
        match target.lower(kernel) {
            Ok(module) => out.modules.push(module),
            Err(LowerError::NoLowering { target, op }) => out.absent.push(Absent { target, op }),
            Err(other) => return Err(other),
        }
    }
    Ok(out)
}

/// The modules of [`compile`].
///
/// # Errors
/// As [`compile`].
pub fn lower(kernel: &Verified) -> Result<Vec<Module>, LowerError> {
    Ok(compile(kernel)?.modules)
}
