//! Owns the reductions of vectors to scalars, the positions of extremes, and the changes of a vector's encoding.
//!
//! *Guarantees*: `reduce_sum` and its kin combine elements in the order that `tile_ir::ops::reduce` fixes for one row, on every CPU.
//! *Not here*: the loops (`simd::reduce`, `simd::position`).

use tile_ir::ir::{Extreme, Reduction};
use tile_ir::types::Along;

use crate::element::Arithmetic;
use crate::operand::{ElementWise, OnePerCol, OnePerRow};
use crate::simd::position::position;
use crate::tile::rt;
use crate::tile::sealed::Sealed as _;
use crate::vector::sealed::Values as _;
use crate::vector::{Encoding, PerCol, PerRow, rv};

macro_rules! reductions {
    ($( $how:ident $what:literal $name:ident $example:literal; )+) => {
        impl<T: Arithmetic, const N: usize, E: Encoding> rv<T, N, E> {
            $(
                #[doc = concat!("Gives ", $what, " of a vector, as f32, or as i32 for integers.")]
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let v: rv<bf16, 24, PerRow> = fill(2.0);
                #[doc = concat!("assert_eq!(v.", stringify!($name), "(), [2f32; 24].into_iter().", $example, ");")]
                /// ```
                #[inline(never)]
                pub fn $name(&self) -> T::Scalar {
                    let one: rv<T::Scalar, 1, PerRow> =
                        rv::build(|v| v.reduced::<T>(Reduction::$how, Along::Rows, (1, N), self.values(), None));
                    T::scalar_of(one.block.0[0][0])
                }
            )+
        }

        /// The names of the reductions of vectors.
        pub const REDUCTIONS: &[&str] = &[$( stringify!($name) ),+];
    };
}
reductions! {
    Max "the largest element, NaN only if all are," reduce_max "fold(f32::NAN, f32::max)";
    Min "the smallest element, NaN only if all are," reduce_min "fold(f32::NAN, f32::min)";
    Sum "the sum" reduce_sum "sum::<f32>()";
    Prod "the product" reduce_prod "product::<f32>()";
}

macro_rules! positions {
    ($( $how:ident $what:literal $name:ident $row:ident $col:ident; )+) => {
        impl<T: Arithmetic, const N: usize, E: Encoding> rv<T, N, E> {
            $(
                #[doc = concat!("Gives the index of the ", $what, " element, of equal ones the first. NaN loses to every number.")]
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let v: rv<f32, 16, PerCol> = load_vec(&gl::of(&[2f32, 7.0, f32::NAN, 7.0, -1.0, -1.0], 1, 6).expect("6 are there"), [0, 0]);
                #[doc = concat!("assert!([1, 4].contains(&v.", stringify!($name), "()));")]
                /// ```
                #[inline(never)]
                pub fn $name(&self) -> i32 {
                    position::<T>(Extreme::$how, self.values())
                }
            )+
        }

        impl<T: Arithmetic, const M: usize, const N: usize, L> rt<T, M, N, L> {
            $(
                #[doc = concat!("Gives the column of the ", $what, " element of every row, of equal ones the first. NaN loses to every number.")]
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let x: rt<f32, 8, 16> = iota_cols(0.0);
                #[doc = concat!("let v: rv<i32, 8, PerRow> = x.sub(5.0).abs().neg().", stringify!($row), "();")]
                #[doc = concat!("assert!([5, 15].contains(&v.get(7)));")]
                /// ```
                #[inline(never)]
                pub fn $row(&self) -> rv<i32, M, PerRow>
                where
                    L: ElementWise,
                {
                    rv::build(|v| v.positions::<T>(Extreme::$how, Along::Rows, N, self.values()))
                }

                #[doc = concat!("Gives the row of the ", $what, " element of every column, of equal ones the first. NaN loses to every number.")]
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let x: rt<f32, 8, 16> = iota_rows(0.0);
                #[doc = concat!("let v: rv<i32, 16, PerCol> = x.sub(5.0).abs().neg().", stringify!($col), "();")]
                #[doc = concat!("assert!([5, 0].contains(&v.get(15)));")]
                /// ```
                #[inline(never)]
                pub fn $col(&self) -> rv<i32, N, PerCol>
                where
                    L: ElementWise,
                {
                    rv::build(|v| v.positions::<T>(Extreme::$how, Along::Cols, N, self.values()))
                }
            )+
        }

        /// The names of the methods of tiles that give positions.
        pub const POSITIONS: &[&str] = &[$( stringify!($row), stringify!($col) ),+];
    };
}
positions! {
    Max "largest" argmax row_argmax col_argmax;
    Min "smallest" argmin row_argmin col_argmin;
}

impl<T: Arithmetic, const N: usize, E: Encoding> rv<T, N, E> {
    /// Gives the elements of a `PerCol` vector, in order, as a `PerRow` vector.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let v: rv<f32, 16, PerCol> = iota(0.0);
    /// let x: rt<f32, 16, 16> = zeros();
    /// assert_eq!(x.add_row(&v.to_per_row()).get(5, 0), 5.0);
    /// ```
    #[inline(never)]
    pub fn to_per_row(&self) -> rv<T, N, PerRow>
    where
        E: OnePerCol,
    {
        rv::build(|v| v.converted::<T, T>(self.values()))
    }

    /// Gives the elements of a `PerRow` vector, in order, as a `PerCol` vector.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let v: rv<f32, 16, PerRow> = iota(0.0);
    /// let x: rt<f32, 16, 16> = zeros();
    /// assert_eq!(x.add_col(&v.to_per_col()).get(0, 5), 5.0);
    /// ```
    #[inline(never)]
    pub fn to_per_col(&self) -> rv<T, N, PerCol>
    where
        E: OnePerRow,
    {
        rv::build(|v| v.converted::<T, T>(self.values()))
    }
}
