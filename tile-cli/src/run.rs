//! Runs an outside program to its end and says how it ended.
//!
//! *Assumes*: the program reads no standard input. *Guarantees*: a program that hangs is killed after
//! [`TIME_LIMIT`]; output of any size is captured; a death by signal is told apart from an exit code.
//! *Not here*: what the output means.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use wait_timeout::ChildExt;

/// Longest time one tool may take. The largest module tried (4096 DPAS) took 1.7 s (xe_facts §9).
pub const TIME_LIMIT: Duration = Duration::from_secs(120);

/// How a program ended, with everything it printed.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The way it ended.
    pub end: End,
    /// Standard output and standard error, in the order written.
    pub output: String,
}

/// The way a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It returned this exit code; 0 is success.
    Exit(i32),
    /// It was killed by this signal, so it crashed.
    Signal(i32),
    /// It ran longer than [`TIME_LIMIT`] and was killed.
    Timeout,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exit(code) => write!(f, "exit code {code}"),
            // 11 is the one Intel's compiler is known for (xe_facts §9).
            End::Signal(11) => write!(f, "crashed (SIGSEGV)"),
            End::Signal(6) => write!(f, "crashed (SIGABRT)"),
            End::Signal(signal) => write!(f, "crashed (signal {signal})"),
            End::Timeout => write!(f, "killed after {} s", TIME_LIMIT.as_secs()),
        }
    }
}

/// Runs `program` with `args` in the folder `cwd`.
///
/// # Errors
/// When the program cannot be started or its output cannot be captured.
pub fn run(program: &Path, args: &[&str], cwd: &Path) -> std::io::Result<Finished> {
    // Both streams go to one unnamed file: a pipe would need a thread to drain it while we wait with a limit.
    let mut captured = tempfile::tempfile()?;
    let mut child = Command::new(program)
        .args(args)
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(duplicate(&captured)?)
        .stderr(duplicate(&captured)?)
        .spawn()?;
    let end = match child.wait_timeout(TIME_LIMIT)? {
        Some(status) => match (status.code(), status.signal()) {
            // A shell in between reports a signal as 128 + its number.
            (Some(code @ 129..=159), _) => End::Signal(code - 128),
            (Some(code), _) => End::Exit(code),
            (None, Some(signal)) => End::Signal(signal),
            (None, None) => End::Exit(-1),
        },
        None => {
            child.kill()?;
            child.wait()?;
            End::Timeout
        }
    };
    let mut bytes = Vec::new();
    captured.rewind()?;
    captured.read_to_end(&mut bytes)?;
    Ok(Finished { end, output: String::from_utf8_lossy(&bytes).into_owned() })
}

fn duplicate(file: &File) -> std::io::Result<Stdio> {
    Ok(Stdio::from(file.try_clone()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Finished {
        run(Path::new("/bin/sh"), &["-c", script], Path::new("/")).expect("the shell starts")
    }

    #[test]
    fn exit_codes_and_both_streams_are_kept() {
        let finished = shell("echo out; echo err >&2; exit 3");
        assert_eq!(finished.end, End::Exit(3));
        assert_eq!(finished.output, "out\nerr\n");
    }

    #[test]
    fn a_crash_is_named() {
        assert_eq!(shell("kill -SEGV $$").end, End::Signal(11));
        assert_eq!(shell("exit 139").end.to_string(), "crashed (SIGSEGV)");
    }

    #[test]
    fn a_missing_program_is_an_error() {
        assert!(run(Path::new("/nonexistent/tool"), &[], Path::new("/")).is_err());
    }
}
