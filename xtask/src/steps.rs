//! Runs the steps of `cargo xtask validate` one after the other.
//!
//! *Guarantees*: a failing step does not keep later ones from running; the last line counts them all.
//! *Not here*: running steps side by side, since most of them use every core by themselves.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{graph, sources};

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Passed,
    Failed(String),
    Skipped(&'static str),
}

/// What a step does.
enum Work {
    /// Runs a program with these arguments and environment.
    Program(&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]),
    /// Calls a check that returns what is wrong.
    Check(fn(&Path) -> Result<(), String>),
}

struct Step {
    name: &'static str,
    slow: bool,
    /// A path without which the step has nothing to look at, and what its absence means.
    needs: Option<(&'static str, &'static str)>,
    work: Work,
}

/// Stands for the cargo that runs us, so that a toolchain chosen with `+` stays chosen.
const CARGO: &str = "cargo";

const OPENCL_CLIPPY: &[&str] = &[
    "clippy",
    "--package=tile-runtime",
    "--package=tile-cli",
    "--package=benches",
    "--features=tile-runtime/opencl,tile-cli/opencl,benches/opencl",
    "--all-targets",
    "--",
    "-Dwarnings",
];
const OPENCL_FAULTS: &[&str] = &[
    "test",
    "--package=tile-runtime",
    "--features=opencl",
    "--lib",
    "--test=opencl_faults",
    "--test=opencl_lost",
    "--test=opencl_absent",
    "--test=opencl_symbols",
];
const OPENCL_DEVICE: &[&str] =
    &["test", "--package=tile-runtime", "--features=opencl", "--test=opencl_device"];
const OPENCL_KERNELS: &[&str] = &[
    "test",
    "--package=tile-std",
    "--package=tile-cli",
    "--features=tile-std/opencl,tile-cli/opencl",
    "--test=conformance_real",
    "--test=events",
    "--test=gemm_sizes",
    "--test=lane_bits",
    "opencl",
    "--",
    "--nocapture",
];
// With the packages and features of the step before, so that nothing is built anew.
const POCL_KERNELS: &[&str] = &[
    "test",
    "--package=tile-std",
    "--package=tile-cli",
    "--features=tile-std/opencl,tile-cli/opencl",
    "--test=lane_bits",
    "pocl",
    "--",
    "--nocapture",
];

const TWO_DEVICES: &[&str] = &["tile", "verify", "--device=pvc", "--device=bmg"];

const STEPS: &[Step] = &[
    Step { name: "tools", slow: true, needs: None, work: Work::Program("scripts/get-tools", &[], &[]) },
    Step {
        name: "OpenCL driver",
        slow: true,
        needs: None,
        work: Work::Program("scripts/get-opencl", &[], &[]),
    },
    Step {
        name: "format",
        slow: false,
        needs: None,
        work: Work::Program(CARGO, &["fmt", "--all", "--check"], &[]),
    },
    Step { name: "crate graph", slow: false, needs: None, work: Work::Check(graph::check) },
    Step { name: "file length", slow: false, needs: None, work: Work::Check(sources::check_length) },
    Step { name: "forbidden words", slow: false, needs: None, work: Work::Check(sources::check_words) },
    Step {
        name: "clippy",
        slow: false,
        needs: None,
        work: Work::Program(CARGO, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[]),
    },
    Step {
        name: "documentation",
        slow: true,
        needs: None,
        work: Work::Program(
            CARGO,
            &["doc", "--workspace", "--no-deps", "--document-private-items"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        ),
    },
    Step {
        // Documentation examples included. Absent tools are a failure here, not a skip.
        name: "tests",
        slow: true,
        needs: None,
        work: Work::Program(
            CARGO,
            &["test", "--workspace", "--no-fail-fast"],
            &[("TILE_REQUIRE_TOOLS", "1")],
        ),
    },
    Step { name: "clippy, OpenCL", slow: true, needs: None, work: Work::Program(CARGO, OPENCL_CLIPPY, &[]) },
    Step {
        // Devices that lie and fail; needs no OpenCL.
        name: "tests, OpenCL faults",
        slow: true,
        needs: None,
        work: Work::Program(CARGO, OPENCL_FAULTS, &[]),
    },
    Step {
        name: "tests, OpenCL driver",
        slow: true,
        needs: None,
        work: Work::Program(CARGO, OPENCL_DEVICE, &[("TILE_REQUIRE_OPENCL", "1")]),
    },
    Step {
        // Prints how much ran.
        name: "tests, kernels on a CPU through OpenCL",
        slow: true,
        needs: None,
        work: Work::Program(CARGO, OPENCL_KERNELS, &[("TILE_REQUIRE_OPENCL", "1")]),
    },
    Step {
        name: "tests, kernels on PoCL",
        slow: true,
        needs: Some(("target/tools/pocl/versions.txt", "scripts/get-tools --pocl has not fetched PoCL")),
        work: Work::Program(CARGO, POCL_KERNELS, &[("TILE_REQUIRE_POCL", "1")]),
    },
    // After the tests, which are what rewrites golden files.
    Step {
        name: "golden files",
        slow: false,
        needs: Some((".git", "not a git checkout")),
        work: Work::Check(sources::check_golden),
    },
    Step {
        // The devices of two generations; all of them, which is `cargo tile verify`, take two and a half times as long.
        name: "vendor tools, pvc and bmg",
        slow: true,
        needs: None,
        work: Work::Program(CARGO, TWO_DEVICES, &[("TILE_REQUIRE_TOOLS", "1")]),
    },
    Step {
        // The first batch goes through the real macro and rustc too.
        name: "random kernels",
        slow: true,
        needs: None,
        work: Work::Program(CARGO, &["tile", "fuzz", "--cases", "2000", "--seed", "77000"], &[]),
    },
    Step {
        name: "gemm example",
        slow: true,
        needs: None,
        work: Work::Program(
            CARGO,
            &["run", "--quiet", "--release", "--package", "examples", "--example", "gemm"],
            &[],
        ),
    },
    Step {
        // Device functions across crates, on the words of the device.
        name: "custom_kernel example",
        slow: true,
        needs: None,
        work: Work::Program(
            CARGO,
            &["run", "--quiet", "--release", "--package", "examples", "--example", "custom_kernel"],
            &[("TILE_DEVICE", "sim")],
        ),
    },
];

/// Runs every step in the folder `workspace` and says whether none failed; `fast` skips the slow ones.
pub fn validate(workspace: &Path, fast: bool) -> bool {
    let mut ends: Vec<(&str, End, Duration)> = Vec::new();
    for step in STEPS {
        let started = Instant::now();
        let end = if fast && step.slow {
            End::Skipped("slow; left out by --fast")
        } else if let Some((_, absent)) = step.needs.filter(|(path, _)| !workspace.join(path).exists()) {
            End::Skipped(absent)
        } else {
            println!("==> {}", step.name);
            run(workspace, &step.work)
        };
        println!("{}", line(step.name, &end, started.elapsed()));
        ends.push((step.name, end, started.elapsed()));
    }
    println!("\nsummary");
    for (name, end, time) in &ends {
        // A check may have found many things; they stand above.
        println!("  {}", line(name, end, *time).lines().next().unwrap_or_default());
    }
    let ends: Vec<End> = ends.into_iter().map(|(_, end, _)| end).collect();
    println!("{}", counts(&ends));
    !ends.iter().any(|end| matches!(end, End::Failed(_)))
}

fn line(name: &str, end: &End, time: Duration) -> String {
    match end {
        End::Passed => format!("{name}: passed ({:.1} s)", time.as_secs_f64()),
        End::Failed(why) => format!("{name}: FAILED ({:.1} s): {why}", time.as_secs_f64()),
        End::Skipped(why) => format!("{name}: skipped ({why})"),
    }
}

fn counts(ends: &[End]) -> String {
    let count = |pick: fn(&End) -> bool| ends.iter().filter(|end| pick(end)).count();
    format!(
        "{} passed, {} failed, {} skipped",
        count(|end| matches!(end, End::Passed)),
        count(|end| matches!(end, End::Failed(_))),
        count(|end| matches!(end, End::Skipped(_)))
    )
}

fn run(workspace: &Path, work: &Work) -> End {
    let result = match work {
        Work::Check(check) => check(workspace),
        Work::Program(program, arguments, environment) => {
            run_program(workspace, program, arguments, environment)
        }
    };
    match result {
        Ok(()) => End::Passed,
        Err(why) => End::Failed(why),
    }
}

fn run_program(
    workspace: &Path,
    program: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<(), String> {
    let path = if program == CARGO {
        std::env::var_os("CARGO").map_or_else(|| CARGO.into(), std::path::PathBuf::from)
    } else {
        workspace.join(program)
    };
    let status = Command::new(path)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(workspace)
        .status()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program} {}: {status}", arguments.join(" "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_fails_with_its_command_line() {
        let root = Path::new("/");
        assert_eq!(run(root, &Work::Program("bin/true", &[], &[])), End::Passed);
        let End::Failed(why) = run(root, &Work::Program("bin/false", &["-x"], &[])) else {
            panic!("must fail");
        };
        assert!(why.contains("bin/false -x"), "{why}");
        assert!(matches!(run(root, &Work::Program("no/such/program", &[], &[])), End::Failed(_)));
        let seen = Work::Program("bin/sh", &["-c", "test \"$SEEN\" = yes"], &[("SEEN", "yes")]);
        assert_eq!(run(root, &seen), End::Passed);
    }

    #[test]
    fn the_last_line_counts_every_step() {
        let ends = [End::Passed, End::Failed("why".into()), End::Skipped("slow"), End::Passed];
        assert_eq!(counts(&ends), "2 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn step_names_are_unique() {
        let mut names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len());
    }
}
