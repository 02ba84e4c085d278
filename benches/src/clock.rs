//! Owns the two clocks of a measurement: time that passed, and CPU time that was used.
//!
//! CPU time is what is left to compare when other programs use the machine: it does not count waiting for a
//! core. It does count threads that spin, so it is unfair to those who make threads wait that way.

use std::ops::{Add, Div, Sub};
use std::time::Instant;

/// Whose CPU time is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// All threads of this process.
    Process,
    /// Child processes that ended, with theirs.
    Children,
}

/// Seconds by both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seconds {
    /// Time that passed.
    pub wall: f64,
    /// CPU time in user and kernel mode; not a number where the system cannot tell.
    pub cpu: f64,
}

impl Sub for Seconds {
    type Output = Seconds;

    fn sub(self, other: Seconds) -> Seconds {
        Seconds { wall: self.wall - other.wall, cpu: self.cpu - other.cpu }
    }
}

impl Add for Seconds {
    type Output = Seconds;

    fn add(self, other: Seconds) -> Seconds {
        Seconds { wall: self.wall + other.wall, cpu: self.cpu + other.cpu }
    }
}

impl Div<f64> for Seconds {
    type Output = Seconds;

    fn div(self, by: f64) -> Seconds {
        Seconds { wall: self.wall / by, cpu: self.cpu / by }
    }
}

/// A clock that started.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    who: Who,
    wall: Instant,
    cpu: f64,
}

impl Stopwatch {
    /// Starts now.
    pub fn start(who: Who) -> Stopwatch {
        Stopwatch { who, cpu: cpu_seconds(who), wall: Instant::now() }
    }

    /// Seconds since the start.
    pub fn read(&self) -> Seconds {
        let wall = self.wall.elapsed().as_secs_f64();
        Seconds { wall, cpu: cpu_seconds(self.who) - self.cpu }
    }
}

#[cfg(unix)]
fn cpu_seconds(who: Who) -> f64 {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;

    let who = match who {
        Who::Process => UsageWho::RUSAGE_SELF,
        Who::Children => UsageWho::RUSAGE_CHILDREN,
    };
    getrusage(who).map_or(f64::NAN, |usage| {
        (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 * 1e-6
    })
}

#[cfg(not(unix))]
fn cpu_seconds(_: Who) -> f64 {
    f64::NAN
}

#[cfg(test)]
mod tests {
    use super::*;

    // Says nothing of how long anything takes: other tests use the same process' CPU time.
    #[test]
    #[cfg(unix)]
    fn both_clocks_are_there_and_run_forwards() {
        for who in [Who::Process, Who::Children] {
            let watch = Stopwatch::start(who);
            let (first, second) = (watch.read(), watch.read());
            assert!(first.cpu >= 0.0 && second.cpu >= first.cpu && second.wall >= first.wall, "{who:?}");
        }
    }
}
