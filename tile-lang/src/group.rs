//! Owns what a kernel body knows of its work-group: its place in it, the shared memory, and how to wait for the others.
//!
//! On the host the sub-groups of a work-group run on one thread and take turns at barriers, so shared memory is plain
//! cells. *Assumes*: whoever runs a body gives every sub-group of a work-group the same [`WorkGroup`] and calls
//! [`WorkGroup::begin`] before the first. *Not here*: the turns (`tile-runtime`), the ops (`ops::shared`).

use core::cell::{Cell, RefCell};
use core::fmt;
use core::ops::Deref;
use std::rc::Rc;

use crate::launch::Cx;
use crate::race::{Access, Element, Watch};

/// Shared memory of one work-group that one `shared()` made: elements row after row, each as f32.
#[derive(Debug)]
pub struct Memory {
    pub(crate) cells: Box<[Cell<f32>]>,
    /// What was done to each cell; empty unless somebody watches.
    known: RefCell<Vec<Element>>,
}

impl Memory {
    /// Memory that nobody has written: NaN, so that reading it shows.
    pub(crate) fn new(len: usize) -> Rc<Memory> {
        Rc::new(Memory { cells: vec![Cell::new(f32::NAN); len].into(), known: RefCell::default() })
    }

    /// Tells a watch of an access to `rows x cols` cells of rows of `pitch`.
    pub(crate) fn touch(
        &self,
        (watch, name): (&Watch, &'static str),
        access: Access,
        (row, col): (usize, usize),
        (rows, cols, pitch): (usize, usize, usize),
    ) {
        let mut known = self.known.borrow_mut();
        known.resize(self.cells.len(), Element::default());
        for (r, c) in (row..row + rows).flat_map(|r| (col..col + cols).map(move |c| (r, c))) {
            watch.shared(name, &mut known[r * pitch + c], access, r, c);
        }
    }
}

/// A work-group: the memory its sub-groups share.
#[derive(Debug, Default)]
pub struct WorkGroup {
    /// By the number of the `shared()` that made it.
    memories: RefCell<Vec<Rc<Memory>>>,
}

impl WorkGroup {
    /// Forgets what the sub-groups of the last work-group left.
    pub fn begin(&self) {
        for memory in self.memories.borrow_mut().iter_mut() {
            if Rc::strong_count(memory) > 1 {
                // A body kept its handle, as one that panicked may have.
                *memory = Memory::new(memory.cells.len());
            }
            memory.cells.iter().for_each(|cell| cell.set(f32::NAN));
            memory.known.borrow_mut().clear();
        }
    }

    fn memory(&self, index: usize, len: usize) -> Rc<Memory> {
        let mut memories = self.memories.borrow_mut();
        if memories.len() <= index {
            memories.resize_with(index + 1, || Memory::new(0));
        }
        if memories[index].cells.len() != len {
            memories[index] = Memory::new(len);
        }
        memories[index].clone()
    }
}

/// Where a sub-group waits for the others of its work-group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// At `barrier()`.
    Barrier,
    /// At `barrier_wait()`.
    Wait,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Barrier => "`barrier`",
            Stop::Wait => "`barrier_wait`",
        })
    }
}

/// How a sub-group waits: returns when every sub-group of its work-group has come to the same point.
pub trait Turns {
    /// Waits.
    fn stop(&self, at: Stop);
}

/// The hidden argument of every executed body: the place of its sub-group, its work-group, and how it waits.
#[derive(Clone)]
pub struct Context<'w> {
    place: Cx,
    group: Option<&'w WorkGroup>,
    turns: Option<&'w dyn Turns>,
    watch: Option<Rc<Watch>>,
}

impl Context<'static> {
    /// The only sub-group of the only work-group: what a kernel called as a plain function has.
    pub const SOLO: Context<'static> = Context { place: Cx::SOLO, group: None, turns: None, watch: None };
}

impl<'w> Context<'w> {
    /// The context of the sub-group at `place`. Without `turns` the body must not wait.
    pub fn new(place: Cx, group: &'w WorkGroup, turns: Option<&'w dyn Turns>) -> Context<'w> {
        Context { place, group: Some(group), turns, watch: None }
    }

    /// The same, with somebody who looks for races.
    pub fn watched(self, watch: Option<Rc<Watch>>) -> Context<'w> {
        Context { watch, ..self }
    }

    /// Who looks for races.
    pub(crate) fn watch(&self) -> Option<Rc<Watch>> {
        self.watch.clone()
    }

    /// Says that the sub-group has come to a barrier.
    pub(crate) fn arrive(&self) {
        if let Some(watch) = &self.watch {
            watch.arrive();
        }
    }

    /// The memory that `shared()` number `index` of the kernel makes, of `len` elements.
    pub(crate) fn memory(&self, index: usize, len: usize) -> Rc<Memory> {
        match self.group {
            Some(group) => group.memory(index, len),
            None => Memory::new(len),
        }
    }

    /// Waits for the other sub-groups.
    ///
    /// # Panics
    /// When there are others and nothing was given to wait with: the kernel is described wrongly.
    pub(crate) fn stop(&self, at: Stop) {
        if at == Stop::Barrier {
            self.arrive();
        }
        match self.turns {
            Some(turns) => turns.stop(at),
            None => {
                let (rows, cols) = self.place.subgroups;
                assert!(
                    rows * cols <= 1,
                    "the description of the kernel says that it does not wait, but it has {at}"
                );
            }
        }
        if let Some(watch) = &self.watch {
            watch.waited();
        }
    }
}

/// A context is, first of all, a place.
impl Deref for Context<'_> {
    type Target = Cx;

    #[inline]
    fn deref(&self) -> &Cx {
        &self.place
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("place", &self.place).finish_non_exhaustive()
    }
}
