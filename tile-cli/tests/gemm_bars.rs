//! The GEMM of tile-std against the bars that hand-written SPIR-V sets (xe_facts §10): instructions beside 32 DPAS
//! in the interior K loop, on Intel's compiler.
//!
//! Without the tools the test is skipped and says so; with `TILE_REQUIRE_TOOLS=1` that is a failure.

mod bars;

use bars::{figures, tools};
use tile_cli::tools::Tools;

/// Holds an instance on a device to a bar: the most instructions beside 32 DPAS of a K step.
fn holds(tools: &Tools, (kernel, name): (&str, &str), device: &str, bar: u64, prefetched: u64) {
    let figures = figures(tools, (kernel, name), device);
    let k_loop = figures.k_loop.as_ref().unwrap_or_else(|| panic!("{name} on {device}: no K loop"));
    println!("{kernel}{name} on {device}: {} other, bar {bar}", k_loop.other);
    assert_eq!((figures.grf_count, figures.spill_bytes), (256, 0), "{name} on {device}");
    assert_eq!(k_loop.dpas, 32, "{name} on {device}");
    assert!(k_loop.other <= bar, "{name} on {device}: {} other instructions, bar {bar}", k_loop.other);
    assert!(!k_loop.masked, "{name} on {device}: the interior loop masks edges");
    assert_eq!(k_loop.bytes_loaded, Some((32 * 32 + 32 * 64) * 2), "{name} on {device}");
    assert_eq!(k_loop.bytes_prefetched, Some(prefetched), "{name} on {device}");
}

/// A part of A and one of B, 8 rows of 64 bytes each.
const PREFETCHED: u64 = 1024;

#[test]
fn gemm_meets_the_bars_of_hand_written_modules() {
    let Some(tools) = tools("gemm_meets_the_bars_of_hand_written_modules") else { return };
    // B transposed, cooperative prefetch, device, most other instructions per 32 DPAS.
    let bars = [
        (false, true, "pvc", 24),
        (false, false, "pvc", 12),
        (false, true, "bmg", 16),
        (false, false, "bmg", 11),
        (true, false, "pvc", 48),
        (true, true, "pvc", 48),
        (true, false, "bmg", 27),
        (true, true, "bmg", 27),
    ];
    for (transpose_b, prefetch, device, bar) in bars {
        let name = format!("<bf16, f32, 32, 64, 32, {transpose_b}, {prefetch}>");
        holds(&tools, ("gemm", &name), device, bar, if prefetch { PREFETCHED } else { 0 });
    }
}

#[test]
fn epilogues_and_splits_leave_the_loop_as_it_is() {
    let Some(tools) = tools("epilogues_and_splits_leave_the_loop_as_it_is") else { return };
    let of = [
        ("gemm_fused", "<bf16, bf16, 32, 64, 32, false, false>", [("pvc", 24), ("bmg", 16)]),
        ("gemm_fused", "<bf16, bf16, 32, 64, 32, false, true>", [("pvc", 50), ("bmg", 27)]),
        ("gemm_split", "<bf16, 32, 64, 32, false, false>", [("pvc", 24), ("bmg", 16)]),
        // A transposed A costs 64 moves of words at least (xe_facts 4).
        ("gemm_fused", "<bf16, bf16, 32, 64, 32, true, false>", [("pvc", 112), ("bmg", 90)]),
    ];
    for (kernel, name, bars) in of {
        for (device, bar) in bars {
            holds(&tools, (kernel, name), device, bar, PREFETCHED);
        }
    }
}
