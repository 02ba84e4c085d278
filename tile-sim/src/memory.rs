//! Simulated global memory: separate allocations at 64-bit addresses, every access checked.
//!
//! *Guarantees*: allocations never touch each other (unmapped gaps of at least 64 KiB lie between them), an
//! address is never used twice in one `Memory`, and address 0 is never mapped.
//! *Not here*: private and work-group memory of kernels (they belong to the run), traffic counts.

use crate::error::{Fault, Rule, broken};

/// Space kept unmapped after every allocation, so that a wrong pitch or height cannot reach a neighbour.
const GAP: u64 = 64 * 1024;
/// Alignment that `misalign` is relative to (a page).
const PAGE: u64 = 4096;
/// First mapped address.
const FIRST: u64 = 0x1_0000_0000;
/// One past the last global address; private, work-group and built-in memory lie above.
pub(crate) const GLOBAL_END: u64 = 0x4000_0000_0000;

#[derive(Debug, Clone)]
struct Allocation {
    start: u64,
    bytes: Vec<u8>,
    writable: bool,
}

impl Allocation {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// Owns the allocations that a kernel's pointers may point into.
#[derive(Debug, Clone)]
pub struct Memory {
    /// Sorted by address: addresses only grow.
    allocations: Vec<Allocation>,
    next: u64,
    /// The allocation that the last access hit; most accesses hit it again.
    recent: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Memory::new()
    }
}

impl Memory {
    /// Makes a memory with nothing mapped.
    pub fn new() -> Memory {
        Memory { allocations: Vec::new(), next: FIRST, recent: 0 }
    }

    /// Maps `bytes` and returns their address, which equals `misalign` modulo 4096.
    ///
    /// # Panics
    /// If more than 2^46 bytes were mapped in total.
    pub fn map(&mut self, bytes: Vec<u8>, misalign: u64) -> u64 {
        let start = self.next + misalign % PAGE;
        let end = start + bytes.len() as u64;
        self.next = (end + GAP).next_multiple_of(PAGE);
        assert!(self.next < GLOBAL_END, "simulated memory holds 2^46 bytes in total");
        self.allocations.push(Allocation { start, bytes, writable: true });
        start
    }

    /// Makes the allocation at `address` read-only: a store into it becomes [`Rule::ReadOnly`].
    ///
    /// # Panics
    /// If `address` is not what [`Memory::map`] returned for a live allocation.
    pub fn protect(&mut self, address: u64) {
        let index = self.index_of(address);
        self.allocations[index].writable = false;
    }

    /// The bytes of the allocation that was mapped at `address`.
    ///
    /// # Panics
    /// If `address` is not what [`Memory::map`] returned for a live allocation.
    pub fn bytes(&self, address: u64) -> &[u8] {
        &self.allocations[self.index_of(address)].bytes
    }

    /// The bytes of the allocation that was mapped at `address`, to be changed between runs.
    ///
    /// # Panics
    /// If `address` is not what [`Memory::map`] returned for a live allocation.
    pub fn bytes_mut(&mut self, address: u64) -> &mut [u8] {
        let index = self.index_of(address);
        &mut self.allocations[index].bytes
    }

    /// Removes the allocation that was mapped at `address` and returns its bytes.
    ///
    /// # Panics
    /// If `address` is not what [`Memory::map`] returned for a live allocation.
    pub fn unmap(&mut self, address: u64) -> Vec<u8> {
        let index = self.index_of(address);
        self.recent = 0;
        self.allocations.remove(index).bytes
    }

    fn index_of(&self, address: u64) -> usize {
        self.allocations
            .binary_search_by_key(&address, |a| a.start)
            .unwrap_or_else(|_| panic!("no allocation was mapped at {address:#x}"))
    }

    /// Finds the allocation that holds `[address, address + size)`: its index and the offset in it.
    pub(crate) fn find(&mut self, address: u64, size: u64) -> Result<(usize, usize), Fault> {
        if let Some(a) = self.allocations.get(self.recent)
            && address >= a.start
            && address.checked_add(size).is_some_and(|end| end <= a.end())
        {
            return Ok((self.recent, (address - a.start) as usize));
        }
        let index = self.allocations.partition_point(|a| a.start <= address);
        if index > 0 {
            let a = &self.allocations[index - 1];
            if address.checked_add(size).is_some_and(|end| end <= a.end()) {
                self.recent = index - 1;
                return Ok((index - 1, (address - a.start) as usize));
            }
        }
        Err(broken(Rule::OutOfBounds, self.describe(address, size)))
    }

    /// Says how `[address, address + size)` misses every allocation.
    fn describe(&self, address: u64, size: u64) -> String {
        let index = self.allocations.partition_point(|a| a.start <= address);
        let near = |a: &Allocation| format!("[{:#x}, {:#x})", a.start, a.end());
        let before = index.checked_sub(1).map(|i| near(&self.allocations[i]));
        let after = self.allocations.get(index).map(near);
        let none = || "none".to_string();
        format!(
            "{size} bytes at {address:#x} are not inside one allocation (nearest: below {}, above {})",
            before.unwrap_or_else(none),
            after.unwrap_or_else(none)
        )
    }

    /// The bytes of the allocation with this index.
    pub(crate) fn at(&self, index: usize) -> &[u8] {
        &self.allocations[index].bytes
    }

    /// The bytes of the allocation with this index, if it is writable.
    pub(crate) fn at_mut(&mut self, index: usize) -> Result<&mut [u8], Fault> {
        let a = &mut self.allocations[index];
        if a.writable {
            Ok(&mut a.bytes)
        } else {
            Err(broken(Rule::ReadOnly, format!("the allocation at {:#x} is read-only", a.start)))
        }
    }

    /// Address and size of the allocation with this index.
    pub(crate) fn extent(&self, index: usize) -> (u64, usize) {
        (self.allocations[index].start, self.allocations[index].bytes.len())
    }
}
