//! Memory of one work-group: what its sub-groups share, and whether they may.
//!
//! *Guarantees*: an access outside one variable, a read of bytes that nobody wrote, and two sub-groups at one byte without a
//! barrier between them (one of them writing, and not both atomically) are typed errors. Whether a barrier lies between
//! follows from counts: what a sub-group does after its wait number `w` comes after what another did before its arrival
//! number `w`. *Not here*: when sub-groups stop (`run`, `subgroup`).

use crate::error::{Fault, Rule, broken};
use crate::lanes::POISON;

/// How far a sub-group has come: arrivals at barriers and waits for them.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    arrived: u32,
    waited: u32,
}

/// The last access of a kind to a byte; `by` is one more than the sub-group, 0 is nobody.
#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    by: u16,
    atomic: bool,
    at: Clock,
}

impl Touch {
    /// Whether an access now, by another sub-group, is not ordered with this one.
    fn meets(self, by: u16, now: Clock) -> bool {
        let before = now.waited > self.at.arrived || self.at.waited > now.arrived;
        self.by != 0 && self.by != by && !before
    }
}

/// What is remembered of a byte. Whoever is ordered behind the two readers that had arrived at most barriers is ordered behind
/// all, or is one of the two.
#[derive(Clone, Copy, Debug, Default)]
struct Byte {
    written: bool,
    writer: Touch,
    readers: [Touch; 2],
}

impl Byte {
    /// Remembers the two readers that came furthest, the newest of those that came equally far.
    fn note_reader(&mut self, now: Touch) {
        let [mut a, mut b] = self.readers.map(|r| if r.by == now.by { Touch::default() } else { r });
        if (b.by != 0, b.at.arrived) > (a.by != 0, a.at.arrived) {
            core::mem::swap(&mut a, &mut b);
        }
        self.readers = if b.by != 0 && b.at.arrived > now.at.arrived { [a, b] } else { [now, a] };
    }
}

/// The memory of the work-group that runs.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    bytes: Vec<u8>,
    known: Vec<Byte>,
    /// Offset and size of every variable, in order.
    variables: Vec<(u64, u64)>,
    clocks: Vec<Clock>,
    /// The accesses that follow are parts of an atomic instruction.
    pub(crate) atomic: bool,
}

impl SharedMemory {
    /// Memory for variables of these offsets and sizes.
    pub(crate) fn new(mut variables: Vec<(u64, u64)>, bytes: usize) -> SharedMemory {
        variables.sort_unstable();
        let bytes = POISON.to_le_bytes().into_iter().cycle().take(bytes).collect();
        SharedMemory { bytes, variables, ..SharedMemory::default() }
    }

    /// Forgets everything, for a work-group of so many sub-groups.
    pub(crate) fn begin(&mut self, subgroups: usize) {
        self.known.clear();
        self.known.resize(self.bytes.len(), Byte::default());
        self.clocks.clear();
        self.clocks.resize(subgroups, Clock::default());
    }

    /// Notes that a sub-group came to a barrier.
    pub(crate) fn arrive(&mut self, subgroup: u32) {
        if let Some(clock) = self.clocks.get_mut(subgroup as usize) {
            clock.arrived += 1;
        }
    }

    /// Notes that a sub-group waits at a barrier.
    pub(crate) fn wait(&mut self, subgroup: u32) -> Result<(), Fault> {
        let Some(clock) = self.clocks.get_mut(subgroup as usize) else { return Ok(()) };
        clock.waited += 1;
        if clock.waited == clock.arrived {
            return Ok(());
        }
        Err(broken(Rule::Barrier, format!("wait number {} after {} arrivals", clock.waited, clock.arrived)))
    }

    /// Checks that a sub-group which ends has waited for every arrival.
    pub(crate) fn end(&self, subgroup: u32) -> Result<(), Fault> {
        match self.clocks.get(subgroup as usize) {
            Some(clock) if clock.waited != clock.arrived => {
                Err(broken(Rule::Barrier, "the sub-group ends between an arrival and its wait"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn range(&self, offset: u64, size: u64) -> Result<(usize, usize), Fault> {
        let after = self.variables.partition_point(|(start, _)| *start <= offset);
        if let Some((start, length)) = after.checked_sub(1).and_then(|i| self.variables.get(i))
            && offset.saturating_add(size) <= start + length
            && start + length <= self.bytes.len() as u64
        {
            return Ok((offset as usize, (offset + size) as usize));
        }
        let near = after.checked_sub(1).and_then(|i| self.variables.get(i));
        let detail = match near {
            Some((start, length)) => {
                format!(
                    "{size} bytes at offset {} of a work-group variable of {length} bytes",
                    offset - start
                )
            }
            None => format!(
                "{size} bytes at offset {offset:#x} of work-group memory, which has no variable there"
            ),
        };
        Err(broken(Rule::OutOfBounds, detail))
    }

    fn race(offset: usize, what: &str, by: u16, other: Touch, did: &str) -> Fault {
        broken(
            Rule::Race,
            format!(
                "sub-group {} {what} byte {offset:#x} of work-group memory, which sub-group {} {did}, with no barrier between",
                by - 1,
                other.by - 1
            ),
        )
    }

    /// Reads bytes for a sub-group.
    pub(crate) fn read(&mut self, subgroup: u32, offset: u64, size: u64) -> Result<&[u8], Fault> {
        let (from, to) = self.range(offset, size)?;
        let (by, atomic) = (subgroup as u16 + 1, self.atomic);
        let at = self.clocks.get(subgroup as usize).copied().unwrap_or_default();
        for (i, byte) in self.known[from..to].iter_mut().enumerate() {
            if !byte.written {
                return Err(broken(
                    Rule::Uninitialised,
                    format!(
                        "byte {:#x} of work-group memory was read before anything was stored there",
                        from + i
                    ),
                ));
            }
            if byte.writer.meets(by, at) && !(atomic && byte.writer.atomic) {
                return Err(SharedMemory::race(from + i, "reads", by, byte.writer, "wrote"));
            }
            byte.note_reader(Touch { by, atomic, at });
        }
        Ok(&self.bytes[from..to])
    }

    /// Writes bytes for a sub-group.
    pub(crate) fn write(&mut self, subgroup: u32, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        let (from, to) = self.range(offset, bytes.len() as u64)?;
        let (by, atomic) = (subgroup as u16 + 1, self.atomic);
        let at = self.clocks.get(subgroup as usize).copied().unwrap_or_default();
        for (i, byte) in self.known[from..to].iter_mut().enumerate() {
            if byte.writer.meets(by, at) && !(atomic && byte.writer.atomic) {
                return Err(SharedMemory::race(from + i, "writes", by, byte.writer, "wrote"));
            }
            if let Some(reader) = byte.readers.iter().find(|r| r.meets(by, at) && !(atomic && r.atomic)) {
                return Err(SharedMemory::race(from + i, "writes", by, *reader, "read"));
            }
            byte.written = true;
            byte.writer = Touch { by, atomic, at };
        }
        self.bytes[from..to].copy_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sub-group 0 reads between its arrival and its wait, 1 and 2 before theirs; 1 writes behind its wait.
    #[test]
    fn later_readers_do_not_hide_the_one_that_came_furthest() {
        let fault = |written_by: u32, rounds: u32| {
            let mut memory = SharedMemory::new(vec![(0, 4)], 4);
            memory.begin(3);
            memory.write(0, 0, &[1]).expect("the first access");
            for _ in 0..2 {
                (0..3).for_each(|s| memory.arrive(s));
                (0..3).for_each(|s| memory.wait(s).expect("arrived"));
            }
            memory.arrive(0);
            for subgroup in 0..3 {
                memory.read(subgroup, 0, 1).expect("written two barriers ago");
            }
            for round in 0..rounds {
                (0..3).filter(|s| round > 0 || *s > 0).for_each(|s| memory.arrive(s));
                (0..3).for_each(|s| memory.wait(s).expect("arrived"));
            }
            memory.write(written_by, 0, &[2]).err()
        };
        let Some(found) = fault(1, 1) else { panic!("sub-group 0 read without a barrier before the write") };
        assert!(format!("{found:?}").contains("sub-group 0 read"), "{found:?}");
        assert!(fault(1, 2).is_none());
    }
}
