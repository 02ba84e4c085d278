//! What the integration tests share: an assembler for SPIR-V text, launch shorthands, reference GEMM.
//!
//! The assembler lets the tests run without SPIRV-Tools. `assembler.rs` checks it against the real one where
//! that is installed.
#![allow(dead_code, reason = "each test binary uses a part")]

pub mod asm;
pub mod gemm;

use tile_sim::{Arg, Counters, Launch, Memory, Module, Options, SimError, run_with};

/// Parses a module given as text.
pub fn module(text: &str) -> Result<Module, SimError> {
    Module::parse(&asm::assemble(text))
}

/// Header of most test modules: capabilities, extensions, memory model.
pub const PREAMBLE: &str = r#"
OpCapability Addresses
OpCapability Kernel
OpCapability Vector16
OpCapability Int64
OpCapability Int16
OpCapability Int8
OpCapability Float16
OpCapability Float64
OpCapability Groups
OpCapability GenericPointer
OpCapability GroupNonUniform
OpCapability GroupNonUniformVote
OpCapability GroupNonUniformArithmetic
OpCapability GroupNonUniformBallot
OpCapability GroupNonUniformShuffle
OpCapability GroupNonUniformClustered
OpCapability SubgroupDispatch
OpCapability Subgroup2DBlockIOINTEL
OpCapability Subgroup2DBlockTransformINTEL
OpCapability Subgroup2DBlockTransposeINTEL
OpCapability SubgroupMatrixMultiplyAccumulateINTEL
OpCapability SubgroupBufferBlockIOINTEL
OpCapability SubgroupBufferPrefetchINTEL
OpCapability SubgroupShuffleINTEL
OpCapability BFloat16ConversionINTEL
OpCapability TensorFloat32RoundingINTEL
OpCapability AtomicFloat32AddEXT
OpCapability AtomicFloat32MinMaxEXT
OpExtension "SPV_INTEL_2d_block_io"
OpExtension "SPV_INTEL_subgroup_matrix_multiply_accumulate"
OpExtension "SPV_INTEL_subgroups"
OpExtension "SPV_INTEL_subgroup_buffer_prefetch"
OpExtension "SPV_INTEL_bfloat16_conversion"
OpExtension "SPV_INTEL_tensor_float32_conversion"
OpExtension "SPV_EXT_shader_atomic_float_add"
OpExtension "SPV_EXT_shader_atomic_float_min_max"
%std = OpExtInstImport "OpenCL.std"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main "main" %lane %sg %wg %lid %gid
OpExecutionMode %main SubgroupSize 16
OpDecorate %lane BuiltIn SubgroupLocalInvocationId
OpDecorate %sg BuiltIn SubgroupId
OpDecorate %wg BuiltIn WorkgroupId
OpDecorate %lid BuiltIn LocalInvocationId
OpDecorate %gid BuiltIn GlobalInvocationId
"#;

/// Types, constants and built-ins of most test modules.
pub const TYPES: &str = r#"
%void = OpTypeVoid
%bool = OpTypeBool
%uchar = OpTypeInt 8 0
%ushort = OpTypeInt 16 0
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%half = OpTypeFloat 16
%float = OpTypeFloat 32
%double = OpTypeFloat 64
%v2uint = OpTypeVector %uint 2
%v3ulong = OpTypeVector %ulong 3
%v4uint = OpTypeVector %uint 4
%v4float = OpTypeVector %float 4
%v8ushort = OpTypeVector %ushort 8
%v8half = OpTypeVector %half 8
%v8uint = OpTypeVector %uint 8
%v8float = OpTypeVector %float 8
%piuint = OpTypePointer Input %uint
%piv3 = OpTypePointer Input %v3ulong
%pg8 = OpTypePointer CrossWorkgroup %uchar
%pg16 = OpTypePointer CrossWorkgroup %ushort
%pg = OpTypePointer CrossWorkgroup %uint
%pg64 = OpTypePointer CrossWorkgroup %ulong
%pgf = OpTypePointer CrossWorkgroup %float
%lane = OpVariable %piuint Input
%sg = OpVariable %piuint Input
%wg = OpVariable %piv3 Input
%lid = OpVariable %piv3 Input
%gid = OpVariable %piv3 Input
%true = OpConstantTrue %bool
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%u3 = OpConstant %uint 3
%u4 = OpConstant %uint 4
%u5 = OpConstant %uint 5
%u6 = OpConstant %uint 6
%u7 = OpConstant %uint 7
%u8 = OpConstant %uint 8
%u9 = OpConstant %uint 9
%u16 = OpConstant %uint 16
%u32 = OpConstant %uint 32
%u64 = OpConstant %uint 64
%u272 = OpConstant %uint 272
%l0 = OpConstant %ulong 0
%l1 = OpConstant %ulong 1
%l16 = OpConstant %ulong 16
%fn = OpTypeFunction %void %pg %pg %uint %uint
"#;

/// A module whose kernel `main(out: *u32, in: *u32, p: u32, q: u32)` has this body. `%l` is the lane,
/// `%mine` points at `out[lane]`.
pub fn kernel(extra_types: &str, body: &str) -> String {
    format!(
        "{PREAMBLE}{TYPES}{extra_types}
%main = OpFunction %void None %fn
%out = OpFunctionParameter %pg
%in = OpFunctionParameter %pg
%p = OpFunctionParameter %uint
%q = OpFunctionParameter %uint
%entry = OpLabel
{body}
OpFunctionEnd
"
    )
}

/// Loads the lane number and forms the pointer to `out[lane]`.
pub const LANE: &str = "%l = OpLoad %uint %lane
%mine = OpInBoundsPtrAccessChain %pg %out %l";

/// Runs one sub-group of a [`kernel`] on `out` (64 zero words unless given) and `input` bytes.
pub fn run_kernel(text: &str, input: Vec<u8>, p: u32, q: u32) -> Result<(Vec<u32>, Counters), SimError> {
    run_kernel_sized(text, input, (p, q), 16, 64)
}

/// As [`run_kernel`], with `local` work-items and an output of `words` words.
pub fn run_kernel_sized(
    text: &str,
    input: Vec<u8>,
    (p, q): (u32, u32),
    local: u32,
    words: usize,
) -> Result<(Vec<u32>, Counters), SimError> {
    let module = module(text)?;
    let mut memory = Memory::new();
    let out = memory.map(vec![0; words * 4], 0);
    let input = memory.map(input, 0);
    let args = [Arg::Pointer(out), Arg::Pointer(input), Arg::U32(p), Arg::U32(q)];
    let launch = Launch { entry: "main", groups: [1, 1, 1], local: [local, 1, 1], args: &args };
    let options = Options { traffic: true, messages: true, step_limit: 1_000_000, ..Options::default() };
    let counters = run_with(&module, &mut memory, &launch, &options)?;
    let bytes = memory.bytes(out);
    let out = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    Ok((out, counters))
}

/// A small deterministic random generator (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A bf16 pattern of moderate size.
    pub fn bf16(&mut self) -> u16 {
        let r = self.next();
        let exponent = 120 + (r >> 20) % 10;
        ((r & 0x80ff) as u16 & 0x807f) | ((exponent as u16) << 7)
    }
}
