//! Owns the ops that compare elements and choose among them, positions, and element-wise ops of three operands.
//!
//! A mask is a tile or vector of `bool` that only comparisons make: it combines with other masks and chooses elements, and
//! it has no numbers. *Guarantees*: comparisons mean what Rust's operators mean, NaN included.
//! *Not here*: the loops (`simd::selection`), masks by position (`mask`).

use tile_ir::ir::Logic;
use tile_ir::map::MapTernary;
use tile_ir::scalar::Compare;
use tile_ir::{for_each_map_compare, for_each_map_ternary};

use crate::element::{Arithmetic, Element};
use crate::operand::{ColCount, Counted, ElementWise, OnePerCol, OnePerRow, Operand, RowCount, Spread};
use crate::role::{Role, Row};
use crate::simd::map::Right;
use crate::tile::sealed::Sealed as _;
use crate::tile::{Dim, rt};
use crate::vector::sealed::Values as _;
use crate::vector::{Encoding, Vector, rv};

macro_rules! ternary {
    ($( $(#[$doc:meta])+ $V:ident { name: $name:ident, $($column:tt)* } )+) => {
        impl<T: Element, const M: usize, const N: usize, L> rt<T, M, N, L> {
            $(
                $(#[$doc])+
                ///
                /// Each operand is a reference to a tile of the same type, or a scalar for all elements.
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let (x, y): (rt<f32, 8, 16>, rt<f32, 8, 16>) = (fill(3.0), fill(0.5));
                #[doc = concat!("assert_eq!(x.", stringify!($name), "(&y, 1.0).get(7, 15), 2.5);")]
                /// ```
                #[inline(never)]
                pub fn $name<A: Operand<Self>, B: Operand<Self>>(&self, a: A, b: B) -> Self
                where
                    L: ElementWise,
                {
                    rt::build(|tile| {
                        a.apply(|a| b.apply(|b| tile.ternary::<T>(MapTernary::$V, self.values(), a, b)))
                    })
                }
            )+
        }

        impl<T: Element, const N: usize, E: Encoding> rv<T, N, E> {
            $(
                $(#[$doc])+
                ///
                /// Each operand is a reference to a vector of the same type, or a scalar for all elements.
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let (v, w): (rv<f32, 8>, rv<f32, 8>) = (fill(3.0), fill(0.5));
                #[doc = concat!("assert_eq!(v.", stringify!($name), "(&w, 1.0).get(7), 2.5);")]
                /// ```
                #[inline(never)]
                pub fn $name<A: Operand<Self>, B: Operand<Self>>(&self, a: A, b: B) -> Self {
                    rv::build(|vector| {
                        a.apply(|a| b.apply(|b| vector.ternary::<T>(MapTernary::$V, self.values(), a, b)))
                    })
                }
            )+
        }

        /// The names of the methods of three operands.
        pub const TERNARY: &[&str] = &[$(stringify!($name)),+];
    };
}
for_each_map_ternary!(ternary);

macro_rules! compare {
    ($( $(#[$doc:meta])+ $V:ident { name: $name:ident } )+) => {
        impl<T: Arithmetic, const M: usize, const N: usize, L> rt<T, M, N, L> {
            $(
                $(#[$doc])+
                ///
                /// The other operand is a reference to a tile of the same type, or a scalar for all elements.
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let x: rt<f32, 8, 16> = iota_cols(0.0);
                #[doc = concat!("let mask: rt<bool, 8, 16> = x.", stringify!($name), "(3.0);")]
                #[doc = concat!("assert_eq!(mask.get(7, 2), 2f32.", stringify!($name), "(&3.0));")]
                /// ```
                #[inline(never)]
                pub fn $name<R: Operand<Self>>(&self, right: R) -> rt<bool, M, N>
                where
                    L: ElementWise,
                {
                    rt::build(|mask| right.apply(|right| mask.compared::<T>(Compare::$V, self.values(), right)))
                }
            )+
        }

        impl<T: Arithmetic, const N: usize, E: Encoding> rv<T, N, E> {
            $(
                $(#[$doc])+
                ///
                /// The other operand is a reference to a vector of the same type, or a scalar for all elements.
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let v: rv<f32, 16, PerCol> = iota(0.0);
                #[doc = concat!("let mask: rv<bool, 16, PerCol> = v.", stringify!($name), "(3.0);")]
                #[doc = concat!("assert_eq!(mask.get(2), 2f32.", stringify!($name), "(&3.0));")]
                /// ```
                #[inline(never)]
                pub fn $name<R: Operand<Self>>(&self, right: R) -> rv<bool, N, E> {
                    rv::build(|mask| right.apply(|right| mask.compared::<T>(Compare::$V, self.values(), right)))
                }
            )+
        }

        $( broadcast! { $name $V } )+

        /// The names of the comparisons, each followed by its broadcasting forms: `lt`, `lt_row`, `lt_col`, …
        pub const COMPARISONS: &[&str] = &[$(
            stringify!($name),
            concat!(stringify!($name), "_row"),
            concat!(stringify!($name), "_col")
        ),+];
    };
}

/// Names the broadcasting forms of a row: macros cannot join identifiers. A row without a line here does not compile.
macro_rules! broadcast {
    (lt $V:ident) => { broadcast!(lt lt_row lt_col $V); };
    (le $V:ident) => { broadcast!(le le_row le_col $V); };
    (gt $V:ident) => { broadcast!(gt gt_row gt_col $V); };
    (ge $V:ident) => { broadcast!(ge ge_row ge_col $V); };
    (eq $V:ident) => { broadcast!(eq eq_row eq_col $V); };
    (ne $V:ident) => { broadcast!(ne ne_row ne_col $V); };
    ($name:ident $by_row:ident $by_col:ident $V:ident) => {
        impl<T: Arithmetic, const M: usize, const N: usize, L> rt<T, M, N, L> {
            #[doc = concat!("Compares every element with the vector's element of its row, as `", stringify!($name), "` does.")]
            ///
            /// ```
            /// use tile_lang::prelude::*;
            ///
            /// let x: rt<f32, 8, 16> = fill(3.0);
            /// let v: rv<f32, 8, PerRow> = iota(0.0);
            #[doc = concat!("assert_eq!(x.", stringify!($by_row), "(&v).get(2, 15), 3f32.", stringify!($name), "(&2.0));")]
            /// ```
            #[inline(never)]
            pub fn $by_row<V: Vector>(&self, vector: &V) -> rt<bool, M, N>
            where
                L: ElementWise,
                V::Element: Spread<T>,
                V::Encoding: OnePerRow,
                V::Len: RowCount<Dim<M>>,
            {
                rt::build(|mask| mask.compared::<T>(Compare::$V, self.values(), Right::PerRow(vector.values())))
            }

            #[doc = concat!("Compares every element with the vector's element of its column, as `", stringify!($name), "` does.")]
            ///
            /// ```
            /// use tile_lang::prelude::*;
            ///
            /// let x: rt<f32, 8, 16> = fill(3.0);
            /// let v: rv<f32, 16, PerCol> = iota(0.0);
            #[doc = concat!("assert_eq!(x.", stringify!($by_col), "(&v).get(7, 2), 3f32.", stringify!($name), "(&2.0));")]
            /// ```
            #[inline(never)]
            pub fn $by_col<V: Vector>(&self, vector: &V) -> rt<bool, M, N>
            where
                L: ElementWise,
                V::Element: Spread<T>,
                V::Encoding: OnePerCol,
                V::Len: ColCount<Dim<N>>,
            {
                rt::build(|mask| mask.compared::<T>(Compare::$V, self.values(), Right::PerCol(vector.values())))
            }
        }
    };
}
for_each_map_compare!(compare);

/// The names of the methods of masks.
pub const MASK_METHODS: &[&str] = &["and", "or", "xor", "not", "any", "select"];

/// The combinations of masks, on tiles and on vectors.
macro_rules! logic {
    ($($V:ident $name:ident $what:literal $want:literal;)+) => {
        impl<const M: usize, const N: usize> rt<bool, M, N, Row> {
            $(
                #[doc = concat!("The mask that is true where ", $what)]
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let x: rt<f32, 8, 16> = iota_cols(0.0);
                #[doc = concat!("let mask = x.gt(2.0).", stringify!($name), "(&x.lt(5.0));")]
                #[doc = concat!("assert_eq!([mask.get(0, 0), mask.get(0, 3), mask.get(0, 9)], ", $want, ");")]
                /// ```
                #[inline(never)]
                pub fn $name(&self, other: &Self) -> Self {
                    rt::build(|mask| mask.combined(Logic::$V, self.values(), other.values()))
                }
            )+
        }

        impl<const N: usize, E: Encoding> rv<bool, N, E> {
            $(
                #[doc = concat!("The mask that is true where ", $what)]
                ///
                /// ```
                /// use tile_lang::prelude::*;
                ///
                /// let v: rv<f32, 16, PerCol> = iota(0.0);
                #[doc = concat!("let mask = v.gt(2.0).", stringify!($name), "(&v.lt(5.0));")]
                #[doc = concat!("assert_eq!([mask.get(0), mask.get(3), mask.get(9)], ", $want, ");")]
                /// ```
                #[inline(never)]
                pub fn $name(&self, other: &Self) -> Self {
                    rv::build(|mask| mask.combined(Logic::$V, self.values(), other.values()))
                }
            )+
        }
    };
}
logic! {
    And and "both are." "[false, true, false]";
    Or or "one of two is." "[true, true, true]";
    Xor xor "just one of two is." "[true, false, true]";
}

impl<const M: usize, const N: usize> rt<bool, M, N, Row> {
    /// Reads one element, for tests and debugging on the host.
    ///
    /// # Panics
    /// When `row >= M` or `col >= N`.
    pub fn get(&self, row: usize, col: usize) -> bool {
        self.block.0[row][col].to_bits() != 0
    }

    /// The mask that is true where this one is false.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let x: rt<f32, 8, 16> = iota_cols(0.0);
    /// let mask = x.lt(3.0).not();
    /// assert_eq!((mask.get(7, 2), mask.get(7, 3)), (false, true));
    /// ```
    #[inline(never)]
    #[allow(clippy::should_implement_trait, reason = "kernels call it as a method, beside `and` and `or`")]
    pub fn not(&self) -> Self {
        rt::build(|mask| mask.complemented(self.values()))
    }

    /// Says whether the mask is true for any element: a scalar that `if` takes.
    ///
    /// The elements of a tile or vector that lie outside its tensor count too: they were loaded as 0.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let x: rt<f32, 8, 16> = iota_cols(0.0);
    /// assert!(x.gt(14.0).any());
    /// assert!(!x.gt(15.0).any());
    /// ```
    #[inline(never)]
    pub fn any(&self) -> bool {
        self.values().iter().any(|element| element.to_bits() != 0)
    }

    /// The elements of `yes` where the mask is true, and of `no` elsewhere: a tile of the same type, or a scalar, which is
    /// rounded to the element type.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let x: rt<f32, 8, 16> = iota_cols(0.0);
    /// let y = x.lt(3.0).select(&x, -1.0);
    /// assert_eq!((y.get(7, 2), y.get(7, 3)), (2.0, -1.0));
    /// ```
    #[inline(never)]
    pub fn select<T: Arithmetic, L: Role + ElementWise, R: Operand<rt<T, M, N, L>>>(
        &self,
        yes: &rt<T, M, N, L>,
        no: R,
    ) -> rt<T, M, N, L> {
        rt::build(|tile| no.apply(|no| tile.selected::<T>(self.values(), yes.values(), no)))
    }
}

impl<const N: usize, E: Encoding> rv<bool, N, E> {
    /// Reads one element, for tests and debugging on the host.
    ///
    /// # Panics
    /// When `index >= N`.
    pub fn get(&self, index: usize) -> bool {
        self.block.0[0][index].to_bits() != 0
    }

    /// The mask that is true where this one is false.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let v: rv<f32, 16, PerCol> = iota(0.0);
    /// let mask = v.lt(3.0).not();
    /// assert_eq!((mask.get(2), mask.get(3)), (false, true));
    /// ```
    #[inline(never)]
    #[allow(clippy::should_implement_trait, reason = "kernels call it as a method, beside `and` and `or`")]
    pub fn not(&self) -> Self {
        rv::build(|mask| mask.complemented(self.values()))
    }

    /// Says whether the mask is true for any element: a scalar that `if` takes.
    ///
    /// The elements of a tile or vector that lie outside its tensor count too: they were loaded as 0.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let v: rv<f32, 16, PerCol> = iota(0.0);
    /// assert!(v.gt(14.0).any());
    /// assert!(!v.gt(15.0).any());
    /// ```
    #[inline(never)]
    pub fn any(&self) -> bool {
        self.values().iter().any(|element| element.to_bits() != 0)
    }

    /// The elements of `yes` where the mask is true, and of `no` elsewhere: a vector of the same type, or a scalar, which is
    /// rounded to the element type.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let v: rv<f32, 16, PerCol> = iota(0.0);
    /// let w = v.lt(3.0).select(&v, -1.0);
    /// assert_eq!((w.get(2), w.get(3)), (2.0, -1.0));
    /// ```
    #[inline(never)]
    pub fn select<T: Arithmetic, R: Operand<rv<T, N, E>>>(&self, yes: &rv<T, N, E>, no: R) -> rv<T, N, E> {
        rv::build(|vector| no.apply(|no| vector.selected::<T>(self.values(), yes.values(), no)))
    }
}

/// Makes a vector of positions: `start`, `start + 1`, `start + 2`, …, each sum rounded once.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let columns: rv<f32, 16, PerCol> = iota(32.0);
/// assert_eq!((columns.get(0), columns.get(15)), (32.0, 47.0));
/// let indices: rv<i32, 8, PerRow> = iota(-3);
/// assert_eq!((indices.get(0), indices.get(7)), (-3, 4));
/// ```
#[inline(never)]
pub fn iota<T: Counted, const N: usize, E: Encoding>(start: T) -> rv<T, N, E> {
    rv::build(|vector| vector.counted(false, start))
}

/// Makes a tile whose elements are `start` plus their row in the tile.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let rows: rt<f32, 8, 16> = iota_rows(8.0);
/// assert_eq!((rows.get(0, 9), rows.get(7, 9)), (8.0, 15.0));
/// ```
#[inline(never)]
pub fn iota_rows<T: Counted, const M: usize, const N: usize, L: ElementWise>(start: T) -> rt<T, M, N, L> {
    rt::build(|tile| tile.counted(true, start))
}

/// Makes a tile whose elements are `start` plus their column in the tile.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let columns: rt<f32, 8, 16> = iota_cols(16.0);
/// assert_eq!((columns.get(7, 0), columns.get(7, 15)), (16.0, 31.0));
/// ```
#[inline(never)]
pub fn iota_cols<T: Counted, const M: usize, const N: usize, L: ElementWise>(start: T) -> rt<T, M, N, L> {
    rt::build(|tile| tile.counted(false, start))
}
