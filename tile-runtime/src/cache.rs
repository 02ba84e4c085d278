//! Owns the cache of compiled programs on disk.
//!
//! An entry is a file named after a hash of its key, with the whole key and a checksum inside. *Guarantees*: an
//! entry is used only if its key is equal byte for byte and its checksum fits, so neither a collision nor a torn or
//! foreign file can pass for a program; entries appear whole or not at all; the folder stays below its limit; a
//! cache that cannot be used is a cache that misses, never an error of a launch. *Not here*: what a program is made
//! from (`opencl`).

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The environment variable that names the folder; `off` uses none.
pub const CACHE_VARIABLE: &str = "TILE_CACHE_DIR";

/// Bytes all entries may have together.
pub const LIMIT_BYTES: u64 = 256 << 20;

const MAGIC: &[u8; 8] = b"tilecch1";
const EXTENSION: &str = "tilebin";

/// A folder of compiled programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
    limit_bytes: u64,
}

/// What a folder holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Entries.
    pub entries: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Cache {
    /// The user's cache: the folder of `TILE_CACHE_DIR`, else `tile-rs` in `XDG_CACHE_HOME`, else in `~/.cache`. `None`
    /// if the variable is `off` or there is no home.
    pub fn of_user() -> Option<Cache> {
        Cache::of_environment(|name| std::env::var_os(name))
    }

    fn of_environment(value: impl Fn(&str) -> Option<OsString>) -> Option<Cache> {
        let variable = |name: &str| value(name).filter(|value| !value.is_empty());
        let folder = match variable(CACHE_VARIABLE) {
            Some(value) if value == "off" => return None,
            Some(value) => PathBuf::from(value),
            // The XDG base directory specification: a relative path is to be ignored.
            None => variable("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
                .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".cache")))?
                .join("tile-rs"),
        };
        Some(Cache::in_folder(folder))
    }

    /// A cache in this folder, which need not exist yet.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: folder.into(), limit_bytes: LIMIT_BYTES }
    }

    /// The same with another limit on the bytes of all entries.
    pub fn with_limit(self, limit_bytes: u64) -> Cache {
        Cache { limit_bytes, ..self }
    }

    /// Where the entries are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, key: &[u8]) -> PathBuf {
        self.folder.join(format!("{:016x}.{EXTENSION}", hash(key)))
    }

    /// The program stored under this key; anything that is not exactly that is a miss.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let path = self.path(key);
        let program = decode(&fs::read(&path).ok()?, key)?;
        // Eviction takes the entry that was not used for longest. A read-only cache still hits.
        if let Ok(file) = fs::File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(program)
    }

    /// Stores a program and evicts the entries unused for longest when the limit is exceeded.
    ///
    /// # Errors
    /// Of the file system; nothing is stored then.
    pub fn put(&self, key: &[u8], program: &[u8]) -> io::Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(&self.folder)?;
        // A name of its own for every writer: whoever renames last wins, and all of them are whole.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = self.folder.join(format!(".{}-{number}.{EXTENSION}-new", std::process::id()));
        let written = fs::File::create_new(&temporary)
            .and_then(|mut file| file.write_all(&encode(key, program)))
            .and_then(|()| fs::rename(&temporary, self.path(key)));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written?;
        self.evict()
    }

    /// Removes an entry, for example one the driver refused.
    pub fn remove(&self, key: &[u8]) {
        // Absent is what was wanted.
        let _ = fs::remove_file(self.path(key));
    }

    /// Entries and bytes; an absent folder is empty.
    ///
    /// # Errors
    /// Of the file system.
    pub fn contents(&self) -> io::Result<Contents> {
        let entries = self.entries()?;
        Ok(Contents { entries: entries.len(), bytes: entries.iter().map(|entry| entry.bytes).sum() })
    }

    /// Removes every entry, and nothing else that may be in the folder; says what it removed.
    ///
    /// # Errors
    /// Of the file system.
    pub fn clear(&self) -> io::Result<Contents> {
        let mut removed = Contents::default();
        for entry in self.entries()? {
            fs::remove_file(&entry.path)?;
            removed.entries += 1;
            removed.bytes += entry.bytes;
        }
        Ok(removed)
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let listing = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listing => listing?,
        };
        let mut entries = Vec::new();
        for entry in listing {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // What a killed writer left behind counts, too.
            if name.ends_with(&format!(".{EXTENSION}")) || name.ends_with(&format!(".{EXTENSION}-new")) {
                // Another process may just have removed it.
                if let Ok(facts) = fs::metadata(&path) {
                    let used = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    entries.push(Entry { path, bytes: facts.len(), used });
                }
            }
        }
        Ok(entries)
    }

    fn evict(&self) -> io::Result<()> {
        let mut entries = self.entries()?;
        entries.sort_by_key(|entry| entry.used);
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in &entries {
            if bytes <= self.limit_bytes {
                break;
            }
            // Another process may have been faster.
            let _ = fs::remove_file(&entry.path);
            bytes -= entry.bytes;
        }
        Ok(())
    }
}

struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Magic, length of the key, checksum of the program, key, program.
fn encode(key: &[u8], program: &[u8]) -> Vec<u8> {
    let (length, sum) = ((key.len() as u64).to_le_bytes(), hash(program).to_le_bytes());
    [MAGIC, &length[..], &sum[..], key, program].concat()
}

fn decode(file: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let rest = file.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    let (stored, program) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let whole = stored == key && hash(program) == u64::from_le_bytes(*sum);
    whole.then(|| program.to_vec())
}

/// FNV-1a of 64 bits: the same in every process and version, which `std`'s hashers do not promise. It names files
/// and finds torn ones; it decides nothing that matters for safety, since keys are compared whole.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::in_folder(folder.path().join("programs"));
        (folder, cache)
    }

    #[test]
    fn what_was_stored_comes_back_under_its_key_only() {
        let (_folder, cache) = cache();
        assert_eq!(cache.get(b"key"), None);
        assert_eq!(cache.contents().expect("readable"), Contents::default());
        cache.put(b"key", b"program").expect("writable");
        cache.put(b"empty", b"").expect("writable");
        assert_eq!(cache.get(b"key").as_deref(), Some(&b"program"[..]));
        assert_eq!(cache.get(b"empty").as_deref(), Some(&b""[..]));
        assert_eq!(cache.get(b"key2"), None);
        cache.put(b"key", b"newer").expect("writable");
        assert_eq!(cache.get(b"key").as_deref(), Some(&b"newer"[..]));
        cache.remove(b"key");
        assert_eq!(cache.get(b"key"), None);
    }

    #[test]
    fn a_damaged_entry_is_a_miss() {
        let (_folder, cache) = cache();
        cache.put(b"key", b"a long program").expect("writable");
        let path = cache.path(b"key");
        let whole = fs::read(&path).expect("stored");
        for at in 0..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 1;
            fs::write(&path, &broken).expect("writable");
            assert_eq!(cache.get(b"key"), None, "byte {at}");
            fs::write(&path, &whole[..at]).expect("writable");
            assert_eq!(cache.get(b"key"), None, "cut at {at}");
        }
        // The file of another key that has the same name: a collision of hashes.
        fs::write(&path, encode(b"yek", b"a long program")).expect("writable");
        assert_eq!(cache.get(b"key"), None);
    }

    #[test]
    fn entries_unused_for_longest_go_first() {
        let (_folder, cache) = cache();
        let entry_bytes = encode(b"1", &[0; 1000]).len() as u64;
        let cache = cache.with_limit(3 * entry_bytes);
        for (age, key) in [(30, b"1"), (20, b"2"), (10, b"3")] {
            cache.put(key, &[0; 1000]).expect("writable");
            let file = fs::File::options().append(true).open(cache.path(key)).expect("stored");
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).expect("a time");
        }
        assert!(cache.get(b"1").is_some(), "used just now");
        cache.put(b"4", &[0; 1000]).expect("writable");
        let there: Vec<bool> = [b"1", b"2", b"3", b"4"].map(|key| cache.get(key).is_some()).into();
        assert_eq!(there, [true, false, true, true]);
        assert_eq!(cache.contents().expect("readable"), Contents { entries: 3, bytes: 3 * entry_bytes });
    }

    #[test]
    fn clearing_removes_entries_and_leaves_other_files() {
        let (_folder, cache) = cache();
        cache.put(b"1", b"one").expect("writable");
        fs::write(cache.folder().join(".7-0.tilebin-new"), b"left behind").expect("writable");
        fs::write(cache.folder().join("notes.txt"), b"mine").expect("writable");
        assert_eq!(cache.clear().expect("removable").entries, 2);
        assert_eq!(cache.contents().expect("readable"), Contents::default());
        assert!(cache.folder().join("notes.txt").exists());
    }

    #[test]
    fn the_folder_is_that_of_the_variable_else_of_the_desktop_standard_else_in_the_home() {
        let folder = |set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
            Cache::of_environment(value).map(|cache| cache.folder().display().to_string())
        };
        let (home, xdg) = (("HOME", "/people/me"), ("XDG_CACHE_HOME", "/caches"));
        assert_eq!(folder(&[home, xdg, (CACHE_VARIABLE, "/mine")]).as_deref(), Some("/mine"));
        assert_eq!(folder(&[home, xdg]).as_deref(), Some("/caches/tile-rs"));
        for ignored in ["", "relative"] {
            let set = [home, ("XDG_CACHE_HOME", ignored), (CACHE_VARIABLE, "")];
            assert_eq!(folder(&set).as_deref(), Some("/people/me/.cache/tile-rs"));
        }
        assert_eq!(folder(&[home, (CACHE_VARIABLE, "off")]), None);
        assert_eq!(folder(&[]), None);
    }

    #[test]
    fn many_writers_leave_whole_entries() {
        let (_folder, cache) = cache();
        std::thread::scope(|scope| {
            for thread in 0..8u8 {
                let cache = &cache;
                scope.spawn(move || {
                    for _ in 0..50 {
                        cache.put(b"key", &[thread; 5000]).expect("writable");
                        let program = cache.get(b"key").expect("whole at any time");
                        assert!(program.len() == 5000 && program.iter().all(|byte| *byte == program[0]));
                    }
                });
            }
        });
        assert_eq!(cache.contents().expect("readable").entries, 1);
    }
}
