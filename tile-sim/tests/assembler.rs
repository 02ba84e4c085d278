//! The test assembler against the real one, so that the other tests' modules are what their text says.

mod support;

use support::gemm::{NO_PREFETCH, PREFETCH, TRANSPOSED};

#[test]
fn test_assembler_gives_the_words_of_spirv_as() {
    let control = support::kernel(
        "%half1 = OpConstant %half 1.5\n%d1 = OpConstant %double 2.25\n%f1 = OpConstant %float -0.5\n",
        "%l = OpLoad %uint %lane Aligned 4
OpSelectionMerge %end None
OpSwitch %p %other 1 %one 2 %end
%one = OpLabel
%x = OpExtInst %uint %std u_max %p %q
OpBranch %end
%other = OpLabel
%y = OpGroupIAdd %uint %u3 Reduce %p
OpControlBarrier %u2 %u2 %u272
OpBranch %end
%end = OpLabel
OpReturn",
    );
    let mut skipped = 0;
    for text in [NO_PREFETCH, PREFETCH, TRANSPOSED, &control] {
        match support::asm::assemble_with_tool(text) {
            // Word 2 names the generator.
            Some(mut words) => {
                let mut ours = support::asm::assemble(text);
                (words[2], ours[2]) = (0, 0);
                assert_eq!(words, ours);
            }
            None => skipped += 1,
        }
    }
    if skipped > 0 {
        println!("skipped: {skipped} of 4 comparisons, spirv-as is not installed");
    }
}
