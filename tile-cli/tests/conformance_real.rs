//! A part of the conformance suite through the real macro and rustc, launched by the runtime on host and simulator; random
//! kernels go the same way.

#[cfg(feature = "opencl")]
use std::collections::{BTreeMap, BTreeSet};

#[cfg(feature = "opencl")]
use rayon::prelude::*;
use tile_cli::conform::{Count, Kernel, compile_all, kernels, launches};
use tile_cli::fuzz::eval::Plant;
#[cfg(feature = "opencl")]
use tile_cli::fuzz::judge::compile;
use tile_cli::fuzz::judge::{Kind, Verdict};
use tile_cli::fuzz::program::Stmt;
use tile_cli::fuzz::real::{Place, judge_all};
use tile_cli::fuzz::write::case;

/// Kernels that compile, so that each op and form comes with one element type at least.
fn part() -> Vec<Kernel> {
    let all = kernels();
    let compiled = compile_all(&all);
    let mut last = String::new();
    let mut part = vec![];
    for (kernel, compiled) in all.into_iter().zip(compiled) {
        if !matches!(compiled, Ok(Ok(_))) {
            continue;
        }
        let form = format!("{:?} {} {}", kernel.op.family, kernel.op.name, kernel.form);
        // The element types of a form follow each other; of most forms one is taken, and not always the same.
        if form != last {
            last = form;
            part.push(kernel);
        } else if part.len().is_multiple_of(3) {
            part.pop();
            part.push(kernel);
        }
    }
    part
}

/// One kernel that compiles for each op with each element type it computes in; another form from one to the next.
#[cfg(feature = "opencl")]
fn sample() -> Vec<Kernel> {
    let mut groups: BTreeMap<String, Vec<Kernel>> = BTreeMap::new();
    for kernel in kernels() {
        let group = format!("{:?} {} {:?}", kernel.op.family, kernel.op.name, kernel.case.types[0]);
        groups.entry(group).or_default().push(kernel);
    }
    let groups: Vec<Vec<Kernel>> = groups.into_values().collect();
    let chosen = groups.into_par_iter().enumerate().filter_map(|(number, mut forms)| {
        let count = forms.len();
        forms.rotate_left(number % count);
        forms.into_iter().find(|kernel| compile(&kernel.case).is_ok())
    });
    chosen.collect()
}

/// Launches each of these kernels on some of its tensors, in turn, as often as said.
fn agreeing(name: &str, part: &[Kernel], turns: usize, places: &[Place]) -> Count {
    let mut cases = vec![];
    let mut of = vec![];
    for (number, kernel) in part.iter().enumerate() {
        let all = launches::launches(&kernel.case);
        for turn in 0..turns {
            cases.push(all[(number * 3 + turn * 3) % all.len()].clone());
            of.push(number);
        }
    }
    let (built, verdicts) = judge_all(name, &cases, places, None).expect("the crate builds");
    let mut count = Count::default();
    let refused = verdicts.iter().flatten().find_map(|v| match v {
        Verdict::Fails(f) if f.kind == Kind::Rejected => Some(f.detail.clone()),
        _ => None,
    });
    assert!(refused.is_none(), "{}", refused.unwrap_or_default());
    for ((case, verdicts), number) in cases.iter().zip(verdicts).zip(of) {
        assert_eq!(verdicts.len(), places.len(), "{} was not judged", part[number].label());
        for verdict in verdicts {
            count.add(&part[number], case, verdict);
        }
    }
    println!(
        "{} kernels in {} instances through the macro and rustc; {} launches on {places:?}, {} agree, {} branch on rounding; \
         elements compared: {} bit by bit, {} within an error, {} have no certain value",
        built.kernels,
        built.instances,
        built.launches,
        count.agree,
        count.ambiguous,
        count.elements[0],
        count.elements[1],
        count.elements[2]
    );
    let first = count
        .findings
        .first()
        .map(|(of, case, f)| format!("{of}: {:?}: {}\n{}", f.kind, f.detail, case.text()));
    assert!(
        count.findings.is_empty(),
        "{} fail; the first:\n{}",
        count.findings.len(),
        first.unwrap_or_default()
    );
    count
}

#[test]
fn the_suite_agrees_as_compiled_by_the_macro_and_rustc() {
    // All ten launches in turn.
    let count = agreeing("conformance", &part(), 4, Place::ALL);
    assert!(count.agree >= 1000, "only {} launches agree", count.agree);
}

/// Lane modules on Intel's OpenCL runtime for CPUs, which `scripts/get-opencl` fetches, against the host, bit by bit. Without
/// it the test is skipped, by name; with `TILE_REQUIRE_OPENCL` set it fails.
#[cfg(feature = "opencl")]
#[test]
fn the_suite_agrees_on_a_cpu_through_opencl() {
    if tile_cli::tools::opencl_driver().is_none() {
        let required = std::env::var_os("TILE_REQUIRE_OPENCL").is_some_and(|value| value != "0");
        assert!(!required, "scripts/get-opencl has not fetched the runtime");
        eprintln!("skipped: the_suite_agrees_on_a_cpu_through_opencl: run scripts/get-opencl first");
        return;
    }
    let sample = sample();
    let ops = sample.iter().map(|k| k.op.name.as_str()).collect::<BTreeSet<_>>().len();
    let types = sample.iter().flat_map(|k| k.case.types).map(|t| t.name()).collect::<BTreeSet<_>>().len();
    println!("{ops} ops, {} with an element type, of {types}", sample.len());
    assert!(ops >= 105 && types >= 6 && sample.len() >= 189, "{ops} ops, {types} types, {}", sample.len());
    let count = agreeing("opencl", &sample, 2, &[Place::Host, Place::OpenCl]);
    assert!(count.agree >= 700, "only {} launches agree", count.agree);
}

#[test]
fn random_kernels_agree_as_compiled_by_rustc_and_mistakes_are_seen() {
    let cases: Vec<_> = (2_000_000..2_000_012).map(case).collect();
    let (built, verdicts) = judge_all("random", &cases, Place::ALL, None).expect("the crate builds");
    let mut agree = 0;
    for (case, verdicts) in cases.iter().zip(&verdicts) {
        for verdict in verdicts {
            match verdict {
                Verdict::Agrees { .. } => agree += 1,
                Verdict::Budget | Verdict::Skipped(_) => {}
                Verdict::Fails(f) => panic!("{:?}: {}\n{}", f.kind, f.detail, case.text()),
            }
        }
    }
    assert!(agree >= 16 && built.kernels >= 8, "{built:?}, {agree} agree");
    // With a mistake in what is expected, both devices are found wrong.
    let (_, verdicts) =
        judge_all("random", &cases, Place::ALL, Some(Plant::Padding)).expect("the crate builds");
    for (n, place) in Place::ALL.iter().enumerate() {
        let seen = verdicts.iter().any(|v| matches!(&v[n], Verdict::Fails(f) if f.kind == Kind::Mismatch));
        assert!(seen, "{place:?} agrees with a mistake");
    }
}

#[test]
fn a_kernel_that_rustc_refuses_is_named() {
    let mut broken = case(3_000_000);
    // The attribute follows values, rustc follows ownership.
    broken.body = [
        "let t: rt<f32, M, N> = load(f, own);",
        "let u = t;",
        "let s = t.neg().to::<C>();",
        "store(c, &s, own);",
    ]
    .map(Stmt::line)
    .to_vec();
    let mut fine = broken.clone();
    fine.body = ["let t: rt<f32, M, N> = load(f, own);", "let s = t.neg().to::<C>();", "store(c, &s, own);"]
        .map(Stmt::line)
        .to_vec();
    let (_, verdicts) = judge_all("refused", &[fine, broken], &[Place::Host], None).expect("a verdict");
    assert!(verdicts[0].is_empty());
    let Some(Verdict::Fails(finding)) = verdicts[1].first() else { panic!("{:?}", verdicts[1]) };
    assert_eq!(finding.kind, Kind::Rejected);
    assert!(finding.detail.contains("let u = t;"), "{}", finding.detail);
}
