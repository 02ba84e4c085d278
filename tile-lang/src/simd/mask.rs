//! Owns the bodies that write one value into a tile or a part of it.
//!
//! Every mask keeps one run of columns in each row, so that a body copies and fills whole runs.
//! *Not here*: SIMD levels: a copy is a copy.

use core::mem::MaybeUninit;

use super::storage::{Filled, Unfilled};
use crate::element::Element;

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

#[inline(never)]
fn masked(keep: Keep, cols: usize, src: &[f32], fill: f32, dst: &mut [MaybeUninit<f32>]) {
    assert_eq!(src.len(), dst.len(), "masks keep a tile's shape");
    if cols == 0 {
        return;
    }
    for (row, (to, from)) in dst.chunks_mut(cols).zip(src.chunks(cols)).enumerate() {
        let (start, end) = keep.run(row, from.len());
        to[..start].fill(MaybeUninit::new(fill));
        to[start..end].write_copy_of_slice(&from[start..end]);
        to[end..].fill(MaybeUninit::new(fill));
    }
}

impl<'tile> Unfilled<'tile> {
    /// Writes the values of `src`, a tile of the same shape, where `keep` says so, and elsewhere `fill` rounded to `T`.
    #[inline(always)]
    pub(crate) fn masked<T: Element>(mut self, keep: Keep, src: &[f32], fill: f32) -> Filled<'tile> {
        let (_, cols) = self.shape();
        masked(keep, cols, src, T::from_f32(fill).to_f32(), self.memory());
        // SAFETY: `masked` writes all of its destination.
        unsafe { self.assume_filled() }
    }

    /// Writes `value`, rounded to `T`, everywhere.
    #[inline(always)]
    pub(crate) fn filled<T: Element>(mut self, value: f32) -> Filled<'tile> {
        self.memory().fill(MaybeUninit::new(T::from_f32(value).to_f32()));
        // SAFETY: `fill` writes all of its destination.
        unsafe { self.assume_filled() }
    }
}
