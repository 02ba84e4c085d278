//! Rules about the text of the repository: length of files, words that betray a machine, golden files.
//!
//! *Assumes*: what git ignores at the top level (`target`, `wip`) is not part of the repository.
//! *Guarantees*: every offence is named with its file and line. *Not here*: formatting and lints.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Longest Rust file, in lines.
const MAX_LINES: usize = 700;

/// Folders that are not part of the repository.
const OUTSIDE: [&str; 3] = ["target", "wip", ".git"];

/// Beginnings of paths that exist on one machine only. Put together here, so that this file does not hold them.
const PERSONAL_FOLDERS: [&str; 3] = [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/")];

/// Checks that no Rust file is longer than 700 lines.
///
/// # Errors
/// With one line per file that is.
pub fn check_length(workspace: &Path) -> Result<(), String> {
    each_text(workspace, |path, text| {
        let lines = text.lines().count();
        if path.extension().is_some_and(|extension| extension == "rs") && lines > MAX_LINES {
            vec![format!("a file has at most {MAX_LINES} lines; {} has {lines}", path.display())]
        } else {
            vec![]
        }
    })
}

/// Checks that no file holds a path or a host of the machine it was written on.
///
/// # Errors
/// With one line per occurrence.
pub fn check_words(workspace: &Path) -> Result<(), String> {
    let words = forbidden_words(workspace);
    each_text(workspace, |path, text| find_words(path, text, &words))
}

/// Checks that golden files are as committed: tests that rewrote one must not go unseen.
///
/// # Errors
/// With one line per file that differs from its commit, or when git cannot tell.
pub fn check_golden(workspace: &Path) -> Result<(), String> {
    let output = Command::new("git")
        .args(["status", "--porcelain", "--untracked-files=all", "--", "*golden*", "*.stderr"])
        .current_dir(workspace)
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let changed = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    if changed.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "golden files differ from the commit; look at them, then commit or restore them:\n{changed}"
        ))
    }
}

fn forbidden_words(workspace: &Path) -> Vec<String> {
    let mut words: Vec<String> = PERSONAL_FOLDERS.iter().map(|&folder| folder.to_owned()).collect();
    // A checkout in `/src` is too common a path to forbid.
    let checkout = workspace.display().to_string();
    if checkout.matches('/').count() > 1 {
        words.push(checkout);
    }
    // Short host names are ordinary words ("vm").
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    if host.trim().len() >= 6 {
        words.push(host.trim().to_owned());
    }
    words.extend(apt_hosts());
    for variable in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
        words.extend(std::env::var(variable).ok().and_then(|url| host_of(&url).map(str::to_owned)));
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// Returns the hosts this machine installs packages from: scripts must derive them, never name them.
fn apt_hosts() -> Vec<String> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    files.extend(
        std::fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten().map(|e| e.path()),
    );
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    texts
        .flat_map(|text| {
            let words = text.lines().filter(|line| !line.trim_start().starts_with('#'));
            words.flat_map(str::split_whitespace).filter_map(host_of).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    // "localhost" and the like are nobody's secret.
    host.contains('.').then_some(host)
}

fn find_words(path: &Path, text: &str, words: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for word in words.iter().filter(|word| holds(line, word)) {
            found.push(format!("{}:{}: names this machine: {word}", path.display(), index + 1));
        }
    }
    found
}

/// Says whether `line` holds `word`, and, when that is a path, as the beginning of one: `$here/root/` is no offence.
fn holds(line: &str, word: &str) -> bool {
    let inside_path = |before: &str| {
        before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}'))
    };
    line.match_indices(word).any(|(at, _)| !(word.starts_with('/') && inside_path(&line[..at])))
}

/// Calls `check` with every text file, its path relative to `workspace`, and joins what it returns.
fn each_text(workspace: &Path, check: impl Fn(&Path, &str) -> Vec<String>) -> Result<(), String> {
    let mut files = Vec::new();
    collect(workspace, true, &mut files).map_err(|error| format!("cannot list the files: {error}"))?;
    files.sort();
    let mut problems = Vec::new();
    for file in &files {
        // What is not UTF-8 is data.
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        problems.extend(check(file.strip_prefix(workspace).unwrap_or(file), &text));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn collect(folder: &Path, top: bool, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let outside = OUTSIDE.iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && !(top && outside) {
            collect(&entry.path(), false, files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_named_with_its_place() {
        let words = vec!["/some/checkout".to_owned()];
        let found = find_words(Path::new("a.rs"), "fine\nin /some/checkout/x\n", &words);
        assert_eq!(found, ["a.rs:2: names this machine: /some/checkout"]);
        for fine in ["fine", "$here/some/checkout", "${here}/some/checkout/x"] {
            assert!(find_words(Path::new("a.rs"), fine, &words).is_empty(), "{fine}");
        }
        for bad in ["\"/some/checkout\"", "file:///some/checkout", "=/some/checkout"] {
            assert_eq!(find_words(Path::new("a.rs"), bad, &words).len(), 1, "{bad}");
        }
    }

    #[test]
    fn hosts_are_taken_from_urls() {
        assert_eq!(host_of("http://mirror.example:8080/debian"), Some("mirror.example"));
        assert_eq!(host_of("https://user:word@mirror.example/x"), Some("mirror.example"));
        assert_eq!(host_of("URIs:"), None);
        assert_eq!(host_of("http://localhost:3128"), None);
    }

    #[test]
    fn a_long_file_is_found_and_what_is_outside_is_not() {
        let folder = std::env::temp_dir().join(format!("xtask-sources-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("target")).expect("writable");
        std::fs::create_dir_all(folder.join("a")).expect("writable");
        let long = "\n".repeat(MAX_LINES + 1);
        std::fs::write(folder.join("target/long.rs"), &long).expect("writable");
        std::fs::write(folder.join("a/data.txt"), &long).expect("writable");
        let clean = check_length(&folder);
        std::fs::write(folder.join("a/long.rs"), &long).expect("writable");
        let found = check_length(&folder);
        std::fs::remove_dir_all(&folder).expect("removable");
        assert_eq!(clean, Ok(()));
        assert_eq!(found, Err("a file has at most 700 lines; a/long.rs has 701".to_owned()));
    }
}
