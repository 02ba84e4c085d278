//! `cargo tile`: look at kernels and put them before outside tools.
//!
//! *Guarantees*: exit code 0 when all is well, 1 when something failed or could not be done (one line says what),
//! 2 when the outside tools are missing or the command line is wrong. *Not here*: the work (the library).
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use rayon::prelude::*;
use tile_cli::devices;
use tile_cli::dump::{self, DumpError};
use tile_cli::explain::{self, UnknownCode};
use tile_cli::fuzz;
use tile_cli::inspect::{self, Figures};
use tile_cli::kernels::{self, KernelError};
use tile_cli::module::{ModuleError, ModuleInput};
use tile_cli::reference;
use tile_cli::tools::{Tools, ToolsError, tools_required};
use tile_cli::verify::{self, CPU, Request};
use tile_cli::waivers::{WaiverError, Waivers};
use tile_runtime::cache::Cache;

/// Looks at tile kernels: what they compile to and what outside tools say about it.
#[derive(Parser)]
#[command(name = "cargo tile", bin_name = "cargo tile", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists every kernel with its instances.
    Kernels,
    /// Validates modules and builds them for each of their devices with Intel's compiler.
    Verify {
        /// Only this kernel.
        kernel: Option<String>,
        /// Only this device; may be repeated.
        #[arg(long = "device", value_name = "DEVICE")]
        devices: Vec<String>,
        /// Counts checks as skipped when the outside tools are missing, instead of failing.
        #[arg(long)]
        allow_missing_tools: bool,
        #[command(flatten)]
        bare: Bare,
    },
    /// Shows registers, spills and what one trip through the innermost K loop costs.
    Inspect {
        /// The kernel.
        #[arg(required_unless_present = "spv")]
        kernel: Option<String>,
        /// The device to build for; may be repeated.
        #[arg(long = "device", value_name = "DEVICE", required = true)]
        devices: Vec<String>,
        /// Only instances whose name contains this text.
        #[arg(long, value_name = "TEXT", conflicts_with = "spv")]
        instance: Option<String>,
        /// Prints a JSON array with one object per instance and device.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        bare: Bare,
    },
    /// Writes out what a kernel was compiled to.
    Dump {
        /// The kernel.
        #[arg(required_unless_present = "spv")]
        kernel: Option<String>,
        /// Only instances whose name contains this text.
        #[arg(long, value_name = "TEXT", conflicts_with = "spv")]
        instance: Option<String>,
        /// Only modules for this device.
        #[arg(long)]
        device: Option<String>,
        /// The form.
        #[arg(long, value_enum)]
        format: Format,
        /// The file to write; standard output otherwise.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        bare: Bare,
    },
    /// Explains a rule of the kernel language by the code its error message gives; lists all without one.
    Explain {
        /// The code, such as T020.
        code: Option<String>,
    },
    /// Makes random kernels up and compares what their words do in the simulator with what their IR means.
    ///
    /// Each case comes from one seed, which is printed with a finding: `--cases 1 --seed SEED` runs it again. Findings
    /// are made small, and the exit code is 1. Every 200th batch of 16 also goes through the real macro and rustc, in a
    /// crate that is built in the target folder.
    Fuzz {
        /// Number of cases.
        #[arg(long, default_value_t = 2000)]
        cases: u64,
        /// Seed of the first case; the next ones count up.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Findings after which the run ends.
        #[arg(long, value_name = "COUNT", default_value_t = 8)]
        most: usize,
        /// Writes each finding as a file into this folder.
        #[arg(long, value_name = "DIR")]
        keep: Option<PathBuf>,
        /// Batches from one that goes through rustc to the next; 0 for none.
        #[arg(long, value_name = "BATCHES", default_value_t = 200)]
        real_every: u64,
        /// Prints the case of the seed and runs nothing.
        #[arg(long)]
        show: bool,
    },
    /// Prints the language reference, which is generated from the tables of ops, types and rules.
    Reference {
        /// Writes it into the repository instead.
        #[arg(long)]
        write: bool,
    },
    /// Shows the outside tools and their versions.
    Tools,
    /// Lists the devices of this machine: which modules each takes, or what it lacks.
    Devices,
    /// Shows the cache of programs compiled for OpenCL devices, or empties it.
    Cache {
        /// What to do with it; shows it otherwise.
        #[command(subcommand)]
        action: Option<CacheAction>,
    },
}

#[derive(Subcommand)]
enum CacheAction {
    /// Removes every program.
    Clear,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Typed tile IR.
    Ir,
    /// SPIR-V assembly.
    Spvasm,
    /// SPIR-V words.
    Spv,
}

/// A bare SPIR-V file in place of a kernel.
#[derive(Args)]
struct Bare {
    /// Takes this SPIR-V file in place of a kernel.
    #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
    spv: Option<PathBuf>,
    /// Entry point of the SPIR-V file; its first one otherwise.
    #[arg(long, requires = "spv", conflicts_with = "kernel")]
    entry: Option<String>,
    /// Build option for the SPIR-V file, such as -cl-intel-256-GRF-per-thread; may be repeated.
    #[arg(
        long = "option",
        value_name = "OPTION",
        allow_hyphen_values = true,
        requires = "spv",
        conflicts_with = "kernel"
    )]
    options: Vec<String>,
    /// Compiler key for the SPIR-V file, such as AllowPrefetchDecomposeWithHoisting=1; may be repeated.
    #[arg(long = "igc-option", value_name = "KEY=VALUE", requires = "spv", conflicts_with = "kernel")]
    igc_options: Vec<String>,
}

impl Bare {
    /// Returns the module of the file, for `devices` or for all that the target has when none is named.
    fn module(&self, devices: &[String]) -> Result<Option<ModuleInput>, ModuleError> {
        let Some(path) = &self.spv else { return Ok(None) };
        let mut module = ModuleInput::from_file(path, self.entry.as_deref())?;
        module.options.clone_from(&self.options);
        module.igc_options.clone_from(&self.igc_options);
        module.devices = if devices.is_empty() {
            tile_ir::legal::Device::ALL.iter().map(|device| device.name().to_owned()).collect()
        } else {
            devices.to_vec()
        };
        Ok(Some(module))
    }
}

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Tools(#[from] ToolsError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error(transparent)]
    Module(#[from] ModuleError),
    #[error(transparent)]
    Waivers(#[from] WaiverError),
    #[error(transparent)]
    Dump(#[from] DumpError),
    #[error(transparent)]
    Explain(#[from] UnknownCode),
    #[error(transparent)]
    Real(#[from] fuzz::real::RealError),
    #[error("{0} of the modules could not be inspected")]
    Inspect(usize),
    #[error(
        "`cargo tile inspect` shows what Intel's compiler for GPUs makes of a module, and no compiler but the OpenCL driver \
         makes code for `{cpu}`, at the first launch; `cargo tile dump --device {cpu}` shows the module",
        cpu = CPU
    )]
    InspectCpu,
    #[error("there is no kernel to verify, and a gate that checks nothing must not pass")]
    NothingToVerify,
    #[error("findings cannot be written into {0}: {1}")]
    Keep(String, std::io::Error),
    #[error("the cache cannot be used: {0}")]
    Cache(std::io::Error),
    #[error("figures cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(if matches!(failure, Failure::Tools(_)) { 2 } else { 1 })
        }
    }
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Kernels => print(&kernels::table(kernels::registry()))?,
        Command::Verify { kernel, devices, allow_missing_tools, bare } => {
            return verify(kernel.as_deref(), &devices, allow_missing_tools, &bare);
        }
        Command::Inspect { devices, .. } if devices.iter().any(|device| device == CPU) => {
            return Err(Failure::InspectCpu);
        }
        Command::Inspect { kernel, devices, instance, json, bare } => {
            let modules = selected(kernel.as_deref(), instance.as_deref(), &bare, &devices)?;
            inspect(&modules, &devices, json)?;
        }
        Command::Dump { kernel, instance, device, format, output, bare } => {
            let devices: Vec<String> = device.into_iter().collect();
            dump(kernel.as_deref(), instance.as_deref(), &devices, format, output, &bare)?;
        }
        Command::Explain { code: Some(code) } => print(&explain::text(&code)?)?,
        Command::Explain { code: None } => print(&explain::list())?,
        Command::Fuzz { seed, show: true, .. } => print(&fuzz::write::case(seed).text())?,
        Command::Fuzz { cases, seed, most, keep, real_every, show: false } => {
            let real_every = Some(real_every).filter(|every| *every > 0);
            let request = fuzz::Request { cases, seed, most, attempts: 1000, plant: None, real_every };
            return fuzz(&request, keep.as_deref());
        }
        Command::Reference { write: false } => print(&reference::text())?,
        Command::Reference { write: true } => {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(reference::PATH);
            dump::deliver(reference::text().as_bytes(), false, Some(&path))?;
        }
        Command::Devices => print(&devices::text())?,
        Command::Cache { action } => {
            let clear = matches!(action, Some(CacheAction::Clear));
            print(&devices::cache_text(Cache::of_user().as_ref(), clear).map_err(Failure::Cache)?)?;
        }
        Command::Tools => {
            let tools = Tools::find()?;
            let rows: Vec<Vec<String>> =
                tools.versions.iter().map(|(name, version)| vec![name.clone(), version.clone()]).collect();
            print(&tile_cli::table::align(&rows))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints to standard output; a reader that has gone away is no error.
fn print(text: &str) -> Result<(), DumpError> {
    dump::deliver(text.as_bytes(), false, None)
}

/// Returns the modules a command is about, after checking that every device named selects something.
fn selected(
    kernel: Option<&str>,
    instance: Option<&str>,
    bare: &Bare,
    devices: &[String],
) -> Result<Vec<ModuleInput>, Failure> {
    if let Some(module) = bare.module(devices)? {
        return Ok(vec![module]);
    }
    let kernels = kernels::registry();
    let chosen = match kernel {
        Some(name) => vec![kernels::find(kernels, name)?],
        None => kernels.to_vec(),
    };
    let mut modules = Vec::new();
    for kernel in chosen {
        for instance in kernels::instances(kernel, instance)? {
            modules.extend(kernels::modules(instance));
        }
    }
    kernels::check_devices(kernel.unwrap_or("the library"), &modules, devices)?;
    Ok(modules)
}

fn verify(
    kernel: Option<&str>,
    devices: &[String],
    allow_missing_tools: bool,
    bare: &Bare,
) -> Result<ExitCode, Failure> {
    let modules = selected(kernel, None, bare, devices)?;
    if modules.is_empty() {
        return Err(Failure::NothingToVerify);
    }
    let complete = kernel.is_none() && devices.is_empty() && bare.spv.is_none();
    let request = Request { modules: &modules, devices, complete };
    let waivers = Waivers::committed()?;
    let report = match Tools::find() {
        Ok(tools) => verify::verify(&tools, &request, &waivers),
        Err(error) if allow_missing_tools && !tools_required() => {
            eprintln!("note: {error}");
            verify::skip_all(&request)
        }
        Err(error) => return Err(error.into()),
    };
    print(&report.text())?;
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn fuzz(request: &fuzz::Request, keep: Option<&Path>) -> Result<ExitCode, Failure> {
    let report = fuzz::fuzz(request)?;
    print(&report.text())?;
    if let Some(folder) = keep {
        report.keep(folder).map_err(|error| Failure::Keep(folder.display().to_string(), error))?;
    }
    Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn inspect(modules: &[ModuleInput], devices: &[String], json: bool) -> Result<(), Failure> {
    let tools = Tools::find()?;
    let pairs: Vec<(&ModuleInput, &String)> = devices
        .iter()
        .flat_map(|device| modules.iter().filter(|m| m.devices.contains(device)).map(move |m| (m, device)))
        .collect();
    let results: Vec<_> =
        pairs.par_iter().map(|(module, device)| inspect::inspect(&tools, module, device)).collect();
    let mut figures: Vec<Figures> = Vec::new();
    let mut failed = 0;
    for ((module, device), result) in pairs.iter().zip(results) {
        match result {
            Ok(row) => figures.push(row),
            Err(error) => {
                failed += 1;
                eprintln!("error: {} on {device}: {error}", module.label());
            }
        }
    }
    if json {
        print(&format!("{}\n", serde_json::to_string_pretty(&figures)?))?;
    } else {
        print(&inspect::table(&figures))?;
    }
    if failed == 0 { Ok(()) } else { Err(Failure::Inspect(failed)) }
}

fn dump(
    kernel: Option<&str>,
    instance: Option<&str>,
    devices: &[String],
    format: Format,
    output: Option<PathBuf>,
    bare: &Bare,
) -> Result<(), Failure> {
    if let (Format::Ir, Some(name)) = (format, kernel) {
        let kernel = kernels::find(kernels::registry(), name)?;
        let mut text = String::new();
        for instance in kernels::instances(kernel, instance)? {
            text.push_str(&dump::ir_text(kernel, instance)?);
        }
        return Ok(dump::deliver(text.as_bytes(), false, output.as_deref())?);
    }
    let mut modules = selected(kernel, instance, bare, devices)?;
    modules.retain(|m| devices.iter().all(|device| m.devices.contains(device)));
    match format {
        Format::Ir => return Err(DumpError::IrOfBareModule.into()),
        Format::Spvasm => {
            dump::deliver(dump::spvasm_text(&modules)?.as_bytes(), false, output.as_deref())?;
        }
        Format::Spv => dump::deliver(dump::spv_words(&modules)?, true, output.as_deref())?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn inspecting_for_a_cpu_says_who_compiles_for_it() {
        let line = "tile inspect gemm --device pvc --device cpu";
        let command = Cli::try_parse_from(line.split_whitespace()).expect("legal").command;
        let Err(refused) = run(command) else { panic!("nothing to inspect") };
        let text = refused.to_string();
        assert!(text.contains("no compiler but the OpenCL driver makes code for `cpu`"), "{text}");
    }

    #[test]
    fn a_bare_file_stands_in_for_a_kernel_and_options_need_one() {
        let parse = |line: &str| Cli::try_parse_from(line.split_whitespace());
        for line in [
            "tile inspect gemm --device pvc --json",
            "tile inspect --spv k.spv --device pvc --option -cl-intel-256-GRF-per-thread",
            "tile verify",
            "tile verify gemm --device pvc --device bmg",
            "tile dump gemm --instance bf16 --format spv -o k.spv",
            "tile explain",
            "tile devices",
            "tile cache",
            "tile cache clear",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
        for line in [
            "tile inspect --device pvc",
            "tile inspect gemm",
            "tile inspect gemm --spv k.spv --device pvc",
            "tile inspect --spv k.spv --instance bf16 --device pvc",
            "tile verify gemm --option -x",
            "tile verify --option -x",
            "tile dump gemm --format elf",
            "tile cache fill",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
