//! Owns the reductions of tiles to vectors.
//!
//! *Guarantees*: elements combine in the order that `tile_ir::ops::reduce` fixes, in f32 (or i32), on every CPU.
//! *Not here*: the loops (`simd::reduce`).

use tile_ir::ir::Reduction;
use tile_ir::types::Along;

use crate::element::Arithmetic;
use crate::operand::{ColCount, ElementWise, OnePerCol, OnePerRow, RowCount, Spread};
use crate::tile::sealed::Sealed as _;
use crate::tile::{Dim, rt};
use crate::vector::{PerCol, PerRow, Vector, rv};

macro_rules! reductions {
    ($( $how:ident $what:literal $row:ident $row_with:ident $col:ident $col_with:ident $example:literal; )+) => {
        impl<T: Arithmetic, const M: usize, const N: usize, L> rt<T, M, N, L> {
            $(
                #[doc = concat!("Gives ", $what, " of every row.")]
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let x: rt<f32, 8, 16> = fill(2.0);
                #[doc = concat!("let v: rv<f32, 8, PerRow> = x.", stringify!($row), "();")]
                #[doc = concat!("assert_eq!(v.get(7), [2f32; 16].into_iter().", $example, ");")]
                /// ```
                #[inline(never)]
                pub fn $row(&self) -> rv<T::Scalar, M, PerRow>
                where
                    L: ElementWise,
                {
                    rv::build(|v| v.reduced::<T>(Reduction::$how, Along::Rows, (M, N), self.values(), None))
                }

                #[doc = concat!("Continues a running value with ", $what, " of every row.")]
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let x: rt<f32, 8, 16> = fill(2.0);
                #[doc = concat!("let v: rv<f32, 8, PerRow> = x.", stringify!($row), "();")]
                #[doc = concat!("let w: rv<f32, 8, PerRow> = x.", stringify!($row_with), "(&v);")]
                #[doc = concat!("assert_eq!(w.get(7), [2f32; 32].into_iter().", $example, ");")]
                /// ```
                #[inline(never)]
                pub fn $row_with<V: Vector>(&self, running: &V) -> rv<T::Scalar, M, PerRow>
                where
                    L: ElementWise,
                    V::Element: Spread<T>,
                    V::Encoding: OnePerRow,
                    V::Len: RowCount<Dim<M>>,
                {
                    let running = Some(running.values());
                    rv::build(|v| v.reduced::<T>(Reduction::$how, Along::Rows, (M, N), self.values(), running))
                }

                #[doc = concat!("Gives ", $what, " of every column.")]
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let x: rt<f32, 8, 16> = fill(2.0);
                #[doc = concat!("let v: rv<f32, 16, PerCol> = x.", stringify!($col), "();")]
                #[doc = concat!("assert_eq!(v.get(15), [2f32; 8].into_iter().", $example, ");")]
                /// ```
                #[inline(never)]
                pub fn $col(&self) -> rv<T::Scalar, N, PerCol>
                where
                    L: ElementWise,
                {
                    rv::build(|v| v.reduced::<T>(Reduction::$how, Along::Cols, (M, N), self.values(), None))
                }

                #[doc = concat!("Continues a running value with ", $what, " of every column.")]
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let x: rt<f32, 8, 16> = fill(2.0);
                #[doc = concat!("let v: rv<f32, 16, PerCol> = x.", stringify!($col), "();")]
                #[doc = concat!("let w: rv<f32, 16, PerCol> = x.", stringify!($col_with), "(&v);")]
                #[doc = concat!("assert_eq!(w.get(15), [2f32; 16].into_iter().", $example, ");")]
                /// ```
                #[inline(never)]
                pub fn $col_with<V: Vector>(&self, running: &V) -> rv<T::Scalar, N, PerCol>
                where
                    L: ElementWise,
                    V::Element: Spread<T>,
                    V::Encoding: OnePerCol,
                    V::Len: ColCount<Dim<N>>,
                {
                    let running = Some(running.values());
                    rv::build(|v| v.reduced::<T>(Reduction::$how, Along::Cols, (M, N), self.values(), running))
                }
            )+
        }

        /// The names of the reductions; each has a form with a running value, whose name ends in `_with`.
        pub const REDUCTIONS: &[&str] = &[$(
            stringify!($row), stringify!($row_with), stringify!($col), stringify!($col_with)
        ),+];
    };
}
reductions! {
    Max "the largest element, NaN only if all are," row_max row_max_with col_max col_max_with "fold(f32::NAN, f32::max)";
    Min "the smallest element, NaN only if all are," row_min row_min_with col_min col_min_with "fold(f32::NAN, f32::min)";
    Sum "the sum" row_sum row_sum_with col_sum col_sum_with "sum::<f32>()";
    Prod "the product" row_prod row_prod_with col_prod col_prod_with "product::<f32>()";
}
