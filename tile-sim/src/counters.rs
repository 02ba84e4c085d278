//! What a run counted: instructions, messages, bytes, and (on request) distinct bytes and cache lines.
//!
//! *Guarantees*: counts are deterministic; bytes count only what lies inside a surface.
//! *Not here*: when something counts (the files that execute instructions call in).

use crate::block::BlockKind;
use crate::memory::Memory;
use std::collections::BTreeMap;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Numbers of one run, or of one sub-group of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Executed instructions, phis included; one sub-group executing an instruction is one.
    pub steps: u64,
    /// Matrix multiply-accumulate instructions.
    pub dpas: u64,
    /// 2-D block loads that neither transform nor transpose.
    pub block_loads: u64,
    /// 2-D block loads with transform (VNNI packing).
    pub block_transforms: u64,
    /// 2-D block loads with transpose.
    pub block_transposes: u64,
    /// 2-D block prefetches.
    pub block_prefetches: u64,
    /// 2-D block stores.
    pub block_stores: u64,
    /// Bytes inside the surface that 2-D block loads of all kinds read.
    pub bytes_loaded: u64,
    /// Bytes inside the surface that 2-D block prefetches fetched.
    pub bytes_prefetched: u64,
    /// Bytes inside the surface that 2-D block stores wrote.
    pub bytes_stored: u64,
    /// Bytes of global memory that other loads (per lane, sub-group block, atomic) read.
    pub bytes_gathered: u64,
    /// Bytes of global memory that other stores wrote.
    pub bytes_scattered: u64,
    /// Bytes that sub-group block prefetches fetched.
    pub bytes_prefetched_linear: u64,
    /// Bytes of work-group memory that were read.
    pub bytes_shared_loaded: u64,
    /// Bytes of work-group memory that were written.
    pub bytes_shared_stored: u64,
    /// Work-group barriers, each pair of halves counted once, per sub-group.
    pub barriers: u64,
}

/// Everything a run counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Totals of the run. `Counters` dereferences to it: `counters.dpas`.
    pub total: Tally,
    /// Executed instructions by name (`OpIAdd`, `OpExtInst fmax`), per sub-group execution.
    pub instructions: BTreeMap<String, u64>,
    /// Tallies of every sub-group in the order work-groups ran, if [`crate::Options::per_subgroup`].
    pub subgroups: Vec<SubgroupTally>,
    /// Distinct bytes and lines, if [`crate::Options::traffic`].
    pub traffic: Option<Traffic>,
    /// Every 2-D block message in execution order, if [`crate::Options::messages`].
    pub messages: Vec<Message>,
}

impl std::ops::Deref for Counters {
    type Target = Tally;
    fn deref(&self) -> &Tally {
        &self.total
    }
}

/// The tally of one sub-group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubgroupTally {
    /// The work-group.
    pub group: [u32; 3],
    /// The sub-group inside it.
    pub subgroup: u32,
    /// What it did.
    pub tally: Tally,
}

/// One executed 2-D block message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The work-group.
    pub group: [u32; 3],
    /// The sub-group inside it.
    pub subgroup: u32,
    /// Load, transform, transpose, prefetch or store.
    pub kind: BlockKind,
    /// Base address of the surface.
    pub base: u64,
    /// First column, in elements.
    pub x: i32,
    /// First row.
    pub y: i32,
    /// Bytes per element.
    pub element_bytes: u32,
    /// (rows, columns) of one block.
    pub shape: (u32, u32),
    /// Number of blocks, side by side.
    pub blocks: u32,
    /// Bytes inside the surface.
    pub bytes: u64,
}

/// What one kind of access touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Distinct bytes.
    pub bytes: u64,
    /// Distinct 64-byte lines.
    pub lines: u64,
    /// Largest number of times one byte was touched.
    pub most: u32,
    /// Smallest number of times a touched byte was touched; 0 if none was.
    pub least: u32,
}

impl Footprint {
    /// Whether every byte that was touched at all was touched exactly once.
    pub fn exactly_once(&self) -> bool {
        self.most == 1
    }

    fn add(&mut self, start: u64, touched: &[u32]) {
        let mut line = None;
        for (i, count) in touched.iter().enumerate().filter(|(_, count)| **count > 0) {
            let this = (start as usize + i) / LINE;
            self.lines += u64::from(line != Some(this));
            line = Some(this);
            self.bytes += 1;
            self.least = if self.least == 0 { *count } else { self.least.min(*count) };
            self.most = self.most.max(*count);
        }
    }
}

/// Distinct bytes and lines of global memory, per kind of access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// 2-D block loads.
    pub loaded: Footprint,
    /// 2-D block prefetches.
    pub prefetched: Footprint,
    /// 2-D block stores.
    pub stored: Footprint,
    /// The same per allocation address.
    pub allocations: BTreeMap<u64, AllocationTraffic>,
}

/// Distinct bytes and lines of one allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocationTraffic {
    /// 2-D block loads.
    pub loaded: Footprint,
    /// 2-D block prefetches.
    pub prefetched: Footprint,
    /// 2-D block stores.
    pub stored: Footprint,
}

/// Counts touches per byte while a run goes on.
#[derive(Debug, Default)]
pub(crate) struct Touches {
    /// By allocation index: touches of loads, prefetches, stores; empty until the first touch.
    counts: BTreeMap<usize, [Vec<u32>; 3]>,
}

impl Touches {
    pub(crate) fn touch(
        &mut self,
        memory: &Memory,
        kind: BlockKind,
        index: usize,
        offset: usize,
        len: usize,
    ) {
        let which = match kind {
            BlockKind::Load | BlockKind::Transform | BlockKind::Transpose => 0,
            BlockKind::Prefetch => 1,
            BlockKind::Store => 2,
        };
        let counts = &mut self.counts.entry(index).or_default()[which];
        if counts.is_empty() {
            counts.resize(memory.extent(index).1, 0);
        }
        for count in &mut counts[offset..offset + len] {
            *count = count.saturating_add(1);
        }
    }

    pub(crate) fn finish(&self, memory: &Memory) -> Traffic {
        let mut traffic = Traffic::default();
        for (index, counts) in &self.counts {
            let (start, _) = memory.extent(*index);
            let mut own = AllocationTraffic::default();
            for (sum, part, touched) in [
                (&mut traffic.loaded, &mut own.loaded, &counts[0]),
                (&mut traffic.prefetched, &mut own.prefetched, &counts[1]),
                (&mut traffic.stored, &mut own.stored, &counts[2]),
            ] {
                sum.add(start, touched);
                part.add(start, touched);
            }
            traffic.allocations.insert(start, own);
        }
        traffic
    }
}

impl Tally {
    pub(crate) fn message(&mut self, kind: BlockKind, bytes: u64) {
        let (count, sum) = match kind {
            BlockKind::Load => (&mut self.block_loads, &mut self.bytes_loaded),
            BlockKind::Transform => (&mut self.block_transforms, &mut self.bytes_loaded),
            BlockKind::Transpose => (&mut self.block_transposes, &mut self.bytes_loaded),
            BlockKind::Prefetch => (&mut self.block_prefetches, &mut self.bytes_prefetched),
            BlockKind::Store => (&mut self.block_stores, &mut self.bytes_stored),
        };
        *count += 1;
        *sum += bytes;
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.steps += other.steps;
        self.dpas += other.dpas;
        self.block_loads += other.block_loads;
        self.block_transforms += other.block_transforms;
        self.block_transposes += other.block_transposes;
        self.block_prefetches += other.block_prefetches;
        self.block_stores += other.block_stores;
        self.bytes_loaded += other.bytes_loaded;
        self.bytes_prefetched += other.bytes_prefetched;
        self.bytes_stored += other.bytes_stored;
        self.bytes_gathered += other.bytes_gathered;
        self.bytes_scattered += other.bytes_scattered;
        self.bytes_prefetched_linear += other.bytes_prefetched_linear;
        self.bytes_shared_loaded += other.bytes_shared_loaded;
        self.bytes_shared_stored += other.bytes_shared_stored;
        self.barriers += other.barriers;
    }
}
