//! Owns the memory of a tile value and the only way to make one without writing it twice.
//!
//! *Guarantees*: a tile that exists is fully initialised; [`rt::build`] writes it in place.
//! *Not here*: which ops exist, or what they compute.

use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use super::{Dst, Map, Scale, Src, bodies};
use crate::element::AnyElement;
use crate::tile::rt;
use crate::vector::rv;

/// Row-major f32 values on a cache-line boundary, so that a row of 16 values is one AVX-512 register load.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Block<const M: usize, const N: usize>(pub(crate) [[f32; N]; M]);

/// Memory of a tile that is being made. The invariant lifetime ties it to one call of [`rt::build`].
pub(crate) struct Unfilled<'tile> {
    dst: Dst<f32>,
    rows: usize,
    brand: PhantomData<fn(&'tile ()) -> &'tile ()>,
}

/// Proof that every value of the tile with the same lifetime was written.
pub(crate) struct Filled<'tile>(PhantomData<fn(&'tile ()) -> &'tile ()>);

impl<'tile> Unfilled<'tile> {
    /// The region to write. Its pitch is the tile's column count.
    #[inline(always)]
    pub(crate) fn dst(&self) -> Dst<f32> {
        self.dst
    }

    /// Rows and columns of the tile.
    #[inline(always)]
    pub(crate) fn shape(&self) -> (usize, usize) {
        (self.rows, self.dst.pitch)
    }

    /// Ends the making of a tile.
    ///
    /// # Safety
    /// Every value of the region must have been written.
    #[inline(always)]
    pub(crate) unsafe fn assume_filled(self) -> Filled<'tile> {
        Filled(PhantomData)
    }

    /// The region as a slice.
    #[inline(always)]
    pub(crate) fn memory(&mut self) -> &mut [MaybeUninit<f32>] {
        // SAFETY: the region is this tile's own memory, contiguous because its pitch is its column count.
        unsafe { core::slice::from_raw_parts_mut(self.dst.ptr.cast(), self.rows * self.dst.pitch) }
    }

    /// Writes +0.0 everywhere.
    #[inline(always)]
    pub(crate) fn zero(self) -> Filled<'tile> {
        // SAFETY: the region is this tile's own memory; all-zero bytes are +0.0; all of it is written.
        unsafe {
            self.dst.ptr.write_bytes(0, self.rows * self.dst.pitch);
            self.assume_filled()
        }
    }

    /// Writes the cells that `row` gives for every row: as many as the tile has columns.
    #[inline(always)]
    pub(crate) fn copied<'s>(mut self, row: impl Fn(usize) -> &'s [Cell<f32>]) -> Filled<'tile> {
        let cols = self.dst.pitch;
        for (r, line) in self.memory().chunks_exact_mut(cols.max(1)).enumerate() {
            let cells = row(r);
            assert_eq!(cells.len(), cols, "a row of shared memory is as long as the tile's");
            for (to, from) in line.iter_mut().zip(cells) {
                to.write(from.get());
            }
        }
        // SAFETY: the region is `rows` rows of `cols` values, and the loop wrote `cols` values, which the assertion counted,
        // to each of them.
        unsafe { self.assume_filled() }
    }

    /// Writes the transpose of the rows that `row` gives, one for every column of the tile, each as long as the tile has
    /// rows.
    #[inline(always)]
    pub(crate) fn copied_across<'s>(mut self, row: impl Fn(usize) -> &'s [Cell<f32>]) -> Filled<'tile> {
        let (rows, cols) = self.shape();
        for c in 0..cols {
            let cells = row(c);
            assert_eq!(cells.len(), rows, "a row of shared memory is as long as the tile's columns");
            for (line, from) in self.memory().chunks_exact_mut(cols).zip(cells) {
                line[c].write(from.get());
            }
        }
        // SAFETY: for each of the `cols` columns the loop wrote one value to each of the `rows` rows, which the assertion
        // counted.
        unsafe { self.assume_filled() }
    }

    /// Writes the elements of `src`, a tile of the same shape and of `T`, converted to `U`.
    #[inline(always)]
    pub(crate) fn converted<T: AnyElement, U: AnyElement>(self, src: &[f32]) -> Filled<'tile> {
        if T::DTYPE.is_integer() || U::DTYPE.is_integer() {
            return self.converted_integers(T::DTYPE, U::DTYPE, src);
        }
        self.mapped(src, U::bodies(bodies()).round)
    }

    #[inline(always)]
    fn mapped(self, src: &[f32], body: Map) -> Filled<'tile> {
        assert_eq!(src.len(), self.rows * self.dst.pitch, "conversions keep a tile's shape");
        // SAFETY: both regions hold `src.len()` values, one borrowed and one this tile's own, so they are
        // apart; the body writes all of them.
        unsafe {
            body(src.as_ptr(), self.dst.ptr, src.len());
            self.assume_filled()
        }
    }

    /// Writes the transpose of `src`, a tile of as many rows as this one has columns.
    #[inline(always)]
    pub(crate) fn transposed(self, src: &[f32]) -> Filled<'tile> {
        let (rows, cols) = self.shape();
        assert_eq!(src.len(), rows * cols, "a transpose keeps a tile's elements");
        let body = bodies().f32.load_transposed;
        // SAFETY: both regions hold `rows * cols` values, one borrowed and one this tile's own, so they are apart; the
        // body writes all of them.
        unsafe {
            body(Src { ptr: src.as_ptr(), pitch: rows }, cols, rows, self.dst);
            self.assume_filled()
        }
    }

    /// Writes the part of `src`, a tile of `of` rows and columns, that is number `at` along rows and columns.
    #[inline(always)]
    pub(crate) fn part(mut self, src: &[f32], of: (usize, usize), at: (usize, usize)) -> Filled<'tile> {
        let (rows, cols) = self.shape();
        let (top, left) = crate::ops::layout::place(of, (rows, cols), at);
        if cols > 0 {
            let parts = src.chunks_exact(of.1).skip(top).map(|row| &row[left..left + cols]);
            let mut written = 0;
            for (to, from) in self.memory().chunks_exact_mut(cols).zip(parts) {
                for (to, from) in to.iter_mut().zip(from) {
                    to.write(*from);
                }
                written += 1;
            }
            assert_eq!(written, rows, "`place` admits parts that lie in the tile");
        }
        // SAFETY: every row was written: the assertion counts them, and each row of `parts` has `cols` values.
        unsafe { self.assume_filled() }
    }

    /// Writes the values of `src`, a tile of the same shape, times `factor`.
    #[inline(always)]
    pub(crate) fn scaled(self, src: &[f32], factor: f32) -> Filled<'tile> {
        assert_eq!(src.len(), self.rows * self.dst.pitch, "scaling keeps a tile's shape");
        let body: Scale = bodies().scale;
        // SAFETY: as in `mapped`.
        unsafe {
            body(src.as_ptr(), self.dst.ptr, src.len(), factor);
            self.assume_filled()
        }
    }
}

impl<T, const M: usize, const N: usize, L> rt<T, M, N, L> {
    /// Makes a tile by writing its memory in place.
    ///
    /// Every public op that returns a tile is one `#[inline(never)]` function whose body is this call with a
    /// single out-of-line body inside: only then does LLVM write through the caller's return slot. Inlined
    /// into a kernel, the same code copies every tile once more (seen in the assembly of rustc 1.95).
    #[inline(always)]
    pub(crate) fn build(fill: impl for<'tile> FnOnce(Unfilled<'tile>) -> Filled<'tile>) -> Self {
        let mut tile = MaybeUninit::<Self>::uninit();
        fill(Unfilled { dst: Dst { ptr: tile.as_mut_ptr().cast(), pitch: N }, rows: M, brand: PhantomData });
        // SAFETY: `rt` is `repr(C)` and its only field with bytes is the `Block` at offset 0; `fill` returned
        // `Filled` for this very tile, so all M * N values are written.
        unsafe { tile.assume_init() }
    }
}

impl<T, const N: usize, E> rv<T, N, E> {
    /// Makes a vector by writing its memory in place, as [`rt::build`] a tile of one row.
    #[inline(always)]
    pub(crate) fn build(fill: impl for<'tile> FnOnce(Unfilled<'tile>) -> Filled<'tile>) -> Self {
        let mut vector = MaybeUninit::<Self>::uninit();
        fill(Unfilled {
            dst: Dst { ptr: vector.as_mut_ptr().cast(), pitch: N },
            rows: 1,
            brand: PhantomData,
        });
        // SAFETY: as in `rt::build`: `rv` is `repr(C)` and its only field with bytes is a `Block` of N values.
        unsafe { vector.assume_init() }
    }
}
