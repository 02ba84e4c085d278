//! Owns the news of a long run: how far it is, now and then.
//!
//! *Guarantees*: work of less than a second is silent; a terminal gets one line that changes and is cleared at the
//! end; anything else gets a line in ten seconds. *Not here*: what is worked on.

use core::sync::atomic::{AtomicU64, Ordering};
use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Where news go.
pub struct Log<'a> {
    /// The stream for messages.
    pub stream: &'a mut (dyn Write + Send),
    /// It is a terminal: a line can be written over.
    pub terminal: bool,
}

const FIRST: Duration = Duration::from_secs(1);
const NEXT_ON_TERMINAL: Duration = Duration::from_millis(250);
const NEXT_IN_FILE: Duration = Duration::from_secs(10);

/// Works, and says how far it is when that takes long. The work may tell (parts done, parts in total) from any
/// thread, in any order.
pub fn watched<R>(
    log: &mut Log<'_>,
    what: &str,
    parts: &str,
    work: impl FnOnce(&(dyn Fn(u64, u64) + Sync)) -> R,
) -> R {
    let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
    let (end, ended) = channel::<()>();
    std::thread::scope(|scope| {
        let (done, total) = (&done, &total);
        scope.spawn(move || {
            let (start, mut wait, mut said) = (Instant::now(), FIRST, false);
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let counts = (done.load(Ordering::Relaxed), total.load(Ordering::Relaxed));
                log.say(&line(what, parts, counts, start.elapsed()));
                wait = if log.terminal { NEXT_ON_TERMINAL } else { NEXT_IN_FILE };
                said = true;
            }
            if said && log.terminal {
                log.say("");
            }
        });
        let result = work(&|now, of| {
            done.fetch_max(now, Ordering::Relaxed);
            total.fetch_max(of, Ordering::Relaxed);
        });
        drop(end); // also dropped when the work panics, so the thread always ends
        result
    })
}

impl Log<'_> {
    /// News that cannot be delivered are no reason to stop the work.
    fn say(&mut self, line: &str) {
        let _ = if self.terminal {
            write!(self.stream, "\r\x1b[K{line}").and_then(|()| self.stream.flush())
        } else {
            writeln!(self.stream, "{line}")
        };
    }
}

fn line(what: &str, parts: &str, (done, total): (u64, u64), elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    // The simulator tells nothing in between.
    if done == 0 || total == 0 {
        return format!("{what}: {seconds} s");
    }
    let percent = done as f64 / total as f64 * 100.0;
    format!("{what}: {seconds} s, {percent:.0} % ({done} of {total} {parts})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(terminal: bool, work: impl FnOnce(&(dyn Fn(u64, u64) + Sync))) -> String {
        let mut stream = Vec::new();
        watched(&mut Log { stream: &mut stream, terminal }, "working", "parts", work);
        String::from_utf8(stream).expect("text")
    }

    #[test]
    fn short_work_is_silent() {
        assert_eq!(news(true, |tell| tell(1, 2)), "");
    }

    #[test]
    fn long_work_says_how_far_it_is() {
        // Longer than the first wait, however slow the machine: the thread sleeps at least this long.
        let work = |tell: &(dyn Fn(u64, u64) + Sync)| {
            tell(3, 4);
            tell(1, 4);
            std::thread::sleep(FIRST + NEXT_ON_TERMINAL);
        };
        let file = news(false, work);
        assert!(file.contains("75 % (3 of 4 parts)\n") && file.lines().count() == 1, "{file}");
        let terminal = news(true, work);
        assert!(terminal.starts_with("\r\x1b[Kworking: ") && terminal.ends_with("\r\x1b[K"), "{terminal}");
        assert_eq!(line("working", "parts", (0, 4), Duration::from_secs(7)), "working: 7 s");
    }
}
