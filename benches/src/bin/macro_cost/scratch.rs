//! Owns the scratch crate: a user's crate with one kernel file, outside the workspace.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tile_std::InstanceInfo;
use tile_std::kernels::gemm::gemm::KERNEL;

/// How the kernel is written in the crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As a user writes it.
    Macro,
    /// As the macro expands it.
    Expanded,
}

/// A crate in a temporary folder.
pub struct Scratch {
    folder: TempDir,
    target: PathBuf,
    /// Files written so far.
    written: Cell<u32>,
}

impl Scratch {
    /// Makes the crate. It is built in `target`, or in its own folder.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(target: Option<PathBuf>) -> Result<Scratch, String> {
        let folder = tempfile::tempdir().map_err(|e| format!("cannot make a temporary folder: {e}"))?;
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let tile_std = workspace.join("tile-std");
        let manifest = format!(
            "[package]\nname = \"scratch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\ntile-std = {{ path = {:?} }}\n",
            tile_std
        );
        let target = match target {
            Some(target) => std::path::absolute(&target).map_err(|e| e.to_string())?,
            None => folder.path().join("target"),
        };
        let source = folder.path().join("src");
        std::fs::create_dir(&source).map_err(|e| format!("cannot make {}: {e}", source.display()))?;
        let scratch = Scratch { folder, target, written: Cell::new(0) };
        scratch.write("Cargo.toml", &manifest)?;
        // The versions the workspace was built with are the ones that are here without a network.
        let lock = workspace.join("Cargo.lock");
        std::fs::copy(&lock, scratch.folder.path().join("Cargo.lock"))
            .map_err(|e| format!("cannot copy {}: {e}", lock.display()))?;
        Ok(scratch)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
    }

    /// Builds the dependencies, for `check` and for `build`.
    ///
    /// # Errors
    /// What cargo says.
    pub fn warm_up(&self) -> Result<(), String> {
        self.cargo("check", "")?;
        self.cargo("build", "")
    }

    /// Writes the crate's source and runs `cargo check` or `cargo build`.
    ///
    /// # Errors
    /// What cargo says.
    pub fn cargo(&self, command: &str, text: &str) -> Result<(), String> {
        self.written.set(self.written.get() + 1);
        // A user who checks again has changed something: so does this.
        let text = format!("pub const WRITTEN: u32 = {};\n{text}\n", self.written.get());
        self.write("src/lib.rs", &text)?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args([command, "--offline", "--quiet"])
            .current_dir(self.folder.path())
            .env("CARGO_TARGET_DIR", &self.target)
            .output()
            .map_err(|e| format!("cannot run cargo: {e}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!(
            "cargo {command}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        ))
    }
}

/// The instances with a device module; the others, for the host alone, cost the macro next to nothing.
fn device_instances() -> Vec<&'static InstanceInfo> {
    KERNEL.instances.iter().filter(|i| !i.modules.is_empty()).collect()
}

/// The targets that the macro compiles those instances for.
pub fn targets() -> String {
    let modules = device_instances().into_iter().flat_map(|instance| instance.modules);
    let targets: BTreeSet<&str> = modules.map(|module| module.target).collect();
    targets.into_iter().collect::<Vec<_>>().join(" and ")
}

/// The attribute and the function of the library's GEMM in `count` instances.
///
/// # Errors
/// If it has fewer with device modules.
pub fn kernel_parts(count: usize) -> Result<(String, &'static str), String> {
    let all = device_instances();
    if count > all.len() {
        return Err(format!("the GEMM has {} instances with device modules, not {count}", all.len()));
    }
    // Neighbours in the list differ in one thing only; steps that have no factor in common with its length visit
    // everything once, and make every beginning a mixture.
    let step =
        (7..).find(|step| gcd(*step, all.len().max(1)) == 1).expect("there are primes above any length");
    let mut entries = String::new();
    for i in 0..count {
        let instance = all[i * step % all.len()];
        let arguments = instance.name.trim_end_matches('>');
        let (rows, cols) = instance.subgroups;
        entries.push_str(&format!("    {arguments}; subgroups = ({rows}, {cols})>,\n"));
    }
    Ok((format!("instances(\n{entries})"), KERNEL.source))
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The kernel file of the scratch crate; without instances there is no kernel.
///
/// # Errors
/// As [`kernel_parts`], or if the text is not Rust.
pub fn kernel_text(count: usize, form: Form) -> Result<String, String> {
    if count == 0 {
        return Ok("pub use tile_std::prelude::*;".into());
    }
    let (attr, source) = kernel_parts(count)?;
    let kernel = match form {
        Form::Macro => format!("#[tile_kernel({attr})]\n{source}"),
        Form::Expanded => {
            let tokens = |text: &str| text.parse().map_err(|e| format!("the kernel is not Rust: {e}"));
            tile_front::tile_kernel(tokens(&attr)?, tokens(source)?).to_string()
        }
    };
    Ok(format!("pub use tile_std::prelude::*;\n{kernel}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_targets_are_measured() {
        assert_eq!(targets(), "lane and xe");
    }

    #[test]
    fn instances_are_distinct() {
        let (attr, source) = kernel_parts(device_instances().len()).expect("all of them");
        let mut lines: Vec<&str> = attr.lines().collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), device_instances().len() + 2, "{attr}");
        assert!(source.contains("mma_AB"));
        assert!(kernel_parts(device_instances().len() + 1).is_err());
    }

    #[test]
    fn every_instance_compiles() {
        let count = device_instances().len();
        let (attr, source) = kernel_parts(count).expect("all of them");
        assert_eq!(tile_front::compile_source(&attr, source).map(|all| all.len()), Ok(count));
    }
}
