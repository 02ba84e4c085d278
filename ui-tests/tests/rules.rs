//! Owns the compile-time rules as a user meets them: one case per rule in `ui/fail`, with the reviewed message.
//!
//! *Guarantees*: every rule a user can break has a case and an explanation; no message shows a name of generated
//! code. After a change of wording: `TRYBUILD=overwrite cargo test -p ui-tests --test rules`, and read the diff.
//! *Not here*: kernels that must compile (`accepted`), what they mean (`same_meaning`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tile_ir::error::Code;

#[test]
fn each_broken_rule_is_reported_as_reviewed() {
    trybuild::TestCases::new().compile_fail("ui/fail/*.rs");
}

/// Every reviewed message by the stem of its case.
fn messages() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/fail");
    let mut out = BTreeMap::new();
    for entry in fs::read_dir(&folder).expect("the folder is part of the crate") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|e| e == "stderr") {
            let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
            out.insert(stem, fs::read_to_string(&path).expect("readable"));
        }
    }
    assert!(out.len() >= 25, "only {} messages found in {}", out.len(), folder.display());
    out
}

/// Names of generated code and of the vocabulary's machinery that no message may show.
const INTERNAL: &[&str] = &[
    "__private",
    "__cx",
    "`__",
    "::__",
    "witness",
    "tile_front",
    "tile_ir",
    "tile_lang",
    "tile_runtime",
    "tile_spirv",
    "sealed",
    "Unknown",
    "`Any`",
    "body::",
    "fn body",
    "`body`",
];

/// What rustc prints itself about the types and traits behind a rule: (cases, text, why).
///
/// No kernel is among the cases: the attribute words its own errors. `plain_*` are host functions over the same ops.
const UNAVOIDABLE: &[(&str, &str, &str)] = &[
    ("plain_", "tile_lang::", "rustc names a type by its crate where `tile_std` has no public path to it"),
    (
        "plain_",
        "__private",
        "the only path rustc finds to the `impl` with `.to` and to the trait behind `zeros`",
    ),
    (
        "user_struct_named_rt",
        "__private",
        "the same: a type that `zeros` does not make is shown with its trait",
    ),
    ("user_struct_named_rt", "crate `tile_lang`", "rustc tells two types of one name apart by their crates"),
];

#[test]
fn no_message_shows_a_name_of_generated_code() {
    let mut found = vec![];
    let mut used = vec![false; UNAVOIDABLE.len()];
    for (case, message) in messages() {
        for line in message.lines() {
            // A snippet of source, `12 | ..`, or its path shows files of this repository as they are.
            let is_source = line.split_once('|').is_some_and(|(n, _)| n.trim().parse::<u32>().is_ok());
            let is_path = line.trim_start().starts_with("--> ");
            if is_source || is_path {
                continue;
            }
            let mut line = line.to_string();
            for (i, (cases, text, _)) in UNAVOIDABLE.iter().enumerate() {
                if case.starts_with(cases) && line.contains(text) {
                    used[i] = true;
                    line = line.replace(text, "");
                }
            }
            found.extend(
                INTERNAL.iter().filter(|name| line.contains(*name)).map(|_| format!("{case}: {line}")),
            );
        }
    }
    assert!(found.is_empty(), "internal names in messages:\n{}", found.join("\n"));
    for (i, used) in used.iter().enumerate() {
        assert!(used, "no longer needed: {:?}", UNAVOIDABLE[i]);
    }
}

#[test]
fn no_explanation_shows_a_name_of_generated_code() {
    for code in Code::ALL {
        for text in [code.title(), code.explain()] {
            let shown: Vec<_> = INTERNAL.iter().filter(|name| text.contains(*name)).collect();
            assert!(shown.is_empty(), "{code}: {shown:?} in {text}");
        }
    }
}

#[test]
fn every_rule_a_user_can_break_has_a_case_and_an_explanation() {
    let messages = messages();
    for code in Code::ALL {
        assert!(code.explain().len() > 40 && code.title().ends_with('.'), "{code} lacks an explanation");
        // `Structure` reports defects of the compiler; no source is known that reaches it.
        if *code != Code::Structure {
            let mark = format!("[{code}]");
            assert!(
                messages.values().any(|m| m.contains(&mark)),
                "no case in ui/fail shows {code}: {}",
                code.title()
            );
        }
    }
}

#[test]
fn every_case_says_its_rule() {
    for stem in messages().keys() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/fail").join(format!("{stem}.rs"));
        let text =
            fs::read_to_string(&path).unwrap_or_else(|e| panic!("a message without its case {stem}: {e}"));
        assert!(text.starts_with("//! "), "{stem}: the first line states the rule");
    }
}

/// A mistake is reported once: the attribute and rustc must not both complain, and the checked copies of a body
/// must not each be reported.
#[test]
fn each_mistake_is_reported_once() {
    for (case, message) in messages() {
        let mut places = BTreeMap::new();
        let mut lines = message.lines().peekable();
        while let Some(line) = lines.next() {
            if !line.starts_with("error") {
                continue;
            }
            let place = lines.by_ref().find_map(|l| l.trim_start().strip_prefix("--> ")).unwrap_or_default();
            let first = places.insert(place.to_string(), line.to_string());
            assert!(first.is_none(), "{case}: two errors at {place}:\n{}\n{line}", first.unwrap_or_default());
        }
    }
}
