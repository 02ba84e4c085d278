//! Owns how the sub-groups of a work-group take turns on the host: one stackful coroutine each, switched at barriers.
//!
//! *Assumes* a thread runs one work-group at a time. *Guarantees*: when [`run_group`] returns, no body is suspended and nothing
//! of a body is left on a stack, however it ended: a body that waits for others that never come is unwound, so its values
//! are dropped; stacks go back to the pool. *Not here*: kernels that do not wait, which need none of this (`host`).

#![allow(unsafe_code, reason = "the coroutine file: bodies borrow the launch")]

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use tile_lang::group::{Stop, Turns};

/// Stacks of one size that nobody uses; they have guard pages.
#[derive(Default)]
pub(crate) struct Stacks {
    free: Mutex<Vec<(usize, DefaultStack)>>,
}

impl Stacks {
    /// Takes `count` stacks of at least `bytes` bytes; what is not there is made.
    pub(crate) fn take(&self, count: usize, bytes: usize) -> io::Result<Vec<DefaultStack>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = Vec::with_capacity(count);
        while out.len() < count {
            let at = free.iter().rposition(|(size, _)| *size == bytes);
            match at {
                Some(at) => out.push(free.swap_remove(at).1),
                None => break,
            }
        }
        drop(free);
        while out.len() < count {
            out.push(DefaultStack::new(bytes)?);
        }
        Ok(out)
    }

    /// Takes stacks of this size back.
    pub(crate) fn give_back(&self, bytes: usize, stacks: Vec<DefaultStack>) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(stacks.into_iter().map(|stack| (bytes, stack)));
    }
}

/// Why a work-group did not come to its end.
pub(crate) enum Broken {
    /// A body panicked.
    Panic(Box<dyn Any + Send>),
    /// Some sub-groups wait where the others do not come.
    Apart {
        /// The first sub-group that waits, where, and how many wait there.
        first: u32,
        at: Stop,
        waiting: u32,
        /// How many have ended.
        ended: u32,
    },
}

struct Turn<'y>(&'y Yielder<(), Stop>);

impl Turns for Turn<'_> {
    fn stop(&self, at: Stop) {
        self.0.suspend(at);
    }
}

type Body<'b> = dyn Fn(u32, &dyn Turns) + 'b;

/// Runs one work-group: `body(sub-group, turns)` once for each stack. Sub-groups run one after another up to the next
/// barrier; when all stand at it, they go on.
///
/// # Errors
/// [`Broken`] when a body panicked, or when not all came to one barrier.
pub(crate) fn run_group(stacks: &mut Vec<DefaultStack>, body: &Body<'_>) -> Result<(), Broken> {
    let mut subgroups: Vec<Coroutine<(), Stop, (), DefaultStack>> = stacks
        .drain(..)
        .enumerate()
        .map(|(subgroup, stack)| {
            // SAFETY: `body` is borrowed for the whole of `run_group`, which drives every coroutine to its end or unwinds it
            // below before it returns; none is forgotten.
            unsafe {
                Coroutine::with_stack_unchecked(stack, move |yielder: &Yielder<(), Stop>, ()| {
                    body(subgroup as u32, &Turn(yielder));
                })
            }
        })
        .collect();
    let outcome = take_turns(&mut subgroups);
    for mut subgroup in subgroups {
        // Unwinding a suspended body drops what it owns. A destructor that panics there is one more panic of a work-group
        // that has failed already.
        let _ = catch_unwind(AssertUnwindSafe(|| subgroup.force_unwind()));
        if subgroup.done() {
            stacks.push(subgroup.into_stack());
        }
    }
    outcome
}

fn take_turns(subgroups: &mut [Coroutine<(), Stop, (), DefaultStack>]) -> Result<(), Broken> {
    loop {
        let mut stops: Vec<Option<Stop>> = Vec::with_capacity(subgroups.len());
        for subgroup in subgroups.iter_mut() {
            match catch_unwind(AssertUnwindSafe(|| subgroup.resume(()))) {
                Ok(CoroutineResult::Yield(stop)) => stops.push(Some(stop)),
                Ok(CoroutineResult::Return(())) => stops.push(None),
                Err(payload) => return Err(Broken::Panic(payload)),
            }
        }
        let Some((first, at)) = stops.iter().enumerate().find_map(|(i, stop)| Some((i, (*stop)?))) else {
            return Ok(());
        };
        if stops.iter().any(|stop| *stop != Some(at)) {
            let count = |wanted: Option<Stop>| stops.iter().filter(|stop| **stop == wanted).count() as u32;
            return Err(Broken::Apart {
                first: first as u32,
                at,
                waiting: count(Some(at)),
                ended: count(None),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    fn stacks(count: usize) -> Vec<DefaultStack> {
        Stacks::default().take(count, 64 << 10).expect("small stacks")
    }

    #[test]
    fn sub_groups_meet_at_every_barrier() {
        let (log, mut stacks) = (RefCell::new(vec![]), stacks(3));
        let body = |subgroup: u32, turns: &dyn Turns| {
            for round in 0..2 {
                log.borrow_mut().push((round, subgroup));
                turns.stop(Stop::Barrier);
            }
        };
        assert!(run_group(&mut stacks, &body).is_ok());
        assert_eq!(*log.borrow(), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
        assert_eq!(stacks.len(), 3);
    }

    #[test]
    fn who_waits_in_vain_is_counted_and_unwound() {
        struct Counts<'c>(&'c Cell<u32>);
        impl Drop for Counts<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let (dropped, mut stacks) = (Cell::new(0), stacks(4));
        let body = |subgroup: u32, turns: &dyn Turns| {
            let _counts = Counts(&dropped);
            if subgroup != 2 {
                turns.stop(Stop::Wait);
            }
        };
        let Err(Broken::Apart { first, at, waiting, ended }) = run_group(&mut stacks, &body) else {
            panic!("the third sub-group ends")
        };
        assert_eq!((first, at, waiting, ended), (0, Stop::Wait, 3, 1));
        assert_eq!((dropped.get(), stacks.len()), (4, 4));
    }

    #[test]
    fn a_panic_ends_the_group_and_leaves_nothing_behind() {
        let mut stacks = stacks(2);
        let kept = RefCell::new(vec![]);
        for _ in 0..50 {
            let body = |subgroup: u32, turns: &dyn Turns| {
                kept.borrow_mut().push(vec![subgroup; 100]);
                turns.stop(Stop::Barrier);
                if subgroup == 1 {
                    std::panic::resume_unwind(Box::new("as planned"));
                }
                turns.stop(Stop::Barrier);
            };
            let Err(Broken::Panic(payload)) = run_group(&mut stacks, &body) else { panic!("it panics") };
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"as planned"));
            assert_eq!(stacks.len(), 2);
        }
    }
}
