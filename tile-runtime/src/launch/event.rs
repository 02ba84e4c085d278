//! Owns [`Event`]: a launch that may still be under way.
//!
//! *Guarantees*: dropping or forgetting an event changes nothing: what the launch needs is kept by the device until
//! it is done, and a later read of an output waits for it. *Not here*: launching.

use core::fmt;
use std::time::Duration;

use super::Report;
use crate::error::LaunchError;
#[cfg(feature = "opencl")]
use crate::opencl::Queued;

/// A launch that may still be under way. Nobody has to wait for it: reading an output does.
#[must_use = "a launch that fails says so when it is waited for"]
pub struct Event {
    /// Earlier launches that this event stands for as well, first to last.
    earlier: Vec<State>,
    last: State,
}

enum State {
    /// The device worked while it was called: host and simulator do.
    Done(Box<Report>),
    /// In the queue of a device.
    #[cfg(feature = "opencl")]
    Queued(Box<Queued>),
}

impl Event {
    pub(crate) fn done(report: Report) -> Event {
        Event { earlier: Vec::new(), last: State::Done(Box::new(report)) }
    }

    #[cfg(feature = "opencl")]
    pub(crate) fn queued(queued: Queued) -> Event {
        Event { earlier: Vec::new(), last: State::Queued(Box::new(queued)) }
    }

    /// Waits until the launch is done and says what it did.
    ///
    /// # Errors
    /// `LaunchError::Failed` if the device failed; of several launches, the first failure.
    pub fn wait(self) -> Result<Report, LaunchError> {
        let mut failure = None;
        for state in self.earlier {
            if let Err(error) = state.wait() {
                failure.get_or_insert(error);
            }
        }
        let last = self.last.wait();
        failure.map_or(last, Err)
    }

    /// True if waiting would not take time.
    pub fn is_done(&self) -> bool {
        self.earlier.iter().chain([&self.last]).all(State::is_done)
    }

    /// Starts another launch behind this one, and gives one event for both. The queues of a device are in order, so
    /// the second launch sees what the first wrote; errors of the first come out of [`Event::wait`], too.
    ///
    /// # Errors
    /// Those of `next`; the first launch goes on.
    pub fn then(self, next: impl FnOnce() -> Result<Event, LaunchError>) -> Result<Event, LaunchError> {
        let next = next()?;
        let mut earlier = self.earlier;
        earlier.push(self.last);
        earlier.extend(next.earlier);
        Ok(Event { earlier, last: next.last })
    }
}

impl State {
    fn wait(self) -> Result<Report, LaunchError> {
        match self {
            State::Done(report) => Ok(*report),
            #[cfg(feature = "opencl")]
            State::Queued(queued) => queued.wait(),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            State::Done(_) => true,
            #[cfg(feature = "opencl")]
            State::Queued(queued) => queued.is_done(),
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let launches = self.earlier.len() + 1;
        f.debug_struct("Event").field("launches", &launches).field("done", &self.is_done()).finish()
    }
}

/// The times a device measured for one launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTimes {
    /// From the call to the start on the device.
    pub waited: Duration,
    /// From the start to the end on the device.
    pub ran: Duration,
}
