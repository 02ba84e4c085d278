//! Owns the ops that replace the elements of a tile by where they are.
//!
//! *Guarantees*: indices are compared without wrapping. *Not here*: the loops (`simd::mask`).

use crate::element::Arithmetic;
use crate::operand::ElementWise;
use crate::simd::mask::Keep;
use crate::tile::rt;
use crate::tile::sealed::Sealed as _;

/// The names of the masks.
pub const MASKS: &[&str] = &["keep_cols", "keep_rows", "tril", "triu"];

impl<T: Arithmetic, const M: usize, const N: usize, L> rt<T, M, N, L> {
    /// Keeps the first `count` columns of the tile; the others become `fill`, rounded to the element type.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let x: rt<f32, 8, 16> = fill(1.0);
    /// let x = x.keep_cols(3, f32::NEG_INFINITY);
    /// assert_eq!((x.get(7, 2), x.get(7, 3)), (1.0, f32::NEG_INFINITY));
    /// ```
    #[inline(never)]
    pub fn keep_cols(&self, count: u32, fill: T::Scalar) -> Self
    where
        L: ElementWise,
    {
        rt::build(|tile| tile.masked::<T>(Keep::Cols(count), self.values(), fill))
    }

    /// Keeps the first `count` rows of the tile; the others become `fill`, rounded to the element type.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let x: rt<f32, 8, 16> = fill(1.0);
    /// let x = x.keep_rows(3, 0.0);
    /// assert_eq!((x.get(2, 15), x.get(3, 15)), (1.0, 0.0));
    /// ```
    #[inline(never)]
    pub fn keep_rows(&self, count: u32, fill: T::Scalar) -> Self
    where
        L: ElementWise,
    {
        rt::build(|tile| tile.masked::<T>(Keep::Rows(count), self.values(), fill))
    }

    /// Keeps the elements on and below a diagonal, those with `col_start + c <= row_start + r` for row `r` and column
    /// `c` of the tile; the others become `fill`, rounded to the element type. With the indices of the tile's first
    /// element as starts it is the causal mask.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let x: rt<f32, 8, 16> = fill(1.0);
    /// let x = x.tril(32, 30, 0.0);
    /// assert_eq!((x.get(1, 3), x.get(1, 4)), (1.0, 0.0));
    /// ```
    #[inline(never)]
    pub fn tril(&self, row_start: u32, col_start: u32, fill: T::Scalar) -> Self
    where
        L: ElementWise,
    {
        rt::build(|tile| tile.masked::<T>(Keep::Lower(row_start, col_start), self.values(), fill))
    }

    /// Keeps the elements on and above a diagonal, those with `col_start + c >= row_start + r` for row `r` and column
    /// `c` of the tile; the others become `fill`, rounded to the element type.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let x: rt<f32, 8, 16> = fill(1.0);
    /// let x = x.triu(32, 30, 0.0);
    /// assert_eq!((x.get(1, 2), x.get(1, 3)), (0.0, 1.0));
    /// ```
    #[inline(never)]
    pub fn triu(&self, row_start: u32, col_start: u32, fill: T::Scalar) -> Self
    where
        L: ElementWise,
    {
        rt::build(|tile| tile.masked::<T>(Keep::Upper(row_start, col_start), self.values(), fill))
    }
}
