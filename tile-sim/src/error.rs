//! What can go wrong when a module is parsed or run, and the rules a run checks.
//!
//! *Guarantees*: undefined behaviour (or a broken hardware rule), an instruction the simulator does not
//! know, and a bug of the simulator are three different variants, so no caller can mistake one for another.
//! Errors hold data; the sentence is made once, by `Display`.
//! *Not here*: deciding when a rule is broken (the file that executes the instruction does).

use std::fmt;

/// Names a rule of SPIR-V, of an Intel extension or of the hardware that a module can break.
///
/// `Display` states the rule positively. Sources: SPV_INTEL_2d_block_io revision 2 "Restrictions",
/// SPV_INTEL_subgroup_matrix_multiply_accumulate operand tables, the SPIR-V and OpenCL environment
/// specifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// The base of a 2-D block surface is 64-byte aligned.
    BaseAlignment,
    /// Width of a 2-D block surface in bytes.
    SurfaceWidth,
    /// Height of a 2-D block surface in rows.
    SurfaceHeight,
    /// Pitch of a 2-D block surface in bytes.
    SurfacePitch,
    /// The first byte of a block is a multiple of 4.
    CoordinateAlignment,
    /// An operand has one value in every lane.
    Uniform,
    /// All 16 lanes execute the instruction together.
    FullSubgroup,
    /// All live lanes of the sub-group execute the instruction together.
    Converged,
    /// Element size, width, height and count of a block message.
    BlockShape,
    /// An operand is an `OpConstant`.
    ConstantOperand,
    /// Every byte read, written or prefetched lies in one live allocation or variable.
    OutOfBounds,
    /// An address is a multiple of the access's alignment.
    Alignment,
    /// Memory that is written is writable.
    ReadOnly,
    /// The type of a built-in variable under the Physical64 addressing model.
    BuiltInType,
    /// Shape, types and flags of a matrix multiply-accumulate.
    MatrixShape,
    /// A divisor is not 0.
    DivisionByZero,
    /// A signed quotient fits its type.
    DivisionOverflow,
    /// A shift amount is less than the width of the shifted value.
    ShiftRange,
    /// A float converted to an integer without saturation fits the integer type.
    ConversionRange,
    /// A component or lane index lies in range.
    IndexRange,
    /// The capability of an instruction or type is declared.
    Capability,
    /// The extension of an instruction is declared.
    Extension,
    /// `OpUnreachable` is never executed.
    Unreachable,
    /// A work-group barrier is reached by every invocation of the work-group.
    Barrier,
    /// Bytes of work-group memory are stored before they are read.
    Uninitialised,
    /// A barrier lies between two sub-groups' accesses to one byte of work-group memory.
    Race,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::BaseAlignment => "the base address of a 2-D block surface is a multiple of 64",
            Rule::SurfaceWidth => {
                "the width of a 2-D block surface is 64 to 2^24 bytes and a multiple of max(4, element size)"
            }
            Rule::SurfaceHeight => "the height of a 2-D block surface is 1 to 2^24 rows",
            Rule::SurfacePitch => {
                "the pitch of a 2-D block surface is at least its width, a multiple of 16 bytes and at most \
                 2^24 bytes"
            }
            Rule::CoordinateAlignment => "x * element size of a 2-D block is a multiple of 4 bytes",
            Rule::Uniform => "the operand has the same value in every lane",
            Rule::FullSubgroup => "the instruction is executed by all 16 lanes of a full sub-group",
            Rule::Converged => "the instruction is executed by every lane of the sub-group together",
            Rule::BlockShape => {
                "the hardware has a block message of this element size, width, height and count"
            }
            Rule::ConstantOperand => "the operand is a constant",
            Rule::OutOfBounds => "every byte accessed lies inside one allocation",
            Rule::Alignment => "an accessed address is a multiple of the access's alignment",
            Rule::ReadOnly => "a stored-to address is writable",
            Rule::BuiltInType => {
                "under Physical64 a size_t built-in is made of 64-bit integers and a sub-group built-in is a \
                 32-bit integer"
            }
            Rule::MatrixShape => "matrix multiply-accumulate takes M, K, types and flags from its table",
            Rule::DivisionByZero => "a divisor is not 0",
            Rule::DivisionOverflow => "the quotient fits the type",
            Rule::ShiftRange => "a shift amount is less than the bit width of the shifted value",
            Rule::ConversionRange => {
                "a float converted to an integer without SaturatedConversion fits the integer type"
            }
            Rule::IndexRange => "an index is less than the number of components or lanes",
            Rule::Capability => "the module declares the capability of everything it uses",
            Rule::Extension => "the module declares the extension of every extension instruction",
            Rule::Unreachable => "OpUnreachable is never executed",
            Rule::Uninitialised => "work-group memory is stored before it is read",
            Rule::Race => {
                "a barrier lies between two sub-groups' accesses to one byte of work-group memory, unless both read"
            }
            Rule::Barrier => "a work-group barrier is reached by every invocation of the work-group",
        })
    }
}

/// Says where in the module, and in which sub-group, something happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The instruction, as `%result = OpName` or `OpName`; empty if not tied to one.
    pub instruction: String,
    /// The function's name, or `%id` if it has none.
    pub function: String,
    /// The work-group, while running.
    pub group: Option<[u32; 3]>,
    /// The sub-group inside the work-group, while running.
    pub subgroup: Option<u32>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.instruction.is_empty() { "module" } else { &self.instruction })?;
        if !self.function.is_empty() {
            write!(f, " in function {}", self.function)?;
        }
        if let Some([x, y, z]) = self.group {
            write!(f, ", work-group ({x}, {y}, {z})")?;
        }
        if let Some(subgroup) = self.subgroup {
            write!(f, ", sub-group {subgroup}")?;
        }
        Ok(())
    }
}

/// Everything that stops a parse or a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The words are not a module this parser can read, or break SPIR-V's static rules.
    #[error("malformed module: {place}: {detail}")]
    Malformed {
        /// Where.
        place: Box<Place>,
        /// What is wrong.
        detail: String,
    },
    /// The module broke a rule: its behaviour would be undefined.
    #[error("{place}: broken rule: {rule}; {detail}")]
    Rule {
        /// The rule.
        rule: Rule,
        /// Where it was broken.
        place: Box<Place>,
        /// The values that broke it.
        detail: String,
    },
    /// The module may be right, but the simulator does not implement what it asks for.
    #[error("{place}: not supported by the simulator: {detail}")]
    Unsupported {
        /// Where.
        place: Box<Place>,
        /// What is not supported.
        detail: String,
    },
    /// The launch does not fit the module.
    #[error("launch of `{entry}`: {detail}")]
    Launch {
        /// The entry point asked for.
        entry: String,
        /// What does not fit.
        detail: String,
    },
    /// The run executed more instructions than allowed; a loop may not end.
    #[error("{place}: the limit of {limit} executed instructions is reached")]
    StepLimit {
        /// The limit.
        limit: u64,
        /// Where the run stood.
        place: Box<Place>,
    },
    /// The simulator contradicted itself.
    #[error("{place}: bug in the simulator: {detail}")]
    Bug {
        /// Where.
        place: Box<Place>,
        /// What happened.
        detail: String,
    },
}

impl SimError {
    /// The broken rule, if this error is one.
    pub fn rule(&self) -> Option<Rule> {
        match self {
            SimError::Rule { rule, .. } => Some(*rule),
            SimError::Malformed { .. }
            | SimError::Unsupported { .. }
            | SimError::Launch { .. }
            | SimError::StepLimit { .. }
            | SimError::Bug { .. } => None,
        }
    }
}

/// An error before its place is known; the interpreter loop and the decoder add the place.
#[derive(Debug)]
pub(crate) enum Cause {
    Malformed(String),
    Rule(Rule, String),
    Unsupported(String),
    StepLimit(u64),
    Bug(String),
}

/// Boxed so that the results of hot functions stay one word.
pub(crate) type Fault = Box<Cause>;

impl Cause {
    pub(crate) fn at(self, place: Place) -> SimError {
        let place = Box::new(place);
        match self {
            Cause::Malformed(detail) => SimError::Malformed { place, detail },
            Cause::Rule(rule, detail) => SimError::Rule { rule, place, detail },
            Cause::Unsupported(detail) => SimError::Unsupported { place, detail },
            Cause::StepLimit(limit) => SimError::StepLimit { limit, place },
            Cause::Bug(detail) => SimError::Bug { place, detail },
        }
    }
}

#[cold]
pub(crate) fn malformed(detail: impl Into<String>) -> Fault {
    Box::new(Cause::Malformed(detail.into()))
}

#[cold]
pub(crate) fn broken(rule: Rule, detail: impl Into<String>) -> Fault {
    Box::new(Cause::Rule(rule, detail.into()))
}

#[cold]
pub(crate) fn unsupported(detail: impl Into<String>) -> Fault {
    Box::new(Cause::Unsupported(detail.into()))
}

#[cold]
pub(crate) fn bug(detail: impl Into<String>) -> Fault {
    Box::new(Cause::Bug(detail.into()))
}
