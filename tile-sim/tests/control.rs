//! Divergence, loops, calls and barriers: what each lane computes, against the same program in Rust.

mod support;

use support::{LANE, kernel, run_kernel, run_kernel_sized};
use tile_sim::{Rule, SimError};

/// Runs a kernel on one sub-group and compares `out[lane]` with a closure.
fn check(body: &str, (p, q): (u32, u32), want: impl Fn(u32) -> u32) {
    let (out, _) = run_kernel(&kernel("", &format!("{LANE}\n{body}")), vec![0; 4096], p, q).unwrap();
    for l in 0..16 {
        assert_eq!(out[l as usize], want(l), "lane {l}");
    }
}

#[test]
fn selections_nest_and_reconverge() {
    let body = "%low = OpULessThan %bool %l %u8
OpSelectionMerge %end None
OpBranchConditional %low %a %b
%a = OpLabel
%odd = OpBitwiseAnd %uint %l %u1
%isodd = OpINotEqual %bool %odd %u0
OpSelectionMerge %amerge None
OpBranchConditional %isodd %aodd %aeven
%aodd = OpLabel
%x1 = OpIMul %uint %l %u3
OpBranch %amerge
%aeven = OpLabel
%x2 = OpIAdd %uint %l %u64
OpBranch %amerge
%amerge = OpLabel
%x = OpPhi %uint %x1 %aodd %x2 %aeven
%x3 = OpIAdd %uint %x %u1
OpBranch %end
%b = OpLabel
%y = OpISub %uint %u32 %l
OpBranch %end
%end = OpLabel
%r = OpPhi %uint %x3 %amerge %y %b
%sum = OpGroupIAdd %uint %u3 Reduce %u1
%s = OpIMul %uint %r %sum
OpStore %mine %s
OpReturn";
    // The reduction after the merge needs all lanes back together.
    check(body, (0, 0), |l| {
        16 * if l >= 8 {
            32 - l
        } else if l % 2 == 1 {
            3 * l + 1
        } else {
            l + 65
        }
    });
}

#[test]
fn a_merge_block_may_stand_before_its_branches() {
    let body = "%low = OpULessThan %bool %l %u5
OpSelectionMerge %end None
OpBranchConditional %low %a %b
%end = OpLabel
%r = OpPhi %uint %x %a %y %b
%n = OpGroupNonUniformIAdd %uint %u3 Reduce %u1
%s = OpIAdd %uint %r %n
OpStore %mine %s
OpReturn
%b = OpLabel
%y = OpIMul %uint %l %u2
OpBranch %end
%a = OpLabel
%x = OpIMul %uint %l %u9
OpBranch %end";
    check(body, (0, 0), |l| if l < 5 { 9 * l + 16 } else { 2 * l + 16 });
}

#[test]
fn loops_run_per_lane_and_keep_left_lanes_values() {
    // Lane l loops l times; `last` is defined in the loop and used after it.
    let body = "OpBranch %head
%head = OpLabel
%i = OpPhi %uint %u0 %entry %i1 %next
%sum = OpPhi %uint %u0 %entry %sum1 %next
%twice = OpIMul %uint %i %u2
%go = OpULessThan %bool %i %l
OpLoopMerge %end %next None
OpBranchConditional %go %body %end
%body = OpLabel
%sum1 = OpIAdd %uint %sum %i
OpBranch %next
%next = OpLabel
%i1 = OpIAdd %uint %i %u1
OpBranch %head
%end = OpLabel
%n = OpGroupIAdd %uint %u3 Reduce %u1
%a = OpIAdd %uint %sum %twice
%r = OpIMul %uint %a %n
OpStore %mine %r
OpReturn";
    check(body, (0, 0), |l| 16 * ((0..l).sum::<u32>() + 2 * l));
}

#[test]
fn lanes_that_left_a_loop_wait_for_the_others() {
    // The exit is the first target here, so a plain walk of the graph would run it before the body.
    let body = "OpBranch %head
%head = OpLabel
%i = OpPhi %uint %u0 %entry %i1 %next
%done = OpUGreaterThanEqual %bool %i %l
OpLoopMerge %end %next None
OpBranchConditional %done %end %body
%body = OpLabel
OpBranch %next
%next = OpLabel
%i1 = OpIAdd %uint %i %u1
OpBranch %head
%end = OpLabel
%n = OpGroupIAdd %uint %u3 Reduce %i
OpStore %mine %n
OpReturn";
    check(body, (0, 0), |_| 120);
}

#[test]
fn breaks_and_continues_inside_selections() {
    // for i in 0..p { if i == l { break } if i is even { continue } sum += i }
    let body = "OpBranch %head
%head = OpLabel
%i = OpPhi %uint %u0 %entry %i1 %next
%sum = OpPhi %uint %u0 %entry %carried %next
OpLoopMerge %end %next None
OpBranch %test
%test = OpLabel
%go = OpULessThan %bool %i %p
OpBranchConditional %go %body %end
%body = OpLabel
%here = OpIEqual %bool %i %l
OpSelectionMerge %on None
OpBranchConditional %here %stop %on
%stop = OpLabel
OpBranch %end
%on = OpLabel
%bit = OpBitwiseAnd %uint %i %u1
%even = OpIEqual %bool %bit %u0
OpSelectionMerge %add None
OpBranchConditional %even %skip %add
%skip = OpLabel
OpBranch %next
%add = OpLabel
%sum1 = OpIAdd %uint %sum %i
OpBranch %next
%next = OpLabel
%carried = OpPhi %uint %sum %skip %sum1 %add
%i1 = OpIAdd %uint %i %u1
OpBranch %head
%end = OpLabel
%all = OpGroupIAdd %uint %u3 Reduce %sum
%r = OpIAdd %uint %sum %all
OpStore %mine %r
OpReturn";
    let sum = |l: u32, p: u32| (0..p.min(l)).filter(|i| i % 2 == 1).sum::<u32>();
    for p in [0, 1, 7, 40] {
        let all: u32 = (0..16).map(|l| sum(l, p)).sum();
        check(body, (p, 0), |l| sum(l, p) + all);
    }
}

#[test]
fn lanes_return_early_and_switches_split() {
    let body = "%gone = OpUGreaterThan %bool %l %p
OpSelectionMerge %on None
OpBranchConditional %gone %leave %on
%leave = OpLabel
OpStore %mine %u9
OpReturn
%on = OpLabel
%k = OpBitwiseAnd %uint %l %u3
OpSelectionMerge %end None
OpSwitch %k %other 0 %zero 1 %one 2 %one
%zero = OpLabel
OpBranch %end
%one = OpLabel
%a = OpIMul %uint %l %u5
OpBranch %end
%other = OpLabel
OpBranch %end
%end = OpLabel
%r = OpPhi %uint %u1 %zero %a %one %u7 %other
%n = OpGroupNonUniformIAdd %uint %u3 Reduce %u1
%s = OpIAdd %uint %r %n
OpStore %mine %s
OpReturn";
    check(body, (11, 0), |l| match (l > 11, l % 4) {
        (true, _) => 9,
        (_, 0) => 13,
        (_, 1 | 2) => 5 * l + 12,
        _ => 19,
    });
}

#[test]
fn phis_of_one_block_swap() {
    let body = "OpBranch %head
%head = OpLabel
%i = OpPhi %uint %u0 %entry %i1 %head
%a = OpPhi %uint %l %entry %b %head
%b = OpPhi %uint %q %entry %a %head
%i1 = OpIAdd %uint %i %u1
%go = OpULessThan %bool %i1 %p
OpLoopMerge %end %head None
OpBranchConditional %go %head %end
%end = OpLabel
OpStore %mine %a
OpReturn";
    check(body, (4, 77), |_| 77);
    check(body, (5, 77), |l| l);
}

/// `f(x) = if x < 4 { return x * 9 } ; loop until x >= 64 { x *= 2 } ; return x`, called by diverged lanes.
fn calls() -> String {
    let body = format!(
        "{LANE}\n%low = OpULessThan %bool %l %u8
OpSelectionMerge %end None
OpBranchConditional %low %a %b
%a = OpLabel
%x = OpFunctionCall %uint %f %l
OpBranch %end
%b = OpLabel
%y = OpFunctionCall %uint %f %u3
OpBranch %end
%end = OpLabel
%r = OpPhi %uint %x %a %y %b
%n = OpGroupIAdd %uint %u3 Reduce %u1
%s = OpIAdd %uint %r %n
OpStore %mine %s
OpReturn
OpFunctionEnd
%f = OpFunction %uint None %fnu
%arg = OpFunctionParameter %uint
%fentry = OpLabel
%slot = OpVariable %pfu Function
OpStore %slot %arg
%small = OpULessThan %bool %arg %u4
OpSelectionMerge %fon None
OpBranchConditional %small %fret %fon
%fret = OpLabel
%nine = OpIMul %uint %arg %u9
OpReturnValue %nine
%fon = OpLabel
OpBranch %fhead
%fhead = OpLabel
%now = OpLoad %uint %slot
%more = OpULessThan %bool %now %u64
OpLoopMerge %fend %fnext None
OpBranchConditional %more %fnext %fend
%fnext = OpLabel
%dbl = OpIMul %uint %now %u2
OpStore %slot %dbl
OpBranch %fhead
%fend = OpLabel
%final = OpLoad %uint %slot
OpReturnValue %final"
    );
    kernel("%fnu = OpTypeFunction %uint %uint\n%pfu = OpTypePointer Function %uint\n", &body)
}

#[test]
fn functions_are_called_by_diverged_lanes() {
    let f = |mut x: u32| {
        if x < 4 {
            return x * 9;
        }
        while x < 64 {
            x *= 2;
        }
        x
    };
    let (out, _) = run_kernel(&calls(), vec![0; 64], 0, 0).unwrap();
    for l in 0..16u32 {
        assert_eq!(out[l as usize], 16 + if l < 8 { f(l) } else { f(3) }, "lane {l}");
    }
}

#[test]
fn recursion_is_malformed() {
    let text = calls().replace("%nine = OpIMul %uint %arg %u9", "%nine = OpFunctionCall %uint %f %arg");
    let error = run_kernel(&text, vec![0; 64], 0, 0).unwrap_err();
    assert!(
        matches!(error, SimError::Malformed { .. }) && error.to_string().contains("recursive"),
        "{error}"
    );
}

#[test]
fn a_divergent_branch_without_merge_is_unsupported_and_a_uniform_one_is_not() {
    let body = |cond: &str| {
        format!(
            "{LANE}\n%c = OpULessThan %bool {cond} %u8\nOpBranchConditional %c %a %b\n%a = OpLabel\nOpStore %mine %u1
OpReturn\n%b = OpLabel\nOpStore %mine %u2\nOpReturn"
        )
    };
    let (out, _) = run_kernel(&kernel("", &body("%p")), vec![0; 64], 9, 0).unwrap();
    assert_eq!(out[..16], [2; 16]);
    let error = run_kernel(&kernel("", &body("%l")), vec![0; 64], 0, 0).unwrap_err();
    assert!(matches!(error, SimError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("without a merge block"), "{error}");
}

#[test]
fn sub_group_reductions_need_all_lanes() {
    let body = format!(
        "{LANE}\n%c = OpULessThan %bool %l %u8\nOpSelectionMerge %end None\nOpBranchConditional %c %a %end
%a = OpLabel\n%n = OpGroupIAdd %uint %u3 Reduce %l\nOpBranch %end\n%end = OpLabel\nOpReturn"
    );
    let error = run_kernel(&kernel("", &body), vec![0; 64], 0, 0).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::Converged), "{error}");
}

#[test]
fn a_partial_last_sub_group_runs_its_lanes_only() {
    let body = "%i = OpLoad %v3ulong %lid
%x = OpCompositeExtract %ulong %i 0
%a = OpInBoundsPtrAccessChain %pg %out %x
%g = OpLoad %uint %sg
%n = OpGroupIAdd %uint %u3 Reduce %u1
%m = OpIMul %uint %n %u64
%r = OpIAdd %uint %m %g
OpStore %a %r
OpReturn";
    let (out, _) = run_kernel_sized(&kernel("", body), vec![0; 64], (0, 0), 37, 64).unwrap();
    for (i, value) in out.iter().enumerate() {
        let want = match i {
            0..16 => 16 * 64,
            16..32 => 16 * 64 + 1,
            32..37 => 5 * 64 + 2,
            _ => 0,
        };
        assert_eq!(*value, want, "work-item {i}");
    }
}

#[test]
fn three_dimensional_launches_number_items_in_x_first() {
    let body = "%i = OpLoad %v3ulong %gid
%x = OpCompositeExtract %ulong %i 0
%y = OpCompositeExtract %ulong %i 1
%z = OpCompositeExtract %ulong %i 2
%yy = OpIMul %ulong %y %six
%zz = OpIMul %ulong %z %w24
%xy = OpIAdd %ulong %x %yy
%at = OpIAdd %ulong %xy %zz
%a = OpInBoundsPtrAccessChain %pg %out %at
%g = OpLoad %uint %sg
%h = OpLoad %v3ulong %wg
%hz = OpCompositeExtract %ulong %h 2
%hu = OpUConvert %uint %hz
%h16 = OpIMul %uint %hu %u16
%gg = OpIAdd %uint %h16 %g
%l = OpLoad %uint %lane
%l32 = OpIMul %uint %l %u64
%r = OpIAdd %uint %gg %l32
OpStore %a %r
OpReturn";
    let types = "%six = OpConstant %ulong 6\n%w24 = OpConstant %ulong 24\n";
    let module = support::module(&kernel(types, body)).unwrap();
    let mut memory = tile_sim::Memory::new();
    let out = memory.map(vec![0; 48 * 4], 0);
    let args = [
        tile_sim::Arg::Pointer(out),
        tile_sim::Arg::Pointer(out),
        tile_sim::Arg::U32(0),
        tile_sim::Arg::U32(0),
    ];
    // 6 x 4 x 1 items per work-group, two work-groups in z.
    let launch = tile_sim::Launch { entry: "main", groups: [1, 1, 2], local: [6, 4, 1], args: &args };
    tile_sim::run(&module, &mut memory, &launch).unwrap();
    let bytes = memory.bytes(out);
    for (i, b) in bytes.chunks_exact(4).enumerate() {
        let linear = i % 24;
        let want = (i / 24) * 16 + linear / 16 + (linear % 16) * 64;
        assert_eq!(u32::from_le_bytes(b.try_into().unwrap()), want as u32, "item {i}");
    }
}

const SHARED: &str = "%n64 = OpConstant %uint 64
%slmarr = OpTypeArray %uint %n64
%pslm = OpTypePointer Workgroup %slmarr
%pslmu = OpTypePointer Workgroup %uint
%slm = OpVariable %pslm Workgroup
";

/// Writes its number to shared memory, waits, reads the number of the mirrored work-item.
const EXCHANGE: &str = "%i = OpLoad %v3ulong %lid
%x64 = OpCompositeExtract %ulong %i 0
%x = OpUConvert %uint %x64
%to = OpInBoundsAccessChain %pslmu %slm %x
%v = OpIMul %uint %x %u3
OpStore %to %v
{barrier}
%n1 = OpISub %uint %p %u1
%y = OpISub %uint %n1 %x
%from = OpInBoundsAccessChain %pslmu %slm %y
%w = OpLoad %uint %from
%o = OpInBoundsPtrAccessChain %pg %out %x
OpStore %o %w
OpReturn";

#[test]
fn barriers_order_shared_memory() {
    let text = kernel(SHARED, &EXCHANGE.replace("{barrier}", "OpControlBarrier %u2 %u2 %u272"));
    for items in [16u32, 32, 48, 64, 40] {
        let (out, counters) = run_kernel_sized(&text, vec![0; 64], (items, 0), items, 64).unwrap();
        for i in 0..items {
            assert_eq!(out[i as usize], 3 * (items - 1 - i), "item {i} of {items}");
        }
        assert_eq!(counters.instructions["OpControlBarrier"], u64::from(items.div_ceil(16)));
    }
    // Without the barrier the first sub-group reads what nobody has written.
    let text = kernel(SHARED, &EXCHANGE.replace("{barrier}", ""));
    let error = run_kernel_sized(&text, vec![0; 64], (32, 0), 32, 64).unwrap_err();
    assert!(error.to_string().contains("before anything was stored"), "{error}");
}

#[test]
fn barriers_in_loops_and_functions() {
    // p rounds of: add the right neighbour's value to mine.
    let body = "%i = OpLoad %v3ulong %lid
%x64 = OpCompositeExtract %ulong %i 0
%x = OpUConvert %uint %x64
%me = OpInBoundsAccessChain %pslmu %slm %x
OpStore %me %x
%x1 = OpIAdd %uint %x %u1
%nx = OpBitwiseAnd %uint %x1 %u31
%right = OpInBoundsAccessChain %pslmu %slm %nx
OpBranch %head
%head = OpLabel
%k = OpPhi %uint %u0 %entry %k1 %next
%go = OpULessThan %bool %k %p
OpLoopMerge %end %next DontUnroll
OpBranchConditional %go %next %end
%next = OpLabel
%none1 = OpFunctionCall %void %wait
%a = OpLoad %uint %right
%b = OpLoad %uint %me
%c = OpIAdd %uint %a %b
%none2 = OpFunctionCall %void %wait
OpStore %me %c
%k1 = OpIAdd %uint %k %u1
OpBranch %head
%end = OpLabel
%r = OpLoad %uint %me
%o = OpInBoundsPtrAccessChain %pg %out %x
OpStore %o %r
OpReturn
OpFunctionEnd
%wait = OpFunction %void None %fnv
%we = OpLabel
OpControlBarrier %u2 %u2 %u272
OpReturn";
    let types = format!("{SHARED}%fnv = OpTypeFunction %void\n%u31 = OpConstant %uint 31\n");
    let (out, _) = run_kernel_sized(&kernel(&types, body), vec![0; 64], (5, 0), 32, 64).unwrap();
    let mut want: Vec<u32> = (0..32).collect();
    for _ in 0..5 {
        want = (0..32).map(|i| want[i] + want[(i + 1) % 32]).collect();
    }
    assert_eq!(out[..32], want);
}

#[test]
fn a_barrier_not_reached_by_all_is_an_error() {
    let guarded = "%g = OpLoad %uint %sg
%c = OpIEqual %bool %g %u0
OpSelectionMerge %end None
OpBranchConditional %c %then %end
%then = OpLabel
OpControlBarrier %u2 %u2 %u272
OpBranch %end
%end = OpLabel
OpReturn";
    let error = run_kernel_sized(&kernel("", guarded), vec![0; 64], (0, 0), 32, 64).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::Barrier), "{error}");
    assert!(error.to_string().contains("sub-group 1 has ended"), "{error}");
    run_kernel_sized(&kernel("", guarded), vec![0; 64], (0, 0), 16, 64).unwrap();
    // Two different barriers do not meet.
    let two = guarded.replace("OpReturn", "OpControlBarrier %u2 %u2 %u272\nOpReturn");
    let error = run_kernel_sized(&kernel("", &two), vec![0; 64], (0, 0), 32, 64).unwrap_err();
    assert!(error.to_string().contains("waits at"), "{error}");
    let lanes = guarded.replace("%g = OpLoad %uint %sg", "%g = OpLoad %uint %lane");
    let error = run_kernel_sized(&kernel("", &lanes), vec![0; 64], (0, 0), 32, 64).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::Barrier), "{error}");
    assert!(error.to_string().contains("active lanes are 0x0001"), "{error}");
}
