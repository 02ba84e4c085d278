//! The hand-written modules in `tests/data`, whose figures xe_facts §10 records: the reader of machine code must
//! agree with them, and the gate must pass and fail them for the right reasons.
//!
//! Without the tools each test is skipped and says so; with `TILE_REQUIRE_TOOLS=1` that is a failure.

use std::path::Path;

use tile_cli::inspect::{Figures, inspect};
use tile_cli::module::ModuleInput;
use tile_cli::run::{End, run};
use tile_cli::tools::{Tools, tools_required};
use tile_cli::verify::{Outcome, Request, Rule, verify};
use tile_cli::waivers::Waivers;

const LARGE_GRF: &str = "-cl-intel-256-GRF-per-thread";
const HOIST: &str = "AllowPrefetchDecomposeWithHoisting=1";

fn tools(test: &str) -> Option<Tools> {
    match Tools::find() {
        Ok(tools) => Some(tools),
        Err(error) if tools_required() => panic!("{test}: {error}"),
        Err(error) => {
            eprintln!("skipped: {test}: {error}");
            None
        }
    }
}

fn assembled(tools: &Tools, name: &str, options: &[&str], igc_options: &[&str]) -> ModuleInput {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = source.to_str().expect("a UTF-8 path");
    // 1.2 is what our own modules are, and what brings in OpenCL's rules; the figures are the same with 1.4.
    let args = ["--target-env", "spv1.2", "-o", "m.spv", source];
    let finished = run(&tools.spirv_as, &args, folder.path()).expect("spirv-as starts");
    assert_eq!(finished.end, End::Exit(0), "{}", finished.output);
    let mut module = ModuleInput::from_file(&folder.path().join("m.spv"), None).expect("a module");
    module.kernel = name.to_owned();
    module.options = options.iter().map(|&o| o.to_owned()).collect();
    module.igc_options = igc_options.iter().map(|&o| o.to_owned()).collect();
    module
}

fn figures(tools: &Tools, name: &str, device: &str, options: &[&str], igc_options: &[&str]) -> Figures {
    let module = assembled(tools, name, options, igc_options);
    inspect(tools, &module, device).unwrap_or_else(|error| panic!("{name} on {device}: {error}"))
}

/// (dpas, other, block loads, prefetches) of the K loop.
fn loop_counts(figures: &Figures) -> (u64, u64, u64, u64) {
    let k_loop = figures.k_loop.as_ref().expect("a K loop");
    (k_loop.dpas, k_loop.other, k_loop.block_loads, k_loop.prefetches)
}

#[test]
fn figures_agree_with_the_recorded_ones() {
    let Some(tools) = tools("figures_agree_with_the_recorded_ones") else { return };
    let rows = [
        ("gemm_32x64_nopf.spvasm", "pvc", &[][..], (32, 12, 3, 0)),
        ("gemm_32x64_nopf.spvasm", "bmg", &[], (32, 11, 3, 0)),
        ("gemm_32x64_nopf.spvasm", "cri", &[], (32, 10, 3, 0)),
        ("gemm_32x64_pvc.spvasm", "pvc", &[HOIST], (32, 24, 3, 3)),
        ("gemm_32x64_pvc.spvasm", "bmg", &[HOIST], (32, 16, 3, 3)),
        ("gemm_32x64_pvc.spvasm", "pvc", &[], (32, 41, 3, 3)),
        ("gemm_32x64_pvc.spvasm", "bmg", &[], (32, 35, 3, 3)),
        ("gemm_bf16_btrans.spvasm", "pvc", &[], (32, 48, 9, 0)),
        ("gemm_bf16_btrans.spvasm", "bmg", &[], (32, 27, 9, 0)),
        ("gemm_bf16_btrans.spvasm", "cri", &[], (32, 25, 9, 0)),
    ];
    for (name, device, igc_options, expected) in rows {
        let figures = figures(&tools, name, device, &[LARGE_GRF], igc_options);
        assert_eq!(loop_counts(&figures), expected, "{name} on {device} with {igc_options:?}");
        assert_eq!((figures.grf_count, figures.eu_threads), (256, 4), "{name} on {device}");
        assert_eq!((figures.spill_bytes, figures.scratch_bytes), (0, 0), "{name} on {device}");
        assert_eq!(figures.loops, 1, "{name} on {device}");
        let k_loop = figures.k_loop.expect("a K loop");
        assert!(!k_loop.masked, "{name} on {device}");
        // A 32x32 and B 32x64 in bf16, each read once per step; the prefetches ask for the same again.
        let prefetched = if expected.3 == 0 { 0 } else { 6144 };
        let bytes = (k_loop.bytes_loaded, k_loop.bytes_prefetched, k_loop.bytes_stored);
        assert_eq!(
            bytes,
            (Some(6144), Some(prefetched), Some(0)),
            "{name} on {device}: {:?}",
            k_loop.bytes_note
        );
    }
}

#[test]
fn a_spill_is_seen() {
    let Some(tools) = tools("a_spill_is_seen") else { return };
    let figures = figures(&tools, "gemm_32x64_pvc.spvasm", "pvc", &[], &[]);
    assert_eq!((figures.grf_count, figures.eu_threads, figures.spill_bytes), (128, 8, 5632));
    let k_loop = figures.k_loop.expect("a K loop");
    assert_eq!((k_loop.dpas, k_loop.other, k_loop.scratch_messages), (32, 304, 80));
}

fn failing_rules(tools: &Tools, mut module: ModuleInput, device: &str) -> Vec<Rule> {
    module.devices = vec![device.to_owned()];
    let request = Request { modules: &[module], devices: &[], complete: false };
    let report = verify(tools, &request, &Waivers::default());
    let mut rules = Vec::new();
    for check in &report.checks {
        match &check.outcome {
            Outcome::Failed(findings) => rules.extend(findings.iter().map(|finding| finding.rule)),
            Outcome::Passed => {}
            other => panic!("{other:?}"),
        }
    }
    rules
}

/// Removes every OpExtension (opcode 10) from little-endian SPIR-V.
fn without_extension(words: &[u8]) -> Vec<u8> {
    let (mut kept, mut rest) = (words[..20].to_vec(), &words[20..]);
    while let [a, b, c, d, ..] = *rest {
        let (instruction, after) = rest.split_at(usize::from(u16::from_le_bytes([c, d])) * 4);
        if u16::from_le_bytes([a, b]) != 10 {
            kept.extend_from_slice(instruction);
        }
        rest = after;
    }
    kept
}

#[test]
fn the_gate_passes_good_modules_and_names_what_is_wrong_with_others() {
    let Some(tools) = tools("the_gate_passes_good_modules_and_names_what_is_wrong_with_others") else {
        return;
    };
    for name in ["gemm_32x64_nopf.spvasm", "gemm_32x64_pvc.spvasm", "gemm_bf16_btrans.spvasm"] {
        for device in ["pvc", "bmg", "lnl", "ptl", "cri"] {
            let module = assembled(&tools, name, &[LARGE_GRF], &[]);
            assert_eq!(failing_rules(&tools, module, device), [], "{name} on {device}");
        }
    }
    let with = |options: &[&str]| assembled(&tools, "gemm_32x64_pvc.spvasm", options, &[]);
    assert_eq!(failing_rules(&tools, with(&[]), "pvc"), [Rule::Spill]);
    // dg2 has no 2-D block messages, and its compiler refuses the extension.
    assert_eq!(failing_rules(&tools, with(&[LARGE_GRF]), "dg2"), [Rule::Build]);
    // SPIR-V for OpenCL 2.2 needs the extension that brings the capability; the compiler itself does not care.
    let mut no_extension = with(&[LARGE_GRF]);
    no_extension.words = without_extension(&no_extension.words);
    assert_eq!(failing_rules(&tools, no_extension, "pvc"), [Rule::Validate]);
    let mut wrong_entry = with(&[LARGE_GRF]);
    wrong_entry.entry = "absent".to_owned();
    assert_eq!(failing_rules(&tools, wrong_entry, "pvc"), [Rule::Build]);
    let mut cut = with(&[LARGE_GRF]);
    cut.words.truncate(cut.words.len() / 2 / 4 * 4);
    assert!(failing_rules(&tools, cut, "pvc").contains(&Rule::Validate));
}

#[test]
fn a_crash_of_the_compiler_is_called_a_crash() {
    let Some(tools) = tools("a_crash_of_the_compiler_is_called_a_crash") else { return };
    // xe_facts §9: 192 registers crash IGC 2.40 on pvc instead of being refused.
    let options = ["-ze-exp-register-file-size=192"];
    let module = assembled(&tools, "gemm_32x64_nopf.spvasm", &options, &[]);
    let error = inspect(&tools, &module, "pvc").expect_err("192 registers do not exist on pvc");
    if tools.version_of("igc") == Some("2.40.14-1") {
        assert!(error.to_string().contains("crashed (SIGSEGV)"), "{error}");
    }
}
