//! The GEMM of tile-std against the bars that hand-written SPIR-V sets (xe_facts §10): instructions beside 32 DPAS
//! in the interior K loop, on Intel's compiler.
//!
//! Without the tools the test is skipped and says so; with `TILE_REQUIRE_TOOLS=1` that is a failure.

use tile_cli::inspect::inspect;
use tile_cli::kernels;
use tile_cli::tools::{Tools, tools_required};

#[test]
fn gemm_meets_the_bars_of_hand_written_modules() {
    let tools = match Tools::find() {
        Ok(tools) => tools,
        Err(error) if tools_required() => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: gemm_meets_the_bars_of_hand_written_modules: {error}");
            return;
        }
    };
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
    let gemm = kernels::find(kernels::registry(), "gemm").expect("tile-std has a GEMM");
    for (transpose_b, prefetch, device, bar) in bars {
        let name = format!("<bf16, f32, 32, 64, 32, {transpose_b}, {prefetch}>");
        let instance = gemm.find_named(&name).unwrap_or_else(|| panic!("{name} is not compiled"));
        let modules = kernels::modules(instance);
        let module = modules.iter().find(|m| m.devices.iter().any(|d| d == device)).expect("an xe module");
        let figures = inspect(&tools, module, device).unwrap_or_else(|e| panic!("{name} on {device}: {e}"));
        let k_loop = figures.k_loop.as_ref().unwrap_or_else(|| panic!("{name} on {device}: no K loop"));
        println!("{name} on {device}: {} other, bar {bar}", k_loop.other);
        assert_eq!((figures.grf_count, figures.spill_bytes), (256, 0), "{name} on {device}");
        assert_eq!(k_loop.dpas, 32, "{name} on {device}");
        assert!(k_loop.other <= bar, "{name} on {device}: {} other instructions, bar {bar}", k_loop.other);
        assert!(!k_loop.masked, "{name} on {device}: the interior loop masks edges");
        assert_eq!(k_loop.bytes_loaded, Some((32 * 32 + 32 * 64) * 2), "{name} on {device}");
        // A part of A and one of B, 8 rows of 64 bytes each.
        assert_eq!(k_loop.bytes_prefetched, Some(if prefetch { 1024 } else { 0 }), "{name} on {device}");
    }
}
