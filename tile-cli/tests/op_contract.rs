//! The contract that every op of `tile_ir::ops::list` keeps, op by op.
//!
//! An op has a spelling in kernel source and every spelling an op; its typing rule accepts something and refuses something;
//! host bodies, simulator and the meaning of the IR agree on bf16, f16, f32 and i32 where it takes them, odd values included; a module declares what it uses and nothing else; its host function has a documented, runnable
//! example. *Not here*: golden words (`tile-spirv/tests/golden.rs`), that every rule has a case and an explanation (`ui-tests`), the
//! whole suite (`conformance`), bytes and tf32 (`tile-spirv/tests/operand_sim.rs`, `same_meaning/operands.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rspirv::spirv::{Capability, Op as Instruction};
use tile_cli::conform::{Compiled, Kernel, compile_all, kernels, launches, wrong};
use tile_cli::fuzz::judge::{Kind, Ready, Verdict, compile};
use tile_cli::fuzz::tensor::Tensor;
use tile_cli::reference::operands::taken;
use tile_ir::ir::{Logic, Reduction};
use tile_ir::map::{MapBinary, MapTernary, MapUnary};
use tile_ir::ops::list::{Entry, all};
use tile_ir::scalar::Compare;
use tile_ir::types::DType;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// One kernel per op, form and element types, the refused ones as `Err`.
fn compiled() -> Vec<(Kernel, Compiled)> {
    let kernels = kernels();
    let compiled = compile_all(&kernels);
    kernels
        .into_iter()
        .zip(compiled)
        .map(|(kernel, compiled)| match compiled {
            Ok(compiled) => (kernel, compiled),
            Err(f) => panic!("{}: {:?}: {}\n{}", kernel.label(), f.kind, f.detail, kernel.case.source()),
        })
        .collect()
}

/// True when the kernel's IR has the op.
fn uses(ready: &Ready, op: &Entry) -> bool {
    let mut found = false;
    ready.kernel().kernel().body.walk(&mut |o| {
        found |= o.kind.family() == op.family && o.kind.name() == op.name;
    });
    found
}

#[test]
fn every_op_is_spelled_and_every_spelling_is_an_op() {
    let is_name =
        |call: &str| call.chars().all(|c| c.is_alphanumeric() || c == '_') && !call.starts_with('1');
    let keywords = ["as", "for", "while", "if"];
    let listed: BTreeSet<String> = all()
        .into_iter()
        .flat_map(|op| op.calls)
        .filter(|c| is_name(c) && !keywords.contains(&c.as_str()))
        .collect();
    let mut known: BTreeSet<String> = [tile_front::OPS, tile_front::METHODS, tile_front::GROUP_OPS]
        .concat()
        .iter()
        .map(|(name, _)| (*name).to_string())
        .collect();
    known.extend(MapUnary::ALL.iter().map(|op| op.name().to_string()));
    for form in ["", "_row", "_col"] {
        known.extend(MapBinary::ALL.iter().map(|op| format!("{}{form}", op.name())));
    }
    known.extend(MapTernary::ALL.iter().map(|op| op.name().to_string()));
    for form in ["", "_row", "_col"] {
        known.extend(Compare::ALL.iter().map(|op| format!("{}{form}", op.name())));
    }
    known.extend(Logic::ALL.iter().map(|op| op.name().to_string()));
    known.extend(["not", "any", "select"].map(String::from));
    for line in ["row", "col"] {
        for form in ["", "_with"] {
            known.extend(Reduction::ALL.iter().map(|how| format!("{line}_{}{form}", how.name())));
        }
    }
    let lacks: Vec<_> = known.difference(&listed).collect();
    assert!(
        lacks.is_empty(),
        "the front end takes what no op of `tile_ir::ops::list` is spelled as: {lacks:?}"
    );
    let lacks: Vec<_> = listed.difference(&known).collect();
    assert!(
        lacks.is_empty(),
        "the front end does not take these spellings of `tile_ir::ops::list`: {lacks:?}"
    );
}

#[test]
fn typing_accepts_and_refuses_and_the_kernel_has_the_op() {
    let mut accepted: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (kernel, compiled) in compiled() {
        // Integers stand in the forms of floats where the op takes them.
        let takes_integers =
            || taken(&kernel.op).is_some_and(|t| t.iter().any(|t| t.dtype() == Some(DType::I32)));
        if kernel.form.ends_with(" of integers") && compiled.is_err() && !takes_integers() {
            continue;
        }
        let count = accepted
            .entry((format!("{:?} {}", kernel.op.family, kernel.op.name), kernel.form.clone()))
            .or_default();
        let Ok(ready) = compiled else { continue };
        // Work shared with nobody is not shared: `prefetch_load_coop` may become `prefetch_load`.
        *count += usize::from(uses(&ready, &kernel.op));
    }
    let never: Vec<_> = accepted.iter().filter(|(_, count)| **count == 0).map(|(op, _)| op).collect();
    assert!(never.is_empty(), "no kernel with the op is accepted for {never:?}");
    let mut problems = vec![];
    for op in all() {
        let name = format!("{:?} {}", op.family, op.name);
        if !accepted.keys().any(|(of, _)| *of == name) {
            problems.push(format!("`{name}` has no kernel in `conform::bodies`"));
        }
        let (body, code) = wrong::wrong(&op);
        let case = launches::kernel(0, &body, body.types[0], [16, 32, 48], (2, 1));
        match compile(&case) {
            Err(Verdict::Fails(f)) if f.kind == Kind::Rejected && f.detail.contains(&format!("[{code}]")) => {
            }
            Err(Verdict::Fails(f)) => {
                problems.push(format!(
                    "`{name}`, used wrongly, must break {code}; here: {:?}: {}",
                    f.kind, f.detail
                ));
            }
            Err(verdict) => problems.push(format!("`{name}`, used wrongly: {verdict:?}")),
            Ok(_) => {
                problems.push(format!("`{name}` takes what it must refuse with {code}:\n{}", case.source()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Two launches per kernel; the conformance suite judges them all. Here every op must have been compared at all.
#[test]
fn host_and_simulator_agree_on_odd_values_of_every_type() {
    let mut judged: BTreeMap<String, u64> = BTreeMap::new();
    for (kernel, compiled) in compiled() {
        let Ok(ready) = compiled else { continue };
        for case in launches::launches(&kernel.case).into_iter().skip(1).step_by(5) {
            match ready.judge(&case, None) {
                Verdict::Agrees { exact, close, .. } => {
                    *judged.entry(format!("{:?} {}", kernel.op.family, kernel.op.name)).or_default() +=
                        exact + close;
                }
                verdict => panic!("{}: {verdict:?}\n{}", kernel.label(), case.text()),
            }
        }
    }
    for op in all() {
        let name = format!("{:?} {}", op.family, op.name);
        assert!(judged.get(&name).is_some_and(|n| *n > 100), "`{name}` was compared on too few elements");
    }
}

#[test]
fn the_values_of_the_suite_hold_every_edge() {
    let (mut normal, mut found) = (0u64, BTreeSet::new());
    for kernel in kernels().iter().step_by(7) {
        for case in launches::launches(&kernel.case) {
            for (dtype, spec) in case.dtypes().into_iter().zip(&case.tensors).skip(1) {
                for (_, value, _) in Tensor::new(dtype, spec).places() {
                    let v = value.v;
                    match v {
                        v if v.is_nan() => found.insert("NaN"),
                        v if v == f32::INFINITY => found.insert("inf"),
                        v if v == f32::NEG_INFINITY => found.insert("-inf"),
                        v if v == 0.0 && v.is_sign_negative() => found.insert("-0"),
                        0.0 => found.insert("0"),
                        v if v.abs() < 1.2e-38 || v == 2.9802322e-7 => found.insert("subnormal"),
                        v if v.abs() > 2e38 || v == -65504.0 => found.insert("largest"),
                        _ => {
                            normal += 1;
                            false
                        }
                    };
                }
            }
        }
    }
    let want = BTreeSet::from(["NaN", "inf", "-inf", "-0", "0", "subnormal", "largest"]);
    assert!(found == want && normal > 10_000, "{found:?}, {normal} others");
}

#[test]
fn every_kernel_has_a_module_for_every_target() {
    let mut both = 0;
    for (kernel, compiled) in compiled() {
        let Ok(ready) = compiled else { continue };
        let targets: Vec<&str> = ready.modules.iter().map(|m| m.target).collect();
        assert_eq!(targets, ["xe", "lane"], "{}: {:?}", kernel.label(), ready.absent);
        both += 1;
    }
    assert!(both > 1000, "only {both}");
}

/// What the grammar of SPIR-V asks for and what a module declares.
#[test]
fn modules_declare_what_they_use_and_nothing_else() {
    // What every kernel declares: the execution model, the addressing, and the types of its arguments.
    let base = [
        Capability::Kernel,
        Capability::Addresses,
        Capability::Linkage,
        Capability::Int64,
        Capability::Int16,
        Capability::Int8,
        Capability::Float16,
        Capability::Float16Buffer,
        Capability::Vector16,
        Capability::SubgroupDispatch,
        Capability::Groups,
    ];
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for (kernel, compiled) in compiled() {
        let Ok(ready) = compiled else { continue };
        for part in &ready.modules {
            let module = rspirv::dr::load_bytes(&part.module.words).expect("the words are SPIR-V");
            let declared: BTreeSet<Capability> = part.capabilities.iter().copied().collect();
            let in_words: BTreeSet<Capability> = module
                .capabilities
                .iter()
                .filter_map(|i| {
                    i.operands.first().and_then(|o| {
                        if let rspirv::dr::Operand::Capability(c) = o { Some(*c) } else { None }
                    })
                })
                .collect();
            assert_eq!(
                declared,
                in_words,
                "{}: left: the list of the module, right: its words",
                kernel.label()
            );
            let mut wanted = BTreeSet::new();
            for instruction in module.all_inst_iter().filter(|i| i.class.opcode != Instruction::Capability) {
                let any_of = instruction.class.capabilities;
                let have: Vec<&Capability> = any_of.iter().filter(|c| declared.contains(c)).collect();
                assert!(
                    any_of.is_empty() || !have.is_empty(),
                    "{}: {:?} needs one of {any_of:?}; declared are {declared:?}",
                    kernel.label(),
                    instruction.class.opcode
                );
                wanted.extend(have.into_iter().copied());
                for operand in &instruction.operands {
                    wanted.extend(operand.required_capabilities());
                }
            }
            for capability in declared.iter().filter(|c| !base.contains(c)) {
                assert!(wanted.contains(capability), "{}: nothing uses {capability:?}", kernel.label());
                *seen.entry(format!("{capability:?}")).or_default() += 1;
            }
            for extension in &part.extensions {
                *seen.entry((*extension).to_string()).or_default() += 1;
            }
        }
    }
    println!("{seen:#?}");
    assert!(seen.len() > 6, "{seen:?}");
}

/// Names of the host functions of a source file, with the text above each.
fn documented(path: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path).expect("readable");
    let mut above = String::new();
    let mut all = vec![];
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("pub fn ") {
            let name: String =
                rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '$').collect();
            all.push((name, std::mem::take(&mut above)));
        } else if line.starts_with("///") || line.starts_with('#') || line.starts_with("$(#[$doc") {
            above.push_str(line);
            above.push('\n');
        } else if line.starts_with("//") {
            // A comment between does not part a function from its text.
        } else {
            above.clear();
        }
    }
    all
}

#[test]
fn every_host_function_is_an_op_with_a_sentence_and_a_runnable_example() {
    let mut calls: BTreeSet<String> = all().into_iter().flat_map(|op| op.calls).collect();
    // Closures are another way to write ops.
    calls.extend(tile_front::CLOSURE_METHODS.iter().map(|(name, _)| (*name).to_string()));
    let mut count = 0;
    for file in std::fs::read_dir(workspace().join("tile-lang/src/ops")).expect("the ops of tile-lang") {
        let path = file.expect("readable").path();
        for (name, text) in documented(&path) {
            // What generated code calls, and looking at an element on the host, are no ops.
            if text.contains("The expanded form of") || text.contains("for tests and debugging on the host") {
                continue;
            }
            count += 1;
            // The name of a row of a table is a variable of a macro.
            let place = format!("`{name}` in {}", path.display());
            assert!(name.starts_with('$') || calls.contains(&name), "{place} is the spelling of no op");
            let prose: String = text
                .lines()
                .map(|l| l.trim_start_matches("///").trim())
                .take_while(|l| !l.starts_with("```"))
                .collect::<Vec<_>>()
                .join(" ");
            assert!(prose.contains('.') || prose.contains('$'), "{place} has no sentence: {text}");
            assert!(text.contains("```"), "{place} has no example");
            assert!(
                !text.contains("```text") && !text.contains("```ignore"),
                "the example of {place} does not run"
            );
        }
    }
    assert!(count >= 30, "only {count} functions found");
}
