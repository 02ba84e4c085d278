//! A part of the conformance suite through the real macro and rustc, launched by the runtime on host and simulator; random
//! kernels go the same way.

use tile_cli::conform::{Count, Kernel, compile_all, kernels, launches};
use tile_cli::fuzz::eval::Plant;
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

#[test]
fn the_suite_agrees_as_compiled_by_the_macro_and_rustc() {
    let part = part();
    let mut cases = vec![];
    let mut of = vec![];
    for (number, kernel) in part.iter().enumerate() {
        // Each kernel with four launches, all ten in turn.
        let all = launches::launches(&kernel.case);
        for turn in 0..4 {
            cases.push(all[(number * 3 + turn * 3) % all.len()].clone());
            of.push(number);
        }
    }
    let (built, verdicts) = judge_all("conformance", &cases, Place::ALL, None).expect("the crate builds");
    let mut count = Count::default();
    let refused = verdicts.iter().flatten().find_map(|v| match v {
        Verdict::Fails(f) if f.kind == Kind::Rejected => Some(f.detail.clone()),
        _ => None,
    });
    assert!(refused.is_none(), "{}", refused.unwrap_or_default());
    for ((case, verdicts), number) in cases.iter().zip(verdicts).zip(of) {
        assert_eq!(verdicts.len(), Place::ALL.len(), "{} was not judged", part[number].label());
        for verdict in verdicts {
            count.add(&part[number], case, verdict);
        }
    }
    println!(
        "{} kernels in {} instances through the macro and rustc; {} launches, {} agree, {} branch on rounding; elements compared: \
         {} bit by bit, {} within an error, {} have no certain value",
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
    assert!(count.agree >= 1000, "only {} launches agree", count.agree);
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
