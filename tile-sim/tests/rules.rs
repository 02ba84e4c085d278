//! Every checked rule of block messages, memory and declarations: one module that breaks it, and the error.

mod support;

use support::{LANE, PREAMBLE, TYPES, kernel, module, run_kernel, run_kernel_sized};
use tile_sim::{Arg, Hardware, Launch, Memory, Options, Rule, SimError, run_with};

const VARS: &str = "%arr8 = OpTypeArray %v8ushort %u8\n%parr8 = OpTypePointer Function %arr8\n";

/// A block load from `in` (16 KiB): 2-byte elements, 16 wide, 8 high, twice. `{...}` parts are replaceable.
const LOAD: &str = "%d = OpVariable %parr8 Function\n%l = OpLoad %uint %lane
%xy = OpCompositeConstruct %v2uint {x} {y}
{more}
OpSubgroup2DBlockLoadINTEL {esz} {w} {h} {c} {base} {width} {height} {pitch} {xy} %d
OpReturn";

/// Fills in the block load with one part changed; `%p` and `%q` are the kernel's numbers.
fn load(part: &str, value: &str) -> String {
    let mut text = LOAD.replace(part, value);
    for (part, value) in [
        ("{x}", "%u0"),
        ("{y}", "%u0"),
        ("{more}", ""),
        ("{esz}", "%u2"),
        ("{w}", "%u16"),
        ("{h}", "%u8"),
        ("{c}", "%u2"),
        ("{base}", "%in"),
        ("{width}", "%u64"),
        ("{height}", "%u32"),
        ("{pitch}", "%u64"),
        ("{xy}", "%xy"),
    ] {
        text = text.replace(part, value);
    }
    kernel(VARS, &text)
}

fn run(text: &str, p: u32, q: u32) -> Result<(), SimError> {
    run_kernel(text, vec![7; 16 << 10], p, q).map(drop)
}

/// Expects a rule error whose text contains `says` and names the instruction.
fn breaks(result: Result<(), SimError>, rule: Rule, instruction: &str, says: &str) {
    let error = result.expect_err("the rule is broken");
    assert_eq!(error.rule(), Some(rule), "{error}");
    let text = error.to_string();
    assert!(text.contains(&rule.to_string()), "{text}");
    assert!(text.contains(instruction), "{text}");
    assert!(text.contains(says), "{text}");
}

const NAME: &str = "OpSubgroup2DBlockLoadINTEL";

#[test]
fn the_unchanged_load_is_fine() {
    run(&load("", ""), 0, 0).unwrap();
}

#[test]
fn base_alignment() {
    let moved =
        load("{base}", "%moved").replace("%xy = ", "%moved = OpInBoundsPtrAccessChain %pg %in %p\n%xy = ");
    run(&moved, 16, 0).unwrap();
    breaks(run(&moved, 4, 0), Rule::BaseAlignment, NAME, "the base is 0x");
}

#[test]
fn surface_width() {
    let text = load("{width}", "%p").replace("%in %p %u32 %u64", "%in %p %u32 %q");
    run(&text, 68, 80).unwrap();
    for width in [0, 32, 62, 66, 70, (1 << 24) + 4, u32::MAX] {
        breaks(run(&text, width, 1 << 24), Rule::SurfaceWidth, NAME, &format!("width is {width}"));
    }
}

#[test]
fn surface_height() {
    let text = load("{height}", "%p");
    run(&text, 1, 0).unwrap();
    for height in [0, (1 << 24) + 1] {
        breaks(run(&text, height, 0), Rule::SurfaceHeight, NAME, &format!("height is {height}"));
    }
}

#[test]
fn surface_pitch() {
    let text = load("{pitch}", "%p");
    run(&text, 80, 0).unwrap();
    for pitch in [0, 48, 72, 68, (1 << 24) + 16] {
        breaks(run(&text, pitch, 0), Rule::SurfacePitch, NAME, &format!("pitch is {pitch}"));
    }
}

#[test]
fn coordinate_alignment() {
    let text = load("{x}", "%p");
    run(&text, 2, 0).unwrap();
    run(&text, -2i32 as u32, 0).unwrap();
    breaks(run(&text, 3, 0), Rule::CoordinateAlignment, NAME, "x is 3, the element size 2");
    breaks(run(&text, u32::MAX, 0), Rule::CoordinateAlignment, NAME, "x is -1");
}

#[test]
fn operands_are_uniform() {
    let text = load("{y}", "%l");
    breaks(run(&text, 0, 0), Rule::Uniform, NAME, "y is 0x0 in lane 0 and 0x1 in lane 1");
    let text = load("{width}", "%w")
        .replace("%xy = ", "%l4 = OpIMul %uint %l %u4\n%w = OpIAdd %uint %u64 %l4\n%xy = ");
    breaks(run(&text, 0, 0), Rule::Uniform, NAME, "the surface width");
    let text = load("{base}", "%b").replace("%xy = ", "%b = OpInBoundsPtrAccessChain %pg %in %l\n%xy = ");
    breaks(run(&text, 0, 0), Rule::Uniform, NAME, "the base address");
    // Values that happen to agree are uniform, however they were computed.
    let text = load("{y}", "%yy").replace("%xy = ", "%yy = OpShiftRightLogical %uint %l %u4\n%xy = ");
    run(&text, 0, 0).unwrap();
}

#[test]
fn a_full_sub_group_is_needed() {
    breaks(
        run_kernel_sized(&load("", ""), vec![0; 4096], (0, 0), 12, 64).map(drop),
        Rule::FullSubgroup,
        NAME,
        "active lanes are 0x0fff",
    );
    let divergent = load("{more}", "%low = OpULessThan %bool %l %u8\nOpSelectionMerge %end None\nOpBranchConditional %low %then %end\n%then = OpLabel")
        .replace("OpReturn", "OpBranch %end\n%end = OpLabel\nOpReturn");
    breaks(run(&divergent, 0, 0), Rule::FullSubgroup, NAME, "active lanes are 0x00ff");
    let dpas = format!(
        "{LANE}\n%low = OpULessThan %bool %l %u8\nOpSelectionMerge %end None\nOpBranchConditional %low %then %end
%then = OpLabel\n%d = OpSubgroupMatrixMultiplyAccumulateINTEL %v8float %u16 %za %zb %zc 12288\nOpBranch %end\n%end = OpLabel\nOpReturn"
    );
    let nulls =
        "%za = OpConstantNull %v8ushort\n%zb = OpConstantNull %v8uint\n%zc = OpConstantNull %v8float\n";
    breaks(run(&kernel(nulls, &dpas), 0, 0), Rule::FullSubgroup, "OpSubgroupMatrixMultiply", "0x00ff");
}

#[test]
fn block_shapes_are_those_of_the_tables() {
    for (part, value, says) in [
        ("{w}", "%u3", "width 3"),
        ("{h}", "%u64", "height 64"),
        ("{c}", "%u4", "count 4"),
        ("{esz}", "%u3", "3-byte elements"),
        ("{h}", "%u0", "height 0"),
    ] {
        breaks(run(&load(part, value), 0, 0), Rule::BlockShape, NAME, says);
    }
    let store = load("", "").replace(
        &format!("{NAME} %u2 %u16 %u8 %u2 %in %u64 %u32 %u64 %xy %d"),
        "OpSubgroup2DBlockStoreINTEL %u2 %u16 %u8 %u2 %d %in %u64 %u32 %u64 %xy",
    );
    breaks(run(&store, 0, 0), Rule::BlockShape, "OpSubgroup2DBlockStoreINTEL", "count 2");
    let transpose = load("", "").replace(NAME, "OpSubgroup2DBlockLoadTransposeINTEL");
    breaks(run(&transpose, 0, 0), Rule::BlockShape, "TransposeINTEL", "2-byte elements");
}

#[test]
fn some_shapes_exist_on_some_hardware_only() {
    let text = load("{w}", "%u32")
        .replace(NAME, "OpSubgroup2DBlockLoadTransformINTEL")
        .replace("%u8 %u2 %in", "%u8 %u1 %in");
    breaks(run(&text, 0, 0), Rule::BlockShape, "TransformINTEL", "on Pvc");
    let module = module(&text).unwrap();
    let mut memory = Memory::new();
    let input = memory.map(vec![0; 4096], 0);
    let args = [Arg::Pointer(input), Arg::Pointer(input), Arg::U32(0), Arg::U32(0)];
    let launch = Launch { entry: "main", groups: [1, 1, 1], local: [16, 1, 1], args: &args };
    let options = Options { hardware: Hardware::Xe2, ..Options::default() };
    run_with(&module, &mut memory, &launch, &options).unwrap();
}

#[test]
fn dimensions_are_constants() {
    breaks(run(&load("{h}", "%p"), 8, 0), Rule::ConstantOperand, NAME, "is not a constant");
}

#[test]
fn rows_inside_the_surface_are_inside_the_allocation() {
    // 32 rows of 512 bytes fill the 16 KiB exactly; the block is 8 high at row 24.
    let text = load("{y}", "%p").replace("%u64 %u32 %u64 %xy", "%u64 %q %w512 %xy");
    let text = text.replace("%arr8 =", "%w512 = OpConstant %uint 512\n%arr8 =");
    run(&text, 24, 32).unwrap();
    breaks(run(&text, 25, 33), Rule::OutOfBounds, NAME, "64 bytes at 0x");
    // Rows beyond the surface are never touched, whatever lies there.
    run(&text, 25, 32).unwrap();
    // A width rounded up beyond the last row's last byte is caught where a block reaches it.
    let text = load("{width}", "%p")
        .replace("%p %u32 %u64 %xy", "%p %q %w512 %xy")
        .replace("%arr8 =", "%w512 = OpConstant %uint 512\n%arr8 =");
    let last = text
        .replace("OpCompositeConstruct %v2uint %u0 %u0", "OpCompositeConstruct %v2uint %u232 %u24")
        .replace("%arr8 =", "%u232 = OpConstant %uint 232\n%u24 = OpConstant %uint 24\n%arr8 =");
    run(&last, 512, 32).unwrap();
    let short = run_kernel(&last, vec![0; (16 << 10) - 16], 512, 32).map(drop);
    breaks(short, Rule::OutOfBounds, NAME, "48 bytes at 0x");
    run_kernel(&last, vec![0; (16 << 10) - 16], 496, 32).unwrap();
    let prefetch =
        load("{height}", "%p").replace(NAME, "OpSubgroup2DBlockPrefetchINTEL").replace(" %xy %d", " %xy");
    run(&prefetch, 32, 0).unwrap();
    let far = prefetch.replace("OpCompositeConstruct %v2uint %u0 %u0", "OpCompositeConstruct %v2uint %u0 %q");
    breaks(run(&far, 1 << 20, 1 << 18), Rule::OutOfBounds, "OpSubgroup2DBlockPrefetchINTEL", "at 0x");
}

#[test]
fn the_destination_holds_the_block() {
    let text = load("", "").replace("%arr8 = OpTypeArray %v8ushort %u8", "%arr8 = OpTypeArray %v8ushort %u1");
    breaks(run(&text, 0, 0), Rule::OutOfBounds, NAME, "32 bytes at offset 0 of variable");
}

#[test]
fn per_lane_accesses_are_bounded_and_aligned() {
    let body = format!(
        "{LANE}\n%a = OpInBoundsPtrAccessChain %pg %in %p\n%v = OpLoad %uint %a\nOpStore %mine %v\nOpReturn"
    );
    run(&kernel("", &body), 4095, 0).unwrap();
    breaks(run(&kernel("", &body), 4096, 0), Rule::OutOfBounds, "OpLoad", "4 bytes at 0x");
    breaks(run(&kernel("", &body), u32::MAX, 0), Rule::OutOfBounds, "OpLoad", "4 bytes at 0x");
    let odd = body.replace(
        "%a = OpInBoundsPtrAccessChain %pg %in %p",
        "%b = OpBitcast %pg8 %in\n%c = OpInBoundsPtrAccessChain %pg8 %b %p\n%a = OpBitcast %pg %c",
    );
    run(&kernel("", &odd), 4, 0).unwrap();
    breaks(run(&kernel("", &odd), 2, 0), Rule::Alignment, "OpLoad", "alignment 4");
    run(&kernel("", &odd.replace("OpLoad %uint %a", "OpLoad %uint %a Aligned 2")), 2, 0).unwrap();
    let scatter = format!(
        "{LANE}\n%b = OpBitcast %pg8 %out\n%i = OpIMul %uint %l %p\n%c = OpInBoundsPtrAccessChain %pg8 %b %i\n%a = OpBitcast %pg %c\nOpStore %a %l\nOpReturn"
    );
    run(&kernel("", &scatter), 16, 0).unwrap();
    breaks(run(&kernel("", &scatter), 3, 0), Rule::Alignment, "OpStore", "alignment 4");
    breaks(run(&kernel("", &scatter), 32, 0), Rule::OutOfBounds, "OpStore", "4 bytes at 0x");
    // Lanes that are switched off may hold any address.
    let guarded = format!(
        "{LANE}\n%i = OpIMul %uint %l %p\n%a = OpInBoundsPtrAccessChain %pg %out %i\n%ok = OpULessThan %bool %i %u64\nOpSelectionMerge %end None\nOpBranchConditional %ok %then %end\n%then = OpLabel\nOpStore %a %l\nOpBranch %end\n%end = OpLabel\nOpReturn"
    );
    run(&kernel("", &guarded), 10, 0).unwrap();
}

#[test]
fn read_only_memory_is_not_written() {
    let module = module(&kernel("", &format!("{LANE}\nOpStore %mine %l\nOpReturn"))).unwrap();
    let mut memory = Memory::new();
    let out = memory.map(vec![0; 64], 0);
    memory.protect(out);
    let args = [Arg::Pointer(out), Arg::Pointer(out), Arg::U32(0), Arg::U32(0)];
    let launch = Launch { entry: "main", groups: [1, 1, 1], local: [16, 1, 1], args: &args };
    let result = run_with(&module, &mut memory, &launch, &Options::default()).map(drop);
    breaks(result, Rule::ReadOnly, "OpStore", "read-only");
    let body = format!("{LANE}\nOpStore %lane %l\nOpReturn");
    breaks(run(&kernel("", &body), 0, 0), Rule::ReadOnly, "OpStore", "built-in");
}

#[test]
fn built_ins_have_their_types() {
    let body = "OpReturn";
    for (from, to, says) in [
        ("%wg = OpVariable %piv3", "%wg = OpVariable %piw", "WorkgroupId is 3 x 32 bits"),
        ("%lid = OpVariable %piv3", "%lid = OpVariable %piw", "LocalInvocationId is 3 x 32 bits"),
        ("%gid = OpVariable %piv3", "%gid = OpVariable %piw", "GlobalInvocationId is 3 x 32 bits"),
        ("%sg = OpVariable %piuint", "%sg = OpVariable %pil", "SubgroupId is 1 x 64 bits"),
    ] {
        let text = kernel("", body).replace(from, to).replace(
            "%lane = OpVariable",
            "%v3uint = OpTypeVector %uint 3\n%piw = OpTypePointer Input %v3uint\n%pil = OpTypePointer Input %ulong\n%lane = OpVariable",
        );
        breaks(run(&text, 0, 0), Rule::BuiltInType, "OpVariable", says);
    }
}

#[test]
fn capabilities_and_extensions_are_declared() {
    let without = |line: &str| load("", "").replace(&format!("{line}\n"), "");
    breaks(
        run(
            &without("OpCapability Subgroup2DBlockIOINTEL")
                .replace("OpCapability Subgroup2DBlockTransformINTEL\n", "")
                .replace("OpCapability Subgroup2DBlockTransposeINTEL\n", ""),
            0,
            0,
        ),
        Rule::Capability,
        NAME,
        "needs Subgroup2DBlockIOINTEL",
    );
    breaks(
        run(&without("OpExtension \"SPV_INTEL_2d_block_io\""), 0, 0),
        Rule::Extension,
        NAME,
        "SPV_INTEL_2d_block_io",
    );
    for (line, says) in [
        ("OpCapability Int16", "Int16"),
        ("OpCapability Int8", "Int8"),
        ("OpCapability Int64", "Int64"),
        ("OpCapability Float16", "Float16"),
        ("OpCapability Float64", "Float64"),
        ("OpCapability Vector16", "Vector16"),
    ] {
        breaks(run(&without(line), 0, 0), Rule::Capability, "OpType", says);
    }
    let transform = without("OpCapability Subgroup2DBlockTransformINTEL")
        .replace(NAME, "OpSubgroup2DBlockLoadTransformINTEL");
    breaks(run(&transform, 0, 0), Rule::Capability, "TransformINTEL", "Subgroup2DBlockTransformINTEL");
}

#[test]
fn what_the_simulator_does_not_know_is_unsupported_by_name() {
    let unsupported = |text: String, says: &str| match run(&text, 0, 0).unwrap_err() {
        error @ SimError::Unsupported { .. } => assert!(error.to_string().contains(says), "{error}"),
        other => panic!("{other}"),
    };
    unsupported(
        kernel("", "%f = OpBitcast %float %p\n%g = OpExtInst %float %std lgamma %f\nOpReturn"),
        "lgamma",
    );
    unsupported(
        kernel("", "%x = OpGetKernelWorkGroupSize %uint %main %u0 %u1 %u1\nOpReturn"),
        "OpGetKernelWorkGroupSize",
    );
    unsupported(kernel("", "OpReturn").replace("SubgroupSize 16", "SubgroupSize 32"), "sub-group size 32");
    unsupported(kernel("", "OpReturn").replace("Physical64", "Physical32"), "memory model");
    unsupported(kernel("%x = OpTypeSampler\n", "OpReturn"), "OpTypeSampler");
    // An opcode that nobody knows.
    let mut words = support::asm::assemble(&kernel("", "OpReturn"));
    words.push(1 << 16 | 0xfff0);
    let error = tile_sim::Module::parse(&words).unwrap_err();
    assert!(matches!(error, SimError::Unsupported { .. }) && error.to_string().contains("65520"), "{error}");
}

#[test]
fn unreachable_is_never_executed() {
    let body = "%c = OpIEqual %bool %p %u0\nOpSelectionMerge %end None\nOpBranchConditional %c %end %bad\n%bad = OpLabel\nOpUnreachable\n%end = OpLabel\nOpReturn";
    run(&kernel("", body), 0, 0).unwrap();
    breaks(run(&kernel("", body), 1, 0), Rule::Unreachable, "OpUnreachable", "executed");
}

#[test]
fn endless_loops_reach_the_step_limit() {
    let body = "OpBranch %head\n%head = OpLabel\nOpLoopMerge %end %next None\nOpBranch %next\n%next = OpLabel\nOpBranch %head\n%end = OpLabel\nOpReturn";
    let error = run(&kernel("", body), 0, 0).unwrap_err();
    assert!(matches!(error, SimError::StepLimit { limit: 1_000_000, .. }), "{error}");
}

#[test]
fn launches_fit_the_kernel() {
    let module = module(&kernel("", "OpReturn")).unwrap();
    let good = [Arg::Pointer(0), Arg::Pointer(0), Arg::U32(0), Arg::I32(-1)];
    let try_it = |entry: &str, local: [u32; 3], args: &[Arg]| {
        let launch = Launch { entry, groups: [1, 1, 1], local, args };
        run_with(&module, &mut Memory::new(), &launch, &Options::default())
    };
    try_it("main", [16, 1, 1], &good).unwrap();
    for (entry, local, args, says) in [
        ("gemm", [16, 1, 1], &good[..], "it has: main"),
        ("main", [0, 1, 1], &good[..], "0 work-items"),
        ("main", [4096, 1, 1], &good[..], "4096 work-items"),
        ("main", [16, 1, 1], &good[..3], "takes 4 arguments, 3 are given"),
        ("main", [16, 1, 1], &[Arg::U64(0), good[1], good[2], good[3]][..], "argument 0 is U64(0)"),
        ("main", [16, 1, 1], &[good[0], good[1], Arg::F32(1.0), good[3]][..], "takes a 32-bit integer"),
    ] {
        let error = try_it(entry, local, args).unwrap_err();
        assert!(matches!(error, SimError::Launch { .. }) && error.to_string().contains(says), "{error}");
    }
    let text = kernel("", "OpReturn")
        .replace("SubgroupSize 16", "SubgroupSize 16\nOpExecutionMode %main LocalSize 32 1 1");
    let module = support::module(&text).unwrap();
    let launch = Launch { entry: "main", groups: [1, 1, 1], local: [16, 1, 1], args: &good };
    let error = run_with(&module, &mut Memory::new(), &launch, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("requires work-groups of [32, 1, 1]"), "{error}");
    let none = Launch { entry: "main", groups: [0, 1, 1], local: [32, 1, 1], args: &good };
    assert_eq!(run_with(&module, &mut Memory::new(), &none, &Options::default()).unwrap().steps, 0);
}

#[test]
fn entry_points_say_what_they_take() {
    let module = module(&format!("{PREAMBLE}{TYPES}%main = OpFunction %void None %fn\n%a = OpFunctionParameter %pg\n%b = OpFunctionParameter %pg\n%c = OpFunctionParameter %uint\n%d = OpFunctionParameter %uint\n%e = OpLabel\nOpReturn\nOpFunctionEnd\n")).unwrap();
    let (name, params) = module.entry_points().next().unwrap();
    assert_eq!(name, "main");
    assert_eq!(
        params.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        "a pointer to global memory, a pointer to global memory, a 32-bit integer, a 32-bit integer"
    );
}
