//! Owns writing a file whole or not at all.
//!
//! The bytes go to a new file in the same folder, to the disk, and only then under the final name.
//!
//! *Guarantees*: under the final name there is the old file or the complete new one at all times; after a failure
//! the new one is gone. A replaced file keeps its permissions, and one that is write-protected is not replaced; a
//! symbolic link stays and what it points to is replaced. *Not here*: what is written.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{Problem, not_a_file};

/// Where to write, and what is there now.
struct Target {
    path: PathBuf,
    old: Option<fs::Metadata>,
}

/// Checks that [`write()`] would find a place to write to, and leaves everything as it is.
///
/// # Errors
/// [`Problem`] with what is in the way.
pub fn check(path: &Path) -> Result<(), Problem> {
    let target = find(path)?;
    new_file(&target).map(drop).map_err(Problem::Write)
}

/// Writes these bytes, one slice after another, as the whole content of the file.
///
/// # Errors
/// [`Problem`] with what is in the way; the file is then as it was before.
pub fn write(path: &Path, parts: &[&[u8]]) -> Result<(), Problem> {
    let target = find(path)?;
    let write = || {
        // Removes its file when dropped, unless it is persisted.
        let mut file = new_file(&target)?;
        for part in parts {
            file.write_all(part)?;
        }
        if let Some(old) = &target.old {
            file.as_file().set_permissions(old.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(&target.path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(Problem::Write)
}

fn find(path: &Path) -> Result<Target, Problem> {
    let link = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.is_symlink(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Target { path: path.to_owned(), old: None });
        }
        Err(error) => return Err(Problem::Write(error)),
    };
    let path = if link { fs::canonicalize(path).map_err(Problem::Write)? } else { path.to_owned() };
    let old = fs::metadata(&path).map_err(Problem::Write)?;
    if let Some(found) = not_a_file(&old) {
        return Err(Problem::NotAFile { found });
    }
    // A rename asks for no permission of the file it replaces, so this does.
    OpenOptions::new().write(true).open(&path).map_err(Problem::Write)?;
    Ok(Target { path, old: Some(old) })
}

fn new_file(target: &Target) -> io::Result<NamedTempFile> {
    let folder = target.path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".new-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: the umask takes away from it.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}
