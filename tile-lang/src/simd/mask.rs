//! Owns the bodies that write one value into a tile or a part of it.
//!
//! Every mask keeps one run of columns in each row. *Guarantees*: whole tiles are written, bit by bit copies of what is
//! kept. *Not here*: which indices an op compares (`ops::mask` says it).

use core::mem::MaybeUninit;

use super::storage::{Filled, Unfilled};
use super::{Level, level};
use crate::element::Arithmetic;

/// Which elements a mask keeps. `r` and `c` are an element's row and column in the tile.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keep {
    /// `c < .0`
    Cols(u32),
    /// `r < .0`
    Rows(u32),
    /// `start_col + c <= start_row + r`, the starts being (row, column).
    Lower(u32, u32),
    /// `start_col + c >= start_row + r`
    Upper(u32, u32),
}

impl Keep {
    /// The columns kept in a row, from and to.
    #[inline]
    fn run(self, row: usize, cols: usize) -> (usize, usize) {
        let cut = |at: i64| at.clamp(0, cols as i64) as usize;
        let diagonal =
            |(row_start, col_start): (u32, u32)| i64::from(row_start) - i64::from(col_start) + row as i64;
        match self {
            Keep::Cols(count) => (0, cut(count.into())),
            Keep::Rows(count) => (0, if (row as u64) < u64::from(count) { cols } else { 0 }),
            Keep::Lower(row_start, col_start) => (0, cut(diagonal((row_start, col_start)) + 1)),
            Keep::Upper(row_start, col_start) => (cut(diagonal((row_start, col_start))), cols),
        }
    }
}

/// Writes `src` where `keep` says so and `fill` elsewhere, in rows of `cols` columns. Each element selects, so that the
/// loop is vector code and takes the same time for every mask.
#[inline(always)]
fn core(keep: Keep, cols: usize, src: &[f32], fill: f32, dst: &mut [MaybeUninit<f32>]) {
    for (row, (to, from)) in dst.chunks_exact_mut(cols).zip(src.chunks_exact(cols)).enumerate() {
        let (start, end) = keep.run(row, cols);
        let (start, len) = (start as u32, (end - start.min(end)) as u32);
        for (c, (to, from)) in to.iter_mut().zip(from).enumerate() {
            to.write(if (c as u32).wrapping_sub(start) < len { *from } else { fill });
        }
    }
}

type MaskBody = unsafe fn(keep: Keep, cols: usize, src: &[f32], fill: f32, dst: &mut [MaybeUninit<f32>]);

macro_rules! levels {
    ($($name:ident $(#[$feature:meta])?;)+) => {$(
        /// # Safety
        /// The CPU has the level's features.
        $(#[$feature])?
        unsafe fn $name(keep: Keep, cols: usize, src: &[f32], fill: f32, dst: &mut [MaybeUninit<f32>]) {
            core(keep, cols, src, fill, dst);
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

fn body(level: Level) -> MaskBody {
    at_level!(level => portable, avx2, avx512)
}

#[inline(never)]
fn masked(keep: Keep, cols: usize, src: &[f32], fill: f32, dst: &mut [MaybeUninit<f32>]) {
    assert_eq!(src.len(), dst.len(), "masks keep a tile's shape");
    if cols == 0 {
        return;
    }
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { body(level())(keep, cols, src, fill, dst) }
}

impl<'tile> Unfilled<'tile> {
    /// Writes the values of `src`, a tile of the same shape, where `keep` says so, and elsewhere `fill` rounded to `T`.
    #[inline(always)]
    pub(crate) fn masked<T: Arithmetic>(mut self, keep: Keep, src: &[f32], fill: T::Scalar) -> Filled<'tile> {
        let (_, cols) = self.shape();
        masked(keep, cols, src, T::word_of(fill), self.memory());
        // SAFETY: `masked` writes all of its destination.
        unsafe { self.assume_filled() }
    }

    /// Writes `value`, rounded to `T`, everywhere.
    #[inline(always)]
    pub(crate) fn filled<T: Arithmetic>(mut self, value: T::Scalar) -> Filled<'tile> {
        self.memory().fill(MaybeUninit::new(T::word_of(value)));
        // SAFETY: `fill` writes all of its destination.
        unsafe { self.assume_filled() }
    }
}
