//! Looks at the words of the interior loop: nothing but loads, matrix instructions and additions of coordinates.

mod support;

use rspirv::dr::{Instruction, Operand, load_words};
use rspirv::spirv::{Op, Word};
use support::Gemm;
use tile_ir::types::DType;

/// Instructions from the header of the first loop to its exit.
fn first_loop(words: &[u32]) -> Vec<Instruction> {
    let module = load_words(words).expect("the words are SPIR-V");
    let mut out = vec![];
    let mut exit: Option<Word> = None;
    for block in &module.functions[0].blocks {
        let label = block.label.as_ref().and_then(|l| l.result_id);
        if exit.is_some() && label == exit {
            return out;
        }
        let merge = block.instructions.iter().find(|i| i.class.opcode == Op::LoopMerge);
        if exit.is_none()
            && let Some(merge) = merge
            && let Operand::IdRef(id) = merge.operands[0]
        {
            exit = Some(id);
        }
        if exit.is_some() {
            out.extend(block.instructions.clone());
        }
    }
    panic!("the kernel has no loop");
}

fn count(list: &[Instruction], op: Op) -> usize {
    list.iter().filter(|i| i.class.opcode == op).count()
}

#[test]
fn interior_loops_compute_no_addresses_and_hold_no_masks() {
    let mut seen = 0;
    for trans_b in [false, true] {
        for prefetch in [false, true] {
            for output in [DType::F32, DType::Bf16] {
                let gemm = Gemm { trans_b, prefetch, output, ..Gemm::MAIN };
                let module = tile_spirv::lower(&gemm.build()).expect("lowers").remove(0);
                let body = first_loop(&module.words);
                let allowed = [
                    Op::Phi,
                    Op::LoopMerge,
                    Op::Branch,
                    Op::BranchConditional,
                    Op::IAdd,
                    Op::INotEqual,
                    Op::CompositeConstruct,
                    Op::InBoundsAccessChain,
                    Op::Load,
                    Op::Subgroup2DBlockLoadINTEL,
                    Op::Subgroup2DBlockLoadTransformINTEL,
                    Op::Subgroup2DBlockLoadTransposeINTEL,
                    Op::Subgroup2DBlockPrefetchINTEL,
                    Op::SubgroupMatrixMultiplyAccumulateINTEL,
                ];
                for i in &body {
                    assert!(
                        allowed.contains(&i.class.opcode),
                        "{} in the loop of {}",
                        i.class.opname,
                        module.entry
                    );
                }
                assert_eq!(count(&body, Op::SubgroupMatrixMultiplyAccumulateINTEL), 32);
                assert_eq!(count(&body, Op::Subgroup2DBlockLoadINTEL), 1, "A is one message");
                assert_eq!(count(&body, Op::Subgroup2DBlockLoadTransformINTEL), if trans_b { 0 } else { 2 });
                assert_eq!(count(&body, Op::Subgroup2DBlockLoadTransposeINTEL), if trans_b { 8 } else { 0 });
                assert_eq!(count(&body, Op::Subgroup2DBlockPrefetchINTEL), if prefetch { 2 } else { 0 });
                assert_eq!(count(&body, Op::BranchConditional), 1, "the test at the end");
                let phis = 16 + if trans_b { 2 } else { 1 };
                assert_eq!(
                    count(&body, Op::Phi),
                    phis,
                    "accumulators and induction variables of {}",
                    module.entry
                );
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 8);
}
