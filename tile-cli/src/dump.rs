//! Writes out what a kernel was compiled to.
//!
//! *Guarantees*: a file appears complete or not at all; binary never reaches a terminal. *Not here*: choosing the
//! kernel.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use tile_runtime::contract::{InstanceInfo, KernelInfo};

use crate::module::{ModuleError, ModuleInput};

/// Why nothing was dumped.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// A module cannot be taken apart.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The kernel's own source no longer compiles: the binary and its front end do not belong together.
    #[error("the source of `{kernel}` {instance} does not compile here: {why}")]
    Source {
        /// The kernel.
        kernel: &'static str,
        /// The instance.
        instance: &'static str,
        /// What the front end says.
        why: String,
    },
    /// SPIR-V has no way back to tile IR; ask for another form.
    #[error("a SPIR-V file has no tile IR; use --format spvasm")]
    IrOfBareModule,
    /// Words of several modules in a row are not a module; name one.
    #[error(
        "--format spv writes one module, and {count} match; choose with --instance or --device: {matching}"
    )]
    Ambiguous {
        /// How many match.
        count: usize,
        /// The modules that match.
        matching: String,
    },
    /// Words would garble the terminal; give `-o FILE` or redirect.
    #[error("refusing to write a binary to the terminal; give -o FILE or redirect the output")]
    Terminal,
    /// The file cannot be written; what was there before is unchanged.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// File asked for.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
}

/// Returns the typed tile IR of one instance as text, by compiling the source that the instance was compiled
/// from once more.
///
/// # Errors
/// When the front end does not accept that source or does not find the instance in it.
pub fn ir_text(kernel: &'static KernelInfo, instance: &'static InstanceInfo) -> Result<String, DumpError> {
    let source = |why: String| DumpError::Source { kernel: kernel.name, instance: instance.name, why };
    let compiled =
        tile_front::compile_source(kernel.attr, kernel.source).map_err(|all| source(all.join("; ")))?;
    let found = compiled.iter().find(|c| c.kernel.kernel().instance == instance.name);
    found.map(|c| c.kernel.kernel().to_string()).ok_or_else(|| source("no such instance".into()))
}

/// Returns the SPIR-V assembly of every module, each under a comment that names it.
///
/// # Errors
/// When a module is not SPIR-V.
pub fn spvasm_text(modules: &[ModuleInput]) -> Result<String, DumpError> {
    let mut text = String::new();
    for module in modules {
        let options = module.build_options(&[]);
        text.push_str(&format!("; {}, entry {}", module.label(), module.entry));
        if !module.devices.is_empty() {
            text.push_str(&format!(", for {}", module.devices.join(", ")));
        }
        if !options.is_empty() {
            text.push_str(&format!(", built with {options}"));
        }
        text.push('\n');
        text.push_str(&module.disassemble()?);
    }
    Ok(text)
}

/// Returns the words of the one module there is.
///
/// # Errors
/// When there is more than one, or none.
pub fn spv_words(modules: &[ModuleInput]) -> Result<&[u8], DumpError> {
    match modules {
        [module] => Ok(&module.words),
        _ => Err(DumpError::Ambiguous {
            count: modules.len(),
            matching: modules
                .iter()
                .map(|module| format!("{} ({})", module.label(), module.devices.join(", ")))
                .collect::<Vec<_>>()
                .join("; "),
        }),
    }
}

/// Writes `bytes` to the file, or to standard output when there is none.
///
/// # Errors
/// When the file cannot be written, or a binary would go to a terminal.
pub fn deliver(bytes: &[u8], binary: bool, file: Option<&Path>) -> Result<(), DumpError> {
    let Some(path) = file else {
        let mut stdout = std::io::stdout();
        if binary && stdout.is_terminal() {
            return Err(DumpError::Terminal);
        }
        return match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            // The reader (`head`) has seen enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(cause) => Err(DumpError::Write { path: "standard output".into(), cause }),
            Ok(()) => Ok(()),
        };
    };
    write_file(path, bytes).map_err(|cause| DumpError::Write { path: path.to_owned(), cause })
}

fn write_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if std::fs::metadata(path).is_ok_and(|existing| !existing.is_file()) {
        // A device or a pipe must be written through, never replaced; a folder fails here with its own error.
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    // Follow a link to the file it names, so that the link stays a link.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        // The usual permissions of a new file (the system takes the umask off), not those of a secret.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut beside = builder.tempfile_in(folder)?;
    beside.write_all(bytes)?;
    beside.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(instance: &str) -> ModuleInput {
        ModuleInput {
            kernel: "gemm".into(),
            instance: instance.into(),
            words: vec![1, 2, 3, 4],
            entry: "gemm".into(),
            devices: vec!["pvc".into()],
            options: vec![],
            igc_options: vec![],
        }
    }

    #[test]
    fn words_come_from_one_module_only() {
        assert_eq!(spv_words(&[module("<1>")]).expect("one"), [1, 2, 3, 4]);
        let error = spv_words(&[module("<1>"), module("<2>")]).expect_err("two").to_string();
        assert!(error.contains("gemm<1> (pvc); gemm<2> (pvc)"), "{error}");
    }

    #[test]
    fn a_file_is_replaced_whole_and_a_failed_write_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("k.spv");
        std::fs::write(&path, "what was there before").expect("writable");
        deliver(&[1, 2], true, Some(&path)).expect("writable");
        assert_eq!(std::fs::read(&path).expect("readable"), [1, 2]);

        let error = deliver(&[1], true, Some(&folder.path().join("no/such/k.spv"))).expect_err("no folder");
        assert!(error.to_string().starts_with("cannot write "), "{error}");
        assert!(deliver(&[1], true, Some(folder.path())).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1);
    }

    #[test]
    fn a_pipe_is_written_through_and_stays_a_pipe() {
        use std::io::Read;
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
        assert!(made.success());
        // Opened for both, so that neither side waits for the other.
        let mut pipe = std::fs::OpenOptions::new().read(true).write(true).open(&path).expect("a pipe");
        deliver(&[7], true, Some(&path)).expect("writable");
        assert!(std::fs::metadata(&path).expect("still there").file_type().is_fifo());
        let mut byte = [0];
        pipe.read_exact(&mut byte).expect("what was written");
        assert_eq!(byte, [7]);
    }
}
