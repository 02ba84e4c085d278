//! Owns the ops that make a tile or a vector from nothing.
//!
//! What they make is the type that is written: `let v: rv<f32, 32> = zeros();`.
//! *Not here*: loads (`memory`, `vector`).

use crate::element::{AnyElement, Arithmetic};
use crate::operand::FilledWith;
use crate::role::Zeroed;
use crate::tile::rt;
use crate::vector::{Encoding, rv};

mod sealed {
    use super::{rt, rv};

    pub trait Sealed {}
    impl<T, const M: usize, const N: usize, L> Sealed for rt<T, M, N, L> {}
    impl<T, const N: usize, E> Sealed for rv<T, N, E> {}
}

/// A type that [`zeros`] makes: a tile or a vector.
#[diagnostic::on_unimplemented(
    message = "`zeros` makes tiles and vectors, but here `{Self}` is asked for",
    label = "neither a tile nor a vector",
    note = "write its type: `let x: rt<T, ROWS, COLS> = zeros();` or `let v: rv<T, LEN, PerRow> = zeros();`"
)]
pub trait FromZeros: sealed::Sealed {
    #[doc(hidden)]
    fn from_zeros() -> Self;
}

impl<T: AnyElement, const M: usize, const N: usize, L: Zeroed<T>> FromZeros for rt<T, M, N, L> {
    #[inline(always)]
    fn from_zeros() -> Self {
        rt::build(|tile| tile.zero())
    }
}

impl<T: Arithmetic, const N: usize, E: Encoding> FromZeros for rv<T, N, E> {
    #[inline(always)]
    fn from_zeros() -> Self {
        rv::build(|vector| vector.zero())
    }
}

/// Makes a tile or a vector of zeros.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let acc: rt<f32, 8, 16, Acc> = zeros();
/// assert_eq!(acc.get(7, 15), 0.0);
/// let sums: rv<f32, 8, PerRow> = zeros();
/// assert_eq!(sums.get(7), 0.0);
/// ```
#[inline(never)]
pub fn zeros<V: FromZeros>() -> V {
    V::from_zeros()
}

/// A type that [`fill`] makes: a tile or a vector.
#[diagnostic::on_unimplemented(
    message = "`fill` makes tiles and vectors, but here `{Self}` is asked for",
    label = "neither a tile nor a vector",
    note = "write its type: `let x: rt<T, ROWS, COLS> = fill(0.5);` or `let v: rv<T, LEN, PerRow> = fill(0.5);`"
)]
pub trait FromFill: sealed::Sealed {
    /// What its elements are filled from: f32, or i32 for integers.
    type Scalar;
    #[doc(hidden)]
    fn from_fill(value: Self::Scalar) -> Self;
}

impl<T: Arithmetic, const M: usize, const N: usize, L: FilledWith<T>> FromFill for rt<T, M, N, L> {
    type Scalar = T::Scalar;
    #[inline(always)]
    fn from_fill(value: T::Scalar) -> Self {
        rt::build(|tile| tile.filled::<T>(value))
    }
}

impl<T: Arithmetic, const N: usize, E: Encoding> FromFill for rv<T, N, E> {
    type Scalar = T::Scalar;
    #[inline(always)]
    fn from_fill(value: T::Scalar) -> Self {
        rv::build(|vector| vector.filled::<T>(value))
    }
}

/// Makes a tile or a vector whose every element is `value`, rounded to its element type.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let least: rv<f32, 8, PerRow> = fill(f32::NEG_INFINITY);
/// assert_eq!(least.get(0), f32::NEG_INFINITY);
/// let tile: rt<bf16, 8, 16> = fill(1.00390625); // 1 + 2^-8 lies between two bf16 values and ties to even
/// assert_eq!(tile.get(7, 15), 1.0);
/// let none: rv<i32, 16, PerCol> = fill(-1);
/// assert_eq!(none.get(3), -1);
/// ```
#[inline(never)]
pub fn fill<V: FromFill>(value: V::Scalar) -> V {
    V::from_fill(value)
}
