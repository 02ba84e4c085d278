//! Owns prefetching: the cache lines ops asked for, kept per thread until a product has time to fetch them.
//!
//! A hundred prefetches in a row fill the CPU's line-fill buffers and hold up the loads behind them (measured:
//! 4 to 10 % of a GEMM lost instead of gained). So where products are computed, a prefetch only notes its region,
//! and the next product asks for a line every few multiply-adds. If no product came before the third load or
//! the next store, what was noted is asked for there, and later prefetches ask at once until a product comes.
//! *Guarantees*: nothing here reads or writes memory of the program: addresses are hints, and stale ones are
//! harmless. That is also why a per-thread note is fine where another sub-group runs on in the same thread.
//! *Not here*: which elements a tile covers (`global`).

use core::cell::Cell;

const LINE_BYTES: usize = 64;
/// Regions that can wait: two operands of two products.
const ROOM: usize = 4;
/// Loads that may come between a prefetch and its product: the two operands of this step.
const LOADS: usize = 2;

/// Rows of bytes at regular distances.
#[derive(Clone, Copy)]
struct Region {
    start: usize,
    rows: usize,
    row_bytes: usize,
    pitch_bytes: usize,
}

impl Region {
    /// The line that holds the first byte of a row, and the end of the row. A row at the very end of the
    /// address space, where no memory is, is cut so that no later sum overflows.
    #[inline(always)]
    fn row(&self, row: usize) -> (usize, usize) {
        let first = self.start.wrapping_add(row.wrapping_mul(self.pitch_bytes));
        let end = first.saturating_add(self.row_bytes).min(usize::MAX - LINE_BYTES);
        (first - first % LINE_BYTES, end)
    }
}

const NOWHERE: Region = Region { start: 0, rows: 0, row_bytes: 0, pitch_bytes: 0 };

/// What one thread was asked for and has not fetched.
struct Pending {
    regions: [Cell<Region>; ROOM],
    count: Cell<usize>,
    /// Loads since the first of them was noted.
    loads: Cell<usize>,
    /// True where no product can be expected to come.
    eager: Cell<bool>,
}

thread_local! {
    static PENDING: Pending = const {
        Pending {
            regions: [const { Cell::new(NOWHERE) }; ROOM],
            count: Cell::new(0),
            loads: Cell::new(0),
            eager: Cell::new(true),
        }
    };
}

/// Notes `rows` rows of `row_bytes` bytes, `pitch_bytes` apart. Does nothing on CPUs without the instruction.
pub(crate) fn prefetch(start: *const u8, rows: usize, row_bytes: usize, pitch_bytes: usize) {
    if !cfg!(target_arch = "x86_64") || rows == 0 || row_bytes == 0 {
        return;
    }
    PENDING.with(|pending| {
        if pending.count.get() == ROOM {
            take(pending).finish();
        }
        let region = Region { start: start.addr(), rows, row_bytes, pitch_bytes };
        pending.regions[pending.count.get()].set(region);
        pending.count.set(pending.count.get() + 1);
        if pending.eager.get() {
            take(pending).finish();
        }
    });
}

/// Tells that a load comes, so that prefetches that no product takes up do not wait for ever.
#[inline]
pub(crate) fn on_load() {
    PENDING.with(|pending| {
        if pending.count.get() > 0 {
            pending.loads.set(pending.loads.get() + 1);
            if pending.loads.get() > LOADS {
                give_up(pending);
            }
        }
    });
}

/// Tells that a store comes: the products it needed are done.
#[inline]
pub(crate) fn on_store() {
    PENDING.with(|pending| {
        if pending.count.get() > 0 {
            give_up(pending);
        }
    });
}

/// Fetches everything noted, now: no product came for it.
#[cold]
fn give_up(pending: &Pending) {
    pending.eager.set(true);
    take(pending).finish();
}

/// Hands what is noted to a product, to fetch it line by line.
#[inline]
pub(crate) fn on_product() -> Lines {
    PENDING.with(|pending| {
        pending.eager.set(false);
        take(pending)
    })
}

#[inline]
fn take(pending: &Pending) -> Lines {
    let count = pending.count.replace(0);
    pending.loads.set(0);
    let mut lines = Lines::NONE;
    if count > 0 {
        lines.count = count;
        lines.regions = core::array::from_fn(|i| pending.regions[i].get());
    }
    lines
}

/// Cache lines still to be asked for.
pub struct Lines {
    regions: [Region; ROOM],
    count: usize,
    /// The region and the row that come next.
    region: usize,
    row: usize,
    /// What is left of the current row.
    at: usize,
    end: usize,
}

impl Lines {
    /// No lines.
    pub(crate) const NONE: Lines =
        Lines { regions: [NOWHERE; ROOM], count: 0, region: 0, row: 0, at: 0, end: 0 };

    /// Asks for one line, if one is left.
    #[inline(always)]
    pub(crate) fn fetch(&mut self) {
        if self.at < self.end || self.next_row() {
            fetch_line(self.at);
            self.at += LINE_BYTES;
        }
    }

    /// Asks for all lines that are left.
    #[inline]
    pub(crate) fn finish(&mut self) {
        while self.region < self.count {
            fetch_lines(self.at, self.end);
            let region = &self.regions[self.region];
            for row in self.row..region.rows {
                let (at, end) = region.row(row);
                fetch_lines(at, end);
            }
            (self.region, self.row, self.at, self.end) = (self.region + 1, 0, 0, 0);
        }
    }

    /// Moves on to the next row that has bytes; false when there is none.
    #[inline]
    fn next_row(&mut self) -> bool {
        while self.region < self.count {
            let region = &self.regions[self.region];
            if self.row == region.rows {
                (self.region, self.row) = (self.region + 1, 0);
                continue;
            }
            (self.at, self.end) = region.row(self.row);
            self.row += 1;
            if self.at < self.end {
                return true;
            }
        }
        false
    }
}

#[inline(always)]
fn fetch_lines(mut at: usize, end: usize) {
    while at < end {
        fetch_line(at);
        at += LINE_BYTES;
    }
}

/// Asks for one cache line, into L2 and not L1: rows a power of two apart share L1 sets and would evict each
/// other before their load (measured at a pitch of 4 KiB: 3 to 8 % of a GEMM).
#[inline(always)]
fn fetch_line(address: usize) {
    #[cfg(test)]
    tests::FETCHED.with_borrow_mut(|fetched| fetched.push(address));
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: the instruction is in baseline x86-64, and faults on no address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(core::ptr::without_provenance(address)) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::RefCell;
    use core::ptr::without_provenance;

    thread_local! {
        /// Every line this thread asked for.
        pub(super) static FETCHED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    }

    fn fetched() -> Vec<usize> {
        FETCHED.take()
    }

    fn note(at: usize) {
        prefetch(without_provenance(at), 1, 1, 0);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_product_fetches_every_line_of_every_row_once_in_order() {
        on_product().finish();
        // Two rows: the first touches lines 0x1000 and 0x1040, the second one line.
        prefetch(without_provenance(0x1030), 2, 0x20, 0xfd0);
        prefetch(without_provenance(0x8000), 1, 0x81, 0);
        assert_eq!(fetched(), []);
        let mut lines = on_product();
        lines.fetch();
        lines.fetch();
        assert_eq!(fetched(), [0x1000, 0x1040]);
        lines.finish();
        lines.finish();
        lines.fetch();
        assert_eq!(fetched(), [0x2000, 0x8000, 0x8040, 0x8080]);
        on_product().finish();
        on_store();
        assert_eq!(fetched(), []);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn without_products_a_prefetch_fetches_at_once() {
        note(0x1000);
        assert_eq!(fetched(), [0x1000]);
        on_product().finish();
        note(0x2000);
        on_load();
        on_load();
        assert_eq!(fetched(), []);
        on_load();
        assert_eq!(fetched(), [0x2000]);
        note(0x3000);
        assert_eq!(fetched(), [0x3000]);
        on_product().finish();
        (1..=ROOM).for_each(|i| note(i << 12));
        assert_eq!(fetched(), []);
        note(0xf000);
        assert_eq!(fetched(), [0x1000, 0x2000, 0x3000, 0x4000]);
        on_store();
        assert_eq!(fetched(), [0xf000]);
    }

    #[test]
    fn no_address_is_too_odd() {
        prefetch(core::ptr::null(), 0, 200, 4096);
        prefetch(core::ptr::null(), 3, 0, 4096);
        prefetch(core::ptr::null(), 3, 200, usize::MAX);
        prefetch(without_provenance(usize::MAX - 10), 2, 640, 64);
        prefetch(without_provenance(usize::MAX), 1, usize::MAX, 64);
        on_product().finish();
        assert!(fetched().iter().all(|line| line % LINE_BYTES == 0));
    }
}
