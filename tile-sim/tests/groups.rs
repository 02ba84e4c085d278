//! Instructions across lanes, and memory beyond plain loads: atomics, private arrays, constants, linear block
//! reads.

mod support;

use support::{LANE, kernel, run_kernel, run_kernel_sized};
use tile_sim::{Arg, Launch, Memory, Options, Rule, run_with};

fn lanes(extra: &str, body: &str, p: u32, q: u32) -> Result<Vec<u32>, tile_sim::SimError> {
    let input: Vec<u8> = (0..1024u32).flat_map(|i| (i * 5 + 1).to_le_bytes()).collect();
    let text = kernel(extra, &format!("{LANE}\n{body}\nOpReturn"));
    run_kernel(&text, input, p, q).map(|(out, _)| out)
}

fn check(extra: &str, body: &str, want: impl Fn(u32) -> u32) {
    let out = lanes(extra, body, 3, 7).unwrap();
    for l in 0..16 {
        assert_eq!(out[l as usize], want(l), "lane {l}: {body}");
    }
}

#[test]
fn reductions_and_scans() {
    let reduce = |op: &str, kind: &str| {
        format!("%x = OpIMul %uint %l %u3\n%r = {op} %uint %u3 {kind} %x\nOpStore %mine %r")
    };
    check("", &reduce("OpGroupIAdd", "Reduce"), |_| 3 * 120);
    check("", &reduce("OpGroupUMax", "Reduce"), |_| 45);
    check("", &reduce("OpGroupNonUniformUMin", "Reduce"), |_| 0);
    check("", &reduce("OpGroupIAdd", "InclusiveScan"), |l| 3 * l * (l + 1) / 2);
    check("", &reduce("OpGroupNonUniformIAdd", "ExclusiveScan"), |l| 3 * l * (l + 1) / 2 - 3 * l);
    check("", &reduce("OpGroupNonUniformBitwiseXor", "Reduce"), |_| (0..16).fold(0, |x, l| x ^ (3 * l)));
    let clustered = "%r = OpGroupNonUniformIAdd %uint %u3 ClusteredReduce %l %u4\nOpStore %mine %r";
    check("", clustered, |l| (l / 4 * 4..l / 4 * 4 + 4).sum());
    let float = "%f = OpConvertUToF %float %l\n%s = OpGroupFAdd %float %u3 Reduce %f\n%m = OpGroupFMax %float %u3 Reduce %f
%t = OpFAdd %float %s %m\n%r = OpConvertFToU %uint %t\nOpStore %mine %r";
    check("", float, |_| 135);
    let min = "%f = OpConvertSToF %float %l\n%n = OpFNegate %float %f\n%m = OpGroupFMin %float %u3 Reduce %n\n%r = OpConvertFToS %uint %m\nOpStore %mine %r";
    check("", min, |_| -15i32 as u32);
}

#[test]
fn reductions_of_active_lanes_only() {
    let body = "%c = OpUGreaterThan %bool %l %u9\nOpSelectionMerge %end None\nOpBranchConditional %c %a %end
%a = OpLabel\n%r = OpGroupNonUniformIAdd %uint %u3 Reduce %l\nOpStore %mine %r\nOpBranch %end\n%end = OpLabel";
    check("", body, |l| if l > 9 { (10..16).sum() } else { 0 });
}

#[test]
fn votes_broadcasts_and_shuffles() {
    let vote = |op: &str| {
        format!(
            "%c = OpULessThan %bool %l %p\n%v = {op} %bool %u3 %c\n%r = OpSelect %uint %v %u1 %u0\nOpStore %mine %r"
        )
    };
    check("", &vote("OpGroupAny"), |_| 1);
    check("", &vote("OpGroupAll"), |_| 0);
    check(
        "",
        "%c = OpULessThan %bool %l %u5\n%v = OpGroupNonUniformBallot %v4uint %u3 %c\n%r = OpCompositeExtract %uint %v 0\nOpStore %mine %r",
        |_| 0b11111,
    );
    check(
        "",
        "%v = OpGroupNonUniformElect %bool %u3\n%r = OpSelect %uint %v %u1 %u0\nOpStore %mine %r",
        |l| u32::from(l == 0),
    );
    check("", "%x = OpIMul %uint %l %u9\n%r = OpGroupBroadcast %uint %u3 %x %p\nOpStore %mine %r", |_| 27);
    check(
        "",
        "%x = OpIMul %uint %l %u9\n%r = OpGroupNonUniformShuffleXor %uint %u3 %x %u5\nOpStore %mine %r",
        |l| 9 * (l ^ 5),
    );
    check(
        "",
        "%y = OpBitwiseXor %uint %l %u1\n%x = OpIMul %uint %l %u9\n%r = OpSubgroupShuffleINTEL %uint %x %y\nOpStore %mine %r",
        |l| 9 * (l ^ 1),
    );
    check(
        "",
        "%x = OpIMul %uint %l %u9\n%r = OpSubgroupShuffleDownINTEL %uint %x %l %u3\nOpStore %mine %r",
        |l| {
            if l + 3 < 16 { 9 * (l + 3) } else { l + 3 - 16 }
        },
    );
    check(
        "",
        "%x = OpIMul %uint %l %u9\n%r = OpSubgroupShuffleUpINTEL %uint %x %l %u3\nOpStore %mine %r",
        |l| {
            if l >= 3 { l - 3 } else { 9 * (l + 13) }
        },
    );
    let error = lanes("", "%r = OpGroupBroadcast %uint %u3 %l %l\nOpStore %mine %r", 0, 0).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::Uniform), "{error}");
    let error = lanes(
        "",
        "%x = OpIAdd %uint %l %u1\n%r = OpGroupNonUniformShuffle %uint %u3 %l %x\nOpStore %mine %r",
        0,
        0,
    )
    .unwrap_err();
    assert_eq!(error.rule(), Some(Rule::IndexRange), "{error}");
    let error = lanes("", "%r = OpGroupIAdd %uint %u2 Reduce %l\nOpStore %mine %r", 0, 0).unwrap_err();
    assert!(error.to_string().contains("scope 2"), "{error}");
}

#[test]
fn atomics_take_turns() {
    let body = "%old = OpAtomicIAdd %uint %out %u1 %u0 %l\nOpStore %mine %old";
    let text = kernel(
        "",
        &format!(
            "{LANE}\n%base = OpInBoundsPtrAccessChain %pg %out %u32\n%old = OpAtomicIAdd %uint %base %u1 %u0 %l\nOpStore %mine %old\nOpReturn"
        ),
    );
    let _ = body;
    let (out, _) = run_kernel_sized(&text, vec![0; 64], (0, 0), 16, 64).unwrap();
    assert_eq!(out[32], 120);
    for l in 0..16u32 {
        assert_eq!(out[l as usize], (0..l).sum::<u32>(), "lane {l}");
    }
    let float = "%b = OpBitcast %pgf %out\n%a = OpInBoundsPtrAccessChain %pgf %b %u32\n%f = OpConvertUToF %float %l
%o = OpAtomicFAddEXT %float %a %u1 %u0 %f\n%a2 = OpInBoundsPtrAccessChain %pgf %b %u16\n%o2 = OpAtomicFMaxEXT %float %a2 %u1 %u0 %f";
    let out = lanes("", float, 0, 0).unwrap();
    assert_eq!((f32::from_bits(out[32]), f32::from_bits(out[16])), (120.0, 15.0));
    let exchange = "%a = OpInBoundsPtrAccessChain %pg %out %u32\n%o = OpAtomicCompareExchange %uint %a %u1 %u0 %u0 %l %p\nOpStore %mine %o";
    // Memory starts at 0 and p is 0: lane 0 swaps in 0, lane 1 swaps in 1, later lanes see 1.
    let out = lanes("", exchange, 0, 0).unwrap();
    assert_eq!(out[32], 1);
    assert_eq!(out[..4], [0, 0, 1, 1]);
}

#[test]
fn private_arrays_are_per_lane_and_bounded() {
    let types = "%arr = OpTypeArray %uint %u8\n%parr = OpTypePointer Function %arr\n%pu = OpTypePointer Function %uint\n%ps = OpTypePointer Function %ushort\n";
    let body = "%i = OpBitwiseAnd %uint %l %u7\n%e = OpInBoundsAccessChain %pu %v %i\nOpStore %e %l
%f = OpBitcast %ps %e\n%g = OpLoad %ushort %f\n%r = OpUConvert %uint %g\nOpStore %mine %r";
    let with = |body: &str| format!("%v = OpVariable %parr Function\n{LANE}\n{body}\nOpReturn");
    let (out, _) = run_kernel(&kernel(types, &with(body)), vec![0; 64], 0, 0).unwrap();
    assert_eq!(out[..16], (0..16).collect::<Vec<u32>>());
    let over = "%e = OpInBoundsAccessChain %pu %v %l\nOpStore %e %l";
    let error = run_kernel(&kernel(types, &with(over)), vec![0; 64], 0, 0).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::OutOfBounds), "{error}");
    assert!(error.to_string().contains("offset 32 of variable"), "{error}");
    let init = "%nul = OpConstantNull %arr\n";
    let text = kernel(
        &format!("{types}{init}"),
        &with("%e = OpInBoundsAccessChain %pu %v %u3\n%r = OpLoad %uint %e\nOpStore %mine %r"),
    );
    let (out, _) = run_kernel(
        &text.replace("%v = OpVariable %parr Function", "%v = OpVariable %parr Function %nul"),
        vec![0; 64],
        0,
        0,
    )
    .unwrap();
    assert_eq!(out[0], 0);
    let (out, _) = run_kernel(&text, vec![0; 64], 0, 0).unwrap();
    assert_eq!(out[0], 0xffc0_dead, "fresh private memory holds a pattern");
}

#[test]
fn whole_structs_and_vectors_move() {
    let types = "%pair = OpTypeStruct %ushort %v4uint\n%ppair = OpTypePointer CrossWorkgroup %pair\n%pv4 = OpTypePointer CrossWorkgroup %v4uint\n%pvp = OpTypePointer Function %pair\n";
    // The struct has its vector at byte 16; in[i] = 5 i + 1.
    let body = format!(
        "%v = OpVariable %pvp Function\n{LANE}\n%b = OpBitcast %ppair %in\n%a = OpInBoundsPtrAccessChain %ppair %b %l\n%x = OpLoad %pair %a\nOpStore %v %x\n%y = OpLoad %pair %v
%s = OpCompositeExtract %ushort %y 0\n%w = OpCompositeExtract %uint %y 1 2\n%m = OpInBoundsPtrAccessChain %pv4 %b4 %l %u3\n%n = OpLoad %uint %m
%su = OpUConvert %uint %s\n%t = OpIAdd %uint %su %w\n%r = OpIMul %uint %t %n\nOpStore %mine %r\nOpReturn"
    ).replace("%m = OpInBoundsPtrAccessChain %pv4", "%b4 = OpBitcast %pv4 %in\n%m = OpInBoundsPtrAccessChain %pg");
    let input: Vec<u8> = (0..1024u32).flat_map(|i| (i * 5 + 1).to_le_bytes()).collect();
    let (out, _) = run_kernel(&kernel(types, &body), input, 0, 0).unwrap();
    for l in 0..16u32 {
        let word = |i: u32| i * 5 + 1;
        assert_eq!(out[l as usize], (word(8 * l) + word(8 * l + 6)) * word(4 * l + 3), "lane {l}");
    }
}

#[test]
fn linear_block_reads_and_writes() {
    let types = "%pv = OpTypePointer CrossWorkgroup %uint\n";
    let body = "%v = OpSubgroupBlockReadINTEL %v4uint %in\n%w = OpIAdd %v4uint %v %v\nOpSubgroupBlockWriteINTEL %out %w\nOpSubgroupBlockPrefetchINTEL %in %u16";
    let out = lanes(types, body, 0, 0).unwrap();
    for (i, value) in out.iter().enumerate() {
        assert_eq!(*value, 2 * (i as u32 * 5 + 1), "word {i}");
    }
    let shifted = "%a = OpInBoundsPtrAccessChain %pg %out %u1\nOpSubgroupBlockWriteINTEL %a %l";
    let error = lanes("", shifted, 0, 0).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::Alignment), "{error}");
    let error = lanes("", "OpSubgroupBlockPrefetchINTEL %in %u32", 0, 0).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::BlockShape), "{error}");
}

#[test]
fn constant_tables_and_local_arguments() {
    let types = "%arr = OpTypeArray %uint %u4\n%parr = OpTypePointer UniformConstant %arr\n%pu = OpTypePointer UniformConstant %uint
%table = OpConstantComposite %arr %u9 %u7 %u5 %u3\n%t = OpVariable %parr UniformConstant %table\n";
    check(
        types,
        "%i = OpBitwiseAnd %uint %l %u3\n%e = OpInBoundsAccessChain %pu %t %i\n%r = OpLoad %uint %e\nOpStore %mine %r",
        |l| 9 - 2 * (l % 4),
    );
    let text = kernel("%plocal = OpTypePointer Workgroup %uint\n%fnl = OpTypeFunction %void %pg %plocal %uint %uint\n", &format!("{LANE}\n%a = OpInBoundsPtrAccessChain %plocal %in %l\nOpStore %a %l\n%b = OpInBoundsPtrAccessChain %plocal %in %p\n%r = OpLoad %uint %b\nOpStore %mine %r\nOpReturn"))
        .replace("OpFunction %void None %fn\n", "OpFunction %void None %fnl\n")
        .replace("%in = OpFunctionParameter %pg", "%in = OpFunctionParameter %plocal");
    let module = support::module(&text).unwrap();
    let mut memory = Memory::new();
    let out = memory.map(vec![0; 64], 0);
    let run = |memory: &mut Memory, bytes: u32| {
        let args = [Arg::Pointer(out), Arg::Local(bytes), Arg::U32(5), Arg::U32(0)];
        let launch = Launch { entry: "main", groups: [1, 1, 1], local: [16, 1, 1], args: &args };
        run_with(&module, memory, &launch, &Options::default())
    };
    run(&mut memory, 64).unwrap();
    assert_eq!(memory.bytes(out)[..4], [5, 0, 0, 0]);
    assert_eq!(run(&mut memory, 60).unwrap_err().rule(), Some(Rule::OutOfBounds));
}
