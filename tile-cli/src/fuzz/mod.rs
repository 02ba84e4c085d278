//! Random kernels, judged: what their words do in the simulator must be what their IR means.
//!
//! | file | owns |
//! |---|---|
//! | `write` | making cases up from a seed |
//! | `program`, `tensor` | a case: the kernel as text, its tensors in memory |
//! | `eval`, `number` | the meaning of IR on numbers that know their error |
//! | `host` | the host bodies of `tile_lang` on the same values |
//! | `judge` | one case: compile, evaluate, simulate, compare |
//! | `shrink` | making a failing case small |
//! | `real` | some cases through the real macro and rustc, launched by the runtime; `driver` is its program |
//!
//! *Guarantees*: a seed and a count give the same cases and the same report. *Not here*: every op on every type
//! (`conform`).

pub mod dice;
pub mod eval;
pub mod host;
pub mod judge;
pub mod number;
pub mod program;
pub mod real;
pub mod shrink;
pub mod tensor;
pub mod write;

use std::fmt::Write as _;
use std::path::Path;

use rayon::prelude::*;

use eval::{Plant, Stop};
use judge::{Finding, Verdict, judge};
use program::Case;
use real::{Built, RealError};

/// What to fuzz.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Number of cases.
    pub cases: u64,
    /// Seed of the first case; the next ones count up.
    pub seed: u64,
    /// Findings after which the run ends.
    pub most: usize,
    /// Smaller cases that may be tried for one finding.
    pub attempts: u32,
    /// A mistake of the evaluator, to see whether it is found.
    pub plant: Option<Plant>,
    /// Every so many batches, from the first on, a batch also goes through the real macro and rustc.
    pub real_every: Option<u64>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Cases judged.
    pub cases: u64,
    /// Cases whose elements all agree.
    pub agree: u64,
    /// Cases whose tiles do not fit the registers.
    pub budget: u64,
    /// Cases in which a branch depends on rounding.
    pub ambiguous: u64,
    /// Cases that run for too long.
    pub long: u64,
    /// Elements that had to have certain bits, to lie within an error, and those of which nothing was known.
    pub elements: [u64; 3],
    /// What went through the real macro and rustc, and how many of its launches agree.
    pub real: (Built, u64),
    /// Failing cases, made small.
    pub findings: Vec<(Case, Finding)>,
}

/// Cases that are judged before findings are counted.
const BATCH: u64 = 16;

/// Judges random cases; the findings are made small.
///
/// # Errors
/// When a batch cannot go through rustc: see [`RealError`].
pub fn fuzz(request: &Request) -> Result<Report, RealError> {
    let mut report = Report::default();
    let mut start = 0;
    while start < request.cases && report.findings.len() < request.most {
        let end = (start + BATCH).min(request.cases);
        let verdicts: Vec<(u64, Verdict)> = (start..end)
            .into_par_iter()
            .map(|n| {
                let seed = request.seed.wrapping_add(n);
                (seed, judge(&write::case(seed), request.plant))
            })
            .collect();
        let mut failing = vec![];
        for (seed, verdict) in verdicts {
            report.cases += 1;
            match verdict {
                Verdict::Agrees { exact, close, unknown } => {
                    report.agree += 1;
                    for (sum, n) in report.elements.iter_mut().zip([exact, close, unknown]) {
                        *sum += n;
                    }
                }
                Verdict::Budget => report.budget += 1,
                Verdict::Skipped(Stop::Steps) => report.long += 1,
                Verdict::Skipped(Stop::Ambiguous | Stop::Malformed(_) | Stop::Host(_)) => {
                    report.ambiguous += 1
                }
                Verdict::Fails(finding) => failing.push((seed, finding)),
            }
        }
        failing.truncate(request.most - report.findings.len());
        report.findings.par_extend(failing.into_par_iter().map(|(seed, finding)| {
            shrink::shrink(write::case(seed), finding, request.plant, request.attempts)
        }));
        if request.real_every.is_some_and(|every| (start / BATCH).is_multiple_of(every.max(1))) {
            let seeds = (start..end).map(|n| request.seed.wrapping_add(n));
            report.through_rustc(&seeds.map(write::case).collect::<Vec<_>>(), request)?;
        }
        start = end;
    }
    Ok(report)
}

impl Report {
    /// Judges a batch as compiled by the real macro and rustc. Its findings are not made small: that would take a crate per
    /// attempt.
    fn through_rustc(&mut self, cases: &[Case], request: &Request) -> Result<(), RealError> {
        let name = format!("fuzz-{}", request.seed);
        let (built, verdicts) = real::judge_all(&name, cases, real::Place::ALL, request.plant)?;
        self.real.0.kernels += built.kernels;
        self.real.0.instances += built.instances;
        self.real.0.launches += built.launches;
        for (case, verdicts) in cases.iter().zip(verdicts) {
            for verdict in verdicts {
                match verdict {
                    Verdict::Agrees { .. } => self.real.1 += 1,
                    Verdict::Fails(finding) if self.findings.len() < request.most => {
                        self.findings.push((case.clone(), finding));
                    }
                    Verdict::Fails(_) | Verdict::Budget | Verdict::Skipped(_) => {}
                }
            }
        }
        Ok(())
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (case, finding) in &self.findings {
            let _ = writeln!(text, "{}", finding_text(case, finding));
        }
        let [exact, close, unknown] = self.elements;
        let _ = writeln!(
            text,
            "{} cases: {} agree, {} fail, {} exceed the registers, {} branch on rounding, {} run too long",
            self.cases,
            self.agree,
            self.findings.len(),
            self.budget,
            self.ambiguous,
            self.long
        );
        let _ = writeln!(
            text,
            "elements compared: {exact} bit by bit, {close} within an error; {unknown} have no certain value"
        );
        let (built, agree) = self.real;
        let _ = writeln!(
            text,
            "through the macro and rustc: {} kernels, {} launches on the host and the simulator, {agree} agree",
            built.kernels, built.launches
        );
        text
    }

    /// Writes one file per finding into a folder, which is made if it is not there.
    ///
    /// # Errors
    /// What the file system says.
    pub fn keep(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        for (case, finding) in &self.findings {
            std::fs::write(folder.join(format!("seed-{}.rs", case.seed)), finding_text(case, finding))?;
        }
        Ok(())
    }
}

fn finding_text(case: &Case, finding: &Finding) -> String {
    let detail = finding.detail.replace('\n', "\n// ");
    format!("// {:?}: {detail}\n{}", finding.kind, case.text())
}
