//! Owns the lists of 16 columns at a time: networks of maxima and minima on vectors, without a branch.
//!
//! An element is a number that is larger for what comes first, its index below its key. Elements of 16 bits leave the low 13
//! bits of their keys open, as many as the rows of most tiles need; others take 64 bits.
//! *Not here*: what becomes of the lists (`topk`).

use std::sync::LazyLock;

use tile_ir::topk::{MAX_BASE, MAX_K, key, key_i32, network};
use tile_ir::types::DType;

use super::{Entry, Running};
use crate::simd::{Level, level};

/// Columns at a time.
pub(super) const LANES: usize = 16;

/// A place in the lists of all columns.
type Lanes<W> = [W; LANES];
type Lists<W> = [Lanes<W>; MAX_K as usize];

/// A tile whose columns are wanted, row after row.
pub(super) struct Tile<'a> {
    pub(super) words: &'a [f32],
    /// Elements from a row to the next.
    pub(super) pitch: usize,
    /// Rows.
    pub(super) len: usize,
}

/// Bits of a packed element that hold its index: what an f16 (with 10 bits of fraction) leaves of an f32.
const OPEN: u32 = (1 << 13) - 1;

/// The key of +inf; above it is NaN.
const INFINITY: u32 = key(f32::INFINITY);

/// A list entry that is compared as it stands.
trait Word: Copy + Ord + Default {
    /// The entry of the element with index 0.
    fn first(word: f32, integers: bool) -> Self;
    /// The same element with another index.
    fn at(self, index: u32) -> Self;
    fn wide(self) -> u64;
}

impl Word for u32 {
    #[inline(always)]
    fn first(word: f32, _: bool) -> u32 {
        // The key of NaN is one more than that of +inf, which would be lost in the open bits.
        let key = key(word);
        let key = if key > INFINITY { INFINITY + OPEN + 1 } else { key };
        key | OPEN
    }

    #[inline(always)]
    fn at(self, index: u32) -> u32 {
        self ^ index
    }

    #[inline(always)]
    fn wide(self) -> u64 {
        if self == 0 {
            return Entry::NONE.word();
        }
        let above = self & !OPEN;
        let key = if above > INFINITY { INFINITY + 1 } else { above };
        Entry { key, index: OPEN - (self & OPEN) }.word()
    }
}

impl Word for u64 {
    #[inline(always)]
    fn first(word: f32, integers: bool) -> u64 {
        let key = if integers { key_i32(word.to_bits() as i32) } else { key(word) };
        Entry { key, index: 0 }.word()
    }

    #[inline(always)]
    fn at(self, index: u32) -> u64 {
        self ^ u64::from(index)
    }

    #[inline(always)]
    fn wide(self) -> u64 {
        self
    }
}

/// The steps that sort a list of 2^n, and those that sort one that rises and falls but once.
static STEPS: LazyLock<[Steps; 6]> =
    LazyLock::new(|| [1, 2, 4, 8, 16, 32].map(|len| [network::sort(len), network::clean(len)]));
type Steps = [Vec<(usize, usize)>; 2];

#[inline(always)]
fn order<W: Word>(list: &mut Lists<W>, (a, b): (usize, usize)) {
    let (mut larger, mut smaller) = (list[a], list[b]);
    for (x, y) in larger.iter_mut().zip(&mut smaller) {
        (*x, *y) = ((*x).max(*y), (*x).min(*y));
    }
    list[a] = larger;
    list[b] = smaller;
}

/// The best of 16 columns from `first` on, in falling order, in `room` places; 0 is none.
#[inline(always)]
fn lists<W: Word>(
    tile: &Tile<'_>,
    first: usize,
    integers: bool,
    [sort, clean]: &Steps,
    room: usize,
) -> Lists<W> {
    let mut best = [[W::default(); LANES]; MAX_K as usize];
    let mut words = [[0.0; LANES]; MAX_K as usize];
    let mut block = best;
    for top in (0..tile.len).step_by(room) {
        let rows = room.min(tile.len - top);
        for (to, row) in words[..rows].iter_mut().zip(top..) {
            to.copy_from_slice(&tile.words[row * tile.pitch + first..][..LANES]);
        }
        // One loop over all of them: of 16 elements at a time compilers make no vector code.
        let places = block[..rows].as_flattened_mut().iter_mut();
        for (place, word) in places.zip(words[..rows].as_flattened()) {
            *place = W::first(*word, integers);
        }
        for (lanes, row) in block[..rows].iter_mut().zip(top..) {
            for place in lanes {
                *place = place.at(row as u32);
            }
        }
        block[rows..room].fill([W::default(); LANES]);
        sort.iter().for_each(|pair| order(&mut block, *pair));
        if top == 0 {
            best = block;
            continue;
        }
        // The larger of the first and the last, the second and the last but one, and so on are the largest of all.
        for (mine, others) in best[..room].iter_mut().zip(block[..room].iter().rev()) {
            for (mine, other) in mine.iter_mut().zip(others) {
                *mine = (*mine).max(*other);
            }
        }
        clean.iter().for_each(|pair| order(&mut best, *pair));
    }
    best
}

/// Which lists: packed ones where `dtype` leaves room for the indices.
#[inline(always)]
fn core(dtype: DType, tile: &Tile<'_>, first: usize, steps: &Steps, room: usize) -> Lists<u64> {
    if dtype.size_bytes() == 2 && tile.len <= OPEN as usize {
        let packed = lists::<u32>(tile, first, false, steps, room);
        let mut all = [[Entry::NONE.word(); LANES]; MAX_K as usize];
        let places = all[..room].as_flattened_mut().iter_mut();
        for (place, word) in places.zip(packed[..room].as_flattened()) {
            *place = word.wide();
        }
        all
    } else {
        lists::<u64>(tile, first, dtype.is_integer(), steps, room)
    }
}

type Body = unsafe fn(DType, &Tile<'_>, usize, &Steps, usize) -> Lists<u64>;

macro_rules! levels {
    ($($name:ident $(#[$feature:meta])?;)+) => {$(
        /// # Safety
        /// The CPU has the level's features.
        $(#[$feature])?
        unsafe fn $name(dtype: DType, tile: &Tile<'_>, first: usize, steps: &Steps, room: usize) -> Lists<u64> {
            core(dtype, tile, first, steps, room)
        }
    )+};
}
levels! {
    portable;
}
#[cfg(target_arch = "x86_64")]
levels! {
    avx2 #[target_feature(enable = "avx2")];
    avx512 #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")];
}

fn body(level: Level) -> Body {
    at_level!(level => portable, avx2, avx512)
}

/// The `k` best of 16 columns from `first` on, as words of entries.
///
/// # Panics
/// When the columns are not in the tile.
pub(super) fn best(dtype: DType, tile: &Tile<'_>, first: usize, k: usize) -> Lists<u64> {
    let room = k.next_power_of_two();
    let steps = &STEPS[room.trailing_zeros() as usize];
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { body(level())(dtype, tile, first, steps, room) }
}

/// Adds the running elements of 16 columns to the lists, whose indices then count from a base on. `place` says where the
/// running elements of a rank are.
pub(super) fn go_on(
    lists: &mut [Lanes<u64>],
    running: &Running<'_>,
    key_of: impl Fn(f32) -> u32,
    place: impl Fn(usize) -> usize,
) {
    let base = running.base.min(MAX_BASE);
    for word in lists.iter_mut().flatten().filter(|word| **word != 0) {
        let entry = Entry::of(*word);
        *word = Entry { index: entry.index + base, ..entry }.word();
    }
    for rank in 0..lists.len() {
        let at = place(rank);
        let mut joins: Lanes<u64> = std::array::from_fn(|lane| {
            let (key, index) = (key_of(running.values[at + lane]), running.indices[at + lane].to_bits());
            if index == Entry::NONE.index { 0 } else { Entry { key, index }.word() }
        });
        for lanes in lists.iter_mut() {
            for (mine, joins) in lanes.iter_mut().zip(&mut joins) {
                (*mine, *joins) = ((*mine).max(*joins), (*mine).min(*joins));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few different numbers of 16 bits, NaN and zeros of both signs among them.
    fn element(i: usize) -> f32 {
        // The least f16.
        let least = 2f32.powi(-24);
        let dice = i.wrapping_mul(2_654_435_761) >> 7;
        [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, least, -least]
            .get(dice % 19)
            .copied()
            .unwrap_or((dice % 64) as f32 / 8.0 - 4.0)
    }

    #[test]
    fn every_level_gives_the_first_of_a_sort() {
        for (len, k) in [(1, 1usize), (5, 3), (8, 8), (40, 6), (128, 8), (77, 32)] {
            let words: Vec<f32> = (0..len * 32).map(element).collect();
            let tile = Tile { words: &words, pitch: 32, len };
            let steps = &STEPS[k.next_power_of_two().trailing_zeros() as usize];
            for dtype in [DType::F16, DType::Bf16, DType::F32] {
                for level in Level::ALL.iter().copied().filter(|level| level.available()) {
                    // SAFETY: the level is available.
                    let lists = unsafe { body(level)(dtype, &tile, 16, steps, k.next_power_of_two()) };
                    for lane in 0..LANES {
                        let column = (0..len).map(|row| (words[row * 32 + 16 + lane], row as u32));
                        let mut want: Vec<u64> =
                            column.map(|(word, index)| Entry { key: key(word), index }.word()).collect();
                        want.sort_by(|a, b| b.cmp(a));
                        want.resize(len.max(k), 0);
                        let found: Vec<u64> = lists[..k].iter().map(|lanes| lanes[lane]).collect();
                        assert_eq!(found, want[..k], "{level:?} {dtype} {len} {k}");
                    }
                }
            }
        }
    }
}
