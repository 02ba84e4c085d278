//! The gate: what the outside tools say about every module, as pass or fail.
//!
//! *Guarantees*: every module is validated, and every (module, device) pair is built; a pass means the device's
//! machine code has no spill, no scratch memory, and at least as many DPAS and block messages as the SPIR-V.
//! *Not here*: figures to compare with a bar ([`crate::inspect`]).

use std::collections::BTreeSet;
use std::time::Duration;

use rayon::prelude::*;
use serde::Deserialize;

use crate::asm::{self, Kind};
use crate::listing::instructions;
use crate::module::{Contents, ModuleInput};
use crate::ocloc::{self, last_lines};
use crate::run::{End, run};
use crate::tools::Tools;
use crate::waivers::Waivers;
use crate::zeinfo::{self, KernelEnvironment};

/// The device that no offline compiler makes code for: its OpenCL driver does, at the first launch.
pub const CPU: &str = "cpu";

/// What can be wrong with a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The module is not valid SPIR-V for OpenCL.
    #[serde(rename = "spirv-val")]
    Validate,
    /// The compiler refuses the module or crashes on it.
    Build,
    /// The registers do not hold the kernel.
    Spill,
    /// A private array stayed in memory.
    Scratch,
    /// Machine code lacks matrix instructions that the module has.
    Dpas,
    /// Machine code lacks block messages that the module has.
    Messages,
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Rule::Validate => "spirv-val",
            Rule::Build => "build",
            Rule::Spill => "spill",
            Rule::Scratch => "scratch",
            Rule::Dpas => "dpas",
            Rule::Messages => "messages",
        })
    }
}

/// One thing wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule broken.
    pub rule: Rule,
    /// The rule's facts here.
    pub message: String,
}

/// How one check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was found.
    Passed,
    /// Everything found is excused by these waivers (indices of rows).
    Waived(Vec<usize>),
    /// These findings are not excused.
    Failed(Vec<Finding>),
    /// The tools are not there.
    Skipped,
}

/// One check: a module by itself, or a module on a device.
#[derive(Debug, Clone)]
pub struct Check {
    /// Name of the kernel.
    pub kernel: String,
    /// Instance; empty for a bare module.
    pub instance: String,
    /// Device; `None` for the validation of the module itself.
    pub device: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// What the compiler says about the kernel, when it built.
    pub environment: Option<KernelEnvironment>,
    /// Time the compiler or validator took.
    pub time: Duration,
}

/// The result of a run of the gate.
#[derive(Debug, Clone)]
pub struct Report {
    /// Every check: by module, its validation first, then its devices.
    pub checks: Vec<Check>,
    /// Waivers that must be removed or renewed.
    pub unneeded_waivers: Vec<String>,
}

impl Report {
    /// Returns (passed, failed, skipped). A waived check counts as passed, an unneeded waiver as failed.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count = |pick: fn(&Outcome) -> bool| self.checks.iter().filter(|c| pick(&c.outcome)).count();
        let passed = count(|o| matches!(o, Outcome::Passed | Outcome::Waived(_)));
        let failed = count(|o| matches!(o, Outcome::Failed(_))) + self.unneeded_waivers.len();
        (passed, failed, count(|o| matches!(o, Outcome::Skipped)))
    }

    /// Says whether nothing failed.
    pub fn is_clean(&self) -> bool {
        self.counts().1 == 0
    }

    /// Lays the report out for people: a table, the findings, the counts.
    pub fn text(&self) -> String {
        let heading = ["kernel", "instance", "check", "result", "GRF", "threads", "spill", "seconds"];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        let mut findings = String::new();
        for check in &self.checks {
            let what = check.device.as_deref().unwrap_or("spirv-val");
            let result = match &check.outcome {
                Outcome::Passed => "pass",
                Outcome::Waived(_) => "waived",
                Outcome::Failed(_) => "FAIL",
                Outcome::Skipped => "skipped",
            };
            let of_kernel = |get: fn(&KernelEnvironment) -> u64| {
                check.environment.as_ref().map_or("-".to_owned(), |e| get(e).to_string())
            };
            rows.push(vec![
                check.kernel.clone(),
                if check.instance.is_empty() { "-".to_owned() } else { check.instance.clone() },
                what.to_owned(),
                result.to_owned(),
                of_kernel(|e| e.grf_count),
                of_kernel(|e| e.eu_threads),
                of_kernel(|e| e.spill_bytes),
                format!("{:.2}", check.time.as_secs_f64()),
            ]);
            if let Outcome::Failed(found) = &check.outcome {
                for finding in found {
                    findings.push_str(&format!(
                        "FAIL {}{} on {what}: {}: {}\n",
                        check.kernel, check.instance, finding.rule, finding.message
                    ));
                }
            }
        }
        let mut text = crate::table::align(&rows);
        if !findings.is_empty() || !self.unneeded_waivers.is_empty() {
            text.push('\n');
            text.push_str(&findings);
            for waiver in &self.unneeded_waivers {
                text.push_str(&format!("FAIL {waiver}\n"));
            }
        }
        let (passed, failed, skipped) = self.counts();
        let waived = self.checks.iter().filter(|c| matches!(c.outcome, Outcome::Waived(_))).count();
        let of_them = if waived == 0 { String::new() } else { format!(" ({waived} waived)") };
        text.push_str(&format!("\n{passed} passed{of_them}, {failed} failed, {skipped} skipped\n"));
        text
    }
}

/// What to verify.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The modules.
    pub modules: &'a [ModuleInput],
    /// The only devices to build for; empty for all GPUs that a module names.
    pub devices: &'a [String],
    /// Whether these are all modules there are, so that an unneeded waiver can be told.
    pub complete: bool,
}

struct Job<'a> {
    module: &'a ModuleInput,
    device: Option<&'a str>,
}

fn jobs<'a>(request: &Request<'a>) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    for module in request.modules {
        jobs.push(Job { module, device: None });
        // Intel's offline compiler is for GPUs.
        let wanted = module
            .devices
            .iter()
            .filter(|d| *d != CPU && (request.devices.is_empty() || request.devices.contains(d)));
        jobs.extend(wanted.map(|device| Job { module, device: Some(device) }));
    }
    jobs
}

/// Runs every check of `request`, as many at a time as the machine has cores.
pub fn verify(tools: &Tools, request: &Request<'_>, waivers: &Waivers) -> Report {
    let checks: Vec<Check> =
        jobs(request).par_iter().map(|job| check(tools, job.module, job.device, waivers)).collect();
    let used: BTreeSet<usize> = checks
        .iter()
        .filter_map(|check| match &check.outcome {
            Outcome::Waived(rows) => Some(rows.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    let used: Vec<usize> = used.into_iter().collect();
    let unneeded_waivers = if request.complete { waivers.unneeded(tools, &used) } else { Vec::new() };
    Report { checks, unneeded_waivers }
}

/// Reports every check of `request` as skipped, for a machine without the tools.
pub fn skip_all(request: &Request<'_>) -> Report {
    let checks = jobs(request)
        .into_iter()
        .map(|job| Check {
            kernel: job.module.kernel.clone(),
            instance: job.module.instance.clone(),
            device: job.device.map(str::to_owned),
            outcome: Outcome::Skipped,
            environment: None,
            time: Duration::ZERO,
        })
        .collect();
    Report { checks, unneeded_waivers: Vec::new() }
}

fn check(tools: &Tools, module: &ModuleInput, device: Option<&str>, waivers: &Waivers) -> Check {
    let (findings, environment, time) = match (module.contents(), device) {
        (Err(error), _) => {
            (vec![Finding { rule: Rule::Validate, message: error.to_string() }], None, Duration::ZERO)
        }
        (Ok(contents), None) => validate(tools, module, &contents),
        (Ok(contents), Some(device)) => build(tools, module, &contents, device),
    };
    let mut excused = Vec::new();
    let mut failed = Vec::new();
    for finding in findings {
        match waivers.excuse(tools, &finding, &module.kernel, device) {
            Some(row) => excused.push(row),
            None => failed.push(finding),
        }
    }
    let outcome = if !failed.is_empty() {
        Outcome::Failed(failed)
    } else if !excused.is_empty() {
        Outcome::Waived(excused)
    } else {
        Outcome::Passed
    };
    Check {
        kernel: module.kernel.clone(),
        instance: module.instance.clone(),
        device: device.map(str::to_owned),
        outcome,
        environment,
        time,
    }
}

type Judged = (Vec<Finding>, Option<KernelEnvironment>, Duration);

fn validate(tools: &Tools, module: &ModuleInput, contents: &Contents) -> Judged {
    let started = std::time::Instant::now();
    let environment = target_environment(contents.version);
    let finished = tempfile::tempdir().and_then(|folder| {
        std::fs::write(folder.path().join("module.spv"), &module.words)?;
        run(&tools.spirv_val, &["--target-env", &environment, "module.spv"], folder.path())
    });
    let message = match finished {
        Ok(finished) if finished.end == End::Exit(0) => None,
        Ok(finished) => {
            Some(format!("--target-env {environment}: {}: {}", finished.end, last_lines(&finished.output)))
        }
        Err(error) => Some(format!("cannot run spirv-val: {error}")),
    };
    let findings = message.map(|message| Finding { rule: Rule::Validate, message }).into_iter().collect();
    (findings, None, started.elapsed())
}

/// Returns spirv-val's name of the rules for a module of this version.
fn target_environment(version: (u8, u8)) -> String {
    match version {
        // OpenCL 2.2 takes SPIR-V up to 1.2 and brings OpenCL's own rules along.
        (1, 0..=2) => "opencl2.2".to_owned(),
        // No OpenCL environment takes more: only the universal rules can be checked.
        (major, minor) => format!("spv{major}.{minor}"),
    }
}

fn build(tools: &Tools, module: &ModuleInput, contents: &Contents, device: &str) -> Judged {
    let compiled = match ocloc::compile(tools, module, device) {
        Ok(compiled) => compiled,
        Err(error) => {
            return (vec![Finding { rule: Rule::Build, message: error.to_string() }], None, Duration::ZERO);
        }
    };
    let environment = match zeinfo::parse(&compiled.ze_info, &module.entry) {
        Ok(environment) => environment,
        Err(error) => {
            let finding = Finding { rule: Rule::Build, message: error.to_string() };
            return (vec![finding], None, compiled.compile_time);
        }
    };
    let lines = asm::parse(&compiled.asm);
    let count = |kind: Kind| instructions(&lines).filter(|i| i.kind == kind).count();
    let built = MachineCode {
        spill_bytes: environment.spill_bytes,
        scratch_bytes: environment.scratch_bytes,
        dpas: count(Kind::Dpas),
        loads: count(Kind::BlockLoad),
        prefetches: count(Kind::BlockPrefetch),
        stores: count(Kind::BlockStore),
    };
    (judge(contents, &built), Some(environment), compiled.compile_time)
}

/// What the gate compares of the machine code.
#[derive(Debug, Clone, Copy, Default)]
struct MachineCode {
    spill_bytes: u64,
    scratch_bytes: u64,
    dpas: usize,
    loads: usize,
    prefetches: usize,
    stores: usize,
}

fn judge(contents: &Contents, built: &MachineCode) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |rule, message| findings.push(Finding { rule, message });
    if built.spill_bytes != 0 {
        find(
            Rule::Spill,
            format!("a kernel must fit its registers; {} bytes per thread spill", built.spill_bytes),
        );
    } else if built.scratch_bytes != 0 {
        // A private array whose element is not the lane type is never promoted to registers (xe_facts §1.4).
        let message = format!(
            "tiles must live in registers; {} bytes per thread are scratch memory",
            built.scratch_bytes
        );
        find(Rule::Scratch, message);
    }
    if built.dpas < contents.dpas {
        let message = format!("the module has {} DPAS, the machine code {}", contents.dpas, built.dpas);
        find(Rule::Dpas, message);
    }
    // The compiler may duplicate a message (a loop peeled or unrolled), and every legal shape is one message
    // (xe_facts §1.2), so fewer than the module asks for means that some were dropped or made into scalar code.
    let kinds = [
        ("block loads", contents.loads, built.loads),
        ("block prefetches", contents.prefetches, built.prefetches),
        ("block stores", contents.stores, built.stores),
    ];
    for (name, asked, got) in kinds {
        if got < asked {
            find(Rule::Messages, format!("the module has {asked} {name}, the machine code {got}"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENTS: Contents =
        Contents { version: (1, 2), entries: vec![], dpas: 32, loads: 3, prefetches: 3, stores: 16 };
    const GOOD: MachineCode =
        MachineCode { spill_bytes: 0, scratch_bytes: 0, dpas: 32, loads: 3, prefetches: 3, stores: 16 };

    fn rules(built: MachineCode) -> Vec<Rule> {
        judge(&CONTENTS, &built).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn each_rule_fires_on_its_own_fault() {
        assert_eq!(rules(GOOD), []);
        assert_eq!(rules(MachineCode { dpas: 64, loads: 6, ..GOOD }), []);
        assert_eq!(rules(MachineCode { spill_bytes: 64, scratch_bytes: 128, ..GOOD }), [Rule::Spill]);
        assert_eq!(rules(MachineCode { scratch_bytes: 128, ..GOOD }), [Rule::Scratch]);
        assert_eq!(rules(MachineCode { dpas: 0, ..GOOD }), [Rule::Dpas]);
        assert_eq!(rules(MachineCode { loads: 2, prefetches: 0, ..GOOD }), [Rule::Messages, Rule::Messages]);
    }

    #[test]
    fn the_environment_follows_the_version() {
        assert_eq!(target_environment((1, 2)), "opencl2.2");
        assert_eq!(target_environment((1, 4)), "spv1.4");
    }

    fn check_with(outcome: Outcome) -> Check {
        Check {
            kernel: "gemm".into(),
            instance: "<bf16>".into(),
            device: Some("pvc".into()),
            outcome,
            environment: None,
            time: Duration::ZERO,
        }
    }

    #[test]
    fn the_closing_line_counts_everything() {
        let finding = Finding { rule: Rule::Spill, message: "64 bytes".into() };
        let report = Report {
            checks: vec![
                check_with(Outcome::Passed),
                check_with(Outcome::Waived(vec![0])),
                check_with(Outcome::Failed(vec![finding])),
                check_with(Outcome::Skipped),
            ],
            unneeded_waivers: vec!["waiver 2 is no longer needed".into()],
        };
        assert_eq!(report.counts(), (2, 2, 1));
        assert!(!report.is_clean());
        let text = report.text();
        assert!(text.ends_with("2 passed (1 waived), 2 failed, 1 skipped\n"), "{text}");
        assert!(text.contains("FAIL gemm<bf16> on pvc: spill: 64 bytes"), "{text}");
    }

    #[test]
    fn the_device_filter_keeps_the_validation() {
        let module = ModuleInput {
            kernel: "k".into(),
            instance: String::new(),
            words: vec![],
            entry: "k".into(),
            devices: vec!["pvc".into(), "bmg".into()],
            options: vec![],
            igc_options: vec![],
        };
        let modules = [module];
        let count = |devices: &[String]| jobs(&Request { modules: &modules, devices, complete: false }).len();
        assert_eq!(count(&[]), 3);
        assert_eq!(count(&["bmg".into()]), 2);
        assert_eq!(
            skip_all(&Request { modules: &modules, devices: &[], complete: true }).counts(),
            (0, 0, 3)
        );
    }
}
