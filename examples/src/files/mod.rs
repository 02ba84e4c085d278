//! Owns matrices in files: which file and which tensor in it, reading, writing, and what can be wrong with them.
//!
//! Formats are told by the ending: `.npy` holds one array, `.safetensors` holds named tensors, of which
//! `FILE.safetensors:NAME` chooses one.
//!
//! *Guarantees*: no bytes of a file make a reader panic, or allocate more than a small multiple of its length; a
//! file is written whole or not at all. *Not here*: the formats ([`npy`], [`safetensors`]), the replacement
//! ([`replace`]).

pub mod npy;
pub mod replace;
pub mod safetensors;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::matrix::{ElementType, Matrix};

/// A file that cannot be used: its name and what is wrong.
#[derive(Debug, Error)]
#[error("{file}: {problem}")]
pub struct FileError {
    /// The file as the user named it.
    pub file: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// Check the name and the permissions.
    #[error("cannot read the file: {0}")]
    Read(io::Error),
    /// Check the folder, the permissions and the space.
    #[error("cannot write the file: {0}")]
    Write(io::Error),
    /// Name a regular file.
    #[error("a matrix is a regular file; this is {found}")]
    NotAFile {
        /// What it is.
        found: &'static str,
    },
    /// Name a file of a known format.
    #[error("the name of a matrix must end in .npy, .safetensors or .safetensors:TENSOR")]
    Ending,
    /// Put the name of a tensor after the colon, or leave out the colon.
    #[error("a tensor must have a name other than {0:?}")]
    TensorName(String),
    /// The file is damaged or not what its name says.
    #[error("not a usable .npy file: {0}")]
    Npy(#[from] npy::NpyError),
    /// The file is damaged or not what its name says.
    #[error("not a usable .safetensors file: {0}")]
    Safetensors(#[from] ::safetensors::SafeTensorError),
    /// Choose one of the tensors.
    #[error("no tensor is named {wanted:?}; the file holds {present}")]
    NoTensor {
        /// The name asked for.
        wanted: String,
        /// The names there are.
        present: String,
    },
    /// Choose one of the tensors.
    #[error("the file must hold one tensor or the name must choose one (FILE:TENSOR); it holds {present}")]
    Several {
        /// The names there are.
        present: String,
    },
    /// Convert the file first.
    #[error("elements must be of type {supported}; here they are {found}")]
    Type {
        /// The types that can be read from this format.
        supported: &'static str,
        /// The type in the file.
        found: String,
    },
    /// Reshape it first.
    #[error("a matrix has 2 dimensions, or 3 with a batch; this has shape {0:?}")]
    Rank(Vec<usize>),
    /// Write `.safetensors`, or another element type.
    #[error(".npy has no bf16; choose --out-dtype f32 or f16, or write .safetensors")]
    NoBf16,
}

/// The formats of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One array in the format of numpy.
    Npy,
    /// Named tensors in the format of safetensors.
    Safetensors,
}

/// A matrix in a file, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    path: PathBuf,
    format: Format,
    tensor: Option<String>,
}

impl Place {
    /// Takes `FILE.npy`, `FILE.safetensors` or `FILE.safetensors:TENSOR` apart. Looks at no file.
    ///
    /// # Errors
    /// [`Problem::Ending`] for other names, [`Problem::TensorName`] for a name no tensor can have.
    pub fn parse(name: &OsStr) -> Result<Place, FileError> {
        let error = |problem| FileError { file: name.to_string_lossy().into_owned(), problem };
        // Names that are not Unicode can name files, but no tensor in them.
        let split = name.to_str().and_then(|text| {
            let at = text.to_ascii_lowercase().find(".safetensors:")? + ".safetensors".len();
            Some((Path::new(&text[..at]), &text[at + 1..]))
        });
        if let Some((path, tensor)) = split {
            // The format keeps its own data under this name.
            if tensor.is_empty() || tensor == "__metadata__" {
                return Err(error(Problem::TensorName(tensor.into())));
            }
            let (path, tensor) = (path.to_owned(), Some(tensor.to_owned()));
            return Ok(Place { path, format: Format::Safetensors, tensor });
        }
        let path = PathBuf::from(name);
        let ending = path.extension().map(|e| e.to_ascii_lowercase());
        let format = match ending.as_ref().and_then(|e| e.to_str()) {
            Some("npy") => Format::Npy,
            Some("safetensors") => Format::Safetensors,
            _ => return Err(error(Problem::Ending)),
        };
        Ok(Place { path, format, tensor: None })
    }

    /// The name of the tensor [`Place::write`] writes to a `.safetensors` file.
    pub fn tensor_to_write(&self) -> &str {
        self.tensor.as_deref().unwrap_or("c")
    }

    /// The format its ending tells.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Reads the matrix.
    ///
    /// # Errors
    /// [`FileError`] with what is wrong with the file.
    pub fn read(&self) -> Result<Matrix, FileError> {
        let read = || {
            let bytes = read_regular(&self.path)?;
            match self.format {
                Format::Npy => npy::read(&bytes),
                Format::Safetensors => safetensors::read(&bytes, self.tensor.as_deref()),
            }
        };
        read().map_err(|problem| self.error(problem))
    }

    /// Reads the chosen tensor of a `.safetensors` file as unsigned bytes; its shape does not matter.
    ///
    /// # Errors
    /// [`FileError`] with what is wrong with the file.
    pub fn read_u8(&self) -> Result<Vec<u8>, FileError> {
        let read = || safetensors::read_u8(&read_regular(&self.path)?, self.tensor.as_deref());
        read().map_err(|problem| self.error(problem))
    }

    /// Checks that a matrix of this type can probably be written, before the work whose result it is. Leaves
    /// everything as it is.
    ///
    /// # Errors
    /// [`FileError`] with what is in the way.
    pub fn check_writable(&self, element_type: ElementType) -> Result<(), FileError> {
        if self.format == Format::Npy && element_type == ElementType::Bf16 {
            return Err(self.error(Problem::NoBf16));
        }
        replace::check(&self.path).map_err(|problem| self.error(problem))
    }

    /// Writes the matrix: the file is then complete, or as it was before (which may be absent). A
    /// `.safetensors` file holds this tensor only; its name is `c` if none was chosen.
    ///
    /// # Errors
    /// [`FileError`] with what is in the way.
    pub fn write(&self, matrix: &Matrix) -> Result<(), FileError> {
        let write = || {
            let header = match self.format {
                Format::Npy => npy::header(matrix).ok_or(Problem::NoBf16)?,
                Format::Safetensors => safetensors::header(matrix, self.tensor_to_write())?,
            };
            replace::write(&self.path, &[&header, &matrix.elements().to_le_bytes()])
        };
        write().map_err(|problem| self.error(problem))
    }

    fn error(&self, problem: Problem) -> FileError {
        FileError { file: self.path.display().to_string(), problem }
    }
}

/// The name as the user gave it.
impl core::fmt::Display for Place {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.tensor.iter().try_for_each(|tensor| write!(f, ":{tensor}"))
    }
}

/// All bytes of a regular file. Others are refused before they are opened: a pipe nobody writes to would block.
fn read_regular(path: &Path) -> Result<Vec<u8>, Problem> {
    match not_a_file(&fs::metadata(path).map_err(Problem::Read)?) {
        Some(found) => Err(Problem::NotAFile { found }),
        None => fs::read(path).map_err(Problem::Read),
    }
}

/// What it is, if it is not a regular file.
fn not_a_file(metadata: &fs::Metadata) -> Option<&'static str> {
    match metadata {
        m if m.is_file() => None,
        m if m.is_dir() => Some("a folder"),
        _ => Some("a pipe, socket or device"),
    }
}

/// At most eight names, and how many more there are.
fn list(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    if names.is_empty() {
        return "none".into();
    }
    let shown = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if names.len() <= SHOWN { shown } else { format!("{shown} and {} more", names.len() - SHOWN) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Place {
        Place::parse(OsStr::new(name)).expect("legal")
    }

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(place("a/b.npy").format(), Format::Npy);
        assert_eq!(place("A.NPY").format(), Format::Npy);
        let chosen = place("m.safetensors:layer.0:w.npy");
        assert_eq!(
            (chosen.path.to_str(), chosen.tensor.as_deref()),
            (Some("m.safetensors"), Some("layer.0:w.npy"))
        );
        assert_eq!(chosen.to_string(), "m.safetensors:layer.0:w.npy");
        assert_eq!(place("m.safetensors").tensor, None);
        for wrong in
            ["", "a", "a.txt", ".npy", "npy", "a.npy:x", "m.safetensors:", "m.safetensors:__metadata__"]
        {
            assert!(Place::parse(OsStr::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(list(&[]), "none");
        assert_eq!(list(&["a", "b\n"]), r#""a", "b\n""#);
        assert_eq!(list(&["x"; 10]), format!("{} and 2 more", [r#""x""#; 8].join(", ")));
    }
}
