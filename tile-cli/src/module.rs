//! A SPIR-V module to be judged, and what its words say about themselves.
//!
//! *Assumes*: nothing about who made the module. *Guarantees*: [`Contents`] counts the instructions whose fate in
//! machine code the gate follows. *Not here*: validity (spirv-val's business).

use std::path::Path;

use rspirv::binary::Disassemble;
use rspirv::dr::Operand;
use rspirv::spirv::Op;

/// One SPIR-V module with everything needed to build and judge it: the seam between the kernel metadata
/// (or a bare file) and the tools.
#[derive(Debug, Clone)]
pub struct ModuleInput {
    /// Name of the kernel, or the file name of a bare module.
    pub kernel: String,
    /// Instance, as written in the kernel's attribute; empty for a bare module.
    pub instance: String,
    /// The module, little endian.
    pub words: Vec<u8>,
    /// Entry point to look at.
    pub entry: String,
    /// Devices the module is legal on; empty when no GPU takes it.
    pub devices: Vec<String>,
    /// Build options, such as `-cl-intel-256-GRF-per-thread`.
    pub options: Vec<String>,
    /// Compiler keys, such as `AllowPrefetchDecomposeWithHoisting=1`.
    pub igc_options: Vec<String>,
}

/// What a module says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// SPIR-V version as (major, minor).
    pub version: (u8, u8),
    /// Names of the entry points.
    pub entries: Vec<String>,
    /// Number of matrix multiply-accumulate instructions.
    pub dpas: usize,
    /// Number of 2-D block loads, of every form.
    pub loads: usize,
    /// Number of 2-D block prefetches.
    pub prefetches: usize,
    /// Number of 2-D block stores.
    pub stores: usize,
}

/// Why a module cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The file cannot be read.
    #[error("cannot read {path}: {cause}")]
    Read {
        /// File asked for.
        path: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The bytes are not SPIR-V that can be parsed.
    #[error("{name} is not a SPIR-V module: {cause}")]
    Parse {
        /// Kernel or file.
        name: String,
        /// What the parser said.
        cause: String,
    },
    /// A bare module has no entry point, so there is nothing to look at.
    #[error("{0} has no kernel entry point")]
    NoEntry(String),
    /// The entry point asked for is not there.
    #[error("{module} has no entry point `{entry}`; it has {entries}")]
    UnknownEntry {
        /// The module.
        module: String,
        /// Entry point asked for.
        entry: String,
        /// Entry points that exist.
        entries: String,
    },
}

impl ModuleInput {
    /// Reads a bare `.spv` file; `entry` selects an entry point, the first one when `None`.
    ///
    /// # Errors
    /// When the file is unreadable, is not SPIR-V, or lacks the entry point.
    pub fn from_file(path: &Path, entry: Option<&str>) -> Result<ModuleInput, ModuleError> {
        let name = path.display().to_string();
        let words = std::fs::read(path).map_err(|cause| ModuleError::Read { path: name.clone(), cause })?;
        let mut module = ModuleInput {
            kernel: name.clone(),
            instance: String::new(),
            words,
            entry: String::new(),
            devices: Vec::new(),
            options: Vec::new(),
            igc_options: Vec::new(),
        };
        let entries = module.contents()?.entries;
        module.entry = match entry {
            None => entries.into_iter().next().ok_or(ModuleError::NoEntry(name))?,
            Some(entry) if entries.iter().any(|e| e == entry) => entry.to_owned(),
            Some(entry) => {
                return Err(ModuleError::UnknownEntry {
                    module: name,
                    entry: entry.to_owned(),
                    entries: entries.join(", "),
                });
            }
        };
        Ok(module)
    }

    /// Names the module in a report: the kernel and its instance.
    pub fn label(&self) -> String {
        format!("{}{}", self.kernel, self.instance)
    }

    /// Returns the build options as ocloc takes them: one string, compiler keys included.
    pub fn build_options(&self, more_igc_options: &[&str]) -> String {
        let mut options = self.options.join(" ");
        let keys: Vec<&str> =
            self.igc_options.iter().map(String::as_str).chain(more_igc_options.iter().copied()).collect();
        if !keys.is_empty() {
            if !options.is_empty() {
                options.push(' ');
            }
            // IGC takes the keys inside the build options, quoted; ocloc has no argument of its own for them.
            options.push_str(&format!("-igc_opts '{}'", keys.join(",")));
        }
        options
    }

    /// Counts what the module holds.
    ///
    /// # Errors
    /// When the words are not SPIR-V.
    pub fn contents(&self) -> Result<Contents, ModuleError> {
        let module = self.parse()?;
        let version = module.header.as_ref().map_or((0, 0), rspirv::dr::ModuleHeader::version);
        let entries = module
            .entry_points
            .iter()
            .filter_map(|inst| {
                inst.operands.iter().find_map(|operand| match operand {
                    Operand::LiteralString(name) => Some(name.clone()),
                    _ => None,
                })
            })
            .collect();
        let mut contents = Contents { version, entries, dpas: 0, loads: 0, prefetches: 0, stores: 0 };
        for inst in module.all_inst_iter() {
            match inst.class.opcode {
                Op::SubgroupMatrixMultiplyAccumulateINTEL => contents.dpas += 1,
                Op::Subgroup2DBlockLoadINTEL
                | Op::Subgroup2DBlockLoadTransformINTEL
                | Op::Subgroup2DBlockLoadTransposeINTEL => contents.loads += 1,
                Op::Subgroup2DBlockPrefetchINTEL => contents.prefetches += 1,
                Op::Subgroup2DBlockStoreINTEL => contents.stores += 1,
                _ => {}
            }
        }
        Ok(contents)
    }

    /// Returns the module as assembly text.
    ///
    /// # Errors
    /// When the words are not SPIR-V.
    pub fn disassemble(&self) -> Result<String, ModuleError> {
        Ok(format!("{}\n", self.parse()?.disassemble()))
    }

    fn parse(&self) -> Result<rspirv::dr::Module, ModuleError> {
        rspirv::dr::load_bytes(&self.words)
            .map_err(|state| ModuleError::Parse { name: self.label(), cause: state.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(words: Vec<u8>) -> ModuleInput {
        ModuleInput {
            kernel: "k".into(),
            instance: "<bf16>".into(),
            words,
            entry: "k".into(),
            devices: vec![],
            options: vec!["-cl-intel-256-GRF-per-thread".into()],
            igc_options: vec!["A=1".into()],
        }
    }

    #[test]
    fn compiler_keys_go_inside_the_build_options() {
        let module = bare(vec![]);
        assert_eq!(module.build_options(&[]), "-cl-intel-256-GRF-per-thread -igc_opts 'A=1'");
        assert_eq!(module.build_options(&["B=2"]), "-cl-intel-256-GRF-per-thread -igc_opts 'A=1,B=2'");
        assert_eq!(module.label(), "k<bf16>");
    }

    #[test]
    fn garbage_is_refused_by_name() {
        for words in [vec![], vec![1, 2, 3], vec![0; 64]] {
            let error = bare(words).contents().expect_err("not SPIR-V");
            assert!(error.to_string().starts_with("k<bf16> is not a SPIR-V module"), "{error}");
        }
    }
}
