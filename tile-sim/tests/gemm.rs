//! Hand-written GEMM modules (not made by our compiler) against a plain reference, with their counters.

mod support;

use support::gemm::{NO_PREFETCH, PREFETCH, Problem, TRANSPOSED};
use tile_sim::{BlockKind, Options};

fn same(got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert_eq!(g.to_bits(), w.to_bits(), "element {i}: {g} instead of {w}");
    }
}

/// (M, N, K): whole work-groups, several work-groups, tiles and rows that stick out.
const SHAPES: [(usize, usize, usize); 6] =
    [(256, 256, 64), (512, 256, 32), (256, 512, 96), (64, 64, 32), (40, 72, 64), (1, 64, 32)];

#[test]
fn no_prefetch_module_equals_the_reference() {
    let module = support::module(NO_PREFETCH).unwrap();
    for (m, n, k) in SHAPES {
        let problem = Problem::random(m, n, k, 7);
        let (c, counters) = problem.run(&module, false, &Options::default()).unwrap();
        same(&c, &problem.reference());
        let subgroups = 32 * (m.div_ceil(256) * n.div_ceil(256)) as u64;
        let steps = k.div_ceil(32) as u64;
        assert_eq!(counters.dpas, subgroups * steps * 32, "{m} {n} {k}");
        assert_eq!(counters.block_loads, subgroups * steps);
        assert_eq!(counters.block_transforms, subgroups * steps * 2);
        assert_eq!(counters.block_transposes, 0);
        assert_eq!(counters.block_stores, subgroups * 16);
        assert_eq!(counters.bytes_stored, (m * n * 4) as u64);
        assert_eq!(counters.instructions["OpSubgroupMatrixMultiplyAccumulateINTEL"], counters.dpas);
        assert_eq!(counters.instructions["OpPhi"], subgroups * (steps + 1) * 17);
    }
}

#[test]
fn a_full_work_group_loads_each_tile_once_per_sub_group() {
    let module = support::module(NO_PREFETCH).unwrap();
    let problem = Problem::random(256, 256, 64, 3);
    let options = Options { traffic: true, per_subgroup: true, ..Options::default() };
    let (_, counters) = problem.run(&module, false, &options).unwrap();
    // 32 sub-groups, 2 steps, 2 KiB of A and 4 KiB of B each.
    assert_eq!(counters.bytes_loaded, 32 * 2 * 6144);
    let traffic = counters.traffic.as_ref().unwrap();
    assert_eq!(traffic.loaded.bytes, 2 * 256 * 64 * 2);
    assert_eq!(traffic.loaded.lines, traffic.loaded.bytes / 64);
    assert_eq!((traffic.loaded.least, traffic.loaded.most), (4, 8), "A serves 4 sub-groups, B serves 8");
    assert_eq!(traffic.stored.bytes, 256 * 256 * 4);
    assert!(traffic.stored.exactly_once());
    assert_eq!(traffic.allocations.len(), 3);
    assert_eq!(counters.subgroups.len(), 32);
    assert!(counters.subgroups.iter().all(|s| s.tally.dpas == 64 && s.tally.bytes_loaded == 2 * 6144));
    assert_eq!(counters.subgroups.iter().map(|s| s.tally.steps).sum::<u64>(), counters.steps);
    assert_eq!(counters.instructions.values().sum::<u64>(), counters.steps);
}

#[test]
fn prefetch_module_equals_the_reference_and_counts_prefetches() {
    let module = support::module(PREFETCH).unwrap();
    for (m, n, k) in SHAPES {
        let problem = Problem::random(m, n, k, 11);
        let (c, counters) = problem.run(&module, false, &Options::default()).unwrap();
        same(&c, &problem.reference());
        let subgroups = 32 * (m.div_ceil(256) * n.div_ceil(256)) as u64;
        assert_eq!(counters.block_prefetches, subgroups * k.div_ceil(32) as u64 * 3);
    }
    // Three steps ahead of step s only steps 3 and 4 of 5 exist; nothing outside is fetched.
    let problem = Problem::random(256, 256, 160, 5);
    let options = Options { traffic: true, messages: true, ..Options::default() };
    let (_, counters) = problem.run(&module, false, &options).unwrap();
    assert_eq!(counters.bytes_prefetched, 32 * 2 * 6144);
    let traffic = counters.traffic.as_ref().unwrap();
    assert_eq!(traffic.prefetched.bytes, 2 * 256 * 64 * 2);
    assert!(!traffic.prefetched.exactly_once(), "the module's prefetch is not cooperative");
    let fetched = counters.messages.iter().filter(|m| m.kind == BlockKind::Prefetch);
    let inside: Vec<_> = fetched.filter(|m| m.bytes > 0).collect();
    assert_eq!(inside.len(), 32 * 2 * 3);
    assert!(inside.iter().all(|m| m.bytes == 2048 && m.shape == (32, 16) && m.blocks == 2));
}

#[test]
fn transposed_module_equals_the_reference() {
    let module = support::module(TRANSPOSED).unwrap();
    for (m, n, k) in [(32, 64, 32), (64, 128, 96), (96, 64, 64), (20, 64, 32), (32, 40, 64)] {
        let problem = Problem::random(m, n, k, 13);
        let (c, counters) = problem.run(&module, true, &Options::default()).unwrap();
        same(&c, &problem.reference());
        let groups = (m.div_ceil(32) * n.div_ceil(64)) as u64;
        assert_eq!(counters.block_transposes, groups * k.div_ceil(32) as u64 * 8);
        assert_eq!(counters.dpas, groups * k.div_ceil(32) as u64 * 32);
    }
}

#[test]
fn nan_and_infinity_travel() {
    let module = support::module(NO_PREFETCH).unwrap();
    let mut problem = Problem::random(64, 64, 32, 17);
    problem.a[5 * 32 + 3] = 0x7fc0;
    problem.a[9 * 32 + 1] = 0x7f80;
    // Products below and above f32's range take the exact path as well.
    problem.a[11 * 32 + 2] = 0x0001;
    problem.b[2 * 64 + 7] = 0x0001;
    problem.a[12 * 32 + 2] = 0x7f7f;
    problem.b[2 * 64 + 8] = 0x7f7f;
    let (c, _) = problem.run(&module, false, &Options::default()).unwrap();
    let want = problem.reference();
    for (i, (g, w)) in c.iter().zip(&want).enumerate() {
        assert!(g.to_bits() == w.to_bits() || (g.is_nan() && w.is_nan()), "element {i}: {g} instead of {w}");
    }
    assert!(c[5 * 64].is_nan() && c[9 * 64].is_infinite());
}

#[test]
fn a_module_runs_again_with_the_same_counters() {
    let module = support::module(PREFETCH).unwrap();
    let problem = Problem::random(256, 256, 64, 1);
    let options = Options { traffic: true, per_subgroup: true, messages: true, ..Options::default() };
    let (c, first) = problem.run(&module, false, &options).unwrap();
    let (d, second) = problem.run(&module, false, &options).unwrap();
    same(&c, &d);
    assert_eq!(first, second);
}
