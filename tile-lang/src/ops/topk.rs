//! Owns `row_topk`, `col_topk` and their forms that go on from running values.
//!
//! *Guarantees*: the order of `tile_ir::topk`, the same on every CPU: the body is one plain function. *Not here*: that function
//! (`simd::topk`).

use tile_ir::types::Along;

use crate::element::Arithmetic;
use crate::operand::ElementWise;
use crate::role::Row;
use crate::simd::topk::{self, Lines, Running};
use crate::tile::rt;
use crate::tile::sealed::Sealed as _;

/// The names of the top-k methods.
pub const TOP_K: &[&str] = &["row_topk", "row_topk_with", "col_topk", "col_topk_with"];

impl<T: Arithmetic, const M: usize, const N: usize, L> rt<T, M, N, L> {
    /// Gives the `k` largest elements of every row, largest first, and the indices of their columns.
    ///
    /// NaN ranks above every number, as in PyTorch. Zeros of both signs are equal and come out as +0. Of equal elements the one
    /// of the lower index comes first. The results have P columns, 16 or 32, of which the first `k` are filled; the others
    /// have the value -inf (the least i32) and the index -1, which is no element. Storing them to a tensor of `k`
    /// columns stores just the first `k`.
    ///
    /// What must not win, such as columns past the end of a tensor, is made -inf before: `x.keep_cols(n, f32::NEG_INFINITY)`.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let data: Vec<f32> = (0..8 * 20).map(|i| ((7 * i) % 20) as f32).collect();
    /// let x: rt<f32, 8, 32> = load(&gl::of(&data, 8, 20).expect("8 x 20 elements are there"), [0, 0]);
    /// let (values, indices) = x.keep_cols(20, f32::NEG_INFINITY).row_topk::<16>(2);
    /// assert_eq!((values.get(0, 0), values.get(0, 1)), (19.0, 18.0));
    /// assert_eq!((indices.get(0, 0), indices.get(0, 1)), (17, 14)); // 7 * 17 = 119
    /// assert_eq!((values.get(0, 2), indices.get(0, 2)), (f32::NEG_INFINITY, -1));
    /// ```
    ///
    /// # Panics
    /// When `k` is 0, above 32, above P or above N. A compiled kernel with such a `k` is refused by `#[tile_kernel]`.
    #[inline(never)]
    pub fn row_topk<const P: usize>(&self, k: usize) -> (rt<T::Scalar, M, P, Row>, rt<i32, M, P, Row>)
    where
        L: ElementWise,
    {
        assert!(k <= N, "`row_topk` keeps no more elements than there are: {k} of {N} columns");
        self.top_k(Along::Rows, k, None)
    }

    /// Gives the `k` largest elements of every column, largest first, and the indices of their rows.
    ///
    /// As [`row_topk`](rt::row_topk), with P rows: 8, 16, 24 or 32. On a GPU a column has a lane for itself, so this form costs
    /// less: for the rows of a tensor, load the tile with [`load_transpose`](crate::ops::memory::load_transpose) and
    /// store with [`store_transpose`](crate::ops::memory::store_transpose).
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let data: Vec<f32> = (0..16 * 32).map(|i| ((7 * i) % 32) as f32).collect();
    /// let a = gl::of(&data, 16, 32).expect("16 x 32 elements are there");
    /// let x: rt<f32, 32, 16> = load_transpose(&a, [0, 0]);
    /// let (values, indices) = x.col_topk::<8>(3);
    /// assert_eq!([0, 1, 2, 3].map(|i| values.get(i, 0)), [31.0, 30.0, 29.0, f32::NEG_INFINITY]);
    /// assert_eq!([0, 1, 2, 3].map(|i| indices.get(i, 0)), [9, 18, 27, -1]);
    /// ```
    ///
    /// # Panics
    /// As `row_topk`, with rows in place of columns.
    #[inline(never)]
    pub fn col_topk<const P: usize>(&self, k: usize) -> (rt<T::Scalar, P, N, Row>, rt<i32, P, N, Row>)
    where
        L: ElementWise,
    {
        assert!(k <= M, "`col_topk` keeps no more elements than there are: {k} of {M} rows");
        self.top_k(Along::Cols, k, None)
    }

    /// Gives the `k` largest elements of every row of this tile and of running ones, as [`row_topk`](rt::row_topk) does.
    ///
    /// `values` and `indices` are what an earlier call gave; their first `k` columns count. `base` is the index of this tile's
    /// first column (at most 2^31). A running element of index -1 is none, so indices of -1 are what to begin with.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let data: Vec<f32> = (0..8 * 40).map(|i| ((7 * i) % 40) as f32).collect();
    /// let a = gl::of(&data, 8, 40).expect("8 x 40 elements are there");
    /// let mut values: rt<f32, 8, 16> = fill(f32::NEG_INFINITY);
    /// let mut indices: rt<i32, 8, 16> = fill(-1);
    /// for tile in 0..a.col_tiles(16) {
    ///     let x: rt<f32, 8, 16> = load(&a, [0, tile]);
    ///     let x = x.keep_cols(40u32.saturating_sub(16 * tile), f32::NEG_INFINITY);
    ///     let (v, i) = x.row_topk_with(2, &values, &indices, 16 * tile);
    ///     values = v;
    ///     indices = i;
    /// }
    /// assert_eq!((values.get(0, 0), indices.get(0, 0)), (39.0, 17)); // 7 * 17 = 119
    /// assert_eq!((values.get(0, 1), indices.get(0, 1)), (38.0, 34)); // 7 * 34 = 238
    /// ```
    ///
    /// # Panics
    /// When `k` is 0, above 32 or above P.
    #[inline(never)]
    pub fn row_topk_with<const P: usize>(
        &self,
        k: usize,
        values: &rt<T::Scalar, M, P, Row>,
        indices: &rt<i32, M, P, Row>,
        base: u32,
    ) -> (rt<T::Scalar, M, P, Row>, rt<i32, M, P, Row>)
    where
        L: ElementWise,
    {
        self.top_k(Along::Rows, k, Some(Running { values: values.values(), indices: indices.values(), base }))
    }

    /// Gives the `k` largest elements of every column of this tile and of running ones, as [`col_topk`](rt::col_topk) does.
    ///
    /// As [`row_topk_with`](rt::row_topk_with), with rows in place of columns.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let x: rt<i32, 16, 16> = iota_rows(0);
    /// let (values, indices) = x.col_topk::<8>(2);
    /// let y: rt<i32, 16, 16> = fill(14);
    /// let (values, indices) = y.col_topk_with(2, &values, &indices, 16);
    /// assert_eq!((values.get(0, 3), indices.get(0, 3)), (15, 15));
    /// assert_eq!((values.get(1, 3), indices.get(1, 3)), (14, 14)); // of equal elements the lower index
    /// ```
    ///
    /// # Panics
    /// When `k` is 0, above 32 or above P.
    #[inline(never)]
    pub fn col_topk_with<const P: usize>(
        &self,
        k: usize,
        values: &rt<T::Scalar, P, N, Row>,
        indices: &rt<i32, P, N, Row>,
        base: u32,
    ) -> (rt<T::Scalar, P, N, Row>, rt<i32, P, N, Row>)
    where
        L: ElementWise,
    {
        self.top_k(Along::Cols, k, Some(Running { values: values.values(), indices: indices.values(), base }))
    }

    fn top_k<const R: usize, const C: usize>(
        &self,
        along: Along,
        k: usize,
        running: Option<Running<'_>>,
    ) -> (rt<T::Scalar, R, C, Row>, rt<i32, R, C, Row>) {
        let mut values: rt<T::Scalar, R, C, Row> = rt::build(|tile| tile.zero());
        let mut indices: rt<i32, R, C, Row> = rt::build(|tile| tile.zero());
        let lines = Lines::new(along, (M, N), (R, C));
        let out = (values.values_mut(), indices.values_mut());
        topk::best(T::DTYPE, &lines, k, self.values(), running, out);
        (values, indices)
    }
}
