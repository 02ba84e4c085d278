//! Finds the outside tools that `scripts/get-tools` fetched, and the OpenCL driver that `scripts/get-opencl` did.
//!
//! *Assumes*: the layouts that the scripts write (`bin/`, `versions.txt`; `opencl/lib`). *Guarantees*: a [`Tools`] value names
//! programs that exist, and the versions the report prints are theirs. *Not here*: fetching.
//! Tools of the system are never picked up: Debian stable's spirv-val is too old to know the capabilities.

use std::path::{Path, PathBuf};

/// The folder with the tools may be named here; otherwise it is `target/tools` of the workspace.
pub const TOOLS_DIR_VARIABLE: &str = "TILE_TOOLS_DIR";

/// Set (to anything but 0) where absent tools are a failure rather than a skip: in CI.
pub const REQUIRE_TOOLS_VARIABLE: &str = "TILE_REQUIRE_TOOLS";

/// Where the outside tools are.
#[derive(Debug, Clone)]
pub struct Tools {
    /// Intel's offline compiler.
    pub ocloc: PathBuf,
    /// The SPIR-V validator.
    pub spirv_val: PathBuf,
    /// The SPIR-V assembler.
    pub spirv_as: PathBuf,
    /// Packages with their versions, in the order of `versions.txt`.
    pub versions: Vec<(String, String)>,
}

/// Why the tools cannot be used. The fix is the same for every variant: run `scripts/get-tools`.
#[derive(Debug, thiserror::Error)]
pub enum ToolsError {
    /// There is no complete set of tools; run `scripts/get-tools`.
    #[error("the outside tools are not in {}; run scripts/get-tools", .0.display())]
    Missing(PathBuf),
    /// The program is not part of a workspace, so there is no default folder; set the variable.
    #[error("no workspace found from here; run inside the tile-rs workspace or set {TOOLS_DIR_VARIABLE}")]
    NoWorkspace,
}

impl Tools {
    /// Finds the tools in `TILE_TOOLS_DIR`, else in `target/tools` of the workspace.
    ///
    /// # Errors
    /// When the folder does not hold every tool.
    pub fn find() -> Result<Tools, ToolsError> {
        Tools::in_folder(&tools_folder().ok_or(ToolsError::NoWorkspace)?)
    }

    /// Takes the tools in `folder`.
    ///
    /// # Errors
    /// When `folder` does not hold every tool.
    pub fn in_folder(folder: &Path) -> Result<Tools, ToolsError> {
        let missing = || ToolsError::Missing(folder.to_owned());
        // The script writes versions.txt last, so without it the set is not complete.
        let listing = std::fs::read_to_string(folder.join("versions.txt")).map_err(|_| missing())?;
        let tool = |name: &str| {
            let path = folder.join("bin").join(name);
            path.is_file().then_some(path).ok_or_else(missing)
        };
        Ok(Tools {
            ocloc: tool("ocloc")?,
            spirv_val: tool("spirv-val")?,
            spirv_as: tool("spirv-as")?,
            versions: parse_versions(&listing),
        })
    }

    /// Returns the version of the Debian package that holds `tool` (`ocloc` stands for the compiler behind it).
    pub fn version_of(&self, tool: &str) -> Option<&str> {
        let package = match tool {
            // The code generator decides the figures; ocloc itself only drives it.
            "ocloc" | "igc" => "libigc2",
            "spirv-val" | "spirv-as" => "spirv-tools",
            _ => return None,
        };
        self.versions.iter().find(|(name, _)| name == package).map(|(_, version)| version.as_str())
    }
}

/// Returns the folder of the tools.
fn tools_folder() -> Option<PathBuf> {
    let named = std::env::var_os(TOOLS_DIR_VARIABLE).map(PathBuf::from);
    named.or_else(|| Some(workspace_folder()?.join("target/tools")))
}

/// Returns the driver of Intel's OpenCL runtime for CPUs, if it was fetched.
pub fn opencl_driver() -> Option<PathBuf> {
    tools_folder().map(|folder| folder.join("opencl/lib/libintelocl.so")).filter(|driver| driver.is_file())
}

/// Says whether absent tools must fail rather than be skipped.
pub fn tools_required() -> bool {
    std::env::var_os(REQUIRE_TOOLS_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Returns the workspace: from cargo when it runs us, else the nearest parent of the current folder with
/// the fetching script.
fn workspace_folder() -> Option<PathBuf> {
    let is_workspace = |folder: &&Path| folder.join("scripts/get-tools").is_file();
    let from_cargo = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = std::env::current_dir().ok();
    [from_cargo, here]
        .iter()
        .flatten()
        .find_map(|start| start.ancestors().find(is_workspace).map(Path::to_path_buf))
}

fn parse_versions(listing: &str) -> Vec<(String, String)> {
    listing
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_comments_are_not() {
        let rows =
            parse_versions("# package version sha256\nlibigc2 2.40.14-1 5ccd\nspirv-tools 2026.4 a1\n");
        assert_eq!(rows, [("libigc2".into(), "2.40.14-1".into()), ("spirv-tools".into(), "2026.4".into())]);
    }

    #[test]
    fn an_incomplete_folder_is_missing_and_says_what_to_run() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("versions.txt"), "libigc2 2.40 x\n").expect("writable");
        let error = Tools::in_folder(folder.path()).expect_err("no bin folder");
        assert!(error.to_string().contains("scripts/get-tools"), "{error}");
    }
}
