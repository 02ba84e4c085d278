//! What GEMM moves, counted by the simulator: prefetched bytes per K step, and what is staged or refused.

use tile_runtime::LaunchOptions;
use tile_std::prelude::*;
use tile_std::{GemmError, GemmOptions, gemm_into};

/// The prefetch schedule that the cooperative one replaced: whole tiles, by masks over the sub-group id
/// (SyclKittens paper, D.2, "masked prefetch baseline").
#[tile_kernel(instances(<bf16, 32, 64, 32; subgroups = (8, 4)>))]
fn masked<A: MmaInput, const BM: usize, const BN: usize, const BK: usize>(
    c: &mut gl<f32>,
    a: &gl<A>,
    b: &gl<A>,
    ahead: u32,
) {
    let at = own_tile::<BM, BN>(c, Linear);
    let id = subgroup_id();
    let mut acc: rt<f32, BM, BN, Acc> = zeros();
    for k in 0..a.col_tiles(BK) {
        let x: rt<A, BM, BK> = load(a, [at.row(), k]);
        let y: rt<A, BK, BN, Vnni> = load_transform(b, [k, at.col()]);
        if id % 5 != 0 {
            prefetch_load::<rt<A, BM, BK>>(a, [at.row(), k + ahead]);
        }
        if (id & 8) != 0 {
            prefetch_load::<rt<A, BK, BN>>(b, [k + ahead, at.col()]);
        }
        mma_AB(&mut acc, &x, &y);
    }
    store(c, &acc, at);
}

fn matrix(rows: usize, cols: usize) -> Tensor<bf16> {
    Tensor::from_fn([1, 1, rows, cols], |_, _, r, c| bf16::from_f32(((r * 7 + c * 3) % 11) as f32 - 5.0))
        .expect("small")
}

fn counting() -> tile_sim::Options {
    tile_sim::Options { traffic: true, ..tile_sim::Options::default() }
}

/// Bytes prefetched by the 256 x 256 work-group for K steps in the loop only: the difference between a long and
/// a short product, whose prologues are equal.
fn coop_bytes(k: usize) -> (u64, bool) {
    let (a, b) = (matrix(256, k), matrix(k, 256));
    let mut c = Tensor::<bf16>::zeros(256, 256).expect("small");
    let sim = counting();
    let launch = LaunchOptions { sim: Some(&sim), ..LaunchOptions::default() };
    let instance = tile_std::kernels::gemm::gemm::KERNEL.find_named("<bf16, bf16, 32, 64, 32, false, true>");
    let options = GemmOptions { instance, ahead: Some(2), launch, ..GemmOptions::default() };
    let report = gemm_into(&Device::sim(), &mut c, &a, &b, &options).expect("it fits").product;
    let counters = report.counters.expect("the simulator counts");
    assert_eq!(report.work_groups, 1);
    let traffic = counters.traffic.expect("asked for");
    (counters.total.bytes_prefetched, traffic.prefetched.exactly_once())
}

#[test]
fn cooperative_prefetch_fetches_every_byte_once() {
    // Every K step of the panels is prefetched exactly once: 2 by the prologue, the others by the loop.
    let (bytes, once) = coop_bytes(8 * 32);
    assert_eq!(bytes, 8 * 32_768, "256x32 of A and 32x256 of B, 2 bytes each, per step");
    assert!(once, "no byte twice");
    let (longer, _) = coop_bytes(9 * 32);
    assert_eq!(longer - bytes, 32_768, "bytes per K step");
}

#[test]
fn the_masked_schedule_fetches_116736_bytes_per_step() {
    let bytes = |k: usize| {
        let (a, b) = (matrix(256, k), matrix(k, 256));
        let mut c = Tensor::<f32>::zeros(256, 256).expect("small");
        let report = masked::launch::<bf16, 32, 64, 32>(&Device::sim(), &mut c, &a, &b, 1).expect("it fits");
        report.counters.expect("the simulator counts").total.bytes_prefetched
    };
    // 25 of 32 sub-groups fetch 2,048 bytes of A, 16 fetch 4,096 bytes of B; the paper rounds it to 118,784.
    assert_eq!(bytes(5 * 32) - bytes(4 * 32), 116_736);
}

#[test]
fn the_loop_loads_and_multiplies_what_it_must() {
    let (a, b) = (matrix(256, 128), matrix(128, 256));
    let mut c = Tensor::<f32>::zeros(256, 256).expect("small");
    let sim = counting();
    let launch = LaunchOptions { sim: Some(&sim), ..LaunchOptions::default() };
    let instance = tile_std::kernels::gemm::gemm::KERNEL.find_named("<bf16, f32, 32, 64, 32, false, false>");
    let options = GemmOptions { instance, launch, ..GemmOptions::default() };
    let report = gemm_into(&Device::sim(), &mut c, &a, &b, &options).expect("it fits").product;
    let counters = report.counters.expect("the simulator counts");
    // 256 x 256 x 128 multiply-adds, 8 x 16 x 16 each.
    assert_eq!(counters.total.dpas, 256 * 256 * 128 / (8 * 16 * 16));
    // Each of 32 sub-groups loads 32x32 of A and 32x64 of B in each of 4 steps.
    assert_eq!(counters.total.bytes_loaded, 32 * 4 * (32 * 32 + 32 * 64) * 2);
    assert_eq!(counters.total.bytes_stored, 256 * 256 * 4);
    assert_eq!(counters.total.bytes_prefetched, 0);
    let traffic = counters.traffic.expect("asked for");
    assert_eq!(traffic.loaded.bytes, (256 * 128 + 128 * 256) * 2, "distinct bytes");
    assert_eq!(traffic.loaded.lines, traffic.loaded.bytes / 64);
    assert!(traffic.stored.exactly_once());
}

/// A product whose A is a view that breaks one rule of the hardware; `pick` cuts it out of a larger tensor.
fn with_a(options: LaunchOptions<'_>, a: View<'_, bf16>) -> Result<(Report, Vec<f32>), GemmError> {
    let b = matrix(a.cols(), 40);
    let mut c = Tensor::<f32>::zeros(a.rows(), 40).expect("small");
    let options = GemmOptions { launch: options, ..GemmOptions::default() };
    let report = gemm_into(&Device::sim(), &mut c, a, &b, &options)?.product;
    Ok((report, c.to_vec()))
}

#[test]
fn surfaces_the_hardware_cannot_take_are_staged_refused_or_caught() {
    let parent = matrix(64, 131);
    let slice: Vec<bf16> = (0..64 * 39 + 40).map(|i| bf16::from_f32((i % 13) as f32)).collect();
    let aligned = slice.as_ptr().align_offset(64);
    let cases: [(&str, View<'_, bf16>, &str); 3] = [
        ("odd column offset", parent.view().slice_cols(7..90).expect("inside"), "multiple of 4 bytes"),
        (
            "odd pitch",
            View::from_slice(&slice[aligned..][..64 * 39], 64, 39).expect("it fits"),
            "multiple of 16 bytes",
        ),
        (
            "misaligned base",
            View::from_slice(&slice[aligned + 1..][..60 * 32], 60, 32).expect("it fits"),
            "multiple of 4 bytes",
        ),
    ];
    for (what, a, rule) in cases {
        let host = {
            let b = matrix(a.cols(), 40);
            let c: Tensor<f32> = tile_std::gemm(&Device::host(), a, &b).expect("the host takes any view");
            c.to_vec()
        };
        let (report, sim) = with_a(LaunchOptions::default(), a).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(sim, host, "{what}");
        let staged: Vec<String> = report.staged.iter().map(ToString::to_string).collect();
        assert!(
            staged.len() == 1 && staged[0].contains("`a`") && staged[0].contains(rule),
            "{what}: {staged:?}"
        );
        let strict = LaunchOptions { strict: true, ..LaunchOptions::default() };
        let error = with_a(strict, a).expect_err("strict refuses to copy").to_string();
        assert!(
            error.contains("`a`") && error.contains(rule) && error.contains("gemm<bf16"),
            "{what}: {error}"
        );
        let force = LaunchOptions { force: true, ..LaunchOptions::default() };
        let error = with_a(force, a).expect_err("the simulator refuses the same surface");
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(s) = source {
            text.push_str(&format!(": {s}"));
            source = s.source();
        }
        assert!(text.contains("2DBlock"), "{what}: the instruction is named: {text}");
    }
}

#[test]
fn aligned_views_are_not_copied() {
    let parent = matrix(64, 192);
    let a = parent.view().slice_rows(4..60).expect("inside").slice_cols(32..130).expect("inside");
    let (report, _) =
        with_a(LaunchOptions { strict: true, ..LaunchOptions::default() }, a).expect("the hardware takes it");
    assert!(report.staged.is_empty());
}
