//! Owns what a SPIR-V module needs of a device, read from its words before any driver sees them.
//!
//! *Assumes*: words a code generator of this workspace made; anything else gives `None`, not a panic.
//! *Guarantees*: a device that lacks an extension, a SPIR-V version, a sub-group size or room for a work-group is
//! named as such, instead of by the log of a failed build. *Not here*: validating modules (`spirv-val` does).

use super::facts::{DeviceFacts, Lack, SpirVVersion};

const MAGIC: u32 = 0x0723_0203;
const HEADER_WORDS: usize = 5;

const OP_ENTRY_POINT: u32 = 15;
const OP_EXECUTION_MODE: u32 = 16;
const OP_CAPABILITY: u32 = 17;
const OP_FUNCTION: u32 = 54;
const MODE_LOCAL_SIZE: u32 = 17;
const MODE_SUBGROUP_SIZE: u32 = 35;

/// OpenCL extensions by the capability they stand for: any one of them will do. Capabilities that every device
/// with our SPIR-V version has are not listed. Sources: the extension specifications of the OpenCL registry.
const EXTENSIONS: &[(u32, &[&str])] = &[
    (9, &["cl_khr_fp16"]),
    (10, &["cl_khr_fp64"]),
    (12, &["cl_khr_int64_base_atomics"]),
    (58, &["cl_khr_subgroups", "cl_intel_subgroups"]),
    (63, &["cl_khr_subgroup_non_uniform_arithmetic"]),
    (5568, &["cl_intel_subgroups"]),
    (6033, &["cl_ext_float_atomics"]),
    // The CPU driver of 2026 lists the second name only.
    (6115, &["cl_intel_bfloat16_conversions", "cl_intel_bfloat16"]),
    (6141, &["cl_intel_split_work_group_barrier"]),
    (6228, &[super::facts::BLOCK_IO]),
    (6229, &[super::facts::BLOCK_IO]),
    (6230, &[super::facts::BLOCK_IO]),
    (6236, &[super::facts::DPAS]),
];

/// What a module needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Its SPIR-V version.
    pub version: SpirVVersion,
    /// Its capabilities, by number.
    pub capabilities: Vec<u32>,
    /// The sub-group size of the entry point, if it asks for one.
    pub subgroup_size: Option<usize>,
    /// The work-group of the entry point, if it asks for one.
    pub work_group: Option<[u32; 3]>,
}

impl Needs {
    /// Reads the needs of the entry point `entry`; `None` if the words are no such module.
    pub fn of(words: &[u32], entry: &str) -> Option<Needs> {
        let (header, mut rest) = words.split_at_checked(HEADER_WORDS)?;
        if header[0] != MAGIC {
            return None;
        }
        let [_, major, minor, _] = header[1].to_be_bytes();
        let mut needs =
            Needs { version: (major, minor), capabilities: vec![], subgroup_size: None, work_group: None };
        let mut function = None;
        while let [first, ..] = rest {
            let (length, opcode) = ((first >> 16) as usize, first & 0xffff);
            let (instruction, after) = rest.split_at_checked(length).filter(|_| length > 0)?;
            rest = after;
            match (opcode, &instruction[1..]) {
                (OP_CAPABILITY, [capability]) => needs.capabilities.push(*capability),
                (OP_ENTRY_POINT, [_, id, name @ ..]) if is_text(name, entry) => function = Some(*id),
                (OP_EXECUTION_MODE, [id, MODE_SUBGROUP_SIZE, size]) if function == Some(*id) => {
                    needs.subgroup_size = usize::try_from(*size).ok();
                }
                (OP_EXECUTION_MODE, [id, MODE_LOCAL_SIZE, x, y, z]) if function == Some(*id) => {
                    needs.work_group = Some([*x, *y, *z]);
                }
                (OP_FUNCTION, _) => break,
                _ => {}
            }
        }
        function.map(|_| needs)
    }

    /// What the device lacks for the module, with work-groups of `work_items`.
    pub fn unmet(&self, facts: &DeviceFacts, work_items: usize) -> Vec<Lack> {
        let mut lacks = Vec::new();
        if !facts.spir_v.contains(&self.version) {
            lacks.push(Lack::SpirV { needed: self.version, offered: facts.spir_v.clone() });
        }
        for (capability, names) in EXTENSIONS {
            let lack = Lack::Extension(names);
            if self.capabilities.contains(capability)
                && !names.iter().any(|name| facts.has(name))
                && !lacks.contains(&lack)
            {
                lacks.push(lack);
            }
        }
        if let Some(needed) = self.subgroup_size
            && !facts.subgroup_sizes.contains(&needed)
        {
            lacks.push(Lack::SubgroupSize { needed, offered: facts.subgroup_sizes.clone() });
        }
        if work_items > facts.max_work_group {
            lacks.push(Lack::WorkGroup { needed: work_items, offered: facts.max_work_group });
        }
        lacks
    }
}

/// True if a literal string that starts these operands is `text`.
fn is_text(operands: &[u32], text: &str) -> bool {
    let bytes = operands.iter().flat_map(|word| word.to_le_bytes());
    bytes.take_while(|byte| *byte != 0).eq(text.bytes())
}

#[cfg(test)]
mod tests {
    use rspirv::binary::Assemble;
    use rspirv::dr::Builder;
    use rspirv::spirv::{
        AddressingModel, Capability, ExecutionMode, ExecutionModel, FunctionControl, MemoryModel,
    };

    use super::*;
    use crate::opencl::facts::tests::{cpu, max_gpu};
    use crate::opencl::facts::{BLOCK_IO, DPAS};

    fn words(capabilities: &[Capability]) -> Vec<u32> {
        let mut b = Builder::new();
        b.set_version(1, 2);
        for capability in [Capability::Kernel, Capability::Addresses].iter().chain(capabilities) {
            b.capability(*capability);
        }
        b.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
        let void = b.type_void();
        let ty = b.type_function(void, []);
        for (name, size) in [("first", 8), ("second", 16)] {
            let f = b.begin_function(void, None, FunctionControl::NONE, ty).expect("no function is open");
            b.begin_block(None).expect("a function is open");
            b.ret().expect("a block is open");
            b.end_function().expect("a function is open");
            b.entry_point(ExecutionModel::Kernel, f, name, []);
            b.execution_mode(f, ExecutionMode::SubgroupSize, [size]);
            b.execution_mode(f, ExecutionMode::LocalSize, [size, 1, 1]);
        }
        b.module().assemble()
    }

    #[test]
    fn the_numbers_are_those_of_the_specification() {
        let number = |index: usize| EXTENSIONS[index].0;
        let named = [
            Capability::Float16,
            Capability::Float64,
            Capability::Int64Atomics,
            Capability::SubgroupDispatch,
            Capability::GroupNonUniformArithmetic,
            Capability::SubgroupShuffleINTEL,
            Capability::AtomicFloat32AddEXT,
            Capability::BFloat16ConversionINTEL,
            Capability::SplitBarrierINTEL,
            Capability::Subgroup2DBlockIOINTEL,
            Capability::Subgroup2DBlockTransformINTEL,
            Capability::Subgroup2DBlockTransposeINTEL,
            Capability::SubgroupMatrixMultiplyAccumulateINTEL,
        ];
        assert_eq!(named.len(), EXTENSIONS.len());
        for (index, capability) in named.into_iter().enumerate() {
            assert_eq!(number(index), capability as u32, "{capability:?}");
        }
    }

    #[test]
    fn needs_are_those_of_the_entry_point() {
        let words = words(&[Capability::Float16]);
        let needs = Needs::of(&words, "second").expect("an entry point");
        assert_eq!((needs.version, needs.subgroup_size), ((1, 2), Some(16)));
        assert_eq!(needs.work_group, Some([16, 1, 1]));
        assert!(needs.capabilities.contains(&9));
        assert_eq!(Needs::of(&words, "first").and_then(|n| n.subgroup_size), Some(8));
        assert_eq!(Needs::of(&words, "sec"), None);
        assert_eq!(Needs::of(&words, "seconds"), None);
    }

    #[test]
    fn words_that_are_no_module_are_not_read() {
        let whole = words(&[]);
        assert_eq!(Needs::of(&[], "first"), None);
        assert_eq!(Needs::of(&[7; 20], "first"), None);
        let mut zero = whole.clone();
        zero[HEADER_WORDS] = 0;
        assert_eq!(Needs::of(&zero, "first"), None);
        let mut long = whole;
        long[HEADER_WORDS] = 0xffff_0011;
        assert_eq!(Needs::of(&long, "first"), None);
    }

    #[test]
    fn what_a_device_lacks_is_named_before_a_build() {
        let words = words(&[
            Capability::Subgroup2DBlockIOINTEL,
            Capability::Subgroup2DBlockTransformINTEL,
            Capability::SubgroupMatrixMultiplyAccumulateINTEL,
        ]);
        let needs = Needs::of(&words, "second").expect("an entry point");
        assert_eq!(needs.unmet(&max_gpu(), 64), []);
        let lacks = needs.unmet(&cpu(), 64);
        assert_eq!(
            lacks,
            [
                Lack::Extension(&[BLOCK_IO]),
                Lack::Extension(&[DPAS]),
                Lack::SubgroupSize { needed: 16, offered: vec![] }
            ]
        );
        assert_eq!(needs.unmet(&max_gpu(), 2048), [Lack::WorkGroup { needed: 2048, offered: 1024 }]);
        let newer = Needs { version: (1, 6), ..needs };
        assert!(matches!(newer.unmet(&max_gpu(), 1)[..], [Lack::SpirV { needed: (1, 6), .. }]));
    }
}
