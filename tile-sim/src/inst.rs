//! The compact form that functions are decoded into once, when a module is parsed.
//!
//! *Guarantees*: every row, block, callee and layout number in an `Inst` is in range; block dimensions and
//! matrix shapes are ones their tables list.
//! *Not here*: decoding (`decode*`), execution (`subgroup`, `alu`, `access`, `block`, `dpas`, `group`).

use crate::alu::Op;
use crate::block::Block2d;
use crate::dpas::Dpas;
use crate::group::GroupOp;

/// An element-wise instruction: `n` components, each from up to three scalars.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alu {
    pub(crate) op: Op,
    pub(crate) n: u8,
    pub(crate) arity: u8,
    pub(crate) out_bits: u8,
    /// Width of each operand's scalars.
    pub(crate) bits: [u8; 3],
    /// Rows from one component of an operand to the next; 0 repeats a scalar.
    pub(crate) step: [u8; 3],
    pub(crate) src: [u32; 3],
    pub(crate) dst: u32,
}

/// A run-time index of an access chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DynamicIndex {
    pub(crate) row: u32,
    pub(crate) bits: u8,
    pub(crate) stride: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicKind {
    Load,
    Store,
    Exchange,
    CompareExchange,
    Add,
    Sub,
    SMin,
    UMin,
    SMax,
    UMax,
    And,
    Or,
    Xor,
    FAdd,
    FMin,
    FMax,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) kind: AtomicKind,
    pub(crate) bits: u8,
    /// Result rows; `None` for a store.
    pub(crate) dst: Option<u32>,
    pub(crate) ptr: u32,
    /// The value operand; `None` for a load.
    pub(crate) value: Option<u32>,
    pub(crate) comparator: Option<u32>,
}

/// What a wide integer instruction puts into the second member of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wide {
    AddCarry,
    SubBorrow,
    UMul,
    SMul,
}

#[derive(Debug)]
pub(crate) enum Inst {
    /// Nothing to do (debug information, lifetime markers, fences).
    Nop,
    Copy {
        dst: u32,
        src: u32,
        n: u32,
    },
    /// Builds a composite: row `i` of the result is `rows[i]`.
    Gather {
        dst: u32,
        rows: Box<[u32]>,
    },
    Undef {
        dst: u32,
        n: u32,
    },
    Alu(Alu),
    /// `n` selections of `rows` rows each; `step` is 0 if one condition serves all components.
    Select {
        dst: u32,
        cond: u32,
        step: u8,
        a: u32,
        b: u32,
        n: u8,
        rows: u32,
    },
    AnyAll {
        all: bool,
        dst: u32,
        src: u32,
        n: u8,
    },
    Dot {
        dst: u32,
        a: u32,
        b: u32,
        n: u8,
        bits: u8,
    },
    Wide {
        kind: Wide,
        dst: u32,
        a: u32,
        b: u32,
        n: u8,
        bits: u8,
    },
    /// Same bits, other component width.
    Repack {
        dst: u32,
        src: u32,
        from: u8,
        to: u8,
        bytes: u32,
    },
    ExtractDynamic {
        dst: u32,
        vector: u32,
        index: u32,
        bits: u8,
        index_bits: u8,
        n: u8,
    },
    InsertDynamic {
        dst: u32,
        vector: u32,
        value: u32,
        index: u32,
        bits: u8,
        index_bits: u8,
        n: u8,
    },
    Access {
        dst: u32,
        base: u32,
        offset: u64,
        dynamic: Box<[DynamicIndex]>,
    },
    Load {
        dst: u32,
        ptr: u32,
        layout: u32,
        align: u32,
    },
    Store {
        ptr: u32,
        src: u32,
        layout: u32,
        align: u32,
    },
    CopyMemory {
        to: u32,
        from: u32,
        size: u64,
        align: u32,
    },
    Atomic(Box<Atomic>),
    Block2d(Box<Block2d>),
    BlockRead {
        dst: u32,
        ptr: u32,
        bits: u8,
        n: u8,
    },
    BlockWrite {
        ptr: u32,
        src: u32,
        bits: u8,
        n: u8,
    },
    BlockPrefetch {
        ptr: u32,
        bytes: u32,
    },
    Dpas(Box<Dpas>),
    Group(Box<GroupOp>),
    /// The first half of a work-group barrier.
    Arrive,
    /// The second half of a work-group barrier.
    Wait,
    /// A barrier of the work-group; a sub-group barrier only checks convergence.
    Barrier {
        workgroup: bool,
    },
    Call {
        callee: u32,
        args: Box<[(u32, u32)]>,
        dst: u32,
        rows: u32,
    },
    Branch(u32),
    BranchIf {
        cond: u32,
        then: u32,
        other: u32,
        structured: bool,
    },
    Switch {
        selector: u32,
        bits: u8,
        default: u32,
        cases: Box<[(u64, u32)]>,
        structured: bool,
    },
    Return,
    ReturnValue {
        src: u32,
    },
    Unreachable,
}

/// A phi: for each predecessor block, where the value comes from.
#[derive(Debug)]
pub(crate) struct Phi {
    pub(crate) dst: u32,
    pub(crate) rows: u32,
    pub(crate) sources: Box<[(u32, u32)]>,
}

#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) phis: Vec<Phi>,
    /// Whether some phi reads another phi's result, so that values must be read before any is written.
    pub(crate) phi_hazard: bool,
    /// First and one past the last instruction; the last is a terminator.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Position in structured order: a merge block comes after everything of its construct.
    pub(crate) order: u32,
    /// Executed instructions by index into the module's instruction names, phis included.
    pub(crate) histogram: Vec<(u16, u32)>,
    /// Number of executed instructions.
    pub(crate) steps: u32,
    /// Index of this block among all blocks of the module.
    pub(crate) number: u32,
}

/// A variable in private memory.
#[derive(Clone, Debug)]
pub(crate) struct PrivateVar {
    pub(crate) id: u32,
    /// Offset and size in bytes in the sub-group's private memory.
    pub(crate) offset: u32,
    pub(crate) size: u32,
    /// Rows and layout of the initialiser, if any.
    pub(crate) init: Option<(u32, u32)>,
}

/// Where an instruction came from, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) name: u16,
    pub(crate) result: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) insts: Vec<Inst>,
    pub(crate) sites: Vec<Site>,
    pub(crate) blocks: Vec<Block>,
    /// First row and number of rows of each parameter.
    pub(crate) params: Vec<(u32, u32)>,
    pub(crate) vars: Vec<PrivateVar>,
    /// Whether this function or one it calls has a work-group barrier.
    pub(crate) barrier: bool,
}
