//! Hand-written GEMM modules (not made by our compiler) against a plain reference, with their counters.

mod support;

use support::gemm::{NO_PREFETCH, PREFETCH, Problem, TRANSPOSED};
use tile_sim::Options;

fn same(got: &[f32], want: &[f32]) {
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert_eq!(g.to_bits(), w.to_bits(), "element {i}: {g} instead of {w}");
    }
}

#[test]
fn no_prefetch_module_equals_the_reference() {
    let module = support::module(NO_PREFETCH).unwrap();
    for (m, n, k) in [(256, 256, 64), (512, 256, 32), (256, 512, 96), (64, 64, 32), (40, 72, 64)] {
        let problem = Problem::random(m, n, k, 7);
        let (c, counters) = problem.run(&module, false, &Options::default()).unwrap();
        same(&c, &problem.reference());
        let groups = (m.div_ceil(256) * n.div_ceil(256)) as u64;
        let steps = k.div_ceil(32) as u64;
        assert_eq!(counters.dpas, groups * 32 * steps * 32, "{m} {n} {k}");
        assert_eq!(counters.block_loads, groups * 32 * steps);
        assert_eq!(counters.block_transforms, groups * 32 * steps * 2);
        assert_eq!(counters.block_stores, groups * 32 * 16);
        assert_eq!(counters.bytes_stored, (m * n * 4) as u64);
    }
}
