//! Broken words: whatever the bytes are, parsing and running end in a value or a typed error.

mod support;

use support::Random;
use support::gemm::{NO_PREFETCH, Problem, TRANSPOSED};
use tile_sim::{Module, Options, SimError};

#[test]
fn short_and_foreign_inputs_are_malformed() {
    for words in [&[][..], &[0x0723_0203], &[1, 2, 3, 4, 5], &[0x0302_2307, 0, 0, 0, 0]] {
        let error = Module::parse(words).unwrap_err();
        assert!(matches!(error, SimError::Malformed { .. }), "{error}");
    }
}

#[test]
fn every_prefix_of_a_module_is_a_value_or_an_error() {
    let words = support::asm::assemble(TRANSPOSED);
    for end in 0..words.len() {
        let _ = Module::parse(&words[..end]);
    }
}

/// Changes words at random and runs what still parses. A panic, a hang or an endless allocation fails it.
#[test]
fn random_changes_never_panic() {
    let problem = Problem::random(64, 64, 64, 1);
    let options = Options { step_limit: 20_000, traffic: true, ..Options::default() };
    let (mut parsed, mut ran) = (0, 0);
    let texts = [NO_PREFETCH.to_string(), TRANSPOSED.to_string(), diverse()];
    for (which, text) in texts.iter().enumerate() {
        let words = support::asm::assemble(text);
        let mut random = Random(0x9e37_79b9 + which as u64);
        let constants = constants(&words);
        for round in 0..800 {
            let mut mutant = words.clone();
            if round % 2 == 0 {
                // Other numbers keep the module well-formed, so that running is tested, not parsing.
                for _ in 0..1 + random.next() % 3 {
                    let at = constants[random.next() as usize % constants.len()];
                    mutant[at] = [random.next() as u32 % 70, random.next() as u32, u32::MAX, 1 << 24]
                        [random.next() as usize % 4];
                }
            }
            for _ in 0..(round % 2) * (1 + random.next() % 3) {
                let at = 5 + random.next() as usize % (words.len() - 5);
                mutant[at] = match random.next() % 4 {
                    0 => random.next() as u32 % 200,
                    1 => mutant[at] ^ 1 << (random.next() % 32),
                    2 => words[5 + random.next() as usize % (words.len() - 5)],
                    _ => mutant[at].wrapping_add(1),
                };
            }
            let Ok(module) = Module::parse(&mutant) else { continue };
            parsed += 1;
            match problem.run(&module, which == 1, &options) {
                Ok(_) => ran += 1,
                Err(SimError::Bug { detail, .. }) => panic!("bug reported: {detail}"),
                Err(_) => {}
            }
        }
    }
    println!("{parsed} of 2400 changed modules parsed, {ran} ran to their end");
    assert!(parsed > 300 && ran > 100, "{parsed} parsed, {ran} ran: the changes are too rough to test much");
}

/// Where the values of constants stand.
fn constants(words: &[u32]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 5;
    while at < words.len() {
        if words[at] & 0xffff == rspirv::spirv::Op::Constant as u32 {
            found.push(at + 3);
        }
        at += (words[at] >> 16) as usize;
    }
    found
}

/// A kernel with the GEMM's parameters and many kinds of instruction.
fn diverse() -> String {
    let body = "%arr = OpVariable %parr Function
%l = OpLoad %uint %lane
%low = OpULessThan %bool %l %u8
OpSelectionMerge %end None
OpBranchConditional %low %a %b
%a = OpLabel
%x = OpFunctionCall %uint %f %l
OpBranch %end
%b = OpLabel
%v = OpCompositeConstruct %v4uint %l %u1 %u2 %u3
%i = OpBitwiseAnd %uint %l %u3
%y = OpVectorExtractDynamic %uint %v %i
OpBranch %end
%end = OpLabel
%r = OpPhi %uint %x %a %y %b
%e = OpInBoundsAccessChain %pfu %arr %r
%ok = OpULessThan %bool %r %u8
OpSelectionMerge %m2 None
OpBranchConditional %ok %st %m2
%st = OpLabel
OpStore %e %l
OpBranch %m2
%m2 = OpLabel
%s = OpGroupIAdd %uint %u3 Reduce %r
%ff = OpConvertUToF %float %s
%g = OpExtInst %float %std native_exp2 %ff
%h = OpFConvert %half %g
%hf = OpFConvert %float %h
%o = OpInBoundsPtrAccessChain %pgf %C %l
OpStore %o %hf
OpMemoryBarrier %u2 %u272
%slot = OpInBoundsPtrAccessChain %pg %A %l
%old = OpAtomicLoad %uint %slot %u1 %u0
OpSelectionMerge %m3 None
OpSwitch %i %m3 1 %one 2 %one
%one = OpLabel
OpBranch %m3
%m3 = OpLabel
OpControlBarrier %u2 %u2 %u272
OpReturn
OpFunctionEnd
%f = OpFunction %uint None %fnu
%arg = OpFunctionParameter %uint
%fe = OpLabel
%dd = OpUDiv %uint %arg %u2
%sel = OpSelect %uint %true %dd %arg
OpReturnValue %sel";
    let types = "%n8 = OpConstant %uint 8\n%tarr = OpTypeArray %uint %n8\n%parr = OpTypePointer Function %tarr
%pfu = OpTypePointer Function %uint\n%fnu = OpTypeFunction %uint %uint\n%fng = OpTypeFunction %void %pg %pg %pgf %uint %uint %uint\n";
    let head = support::PREAMBLE.replace("\"main\"", "\"gemm\"");
    let params = "%A = OpFunctionParameter %pg\n%B = OpFunctionParameter %pg\n%C = OpFunctionParameter %pgf
%M = OpFunctionParameter %uint\n%N = OpFunctionParameter %uint\n%K = OpFunctionParameter %uint\n";
    format!(
        "{head}{}{types}%main = OpFunction %void None %fng\n{params}%entry = OpLabel\n{body}\nOpFunctionEnd\n",
        support::TYPES
    )
}

#[test]
fn the_diverse_kernel_itself_runs() {
    let module = support::module(&diverse()).unwrap();
    Problem::random(64, 64, 64, 1).run(&module, true, &Options::default()).unwrap();
    let mut memory = tile_sim::Memory::new();
    let a = memory.map(vec![0; 64], 0);
    let c = memory.map(vec![0; 64], 0);
    let args = [
        tile_sim::Arg::Pointer(a),
        tile_sim::Arg::Pointer(a),
        tile_sim::Arg::Pointer(c),
        tile_sim::Arg::U32(1),
        tile_sim::Arg::U32(1),
        tile_sim::Arg::U32(1),
    ];
    let launch = tile_sim::Launch { entry: "gemm", groups: [1, 1, 1], local: [16, 1, 1], args: &args };
    tile_sim::run(&module, &mut memory, &launch).unwrap();
}
