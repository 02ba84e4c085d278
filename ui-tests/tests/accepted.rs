//! Owns the kernels that must compile, and run: `ui/pass`, each a program of its own.
//!
//! They are modules of this test instead of `trybuild` cases, because one build of one crate checks them all. Every
//! warning in them is an error: a kernel's author must not see lints of generated code.
#![deny(
    warnings,
    elided_lifetimes_in_paths,
    missing_debug_implementations,
    trivial_casts,
    trivial_numeric_casts,
    unused_lifetimes,
    unused_qualifications
)]

#[path = "../ui/pass/chain_of_multiplies.rs"]
mod chain_of_multiplies;
#[path = "../ui/pass/control_flow.rs"]
mod control_flow;
#[path = "../ui/pass/derived_sizes.rs"]
mod derived_sizes;
#[path = "../ui/pass/elements_and_batches.rs"]
mod elements_and_batches;
#[path = "../ui/pass/functions_of_other_modules.rs"]
mod functions_of_other_modules;
#[path = "../ui/pass/gemm.rs"]
mod gemm;
#[path = "../ui/pass/host_instances.rs"]
mod host_instances;
#[path = "../ui/pass/kernels_side_by_side.rs"]
mod kernels_side_by_side;
#[path = "../ui/pass/private_without_generics.rs"]
mod private_without_generics;
#[path = "../ui/pass/renamed_crate.rs"]
mod renamed_crate;
#[path = "../ui/pass/scalars.rs"]
mod scalars;
#[path = "../ui/pass/shared_memory.rs"]
mod shared_memory;
#[path = "../ui/pass/unsafe_kernel.rs"]
mod unsafe_kernel;
#[path = "../ui/pass/vectors_and_masks.rs"]
mod vectors_and_masks;
#[path = "../ui/pass/while_loops.rs"]
mod while_loops;

/// Every program: file stem and entry.
const PROGRAMS: &[(&str, fn())] = &[
    ("chain_of_multiplies", chain_of_multiplies::main),
    ("control_flow", control_flow::main),
    ("derived_sizes", derived_sizes::main),
    ("elements_and_batches", elements_and_batches::main),
    ("functions_of_other_modules", functions_of_other_modules::main),
    ("gemm", gemm::main),
    ("host_instances", host_instances::main),
    ("kernels_side_by_side", kernels_side_by_side::main),
    ("private_without_generics", private_without_generics::main),
    ("renamed_crate", renamed_crate::main),
    ("scalars", scalars::main),
    ("shared_memory", shared_memory::main),
    ("unsafe_kernel", unsafe_kernel::main),
    ("vectors_and_masks", vectors_and_masks::main),
    ("while_loops", while_loops::main),
];

#[test]
fn every_program_runs() {
    for (name, main) in PROGRAMS {
        println!("{name}");
        main();
    }
}

#[test]
fn every_file_is_a_program_here() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ui/pass");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder is part of the crate")
        .map(|entry| {
            entry.expect("readable").path().file_stem().expect("a name").to_string_lossy().into_owned()
        })
        .collect();
    files.sort();
    assert_eq!(files, PROGRAMS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}
