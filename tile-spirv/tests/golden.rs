//! Compares the words of one small kernel per op with text that somebody read. `TILE_BLESS=1` writes the text anew.

#[path = "support/corpus.rs"]
mod corpus;
mod support;
#[path = "support/text.rs"]
mod text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use corpus::{Sample, Shown, gemms, samples};
use text::Text;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Samples whose module for `lane` is written down too: a few of every file of `lane`. Scalars and control flow have the words of
/// `xe`, and the rest are loops over these.
const LANE: &[&str] = &[
    "load/bf16_8x16",
    "load/i8_8x32_odd",
    "load_scalar/bf16",
    "load_vec/bf16_8",
    "load_transpose/f32_16x16_row",
    "store/f16_8x16",
    "store_transpose/bf16_8x16",
    "store_vec/bf16_24",
    "atomic_add/f32_8x16",
    "mma/bf16_16x32x16",
    "mma/i8_u8_8x16x32",
    "to/f32_bf16",
    "to/f32_i8",
    "exp2/tile_f32_8x16",
    "log2/tile_f32_8x16",
    "div/tile_f32_8x32_rows",
    "max/tile_f32_8x16",
    "select/tile_bf16_8x16",
    "lt/tile_bf16_8x16",
    "any/vector_8",
    "iota_cols/tile_f32_16x32",
    "tril/i32_8x32",
    "keep_rows/bf16_8x32",
    "row_max/f32_8x32",
    "col_sum/f32_16x32",
    "reduce_sum/bf16_24",
    "argmax/bf16_24",
    "row_argmin/f32_16x32",
    "col_argmax/bf16_8x16",
    "row_topk/f32_8x16_1_values",
    "col_topk/f32_8x16_2_with_values",
    "transpose/f32_16x16",
    "sub_tile/f32_8x16",
    "to_per_row/f32_32",
    "load_shared/bf16",
    "load_coop/f16",
    "store_coop/i32",
    "barrier/shared",
];

/// The file of a sample, and what it should hold.
fn texts(sample: &Sample) -> Vec<(PathBuf, String)> {
    let folder = folder().join(sample.op);
    let modules = tile_spirv::lower(&sample.kernel).expect("every sample lowers");
    let [xe, lane] = modules.as_slice() else {
        panic!("{} {}: a target lacks it", sample.op, sample.variant)
    };
    let text = Text::of(&xe.words);
    let text = match sample.shown {
        Shown::Body => text.body(),
        Shown::Factor => text.factor(),
        Shown::Stored => text.stored(),
    };
    let mut texts = vec![(folder.join(format!("{}.spvasm", sample.variant)), text)];
    if LANE.contains(&format!("{}/{}", sample.op, sample.variant).as_str()) {
        let file = folder.join(format!("{}.lane.spvasm", sample.variant));
        texts.push((file, Text::of(&lane.words).body()));
    }
    texts
}

#[test]
fn every_op_is_emitted_as_written_down() {
    let bless = std::env::var_os("TILE_BLESS").is_some_and(|v| v == "1");
    let (mut differ, mut expected) = (vec![], BTreeSet::new());
    for (file, text) in samples().iter().flat_map(texts) {
        expected.insert(file.clone());
        if bless {
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
            std::fs::write(&file, &text).expect("writable");
        } else if std::fs::read_to_string(&file).unwrap_or_default() != text {
            differ.push(format!("{}:\n{text}", file.display()));
        }
    }
    assert!(
        differ.is_empty(),
        "{} differ from tests/golden (TILE_BLESS=1 accepts):\n{}",
        differ.len(),
        differ.join("\n")
    );
    let mut found = BTreeSet::new();
    for op in std::fs::read_dir(folder()).expect("the golden folder") {
        for file in std::fs::read_dir(op.expect("readable").path()).expect("a folder per op") {
            found.insert(file.expect("readable").path());
        }
    }
    assert_eq!(found, expected, "golden files and samples must be the same set");
}

#[test]
fn every_op_has_a_sample() {
    let have: BTreeSet<&str> = samples().iter().map(|s| s.op).collect();
    let listed = tile_ir::ops::list::all();
    let want: BTreeSet<&str> = listed.iter().map(|op| op.name.as_str()).collect();
    assert_eq!(have, want);
}

#[test]
fn equal_kernels_give_equal_words() {
    for (name, gemm) in gemms() {
        let (a, b) = (tile_spirv::lower(&gemm.build()), tile_spirv::lower(&gemm.build()));
        assert_eq!(a.expect("lowers"), b.expect("lowers"), "{name}");
    }
    for (a, b) in samples().iter().zip(samples()) {
        assert_eq!(tile_spirv::lower(&a.kernel), tile_spirv::lower(&b.kernel), "{} {}", a.op, a.variant);
    }
}

#[test]
fn a_module_declares_what_it_uses() {
    use tile_spirv::Capability as C;
    let module = |sample: &Sample| tile_spirv::lower(&sample.kernel).expect("lowers").remove(0);
    for s in samples() {
        let m = module(&s);
        let has = |c: C| m.capabilities.contains(&c);
        let transposes = s.op == "load_transpose" || s.variant.ends_with("_nk");
        let tf32 = s.variant.starts_with("tf32");
        let bytes = s.variant.contains("i8") || s.variant.contains("u8_") || s.variant.contains("_u8");
        // Between bytes and wider elements, elements change lanes.
        let shuffles = s.op.starts_with("row_")
            || (s.op == "to" && bytes)
            || s.op.starts_with("reduce_")
            || (s.op == "load_vec" && s.variant.ends_with("_wide"))
            || matches!(s.op, "transpose" | "atomic_add_vec" | "argmax" | "argmin");
        assert_eq!(
            has(C::Subgroup2DBlockTransformINTEL),
            matches!(s.op, "load_transform" | "mma") && !transposes && !tf32,
            "{} {}",
            s.op,
            s.variant
        );
        assert_eq!(has(C::Subgroup2DBlockTransposeINTEL), transposes, "{} {}", s.op, s.variant);
        assert_eq!(has(C::TensorFloat32RoundingINTEL), tf32, "{} {}", s.op, s.variant);
        assert_eq!(m.extensions.contains(&"SPV_INTEL_tensor_float32_conversion"), tf32, "{}", s.op);
        let dpas = matches!(s.op, "load_transform" | "load_transpose" | "mma")
            && !s.variant.ends_with("_row")
            || s.variant.contains("Vnni");
        assert_eq!(has(C::SubgroupMatrixMultiplyAccumulateINTEL), dpas, "{}", s.op);
        assert_eq!(m.extensions.contains(&"SPV_INTEL_subgroup_matrix_multiply_accumulate"), dpas, "{}", s.op);
        // Moved as they are, elements need no conversion.
        let moves = matches!(
            s.op,
            "load"
                | "load_transform"
                | "load_transpose"
                | "transpose"
                | "prefetch_load"
                | "prefetch_load_coop"
                | "store"
                | "mma"
                | "load_shared"
                | "load_transform_shared"
                | "load_transpose_shared"
                | "store_shared"
                | "load_coop"
                | "store_coop"
        );
        // A wide vector is held as it lies in memory.
        let moves = moves || (s.op == "store_vec" && s.variant.ends_with("_wide"));
        // A top-k takes the conversion of bf16 for what moves 16 bits up.
        let moved_up = s.op.ends_with("_topk") && s.variant.starts_with("f16");
        let bf16 = !moves && s.variant.contains("bf16") && s.variant != "bf16_bf16" || moved_up;
        assert_eq!(has(C::BFloat16ConversionINTEL), bf16, "{} {}", s.op, s.variant);
        let blocks = matches!(
            s.op,
            "load_shared" | "load_transform_shared" | "store_shared" | "load_coop" | "store_coop"
        );
        assert_eq!(has(C::SubgroupBufferBlockIOINTEL), blocks, "{} {}", s.op, s.variant);
        assert_eq!(has(C::SplitBarrierINTEL), matches!(s.op, "barrier_arrive" | "barrier_wait"), "{}", s.op);
        let subgroups = blocks || shuffles;
        assert_eq!(m.extensions.contains(&"SPV_INTEL_subgroups"), subgroups, "{}", s.op);
        assert_eq!(has(C::SubgroupShuffleINTEL), shuffles, "{} {}", s.op, s.variant);
        assert_eq!(
            has(C::AtomicFloat32AddEXT),
            s.op.starts_with("atomic_") && s.variant.starts_with("f32"),
            "{} {}",
            s.op,
            s.variant
        );
        let division = s.op == "div" && s.variant == "f32";
        assert_eq!(m.options.len(), if division { 2 } else { 1 }, "{} {}", s.op, s.variant);
    }
}
