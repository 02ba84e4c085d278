//! Owns the bodies of a top-k.
//!
//! A row has a list, which most of its elements do not enter: most of the time goes into the test of 16 elements at a time
//! against the least of the list, which compilers turn into vector code. Columns are beside each other in memory, so 16 have
//! their lists in one (`columns`).
//! *Guarantees*: the order of `tile_ir::topk` and no other, on every CPU.
//! *Not here*: the calls (`ops::topk`).

mod columns;

use tile_ir::topk::{MAX_BASE, MAX_K, key, key_i32, value, value_i32};
use tile_ir::types::{Along, DType};

/// Elements that are tested at a time.
const BLOCK: usize = 16;

/// Where the elements of a row or column lie in its tile and in the results.
pub(crate) struct Lines {
    /// How many rows or columns there are.
    count: usize,
    /// Elements of each.
    len: usize,
    /// From a line to the next, and from an element to the next.
    step: (usize, usize),
    /// Places of each in a result.
    room: usize,
    out_step: (usize, usize),
}

impl Lines {
    /// The rows or columns of a tile, and of results of rows and columns.
    pub(crate) fn new(
        along: Along,
        (rows, cols): (usize, usize),
        (out_rows, out_cols): (usize, usize),
    ) -> Lines {
        match along {
            Along::Rows => {
                Lines { count: rows, len: cols, step: (cols, 1), room: out_cols, out_step: (out_cols, 1) }
            }
            Along::Cols => {
                Lines { count: cols, len: rows, step: (1, cols), room: out_rows, out_step: (1, out_cols) }
            }
        }
    }
}

/// Running values and indices, as words of tiles of the results' shape, and the index of the tile's first element.
pub(crate) struct Running<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) indices: &'a [f32],
    pub(crate) base: u32,
}

/// An element by its key and index; the order of the fields is that of a top-k, reversed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    key: u32,
    index: u32,
}

impl Entry {
    const NONE: Entry = Entry { key: 0, index: u32::MAX };

    fn before(self, other: Entry) -> bool {
        self.key > other.key || (self.key == other.key && self.index < other.index)
    }

    /// The entry in a number that is larger for what comes first; 0 for none.
    fn word(self) -> u64 {
        u64::from(self.key) << 32 | u64::from(!self.index)
    }

    fn of(word: u64) -> Entry {
        Entry { key: (word >> 32) as u32, index: !(word as u32) }
    }

    /// The word of its value in a tile.
    fn value(self, integers: bool) -> f32 {
        if integers { f32::from_bits(value_i32(self.key) as u32) } else { value(self.key) }
    }
}

/// The best elements so far, in falling order.
struct List {
    best: [Entry; MAX_K as usize],
    k: usize,
}

impl List {
    fn insert(&mut self, entry: Entry) {
        let mut at = self.k;
        while at > 0 && entry.before(self.best[at - 1]) {
            if at < self.k {
                self.best[at] = self.best[at - 1];
            }
            at -= 1;
        }
        if at < self.k {
            self.best[at] = entry;
        }
    }
}

/// Writes the largest elements of every line of a tile of `dtype` and their indices; words of integers are their bits.
///
/// # Panics
/// When `k` is 0, above the largest or above the room.
pub(crate) fn best(
    dtype: DType,
    lines: &Lines,
    k: usize,
    src: &[f32],
    running: Option<Running<'_>>,
    (values, indices): (&mut [f32], &mut [f32]),
) {
    assert!(k >= 1 && k <= MAX_K as usize, "a top-k keeps 1 to {MAX_K} elements; here {k}");
    assert!(k <= lines.room, "the results of a top-k have room for its {k} elements; here {}", lines.room);
    let integers = dtype.is_integer();
    let key_of = |word: f32| if integers { key_i32(word.to_bits() as i32) } else { key(word) };
    if lines.step.0 == 1 && lines.count.is_multiple_of(columns::LANES) {
        let tile = columns::Tile { words: src, pitch: lines.step.1, len: lines.len };
        for line in (0..lines.count).step_by(columns::LANES) {
            let mut lists = columns::best(dtype, &tile, line, k);
            if let Some(running) = &running {
                columns::go_on(&mut lists[..k], running, key_of, |i| line + i * lines.out_step.1);
            }
            for (i, lanes) in lists[..lines.room].iter().enumerate() {
                for (lane, word) in lanes.iter().enumerate() {
                    let entry = if i < k { Entry::of(*word) } else { Entry::NONE };
                    let at = line + i * lines.out_step.1 + lane;
                    (values[at], indices[at]) = (entry.value(integers), f32::from_bits(entry.index));
                }
            }
        }
        return;
    }
    for line in 0..lines.count {
        let mut list = List { best: [Entry::NONE; MAX_K as usize], k };
        let from = &src[line * lines.step.0..];
        for first in (0..lines.len).step_by(BLOCK) {
            let count = BLOCK.min(lines.len - first);
            let mut keys = [0; BLOCK];
            for (i, key) in keys[..count].iter_mut().enumerate() {
                *key = key_of(from[(first + i) * lines.step.1]);
            }
            // Of equal keys the first stays, and indices rise; the list's last may be no element, whose key is the least.
            let last = list.best[k - 1];
            if last != Entry::NONE && keys.iter().all(|key| *key <= last.key) {
                continue;
            }
            for (i, &key) in keys[..count].iter().enumerate() {
                list.insert(Entry { key, index: (first + i) as u32 });
            }
        }
        let place = |i: usize| line * lines.out_step.0 + i * lines.out_step.1;
        if let Some(running) = &running {
            let base = running.base.min(MAX_BASE);
            for entry in list.best[..k].iter_mut().filter(|e| **e != Entry::NONE) {
                entry.index += base;
            }
            for i in 0..k {
                let index = running.indices[place(i)].to_bits();
                if index != Entry::NONE.index {
                    list.insert(Entry { key: key_of(running.values[place(i)]), index });
                }
            }
        }
        for i in 0..lines.room {
            let entry = if i < k { list.best[i] } else { Entry::NONE };
            (values[place(i)], indices[place(i)]) = (entry.value(integers), f32::from_bits(entry.index));
        }
    }
}
