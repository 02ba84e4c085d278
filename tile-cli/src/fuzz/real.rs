//! Owns the way of cases through the real macro and rustc: a scratch crate per batch, built and run.
//!
//! *Assumes*: a cargo, and the versions of the workspace's lock file on this machine (no network).
//! *Guarantees*: what the kernels give on the host device and others, as the runtime launches them, is compared with the
//! meaning of the IR, and what a device that runs `lane` modules gives with that of the host, bit by bit; a kernel that rustc
//! refuses is named. *Not here*: the program of the crate (`driver`, compiled there).

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tile_ir::ir::OpKind;
use tile_ir::scalar::Const;
use tile_ir::verify::Verified;

use super::eval::Plant;
use super::judge::{Finding, Kind, Verdict, compare, compile, same_bits, tensors};
use super::program::Case;
use super::tensor::Tensor;
use crate::tools::opencl_driver;

/// Why a batch could not be judged at all.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// The file system refuses something; make room or name another folder.
    #[error("cannot {doing} {path}: {cause}")]
    File {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The crate does not build, and no kernel is named in the messages.
    #[error("the scratch crate does not build:\n{0}")]
    Build(String),
    /// The program ends early.
    #[error("the program of the scratch crate fails: {0}")]
    Run(String),
}

/// A device that launches kernels of the crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The host bodies.
    Host,
    /// The words in the binary for GPUs, on the simulator.
    Simulator,
    /// Those for CPUs, on the simulator.
    Lane,
    /// Those for CPUs, through the OpenCL driver that was fetched, else the system's.
    OpenCl,
}

impl Place {
    /// Those that need nothing installed.
    pub const ALL: &'static [Place] = &[Place::Host, Place::Simulator, Place::Lane];

    const fn name(self) -> &'static str {
        match self {
            Place::Host => "the host device",
            Place::Simulator => "the simulator as a device",
            Place::Lane => "the simulator of lane modules",
            Place::OpenCl => "a CPU through OpenCL",
        }
    }

    /// Whether it promises the bits of the host: a GPU has instructions of its own for some functions.
    const fn has_bits_of_host(self) -> bool {
        match self {
            Place::Host | Place::Simulator => false,
            Place::Lane | Place::OpenCl => true,
        }
    }

    /// What `TILE_DEVICE` calls it.
    const fn device(self) -> &'static str {
        match self {
            Place::Host => "host",
            Place::Simulator => "sim",
            Place::Lane => "sim:lane",
            Place::OpenCl => "opencl",
        }
    }
}

/// One verdict per device and case, in this order: `verdicts[case][device]`.
pub type Verdicts = Vec<Vec<Verdict>>;

/// What has to be compared after a run.
struct Job {
    case: usize,
    place: Place,
    expected: Tensor,
    before: Vec<u8>,
    /// Whether one order of the additions is as good as another.
    unordered: bool,
}

/// The kernels of a scratch crate: one module per source, each with all its instances.
#[derive(Default)]
struct Kernels {
    sources: Vec<(String, String, Vec<String>)>,
}

impl Kernels {
    /// The number of the module that has the kernel of `case`.
    fn add(&mut self, case: &Case) -> usize {
        let text = format!("pub {}\n{}", case.kernel(), case.device_functions("#[tile_fn]\n"));
        let options = case.options();
        let at = self.sources.iter().position(|(o, t, _)| (o, t) == (&options, &text)).unwrap_or_else(|| {
            self.sources.push((options, text, vec![]));
            self.sources.len() - 1
        });
        let listed = case.listed();
        let instances = &mut self.sources[at].2;
        if !instances.contains(&listed) {
            instances.push(listed);
        }
        at
    }

    fn instances(&self) -> usize {
        self.sources.iter().map(|(_, _, instances)| instances.len()).sum()
    }
}

fn file<T>(doing: &'static str, path: &Path, result: std::io::Result<T>) -> Result<T, RealError> {
    result.map_err(|cause| RealError::File { doing, path: path.display().to_string(), cause })
}

/// The folder of the workspace.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Counts of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// Kernel functions under the attribute.
    pub kernels: usize,
    /// Their instances.
    pub instances: usize,
    /// Launches.
    pub launches: usize,
}

/// Builds the kernels of `cases` as a crate `name` in the target folder and launches them all on `places`; with `plant`,
/// the evaluator makes a mistake.
///
/// # Errors
/// See [`RealError`]. A case that fails is a verdict. Where rustc refuses a kernel, the cases of others have none.
pub fn judge_all(
    name: &str,
    cases: &[Case],
    places: &[Place],
    plant: Option<Plant>,
) -> Result<(Built, Verdicts), RealError> {
    let mut verdicts: Verdicts = vec![vec![]; cases.len()];
    let mut kernels = Kernels::default();
    let (mut records, mut jobs) = (vec![], vec![]);
    for (number, case) in cases.iter().enumerate() {
        let before = tensors(case);
        let expected = compile(case).and_then(|ready| {
            let expected = ready.expected(case, &before, plant)?;
            Ok((expected, adds_in_any_order(ready.kernel())))
        });
        let (expected, unordered) = match expected {
            Ok(expected) => expected,
            Err(verdict) => {
                verdicts[number] = vec![verdict; places.len()];
                continue;
            }
        };
        let module = kernels.add(case);
        for &place in places {
            record(&mut records, module, place, case, &before);
            let (expected, before) = (expected.clone(), before[0].bytes());
            jobs.push(Job { case: number, place, expected, before, unordered });
        }
    }
    let built =
        Built { kernels: kernels.sources.len(), instances: kernels.instances(), launches: jobs.len() };
    if jobs.is_empty() {
        return Ok((built, verdicts));
    }
    let program = match build(name, &kernels, places.contains(&Place::OpenCl))? {
        Ok(program) => program,
        Err((module, messages)) => {
            // The batch stops at the first kernel that rustc refuses.
            let (options, text, _) = &kernels.sources[module];
            let detail = format!("rustc refuses\n#[tile_kernel({options}, ..)]\n{text}\n{messages}");
            let refused = |case: &Case| case.options() == *options && text.contains(&case.kernel());
            for (_, verdicts) in cases.iter().zip(&mut verdicts).filter(|(case, _)| refused(case)) {
                verdicts.push(Verdict::Fails(Finding { kind: Kind::Rejected, detail: detail.clone() }));
            }
            return Ok((Built { launches: 0, ..built }, verdicts));
        }
    };
    let (from, to) = (program.with_extension("in"), program.with_extension("out"));
    let mut input = (jobs.len() as u64).to_le_bytes().to_vec();
    input.extend(records);
    file("write", &from, std::fs::write(&from, input))?;
    let mut command = Command::new(&program);
    if let Some(driver) = opencl_driver() {
        command.env("TILE_OPENCL_LIBRARY", driver);
    }
    // Programs for OpenCL are kept apart from those of the user.
    command.env("TILE_CACHE_DIR", program.with_extension("cache"));
    let output = command
        .args([&from, &to])
        .output()
        .map_err(|e| RealError::Run(format!("{}: {e}", program.display())))?;
    if !output.status.success() {
        return Err(RealError::Run(text_of(&output)));
    }
    let mut results = std::io::BufReader::new(file("read", &to, std::fs::File::open(&to))?);
    let mut on_host = (usize::MAX, vec![]);
    for job in jobs {
        let mut word = || -> std::io::Result<u64> {
            let mut bytes = [0; 8];
            results.read_exact(&mut bytes)?;
            Ok(u64::from_le_bytes(bytes))
        };
        let (status, len) = (file("read", &to, word())?, file("read", &to, word())?);
        let mut after = vec![0; len as usize];
        file("read", &to, results.read_exact(&mut after))?;
        let kind = if job.place == Place::Host { Kind::Host } else { Kind::Simulator };
        let has_bits = job.place.has_bits_of_host() && on_host.0 == job.case && !job.unordered;
        verdicts[job.case].push(match status {
            0 => match compare(job.place.name(), &job.expected, &job.before, &after) {
                Verdict::Agrees { .. } if has_bits => {
                    same_bits(job.place.name(), &job.expected, &on_host.1, &after)
                }
                verdict => verdict,
            },
            _ => Verdict::Fails(Finding {
                kind,
                detail: format!("{}: {}", job.place.name(), String::from_utf8_lossy(&after)),
            }),
        });
        if job.place == Place::Host {
            on_host = (job.case, after);
        }
    }
    Ok((built, verdicts))
}

/// True for a kernel that adds floats atomically, which sub-groups do in any order.
fn adds_in_any_order(kernel: &Verified) -> bool {
    let kernel = kernel.kernel();
    let mut found = false;
    kernel.body.walk(&mut |op| {
        if let OpKind::AtomicAdd { value, .. } = op.kind {
            found |= kernel.ty(value).dtype().is_none_or(|dtype| !dtype.is_integer());
        }
    });
    found
}

/// Appends what the program needs for one launch.
fn record(to: &mut Vec<u8>, module: usize, place: Place, case: &Case, tensors: &[Tensor]) {
    fn bytes(to: &mut Vec<u8>, bytes: &[u8]) {
        to.extend((bytes.len() as u64).to_le_bytes());
        to.extend(bytes);
    }
    let word = |to: &mut Vec<u8>, v: u64| to.extend(v.to_le_bytes());
    word(to, module as u64);
    bytes(to, place.device().as_bytes());
    // The macro names an instance with the derived sizes left out, as it is listed.
    bytes(to, case.instance().as_bytes());
    word(to, tensors.len() as u64);
    for t in tensors {
        let (x0, stride) = t.origin_and_stride();
        bytes(to, t.dtype.name().as_bytes());
        let s = &t.spec;
        for v in [s.batch, s.depth, s.rows, s.cols, t.pitch(), x0] {
            word(to, v.into());
        }
        word(to, stride);
        bytes(to, &t.bytes());
    }
    word(to, case.scalars.len() as u64);
    for scalar in case.scalars {
        bytes(to, scalar.ty().name().as_bytes());
        word(
            to,
            match scalar {
                Const::U32(v) | Const::F32(v) => v.into(),
                Const::I32(v) => v as u32 as u64,
                Const::U64(v) => v,
                Const::Bool(v) => v.into(),
            },
        );
    }
}

fn text_of(output: &Output) -> String {
    format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim_end())
}

/// The profiles of the workspace: with others, its crates would be built anew.
fn profiles(manifest: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.starts_with("[profile.");
        }
        if inside && !line.starts_with('#') {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// Writes and builds the crate; gives its program, or the module that rustc refuses with its messages.
fn build(name: &str, kernels: &Kernels, opencl: bool) -> Result<Result<PathBuf, (usize, String)>, RealError> {
    let workspace = file("find", &workspace(), workspace().canonicalize())?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    let folder = target.join("real").join(name);
    let sources = folder.join("src");
    if sources.exists() {
        file("empty", &sources, std::fs::remove_dir_all(&sources))?;
    }
    file("make", &sources, std::fs::create_dir_all(&sources))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        file("write", &path, std::fs::File::create(&path).and_then(|mut f| f.write_all(text.as_bytes())))
    };
    let manifest = workspace.join("Cargo.toml");
    let manifest = file("read", &manifest, std::fs::read_to_string(&manifest))?;
    let features = if opencl { ", features = [\"opencl\"]" } else { "" };
    let crates = ["tile-std", "tile-runtime"]
        .map(|name| format!("{name} = {{ path = {:?}{features} }}\n", workspace.join(name)))
        .concat();
    write(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"real-{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             {crates}\n{}\n[profile.dev.package.real-{name}]\ndebug = false\n",
            profiles(&manifest)
        ),
    )?;
    let lock = workspace.join("Cargo.lock");
    file("copy", &lock, std::fs::copy(&lock, folder.join("Cargo.lock")))?;
    write("src/main.rs", include_str!("driver.rs"))?;
    let mut list = String::from("pub static KERNELS: &[&tile_runtime::KernelInfo] = &[\n");
    let mut modules = String::new();
    for (number, (options, text, instances)) in kernels.sources.iter().enumerate() {
        let _ = writeln!(modules, "mod k{number};");
        let _ = writeln!(list, "    &k{number}::fuzzed::KERNEL,");
        let source = format!(
            "#![allow(warnings, arithmetic_overflow, unconditional_panic)]\nuse tile_std::prelude::*;\n\n#[tile_kernel({options}, instances({}))]\n{text}",
            instances.join(", ")
        );
        file("make", &sources, std::fs::create_dir_all(sources.join("kernels")))?;
        write(&format!("src/kernels/k{number}.rs"), &source)?;
    }
    write("src/kernels.rs", &format!("{modules}\n{list}];\n"))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--offline", "--quiet"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .map_err(|e| RealError::Build(e.to_string()))?;
    if output.status.success() {
        let program = format!("real-{name}{}", std::env::consts::EXE_SUFFIX);
        return Ok(Ok(target.join("debug").join(program)));
    }
    let messages = text_of(&output);
    let module = messages.split("src/kernels/k").nth(1).and_then(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().ok().filter(|n| *n < kernels.sources.len())
    });
    match module {
        Some(module) => Ok(Err((module, messages))),
        None => Err(RealError::Build(messages)),
    }
}
