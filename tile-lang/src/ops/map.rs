//! Owns the element-wise ops: one method per row of the tables in `tile_ir::map`, on tiles and on vectors.
//!
//! *Guarantees*: results of f32 are within the `ulp` of the op's row; results of 16-bit types are computed in f32 and
//! rounded once. *Not here*: what an op computes (`tile_ir::map`), its loops (`simd::map`).

use tile_ir::map::{MapBinary, MapUnary};
use tile_ir::{for_each_map_binary, for_each_map_unary};

use crate::element::{AnyElement, Arithmetic, Element};
use crate::operand::{ColCount, ElementWise, OnePerCol, OnePerRow, Operand, RowCount, Spread};
use crate::simd::map::Right;
use crate::tile::sealed::Sealed as _;
use crate::tile::{Dim, rt};
use crate::vector::sealed::Values as _;
use crate::vector::{Encoding, Vector, rv};

macro_rules! unary {
    ($( $(#[$doc:meta])+ $V:ident { name: $name:ident, of: $of:ident, $($column:tt)* } )+) => {
        impl<T: AnyElement, const M: usize, const N: usize, L> rt<T, M, N, L> {
            $(
                $(#[$doc])+
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let x: rt<f32, 8, 16> = fill(0.75);
                #[doc = concat!("assert_eq!(x.", stringify!($name), "().get(7, 15), tile_lang::scalar::", stringify!($name), "(0.75f32));")]
                /// ```
                #[inline(never)]
                pub fn $name(&self) -> Self
                where
                    T: $of,
                    L: ElementWise,
                {
                    rt::build(|tile| tile.unary::<T>(MapUnary::$V, self.values()))
                }
            )+
        }

        impl<T: AnyElement, const N: usize, E: Encoding> rv<T, N, E> {
            $(
                $(#[$doc])+
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let v: rv<f32, 16, PerCol> = fill(0.75);
                #[doc = concat!("assert_eq!(v.", stringify!($name), "().get(15), tile_lang::scalar::", stringify!($name), "(0.75f32));")]
                /// ```
                #[inline(never)]
                pub fn $name(&self) -> Self
                where
                    T: $of,
                {
                    rv::build(|vector| vector.unary::<T>(MapUnary::$V, self.values()))
                }
            )+
        }

        /// The names of the methods of one operand.
        pub const UNARY: &[&str] = &[$(stringify!($name)),+];
    };
}
for_each_map_unary!(unary);

macro_rules! binary {
    ($( $(#[$doc:meta])+ $V:ident { name: $name:ident, of: $of:ident, $($column:tt)* } )+) => {
        impl<T: AnyElement, const M: usize, const N: usize, L> rt<T, M, N, L> {
            $(
                $(#[$doc])+
                ///
                /// The right operand is a reference to a tile of the same type, or a scalar (f32, beside i32 elements i32) for all.
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let (x, y): (rt<f32, 8, 16>, rt<f32, 8, 16>) = (fill(0.75), fill(0.5));
                #[doc = concat!("assert_eq!(x.", stringify!($name), "(&y).get(7, 15), x.", stringify!($name), "(0.5).get(0, 0));")]
                /// ```
                #[inline(never)]
                pub fn $name<R: Operand<Self>>(&self, right: R) -> Self
                where
                    T: $of,
                    L: ElementWise,
                {
                    rt::build(|tile| right.apply(|right| tile.binary::<T>(MapBinary::$V, self.values(), right)))
                }
            )+
        }

        impl<T: AnyElement, const N: usize, E: Encoding> rv<T, N, E> {
            $(
                $(#[$doc])+
                ///
                /// The right operand is a reference to a vector of the same type, or a scalar (f32, beside i32 elements i32) for all.
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let (v, w): (rv<f32, 8>, rv<f32, 8>) = (fill(0.75), fill(0.5));
                #[doc = concat!("assert_eq!(v.", stringify!($name), "(&w).get(7), v.", stringify!($name), "(0.5).get(0));")]
                /// ```
                #[inline(never)]
                pub fn $name<R: Operand<Self>>(&self, right: R) -> Self
                where
                    T: $of,
                {
                    rv::build(|vector| right.apply(|right| vector.binary::<T>(MapBinary::$V, self.values(), right)))
                }
            )+
        }

        $( broadcast! { $name $V $of } )+

        /// The names of the methods of two operands, each followed by its broadcasting forms: `add`, `add_row`,
        /// `add_col`, …
        pub const BINARY: &[&str] = &[$(
            stringify!($name),
            concat!(stringify!($name), "_row"),
            concat!(stringify!($name), "_col")
        ),+];
    };
}

/// Names the broadcasting forms of a row: macros cannot join identifiers. A row without a line here does not compile.
macro_rules! broadcast {
    (add $V:ident $of:ident) => { broadcast!(add add_row add_col $V $of); };
    (sub $V:ident $of:ident) => { broadcast!(sub sub_row sub_col $V $of); };
    (mul $V:ident $of:ident) => { broadcast!(mul mul_row mul_col $V $of); };
    (div $V:ident $of:ident) => { broadcast!(div div_row div_col $V $of); };
    (min $V:ident $of:ident) => { broadcast!(min min_row min_col $V $of); };
    (max $V:ident $of:ident) => { broadcast!(max max_row max_col $V $of); };
    ($name:ident $by_row:ident $by_col:ident $V:ident $of:ident) => {
        impl<T: $of, const M: usize, const N: usize, L> rt<T, M, N, L> {
            #[doc = concat!("Applies `", stringify!($name), "` to every element and the vector's element of its row.")]
            ///
            /// ```
            /// use tile_lang::prelude::*;
            ///
            /// let x: rt<f32, 8, 16> = fill(0.75);
            /// let v: rv<f32, 8, PerRow> = fill(0.5);
            #[doc = concat!("assert_eq!(x.", stringify!($by_row), "(&v).get(7, 15), x.", stringify!($name), "(0.5).get(7, 15));")]
            /// ```
            #[inline(never)]
            pub fn $by_row<V: Vector>(&self, vector: &V) -> Self
            where
                L: ElementWise,
                V::Element: Spread<T>,
                V::Encoding: OnePerRow,
                V::Len: RowCount<Dim<M>>,
            {
                rt::build(|tile| tile.binary::<T>(MapBinary::$V, self.values(), Right::PerRow(vector.values())))
            }

            #[doc = concat!("Applies `", stringify!($name), "` to every element and the vector's element of its column.")]
            ///
            /// ```
            /// use tile_lang::prelude::*;
            ///
            /// let x: rt<f32, 8, 16> = fill(0.75);
            /// let v: rv<f32, 16, PerCol> = fill(0.5);
            #[doc = concat!("assert_eq!(x.", stringify!($by_col), "(&v).get(7, 15), x.", stringify!($name), "(0.5).get(7, 15));")]
            /// ```
            #[inline(never)]
            pub fn $by_col<V: Vector>(&self, vector: &V) -> Self
            where
                L: ElementWise,
                V::Element: Spread<T>,
                V::Encoding: OnePerCol,
                V::Len: ColCount<Dim<N>>,
            {
                rt::build(|tile| tile.binary::<T>(MapBinary::$V, self.values(), Right::PerCol(vector.values())))
            }
        }
    };
}
for_each_map_binary!(binary);
