//! Owns the emission of `row_topk` and `col_topk`.
//!
//! Every lane sorts the elements of one column, or of one row once the tile is transposed, and keeps the largest: by networks
//! of compare-and-exchange steps on registers, without a branch (`tile_ir::topk::network`), on keys that hold the order (`key`).
//! *Assumes* the register layouts of `lanes`. *Guarantees*: the order of `tile_ir::topk`, of equal elements the lower index
//! first, and the same bits whatever the network. *Not here*: what a top-k means (`tile_ir::ir::TopK`).

mod key;

use rspirv::spirv::{Op as Inst, OpenclStd100Op as Std};
use tile_ir::ir::{Op, Running, TopK};
use tile_ir::topk::{MAX_BASE, network};
use tile_ir::types::{Along, DType, TileType};

use crate::LowerError;
use crate::arith::U32;
use crate::control::{Lowering, Value};
use crate::lanes::{LANES, Layout, in_words};
use crate::module::{Id, Ty};

/// An element in a list: the key it is ordered by, and its index where the key does not hold it.
#[derive(Clone, Copy)]
struct Entry {
    key: Id,
    index: Option<Id>,
}

/// Elements of every lane in falling order, as many as a power of two; those that are missing come last.
type List = Vec<Option<Entry>>;

/// Values and indices by row of a chunk, as they are put into the results.
struct Out {
    layout: Layout,
    values: Vec<[Id; 8]>,
    indices: Vec<[Id; 8]>,
}

impl Out {
    fn put(&mut self, (row, across): (u32, u32), value: Id, index: Id) {
        let (at, i) = (self.layout.index(row / 8, across), (row % 8) as usize);
        self.values[at][i] = value;
        self.indices[at][i] = index;
    }
}

impl Lowering<'_> {
    /// `row_topk`, `col_topk`.
    pub(crate) fn lower_top_k(&mut self, op: &Op, what: &TopK) -> Result<(), LowerError> {
        let &[values, indices] = op.results.as_slice() else {
            return Err(LowerError::Malformed("a top-k gives two tiles"));
        };
        let made = self.tile_type(values)?;
        let layout = Layout::of(made);
        let mut out =
            Out { layout, values: vec![[0; 8]; layout.count()], indices: vec![[0; 8]; layout.count()] };
        let (ty, chunks) = (self.tile_type(what.tile)?, self.tile(what.tile)?);
        match what.along {
            Along::Cols => self.top_of_cols(what, ty, &chunks, made, &mut out)?,
            Along::Rows => self.top_of_rows(what, ty, &chunks, made, &mut out)?,
        }
        let ints = Layout::of(TileType { dtype: DType::I32, ..made }).chunk();
        for (result, rows, chunk) in [(values, out.values, layout.chunk()), (indices, out.indices, ints)] {
            let parts = rows.iter().map(|rows| self.e.pure(Inst::CompositeConstruct, chunk, rows)).collect();
            self.set(result, Value::Tile(parts));
        }
        Ok(())
    }

    /// A column per lane: nothing crosses lanes.
    fn top_of_cols(
        &mut self,
        what: &TopK,
        ty: TileType,
        chunks: &[Id],
        made: TileType,
        out: &mut Out,
    ) -> Result<(), LowerError> {
        let layout = Layout::of(ty);
        for across in 0..layout.across() {
            let mut list = if let Some(words) = self.words.get(&what.tile).cloned() {
                let packed = Layout::of(in_words(ty));
                let mut pair = None;
                self.best_of(ty.rows, what.k, |s, row| {
                    // The rows of a word become keys together.
                    if let Some(odd) = pair.take() {
                        return odd;
                    }
                    let word = s.word_of(words[packed.index(row / 16, across)], row % 16 / 2);
                    let [even, odd] = s.entries_of_pair(ty.dtype, word, row);
                    pair = Some(odd);
                    even
                })
            } else {
                self.best_of(ty.rows, what.k, |s, row| {
                    let part = s.part_of(layout, chunks[layout.index(row / 8, across)], row % 8);
                    s.entry(ty.dtype, part, row)
                })
            };
            if let Some(running) = &what.running {
                let (values, indices) = (self.tile(running.values)?, self.tile(running.indices)?);
                let place = Layout::of(made);
                let mut words = vec![];
                for i in 0..what.k {
                    let at = place.index(i / 8, across);
                    let value = self.part_of(place, values[at], i % 8);
                    words.push((value, self.word_of(indices[at], i % 8)));
                }
                list = self.continued(list, ty.dtype, what.k, running, words)?;
            }
            for i in 0..made.rows {
                let entry = list.get(i as usize).copied().flatten().filter(|_| i < what.k);
                let (value, index) = self.decoded(ty.dtype, entry, false);
                out.put((i, across), value, index);
            }
        }
        Ok(())
    }

    /// Rows, by groups of 16 (the last perhaps of 8): transposed, a row has a lane, and the results are transposed back.
    ///
    /// Letting lanes merge their lists instead, two rows to a register, takes a tenth fewer instructions (measured with Intel's
    /// compiler on pvc, 16 rows of 128, k = 8: 3,688 against 4,148 in f16, 6,978 against 7,687 in f32), but keeps so many lists
    /// alive that k = 32 does not fit the registers in f32 (3,776 bytes spilled).
    fn top_of_rows(
        &mut self,
        what: &TopK,
        ty: TileType,
        chunks: &[Id],
        made: TileType,
        out: &mut Out,
    ) -> Result<(), LowerError> {
        let layout = Layout::of(ty);
        for top in (0..ty.rows).step_by(LANES as usize) {
            let rows = (ty.rows - top).min(LANES);
            let nothing = self.e.null(layout.component());
            // The columns of one block of 16 x 16, each with a lane per row.
            let (mut block, mut columns) = (u32::MAX, vec![]);
            let entries = |s: &mut Self, column: u32| {
                if block != column / LANES {
                    block = column / LANES;
                    let mut lines: Vec<Id> = (top..top + rows)
                        .map(|row| s.part_of(layout, chunks[layout.index(row / 8, block)], row % 8))
                        .collect();
                    lines.resize(LANES as usize, nothing);
                    columns = s.transposed(layout.component(), lines);
                }
                s.entry(ty.dtype, columns[(column % LANES) as usize], column)
            };
            let mut list = self.best_of(ty.cols, what.k, entries);
            if let Some(running) = &what.running {
                let words = self.running_rows(running, made, what.k, (top, rows))?;
                list = self.continued(list, ty.dtype, what.k, running, words)?;
            }
            self.rows_out(list, what.k, ty.dtype, (top, rows), made, out);
        }
        Ok(())
    }

    /// The best of `len` elements of every lane, which `entry` gives one after the other.
    fn best_of(&mut self, len: u32, k: u32, mut entry: impl FnMut(&mut Self, u32) -> Entry) -> List {
        let room = k.next_power_of_two();
        let mut best: Option<List> = None;
        for first in (0..len).step_by(room as usize) {
            let mut list = vec![];
            for i in first..len.min(first + room) {
                list.push(Some(entry(self, i)));
            }
            let list = self.sorted(list);
            best = Some(match best {
                None => list,
                Some(best) => self.merged(best, list, k),
            });
        }
        best.unwrap_or_default()
    }

    /// Turns lists with a lane per row into tiles with a lane per column.
    fn rows_out(
        &mut self,
        list: List,
        k: u32,
        dtype: DType,
        (top, rows): (u32, u32),
        made: TileType,
        out: &mut Out,
    ) {
        for across in 0..made.cols / LANES {
            let entries: Vec<Option<Entry>> = (LANES * across..LANES * (across + 1))
                .map(|i| list.get(i as usize).copied().flatten().filter(|_| i < k))
                .collect();
            let indexed = entries.iter().flatten().any(|e| e.index.is_some());
            let (none, nowhere) = (self.e.u32(0), self.e.u32(u32::MAX));
            let keys = entries.iter().map(|e| e.map_or(none, |e| e.key)).collect();
            let keys = self.transposed(U32, keys);
            let indices: Vec<Option<Id>> = if indexed {
                let all = entries.iter().map(|e| e.and_then(|e| e.index).unwrap_or(nowhere)).collect();
                self.transposed(U32, all).into_iter().map(Some).collect()
            } else {
                vec![None; LANES as usize]
            };
            for row in 0..rows {
                let entry = Entry { key: keys[row as usize], index: indices[row as usize] };
                let (value, index) = self.decoded(dtype, Some(entry), true);
                out.put((top + row, across), value, index);
            }
        }
    }

    /// The first `k` running values and indices of some rows, each with a lane per row.
    fn running_rows(
        &mut self,
        running: &Running,
        made: TileType,
        k: u32,
        (top, rows): (u32, u32),
    ) -> Result<Vec<(Id, Id)>, LowerError> {
        let (values, indices) = (self.tile(running.values)?, self.tile(running.indices)?);
        let place = Layout::of(made);
        let zero = self.e.u32(0);
        let mut words = vec![];
        for across in 0..k.div_ceil(LANES) {
            let mut of = [vec![zero; LANES as usize], vec![zero; LANES as usize]];
            for row in 0..rows {
                let (at, i) = (place.index((top + row) / 8, across), row % 8);
                let value = self.part_of(place, values[at], i);
                of[0][row as usize] = self.as_word(made.dtype, value);
                of[1][row as usize] = self.word_of(indices[at], i);
            }
            let [values, indices] = of.map(|rows| self.transposed(U32, rows));
            words.extend(values.into_iter().zip(indices));
        }
        words.truncate(k as usize);
        let values = words.iter().map(|w| w.0).collect::<Vec<Id>>();
        let values: Vec<Id> = values.into_iter().map(|v| self.as_number(made.dtype, v)).collect();
        Ok(values.into_iter().zip(words).map(|(v, w)| (v, w.1)).collect())
    }

    /// Merges a list of the tile with running values and indices, given by their words.
    fn continued(
        &mut self,
        list: List,
        dtype: DType,
        k: u32,
        running: &Running,
        words: Vec<(Id, Id)>,
    ) -> Result<List, LowerError> {
        let (base, most) = (self.scalar(running.base)?, self.e.u32(MAX_BASE));
        let base = self.e.min(U32, base, most);
        let mut mine = vec![];
        for entry in list.into_iter().take(k as usize) {
            mine.push(entry.map(|entry| self.based(dtype, entry, base)));
        }
        mine.resize(k.next_power_of_two() as usize, None);
        let mut before = vec![];
        for (value, index) in words {
            before.push(Some(self.running_entry(dtype, value, index)));
        }
        let before = self.sorted(before);
        Ok(self.merged(mine, before, k))
    }

    // ---- lists ----

    /// Sorts elements.
    fn sorted(&mut self, mut list: List) -> List {
        list.resize(list.len().next_power_of_two(), None);
        for (first, second) in network::sort(list.len()) {
            self.order(&mut list, first, second);
        }
        list
    }

    /// The elements of two lists, or the `k` (rounded up to a power of two) largest of them.
    fn merged(&mut self, mut a: List, mut b: List, k: u32) -> List {
        let len = a.len().max(b.len());
        a.resize(len, None);
        b.resize(len, None);
        if 2 * len <= k.next_power_of_two() as usize {
            a.append(&mut b);
            for (first, second) in network::merge(2 * len) {
                self.order(&mut a, first, second);
            }
            return a;
        }
        // The larger of the first and the last, the second and the last but one, and so on are the largest of all, and they
        // rise and fall but once.
        for (x, y) in a.iter_mut().zip(b.into_iter().rev()) {
            *x = self.larger(*x, y);
        }
        for (first, second) in network::clean(len) {
            self.order(&mut a, first, second);
        }
        a
    }

    /// Puts the larger of two elements first.
    fn order(&mut self, list: &mut List, first: usize, second: usize) {
        match (list[first], list[second]) {
            (_, None) => {}
            (None, Some(_)) => list.swap(first, second),
            (Some(a), Some(b)) => {
                let (x, y) = self.exchanged_entries(a, b);
                list[first] = Some(x);
                list[second] = Some(y);
            }
        }
    }

    fn exchanged_entries(&mut self, a: Entry, b: Entry) -> (Entry, Entry) {
        let key = |s: &mut Self, which: Std| s.e.opencl_once(which as u32, U32, &[a.key, b.key]);
        let keys = (key(self, Std::u_max), key(self, Std::u_min));
        let (Some(i), Some(j)) = (a.index, b.index) else {
            return (Entry { key: keys.0, index: None }, Entry { key: keys.1, index: None });
        };
        let first = self.before(U32, (a.key, i), (b.key, j));
        let (x, y) = (self.e.select(U32, first, i, j), self.e.select(U32, first, j, i));
        (Entry { key: keys.0, index: Some(x) }, Entry { key: keys.1, index: Some(y) })
    }

    fn larger(&mut self, a: Option<Entry>, b: Option<Entry>) -> Option<Entry> {
        let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
        Some(self.exchanged_entries(a, b).0)
    }

    /// Whether an element comes before another, by words of type `ints`: the larger key, and of equal keys the lower index.
    pub(crate) fn before(&mut self, ints: Ty, (a, i): (Id, Id), (b, j): (Id, Id)) -> Id {
        let larger = self.e.pure(Inst::UGreaterThan, ints.bools(), &[a, b]);
        self.comes_first(ints, larger, (a, i), (b, j))
    }

    /// The same, given whether the first key is the larger one.
    pub(crate) fn comes_first(&mut self, ints: Ty, larger: Id, (a, i): (Id, Id), (b, j): (Id, Id)) -> Id {
        let bools = ints.bools();
        let equal = self.e.pure(Inst::IEqual, bools, &[a, b]);
        let lower = self.e.pure(Inst::ULessThan, bools, &[i, j]);
        let tie = self.e.pure(Inst::LogicalAnd, bools, &[equal, lower]);
        self.e.pure(Inst::LogicalOr, bools, &[larger, tie])
    }
}
