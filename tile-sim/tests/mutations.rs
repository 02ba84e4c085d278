//! Mutations of the hand-written GEMM modules: each must give a wrong result or an error.
//!
//! This is the evidence that "sim == reference" means something: had the simulator ignored what a mutation
//! changes, the comparison would stay green and the test here would fail.

mod support;

use support::gemm::{NO_PREFETCH, PREFETCH, Problem, TRANSPOSED};
use tile_sim::{Module, Options};

/// A named change of a module's text.
type Mutation = (&'static str, fn(&str) -> String);

/// Replaces `from`, which must occur.
fn swap(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the module has no {from:?}");
    text.replacen(from, to, 1)
}

const LOAD_A: &str = "OpSubgroup2DBlockLoadINTEL %u2 %u16 %u32 %u2 %A %Kb %M %Kb %ca0_0";
const LOAD_B: &str = "OpSubgroup2DBlockLoadTransformINTEL %u2 %u16 %u32 %u2 %B %Nb %K %Nb %cb0_0";
const DPAS: &str =
    "%d_0_0_0_0 = OpSubgroupMatrixMultiplyAccumulateINTEL %v8float %u16 %A_0_0_0 %B_0_0_0 %acc_0_0";

const DIRECT: &[Mutation] = &[
    ("B read one row too low", |t| {
        let t = swap(t, "%cb0_0 = Op", "%ky = OpIAdd %uint %k %u1\n%cb0_0 = Op");
        swap(&t, "%v2uint %n0 %k", "%v2uint %n0 %ky")
    }),
    ("B as 1-byte elements, transformed", |t| {
        swap(t, LOAD_B, &LOAD_B.replace("%u2 %u16 %u32 %u2", "%u1 %u16 %u32 %u4"))
    }),
    ("B loaded in rows twice as wide", |t| {
        swap(
            t,
            LOAD_B,
            &LOAD_B.replace("LoadTransformINTEL %u2 %u16 %u32 %u2", "LoadINTEL %u2 %u32 %u32 %u1"),
        )
    }),
    ("VNNI halves swapped", |t| {
        let t = swap(t, "%B_0_0_0 = OpLoad", "%Bx = OpLoad");
        let t = swap(
            &t,
            "%B_0_1_0p =",
            "%Bh = OpShiftRightLogical %v8uint %Bx %s16\n%Bl = OpShiftLeftLogical %v8uint %Bx %s16\n%B_0_0_0 = OpBitwiseOr %v8uint %Bh %Bl\n%B_0_1_0p =",
        );
        swap(
            &t,
            "%main = OpFunction",
            "%s16 = OpConstantComposite %v8uint %u16 %u16 %u16 %u16 %u16 %u16 %u16 %u16\n%main = OpFunction",
        )
    }),
    ("first K step dropped", |t| swap(t, "OpPhi %uint %u0 %entry", "OpPhi %uint %u32 %entry")),
    ("every other K step dropped", |t| swap(t, "%k_1 = OpIAdd %uint %k %u32", "%k_1 = OpIAdd %uint %k %u64")),
    ("K step too short", |t| swap(t, "%k_1 = OpIAdd %uint %k %u32", "%k_1 = OpIAdd %uint %k %u16")),
    ("width of A 4 bytes short", |t| {
        let t = swap(t, "%Nb = OpIMul", "%Kw = OpISub %uint %Kb %u4\n%Nb = OpIMul");
        swap(&t, LOAD_A, &LOAD_A.replace("%A %Kb", "%A %Kw"))
    }),
    ("width of A 4 bytes long", |t| {
        let t = swap(t, "%Nb = OpIMul", "%Kw = OpIAdd %uint %Kb %u4\n%Nb = OpIMul");
        swap(&t, LOAD_A, &LOAD_A.replace("%A %Kb", "%A %Kw"))
    }),
    ("width of A 2 bytes short", |t| {
        let t = swap(t, "%Nb = OpIMul", "%Kw = OpISub %uint %Kb %u2\n%Nb = OpIMul");
        swap(&t, LOAD_A, &LOAD_A.replace("%A %Kb", "%A %Kw"))
    }),
    ("width of C 4 bytes short", |t| {
        let t = swap(t, "%m0_8 = OpIAdd", "%Cw = OpISub %uint %Nf %u4\n%m0_8 = OpIAdd");
        t.replace("%C %Nf %M", "%C %Cw %M")
    }),
    ("height of A one row short", |t| {
        let t = swap(t, "%Nb = OpIMul", "%M1 = OpISub %uint %M %u1\n%Nb = OpIMul");
        swap(&t, LOAD_A, &LOAD_A.replace("%Kb %M %Kb", "%Kb %M1 %Kb"))
    }),
    ("height of B one row short", |t| {
        let t = swap(t, "%Nb = OpIMul", "%K1 = OpISub %uint %K %u1\n%Nb = OpIMul");
        swap(&t, LOAD_B, &LOAD_B.replace("%Nb %K %Nb", "%Nb %K1 %Nb"))
    }),
    ("pitch of B too large", |t| {
        let t = swap(t, "%Nf = OpIMul", "%Np = OpIAdd %uint %Nb %u16\n%Nf = OpIMul");
        swap(&t, LOAD_B, &LOAD_B.replace("%K %Nb", "%K %Np"))
    }),
    ("pitch of B not a multiple of 16", |t| {
        let t = swap(t, "%Nf = OpIMul", "%Np = OpIAdd %uint %Nb %u4\n%Nf = OpIMul");
        swap(&t, LOAD_B, &LOAD_B.replace("%K %Nb", "%K %Np"))
    }),
    ("A read 8 rows too low", |t| {
        swap(
            t,
            "%ca0_0 = OpCompositeConstruct %v2uint %k %m0",
            "%ca0_0 = OpCompositeConstruct %v2uint %k %m0_8",
        )
    }),
    ("B read 16 columns to the right", |t| {
        swap(
            t,
            "%cb0_0 = OpCompositeConstruct %v2uint %n0 %k",
            "%cb0_0 = OpCompositeConstruct %v2uint %n0_16 %k",
        )
    }),
    ("x and y of A exchanged", |t| swap(t, "%v2uint %k %m0", "%v2uint %m0 %k")),
    ("odd x of A", |t| {
        let t = swap(t, "%ca0_0 = Op", "%kx = OpIAdd %uint %k %u1\n%ca0_0 = Op");
        swap(&t, "%v2uint %k %m0", "%v2uint %kx %m0")
    }),
    ("base of A moved by 16 bytes", |t| {
        let t = swap(t, "%ca0_0 = Op", "%A16 = OpInBoundsPtrAccessChain %pg %A %u8\n%ca0_0 = Op");
        swap(&t, LOAD_A, &LOAD_A.replace("%A %Kb", "%A16 %Kb"))
    }),
    ("second block of A not loaded", |t| swap(t, LOAD_A, &LOAD_A.replace("%u32 %u2 %A", "%u32 %u1 %A"))),
    ("half of A's rows not loaded", |t| swap(t, LOAD_A, &LOAD_A.replace("%u16 %u32", "%u16 %u16"))),
    ("two tiles of A exchanged", |t| {
        let t = swap(t, "%va0_0 %u0\n", "%va0_0 %u999\n");
        let t = swap(&t, "%va0_0 %u1\n", "%va0_0 %u0\n");
        swap(&t, "%va0_0 %u999\n", "%va0_0 %u1\n")
    }),
    ("K halves of B exchanged", |t| {
        let t = swap(t, "%vb0_0 %u0\n", "%vb0_0 %u999\n");
        let t = swap(&t, "%vb0_0 %u1\n", "%vb0_0 %u0\n");
        swap(&t, "%vb0_0 %u999\n", "%vb0_0 %u1\n")
    }),
    ("columns of B exchanged", |t| {
        swap(
            t,
            "%B_0_0_1p = OpInBoundsAccessChain %pfv8uint %vb0_0 %u2",
            "%B_0_0_1p = OpInBoundsAccessChain %pfv8uint %vb1_0 %u2",
        )
    }),
    ("wrong A operand of one matrix multiply", |t| swap(t, DPAS, &DPAS.replace("%A_0_0_0", "%A_0_1_0"))),
    ("wrong accumulator of one matrix multiply", |t| swap(t, DPAS, &DPAS.replace("%acc_0_0", "%acc_0_1"))),
    ("first half of K forgotten in one tile", |t| {
        swap(t, "%A_0_0_1 %B_0_1_0 %d_0_0_0_0", "%A_0_0_1 %B_0_1_0 %acc_0_0")
    }),
    ("f16 flags on bf16 data", |t| {
        let flags = "MatrixAPackedBFloat16INTEL|MatrixBPackedBFloat16INTEL";
        swap(t, &format!("{DPAS} {flags}"), &format!("{DPAS} {}", flags.replace("BFloat", "Float")))
    }),
    ("K of one matrix multiply 8", |t| swap(t, DPAS, &DPAS.replace("%u16 %A", "%u8 %A"))),
    ("two accumulators exchanged at the store", |t| {
        let t = swap(t, "OpStore %c_0_0 %acc_0_0", "OpStore %c_0_0 %acc_0_1");
        swap(&t, "OpStore %c_0_1 %acc_0_1", "OpStore %c_0_1 %acc_0_0")
    }),
    ("one tile stored at the wrong M", |t| {
        swap(
            t,
            "%cc_1_0 = OpCompositeConstruct %v2uint %n0 %m0_8",
            "%cc_1_0 = OpCompositeConstruct %v2uint %n0 %m0_16",
        )
    }),
    ("one tile not stored", |t| {
        swap(t, "OpSubgroup2DBlockStoreINTEL %u4 %u16 %u8 %u1 %c_3_3 %C %Nf %M %Nf %cc_3_3\n", "")
    }),
    ("one tile stored as 4 rows", |t| swap(t, "%u16 %u8 %u1 %c_2_2", "%u16 %u4 %u1 %c_2_2")),
    ("accumulators start from the previous step's A", |t| {
        swap(t, "%acc_0_0 = OpPhi %v8float %zero %entry", "%acc_0_0 = OpPhi %v8float %one8 %entry").replacen("%main = OpFunction", "%onef = OpConstant %float 1\n%one8 = OpConstantComposite %v8float %onef %onef %onef %onef %onef %onef %onef %onef\n%main = OpFunction", 1)
    }),
    ("sub-groups laid out 4 x 8", |t| swap(t, "%sgn = OpUMod %uint %sg %u4", "%sgn = OpUMod %uint %sg %u8")),
    ("sub-group id divided by zero", |t| {
        swap(t, "%sgm = OpUDiv %uint %sg %u4", "%sgm = OpUDiv %uint %sg %u0")
    }),
    ("work-group axes exchanged", |t| {
        let t = swap(t, "OpCompositeExtract %ulong %id 0", "OpCompositeExtract %ulong %id 2");
        swap(&t, "OpCompositeExtract %ulong %id 1", "OpCompositeExtract %ulong %id 0")
    }),
    ("coordinates from the lane, not the sub-group", |t| {
        t.replace("BuiltIn SubgroupId", "BuiltIn SubgroupLocalInvocationId")
    }),
];

const BY_TRANSPOSE: &[Mutation] = &[
    ("B read without transposing", |t| {
        swap(t, "OpSubgroup2DBlockLoadTransposeINTEL %u4 %u8 %u16", "OpSubgroup2DBlockLoadINTEL %u4 %u8 %u16")
    }),
    ("x of B in elements instead of dwords", |t| {
        swap(t, "OpShiftRightLogical %uint %k %u1", "OpShiftRightLogical %uint %k %u0")
    }),
    ("second half of K at the wrong dword", |t| {
        swap(t, "%kdx1 = OpIAdd %uint %kd %u8", "%kdx1 = OpIAdd %uint %kd %u16")
    }),
    ("N of one tile off", |t| {
        swap(
            t,
            "%cb0_1 = OpCompositeConstruct %v2uint %kd %n0_16",
            "%cb0_1 = OpCompositeConstruct %v2uint %kd %n0",
        )
    }),
    ("element size 2 in a transpose", |t| {
        swap(t, "TransposeINTEL %u4 %u8 %u16", "TransposeINTEL %u2 %u8 %u16")
    }),
    ("tile of B half as high", |t| swap(t, "TransposeINTEL %u4 %u8 %u16", "TransposeINTEL %u4 %u8 %u8")),
    ("height of B is K", |t| t.replace("%B %Kb %N %Kb", "%B %Kb %K %Kb")),
    ("B tiles exchanged", |t| swap(t, "%B_0_0 = OpLoad %v8uint %vb0_0", "%B_0_0 = OpLoad %v8uint %vb0_1")),
];

/// Runs the module and says whether the result is the reference.
fn is_right(module: &Module, problem: &Problem, want: &[f32], transposed: bool) -> bool {
    match problem.run(module, transposed, &Options::default()) {
        Ok((c, _)) => c.iter().zip(want).all(|(a, b)| a.to_bits() == b.to_bits()),
        Err(_) => false,
    }
}

fn all_are_caught(text: &str, mutations: &[Mutation], problem: &Problem, transposed: bool) {
    let want = problem.reference();
    assert!(
        is_right(&support::module(text).unwrap(), problem, &want, transposed),
        "the unchanged module is right"
    );
    let mut survivors = Vec::new();
    for (name, mutate) in mutations {
        let mutant = mutate(text);
        assert_ne!(&mutant, text, "{name} changes nothing");
        if support::module(&mutant).is_ok_and(|module| is_right(&module, problem, &want, transposed)) {
            survivors.push(name);
        }
    }
    assert!(survivors.is_empty(), "not noticed: {survivors:?}");
    println!("{} mutations, all noticed", mutations.len());
}

#[test]
fn every_mutation_of_the_direct_gemm_is_noticed() {
    all_are_caught(NO_PREFETCH, DIRECT, &Problem::random(512, 256, 96, 23), false);
}

#[test]
fn every_mutation_of_the_transposed_gemm_is_noticed() {
    all_are_caught(TRANSPOSED, BY_TRANSPOSE, &Problem::random(64, 128, 96, 29), true);
}

/// The one change of the load that is not a mutation: 16-bit components of consecutive rows lie one after
/// another in each lane's memory, so reading them as dwords pairs the rows like the transform does.
#[test]
fn a_plain_load_read_as_dwords_is_a_transform() {
    let text = NO_PREFETCH.replace("LoadTransformINTEL", "LoadINTEL");
    let problem = Problem::random(64, 64, 64, 37);
    assert!(is_right(&support::module(&text).unwrap(), &problem, &problem.reference(), false));
}

#[test]
fn mutations_of_prefetches_show_in_the_counters() {
    let problem = Problem::random(256, 256, 160, 31);
    let options = Options { traffic: true, ..Options::default() };
    let want = problem.reference();
    let count = |text: &str| {
        let module = support::module(text).unwrap();
        let (c, counters) = problem.run(&module, false, &options).unwrap();
        assert!(c.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits()));
        let traffic = counters.traffic.clone().unwrap();
        (counters.block_prefetches, counters.bytes_prefetched, traffic.prefetched)
    };
    let whole = count(PREFETCH);
    for (name, mutant) in [
        (
            "a prefetch dropped",
            swap(PREFETCH, "OpSubgroup2DBlockPrefetchINTEL %u2 %u16 %u32 %u2 %A %Kb %M %Kb %pa0_0\n", ""),
        ),
        ("a prefetch at the wrong column", swap(PREFETCH, "%v2uint %n0_32 %kp_0", "%v2uint %n0 %kp_0")),
        (
            "prefetch one step late",
            swap(PREFETCH, "%kp_0 = OpIAdd %uint %k %u96", "%kp_0 = OpIAdd %uint %k %u64"),
        ),
        (
            "half a prefetch",
            swap(PREFETCH, "PrefetchINTEL %u2 %u16 %u32 %u2 %A", "PrefetchINTEL %u2 %u16 %u32 %u1 %A"),
        ),
    ] {
        assert_ne!(count(&mutant), whole, "{name}");
    }
}
