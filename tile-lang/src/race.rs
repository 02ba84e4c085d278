//! Owns the search for races on the host: who touched an element of an output or of shared memory, and whether a barrier lies
//! between.
//!
//! Two accesses to one element race if two sub-groups make them, one of them at least writes, not both are atomic, and
//! nothing orders them. Work-groups are never ordered; sub-groups of one are by barriers: what a sub-group does after its
//! wait number `w` comes after what another did before its arrival number `w`. So a race is found whatever order the
//! host happens to run things in. *Guarantees*: no false alarm. *Not here*: turning it on (`tile-runtime`).

use core::cell::Cell;
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use crate::launch::Cx;

/// What is done to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// Something is added to it in one indivisible step.
    Add,
}

/// A sub-group of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Its work-group.
    pub group: u64,
    /// Its number in the work-group.
    pub subgroup: u32,
}

/// What an element belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// An argument of the launch, by position.
    Argument(usize),
    /// Shared memory, by the name of its variable.
    Shared(&'static str),
}

/// What a body is unwound with when it breaks a rule of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Two sub-groups touched an element without a barrier between.
    Race {
        /// What the element belongs to.
        memory: Touched,
        /// Batch, depth, row, column.
        element: [u64; 4],
        /// The later access in the order of this run.
        now: (Worker, Access),
        /// The earlier access.
        before: (Worker, Access),
    },
    /// An element of shared memory was read before anything was stored there.
    Unwritten {
        /// What the element belongs to.
        memory: Touched,
        /// Batch, depth, row, column.
        element: [u64; 4],
        /// Who read it.
        worker: Worker,
    },
}

/// How far a sub-group has come.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    arrived: u32,
    waited: u32,
}

#[derive(Clone, Copy, Debug)]
struct Touch {
    worker: Worker,
    access: Access,
    at: Moment,
}

impl Touch {
    fn races(self, other: Touch) -> bool {
        let writes = self.access != Access::Read || other.access != Access::Read;
        let atomic = self.access == Access::Add && other.access == Access::Add;
        let ordered = self.worker.group == other.worker.group
            && (self.at.waited > other.at.arrived || other.at.waited > self.at.arrived);
        self.worker != other.worker && writes && !atomic && !ordered
    }
}

/// What is remembered of an element. Of two readers of distinct work-groups one is no friend of the next writer, whoever that
/// is. Within a work-group, whoever is ordered behind the two readers that had arrived at most barriers is ordered behind
/// all, or is one of the two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Element {
    writer: Option<Touch>,
    readers: [Option<Touch>; 2],
}

impl Element {
    fn touch(&mut self, now: Touch) -> Option<Touch> {
        let others = [self.writer, self.readers[0], self.readers[1]];
        let racing = others.into_iter().flatten().find(|other| now.races(*other));
        if now.access != Access::Read {
            self.writer = Some(now);
        } else {
            let [a, b] = self.readers.map(|r| r.filter(|r| r.worker != now.worker));
            let worth = |r: Option<Touch>| r.map(|r| (r.worker.group != now.worker.group, r.at.arrived));
            let other = if worth(a) >= worth(b) { a } else { b };
            let least = if worth(a) >= worth(b) { b } else { a };
            // Two others of this work-group may both have come further.
            let further = |r: Option<Touch>| {
                r.is_some_and(|r| r.worker.group == now.worker.group && r.at.arrived > now.at.arrived)
            };
            self.readers = if further(other) && further(least) { [other, least] } else { [Some(now), other] };
        }
        racing
    }
}

/// The elements of the outputs of one launch, shared by the threads that work on it.
#[derive(Debug, Default)]
pub struct RaceCheck {
    elements: Mutex<HashMap<(usize, [u64; 4]), Element>>,
}

/// One sub-group under observation.
#[derive(Debug)]
pub struct Watch {
    check: Arc<RaceCheck>,
    worker: Worker,
    now: Cell<Moment>,
}

impl Watch {
    /// Begins to observe the sub-group at `place`.
    pub fn new(check: Arc<RaceCheck>, place: Cx) -> Rc<Watch> {
        let worker = Worker { group: place.group, subgroup: place.subgroup };
        Rc::new(Watch { check, worker, now: Cell::default() })
    }

    /// Notes an arrival at a barrier.
    pub(crate) fn arrive(&self) {
        let now = self.now.get();
        self.now.set(Moment { arrived: now.arrived + 1, ..now });
    }

    /// Notes the end of a wait.
    pub(crate) fn waited(&self) {
        let now = self.now.get();
        self.now.set(Moment { waited: now.waited + 1, ..now });
    }

    fn touch(&self, access: Access) -> Touch {
        Touch { worker: self.worker, access, at: self.now.get() }
    }

    /// Notes an access to `rows x cols` elements of an argument; unwinds the body with [`Found`] if it races.
    #[cold]
    pub(crate) fn argument(&self, index: usize, access: Access, first: [u64; 4], rows: usize, cols: usize) {
        let mut elements = self.check.elements.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        for (row, col) in (0..rows as u64).flat_map(|r| (0..cols as u64).map(move |c| (r, c))) {
            let element = [first[0], first[1], first[2] + row, first[3] + col];
            let now = self.touch(access);
            if let Some(other) = elements.entry((index, element)).or_default().touch(now) {
                found = Some(self.race(Touched::Argument(index), element, now, other));
                break;
            }
        }
        drop(elements);
        if let Some(found) = found {
            resume_unwind(Box::new(found));
        }
    }

    /// Notes an access to one element of shared memory; unwinds the body with [`Found`] if it breaks a rule.
    #[cold]
    pub(crate) fn shared(
        &self,
        name: &'static str,
        known: &mut Element,
        access: Access,
        row: usize,
        col: usize,
    ) {
        let (memory, element, now) =
            (Touched::Shared(name), [0, 0, row as u64, col as u64], self.touch(access));
        let unwritten = known.writer.is_none() && access == Access::Read;
        if let Some(other) = known.touch(now) {
            let found = self.race(memory, element, now, other);
            resume_unwind(Box::new(found));
        }
        if unwritten {
            resume_unwind(Box::new(Found::Unwritten { memory, element, worker: self.worker }));
        }
    }

    fn race(&self, memory: Touched, element: [u64; 4], now: Touch, before: Touch) -> Found {
        Found::Race { memory, element, now: (now.worker, now.access), before: (before.worker, before.access) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(group: u64, subgroup: u32, access: Access, arrived: u32, waited: u32) -> Touch {
        Touch { worker: Worker { group, subgroup }, access, at: Moment { arrived, waited } }
    }

    /// Sub-group 0 reads between its arrival and its wait, 1 and 2 before theirs; 1 writes behind its wait.
    #[test]
    fn later_readers_do_not_hide_the_one_that_came_furthest() {
        let reads = [(0, 1), (1, 0), (2, 0)];
        for order in [[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0], [0, 2, 1], [2, 0, 1]] {
            let mut element = Element::default();
            for i in order {
                let (subgroup, arrived) = reads[i];
                assert!(element.touch(touch(0, subgroup, Access::Read, arrived, 0)).is_none());
            }
            let racing = element.touch(touch(0, 1, Access::Write, 1, 1)).map(|t| t.worker.subgroup);
            assert_eq!(racing, Some(0), "{order:?}");
            // Behind one more barrier nothing races.
            let mut element = Element::default();
            for i in order {
                element.touch(touch(0, reads[i].0, Access::Read, reads[i].1, 0));
            }
            assert!(element.touch(touch(0, 1, Access::Write, 2, 2)).is_none(), "{order:?}");
        }
    }

    #[test]
    fn a_reader_of_another_work_group_is_not_forgotten() {
        for writer in [0, 1] {
            let mut element = Element::default();
            for (group, subgroup) in [(0, 0), (1, 0), (0, 1), (0, 2)] {
                element.touch(touch(group, subgroup, Access::Read, 0, 0));
            }
            let racing = element.touch(touch(writer, 9, Access::Write, 7, 7)).map(|t| t.worker.group);
            assert_eq!(racing, Some(1 - writer));
        }
    }
}
