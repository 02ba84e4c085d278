//! Which capabilities and extensions instructions and types need.
//!
//! *Assumes*: the instruction grammar (in rspirv) lists the alternatives of capabilities.
//! *Guarantees*: a module that uses something undeclared is an error, as on a driver that checks.
//! *Not here*: capabilities of single operands (decorations, built-ins, execution modes).

use crate::error::{Fault, Rule, broken, unsupported};
use rspirv::spirv::{Capability, Op};
use std::collections::HashSet;

/// What a module declares.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    capabilities: HashSet<Capability>,
    extensions: HashSet<String>,
}

/// Capabilities that a declared one declares implicitly (SPIR-V specification, "Capability" table).
fn implied(capability: Capability) -> &'static [Capability] {
    use Capability as C;
    match capability {
        C::Vector16 | C::Float16Buffer | C::Pipes | C::DeviceEnqueue | C::LiteralSampler => &[C::Kernel],
        C::SubgroupDispatch => &[C::DeviceEnqueue, C::Kernel],
        C::GenericPointer => &[C::Addresses],
        C::Int64Atomics => &[C::Int64],
        C::GroupNonUniformVote
        | C::GroupNonUniformArithmetic
        | C::GroupNonUniformBallot
        | C::GroupNonUniformShuffle
        | C::GroupNonUniformShuffleRelative
        | C::GroupNonUniformClustered => &[C::GroupNonUniform],
        C::Subgroup2DBlockTransformINTEL | C::Subgroup2DBlockTransposeINTEL => &[C::Subgroup2DBlockIOINTEL],
        _ => &[],
    }
}

/// Capabilities whose instructions the simulator knows; others are refused rather than guessed.
fn known(capability: Capability) -> bool {
    use Capability as C;
    !matches!(capability, C::Shader | C::Geometry | C::Tessellation | C::ImageBasic | C::Pipes)
}

/// The extension an instruction comes from, if it is not core SPIR-V.
fn extension(op: Op) -> Option<&'static [&'static str]> {
    Some(match op {
        Op::Subgroup2DBlockLoadINTEL
        | Op::Subgroup2DBlockLoadTransformINTEL
        | Op::Subgroup2DBlockLoadTransposeINTEL
        | Op::Subgroup2DBlockPrefetchINTEL
        | Op::Subgroup2DBlockStoreINTEL => &["SPV_INTEL_2d_block_io"],
        Op::SubgroupMatrixMultiplyAccumulateINTEL => &["SPV_INTEL_subgroup_matrix_multiply_accumulate"],
        Op::ConvertFToBF16INTEL | Op::ConvertBF16ToFINTEL => &["SPV_INTEL_bfloat16_conversion"],
        Op::RoundFToTF32INTEL => &["SPV_INTEL_tensor_float32_conversion"],
        Op::SubgroupBlockReadINTEL
        | Op::SubgroupBlockWriteINTEL
        | Op::SubgroupShuffleINTEL
        | Op::SubgroupShuffleXorINTEL
        | Op::SubgroupShuffleUpINTEL
        | Op::SubgroupShuffleDownINTEL => &["SPV_INTEL_subgroups"],
        Op::ControlBarrierArriveINTEL | Op::ControlBarrierWaitINTEL => &["SPV_INTEL_split_barrier"],
        Op::SubgroupBlockPrefetchINTEL => &["SPV_INTEL_subgroup_buffer_prefetch"],
        Op::AtomicFAddEXT => &["SPV_EXT_shader_atomic_float_add", "SPV_EXT_shader_atomic_float16_add"],
        Op::AtomicFMinEXT | Op::AtomicFMaxEXT => &["SPV_EXT_shader_atomic_float_min_max"],
        _ => return None,
    })
}

impl Declared {
    pub(crate) fn capability(&mut self, capability: Capability) -> Result<(), Fault> {
        if !known(capability) {
            return Err(unsupported(format!("capability {capability:?}")));
        }
        self.capabilities.insert(capability);
        self.capabilities.extend(implied(capability));
        Ok(())
    }

    pub(crate) fn extension(&mut self, name: &str) {
        self.extensions.insert(name.to_string());
    }

    /// Checks that one of `any` is declared, for `what`.
    pub(crate) fn need(&self, any: &[Capability], what: &str) -> Result<(), Fault> {
        if any.is_empty() || any.iter().any(|c| self.capabilities.contains(c)) {
            return Ok(());
        }
        let names: Vec<_> = any.iter().map(|c| format!("{c:?}")).collect();
        Err(broken(Rule::Capability, format!("{what} needs {}", names.join(" or "))))
    }

    /// Checks an instruction's capability and extension.
    pub(crate) fn instruction(&self, op: Op, any: &[Capability]) -> Result<(), Fault> {
        self.need(any, &format!("Op{op:?}"))?;
        if let Some(names) = extension(op)
            && !names.iter().any(|n| self.extensions.contains(*n))
        {
            return Err(broken(Rule::Extension, format!("Op{op:?} needs {}", names.join(" or "))));
        }
        Ok(())
    }
}
