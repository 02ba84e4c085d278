//! Owns the target `xe`: Intel GPUs with 2-D block messages and 16-lane matrix instructions.
//!
//! *Guarantees*: SPIR-V 1.2 for OpenCL, sub-group size 16. *Not here*: single ops.

use rspirv::spirv::{Capability, ExecutionMode};
use tile_ir::verify::Verified;

use crate::control::{End, Lowering};
use crate::lanes::LANES;
use crate::{LowerError, Module, Target};

/// Register mode with 256 registers per sub-group: accumulators of 32x64 and their operands do not fit 128
/// (xe_facts 6: 5,632 bytes spilled).
const LARGE_REGISTER_FILE: &str = "-cl-intel-256-GRF-per-thread";
/// Without it a f32 division may be off by 2.5 units in the last place (OpenCL C, relative error of operators).
const EXACT_DIVISION: &str = "-cl-fp32-correctly-rounded-divide-sqrt";
/// Keeps the address payload of prefetches out of loops (xe_facts 7: 41 -> 24 instructions besides dpas).
const HOIST_PREFETCH: &str = "AllowPrefetchDecomposeWithHoisting=1";

/// The target `xe`.
pub struct Xe;

impl Target for Xe {
    fn name(&self) -> &'static str {
        "xe"
    }

    fn lower(&self, kernel: &Verified) -> Result<Module, LowerError> {
        let facts = kernel.facts();
        let kernel = kernel.kernel();
        let entry = entry_name(&kernel.name, &kernel.instance);
        let mut lowering = Lowering::new(kernel, None);
        lowering.e.need(Capability::SubgroupDispatch);
        lowering.declare();
        if let End::Yield(_) = lowering.region(&kernel.body)? {
            lowering.e.ret();
        }
        let mut options = vec![LARGE_REGISTER_FILE];
        if lowering.e.divides {
            options.push(EXACT_DIVISION);
        }
        // Scalar arithmetic rounds after every op, as on the host.
        let modes: [(ExecutionMode, &[u32]); 2] =
            [(ExecutionMode::SubgroupSize, &[LANES]), (ExecutionMode::ContractionOff, &[])];
        let (words, capabilities, extensions) = lowering.e.finish(&entry, &modes);
        Ok(Module {
            target: self.name(),
            words,
            entry,
            devices: facts.devices.iter().map(|d| d.name()).collect(),
            options,
            igc_options: vec![HOIST_PREFETCH],
            capabilities,
            extensions,
        })
    }
}

/// The kernel's name, then the instance with everything but letters and digits as single underscores.
pub(crate) fn entry_name(name: &str, instance: &str) -> String {
    let mut out = String::from(name);
    for word in instance.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()) {
        out.push('_');
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::entry_name;

    #[test]
    fn entry_names_are_identifiers() {
        assert_eq!(entry_name("gemm", "<bf16, f32, 32, true>"), "gemm_bf16_f32_32_true");
        assert_eq!(entry_name("k", ""), "k");
    }
}
