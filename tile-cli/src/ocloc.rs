//! Drives Intel's offline compiler: SPIR-V words in, machine code and its description out.
//!
//! *Assumes*: [`Tools`] that run. *Guarantees*: each call works in its own temporary folder, so calls may run side by
//! side; a crash is reported as a crash. *Not here*: judging the result.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::module::ModuleInput;
use crate::run::{End, run};
use crate::tools::Tools;

/// A module built for one device.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// Disassembly of the entry point.
    pub asm: String,
    /// The `.ze_info` section.
    pub ze_info: String,
    /// What the compiler printed: warnings, spill notes.
    pub log: String,
    /// Time the compiler took, disassembly not included.
    pub compile_time: Duration,
}

/// Why a module did not become machine code.
#[derive(Debug, thiserror::Error)]
pub enum OclocError {
    /// The system refused to run the tool or to hold its files.
    #[error("cannot run ocloc: {0}")]
    System(#[from] std::io::Error),
    /// The compiler refused the module or crashed.
    #[error("ocloc {end}: {message}")]
    Build {
        /// How the compiler ended.
        end: End,
        /// The last lines it printed.
        message: String,
    },
    /// The disassembler failed on the compiler's own output.
    #[error("ocloc disasm {end}: {message}")]
    Disassemble {
        /// How the disassembler ended.
        end: End,
        /// The last lines it printed.
        message: String,
    },
}

/// Builds `module` for `device` and disassembles the entry point.
///
/// # Errors
/// When the compiler refuses the module, crashes, or writes something that does not hold the entry point.
pub fn compile(tools: &Tools, module: &ModuleInput, device: &str) -> Result<Compiled, OclocError> {
    let folder = tempfile::tempdir()?;
    let started = Instant::now();
    let log = build(tools, module, device, &[], folder.path())?;
    let compile_time = started.elapsed();

    let disassembly = run(
        &tools.ocloc,
        &["disasm", "-file", "module.bin", "-device", device, "-dump", "parts"],
        folder.path(),
    )?;
    let failed = |what: &str| OclocError::Disassemble {
        end: disassembly.end,
        message: if disassembly.end == End::Exit(0) {
            what.to_owned()
        } else {
            last_lines(&disassembly.output)
        },
    };
    let part = |name: &str| std::fs::read_to_string(folder.path().join("parts").join(name));
    let asm = part(&format!(".text.{}.asm", module.entry))
        .map_err(|_| failed(&format!("no machine code for `{}`", module.entry)))?;
    let ze_info = part(".ze_info").map_err(|_| failed("no .ze_info section"))?;
    Ok(Compiled { asm, ze_info, log, compile_time })
}

/// Returns the console text of a build that prints vISA (and leaves no binary).
///
/// # Errors
/// When the compiler refuses the module or crashes.
pub fn visa(tools: &Tools, module: &ModuleInput, device: &str) -> Result<String, OclocError> {
    let folder = tempfile::tempdir()?;
    build(tools, module, device, &["DumpVISAASMToConsole=1"], folder.path())
}

fn build(
    tools: &Tools,
    module: &ModuleInput,
    device: &str,
    more_igc_options: &[&str],
    folder: &Path,
) -> Result<String, OclocError> {
    std::fs::write(folder.join("module.spv"), &module.words)?;
    let options = module.build_options(more_igc_options);
    let mut args = vec!["compile", "-spirv_input", "-file", "module.spv", "-device", device];
    args.extend(["-output", "module", "-output_no_suffix"]);
    if !options.is_empty() {
        args.extend(["-options", &options]);
    }
    let finished = run(&tools.ocloc, &args, folder)?;
    if finished.end == End::Exit(0) {
        Ok(finished.output)
    } else {
        Err(OclocError::Build { end: finished.end, message: last_lines(&finished.output) })
    }
}

/// Returns what a tool said last, on one line; a crashed compiler may have said nothing.
pub(crate) fn last_lines(output: &str) -> String {
    let noise = ["Compilation from IR", "Command was:", "Build failed"];
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !noise.iter().any(|start| line.starts_with(start)))
        .collect();
    if lines.is_empty() {
        return "no message".to_owned();
    }
    lines[lines.len().saturating_sub(3)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_what_was_said_last_without_noise() {
        assert_eq!(
            last_lines("Compilation from IR - skipping loading of FCL\n\nerror: a\nb\n"),
            "error: a; b"
        );
        assert_eq!(last_lines("1\n2\n3\n4\n"), "2; 3; 4");
        assert_eq!(last_lines("\n"), "no message");
    }
}
