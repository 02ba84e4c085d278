//! Owns the rules of what element-wise ops, reductions, masks and fills take and make.
//!
//! As in `role`, a rule is a sealed trait whose only purpose is its error text. A rule that compares two operands has
//! [`Unknown`] as a second candidate, which keeps rustc from deriving one from the other and then reporting a bare
//! `expected 32, found 64`. *Not here*: the ops (`ops`), rules of the matrix multiply (`role`, `tile`).

use crate::element::{AnyElement, Arithmetic, Element, MmaInput};
use crate::role::{Acc, Role, Row, Vnni};
use crate::simd::map::Right;
use crate::tile::{Dim, Unknown, rt};
use crate::vector::{Encoding, PerCol, PerRow, rv};

pub(crate) mod sealed {
    use super::{Right, rt, rv};
    use crate::tile::sealed::Sealed as _;
    use crate::vector::sealed::Values as _;

    /// What a binary op does with its right operand.
    pub trait Sealed {
        /// Hands the operand to a body.
        fn apply<R>(self, body: impl FnOnce(Right<'_>) -> R) -> R;
    }

    impl<T, const M: usize, const N: usize, L> Sealed for &rt<T, M, N, L> {
        #[inline(always)]
        fn apply<R>(self, body: impl FnOnce(Right<'_>) -> R) -> R {
            body(Right::PerCol(self.values()))
        }
    }

    impl<T, const N: usize, E> Sealed for &rv<T, N, E> {
        #[inline(always)]
        fn apply<R>(self, body: impl FnOnce(Right<'_>) -> R) -> R {
            body(Right::PerCol(self.values()))
        }
    }

    impl Sealed for f32 {
        #[inline(always)]
        fn apply<R>(self, body: impl FnOnce(Right<'_>) -> R) -> R {
            body(Right::PerRow(&[self]))
        }
    }

    impl Sealed for i32 {
        #[inline(always)]
        fn apply<R>(self, body: impl FnOnce(Right<'_>) -> R) -> R {
            body(Right::PerRow(&[<i32 as crate::element::TileElement>::word_of(self)]))
        }
    }

    /// An integer that counts parts.
    pub trait Index: Copy {
        /// The number; one that no tile has for a negative or too large one.
        fn index(self) -> usize;
    }

    impl Index for usize {
        fn index(self) -> usize {
            self
        }
    }

    impl Index for u32 {
        fn index(self) -> usize {
            usize::try_from(self).unwrap_or(usize::MAX)
        }
    }

    impl Index for i32 {
        fn index(self) -> usize {
            usize::try_from(self).unwrap_or(usize::MAX)
        }
    }

    impl Index for u64 {
        fn index(self) -> usize {
            usize::try_from(self).unwrap_or(usize::MAX)
        }
    }
}

/// Integers that say which part of a tile: sizes, literals, and counters of unrolled loops.
#[diagnostic::on_unimplemented(
    message = "the number of a part of a tile is an integer, but this one is `{Self}`",
    label = "not an integer"
)]
pub trait PartIndex: sealed::Index {}
impl<I: sealed::Index> PartIndex for I {}

/// Roles of tiles for element-wise work.
#[diagnostic::on_unimplemented(
    message = "element-wise ops, reductions and masks work on `Row` and `Acc` tiles, but this one is a `{Self}` tile",
    label = "not a tile for element-wise work",
    note = "a packed operand cannot be changed: load the tensor with `load`, change the tile, then multiply with it"
)]
pub trait ElementWise: Role {}
impl ElementWise for Row {}
impl ElementWise for Acc {}

/// The right operand of an element-wise op whose left operand is `Left`: a reference to the same type, or a scalar: an
/// f32 beside floats, an i32 beside `i32`.
#[diagnostic::on_unimplemented(
    message = "the right operand of an element-wise op on `{Left}` is a reference to the same type, or an f32 (i32 beside i32), but this one is `{Self}`",
    label = "not a right operand",
    note = "borrow it: `x.add(&y)`; convert a number: `n as f32`",
    note = "a vector meets a tile in `add_row` (one element per row) or `add_col` (one per column)"
)]
pub trait Operand<Left>: sealed::Sealed {}

impl<T: Element, const M: usize, const N: usize, L> Operand<rt<T, M, N, L>> for f32 {}
impl<T: Element, const N: usize, E> Operand<rv<T, N, E>> for f32 {}
impl<const M: usize, const N: usize, L> Operand<rt<i32, M, N, L>> for i32 {}
impl<const N: usize, E> Operand<rv<i32, N, E>> for i32 {}

impl<T, U, const M: usize, const N: usize, const P: usize, const Q: usize, L, K> Operand<rt<T, M, N, L>>
    for &rt<U, P, Q, K>
where
    T: AnyElement,
    U: SameElement<T>,
    Dim<P>: SameRows<Dim<M>>,
    Dim<Q>: SameCols<Dim<N>>,
    K: SameRole<L>,
{
}

impl<T, U, const N: usize, const P: usize, E, F> Operand<rv<T, N, E>> for &rv<U, P, F>
where
    T: AnyElement,
    U: SameElement<T>,
    Dim<P>: SameLength<Dim<N>>,
    F: SameEncoding<E>,
{
}

/// Both operands have one element type.
#[diagnostic::on_unimplemented(
    message = "an element-wise op takes two operands of one element type, but the left one is of `{Left}` and the right one of `{Self}`",
    label = "the operands differ in their element type",
    note = "convert one of them first: `.to::<{Left}>()`"
)]
pub trait SameElement<Left>: AnyElement {}
impl<T: AnyElement> SameElement<T> for T {}
#[diagnostic::do_not_recommend]
impl<T: AnyElement> SameElement<Unknown> for T {}

/// Both tiles have as many rows.
#[diagnostic::on_unimplemented(
    message = "an element-wise op takes two tiles of one shape, but the left one's rows are `{Left}` and the right one's `{Self}`",
    label = "the tiles differ in their rows"
)]
pub trait SameRows<Left> {}
impl<const D: usize> SameRows<Dim<D>> for Dim<D> {}
#[diagnostic::do_not_recommend]
impl<const D: usize> SameRows<Unknown> for Dim<D> {}

/// Both tiles have as many columns.
#[diagnostic::on_unimplemented(
    message = "an element-wise op takes two tiles of one shape, but the left one's columns are `{Left}` and the right one's `{Self}`",
    label = "the tiles differ in their columns"
)]
pub trait SameCols<Left> {}
impl<const D: usize> SameCols<Dim<D>> for Dim<D> {}
#[diagnostic::do_not_recommend]
impl<const D: usize> SameCols<Unknown> for Dim<D> {}

/// Both tiles have one role.
#[diagnostic::on_unimplemented(
    message = "an element-wise op takes two tiles of one role, but the left one is a `{Left}` tile and the right one a `{Self}` tile",
    label = "the tiles differ in their role",
    note = "`.to::<T>()` makes a `Row` tile of an accumulator"
)]
pub trait SameRole<Left>: Role {}
impl<L: Role> SameRole<L> for L {}
#[diagnostic::do_not_recommend]
impl<L: Role> SameRole<Unknown> for L {}

/// Both vectors have one length.
#[diagnostic::on_unimplemented(
    message = "an element-wise op takes two vectors of one length, but the left one's is `{Left}` and the right one's `{Self}`",
    label = "the vectors differ in their length"
)]
pub trait SameLength<Left> {}
impl<const D: usize> SameLength<Dim<D>> for Dim<D> {}
#[diagnostic::do_not_recommend]
impl<const D: usize> SameLength<Unknown> for Dim<D> {}

/// Both vectors have one encoding.
#[diagnostic::on_unimplemented(
    message = "an element-wise op takes two vectors of one encoding, but the left one is `{Left}` and the right one `{Self}`",
    label = "the vectors differ in their encoding",
    note = "`PerRow` has one element per row of a tile, `PerCol` one per column"
)]
pub trait SameEncoding<Left>: Encoding {}
impl<E: Encoding> SameEncoding<E> for E {}
#[diagnostic::do_not_recommend]
impl<E: Encoding> SameEncoding<Unknown> for E {}

/// Element types of vectors that meet a tile.
#[diagnostic::on_unimplemented(
    message = "a vector that meets a tile of floats is of f32, and one that meets a tile of i32 is of i32, but this one is of `{Self}` and the tile of `{T}`",
    label = "the vector's elements do not meet the tile's",
    note = "convert it first: `.to::<f32>()` or `.to::<i32>()`"
)]
pub trait Spread<T>: AnyElement {}
impl<T: Element> Spread<T> for f32 {}
impl Spread<i32> for i32 {}

/// The encoding of vectors that meet a tile row by row.
#[diagnostic::on_unimplemented(
    message = "`add_row`, `row_max_with` and their kin take a vector with one element per row, but this one is `{Self}`",
    label = "not a `PerRow` vector",
    note = "a `PerCol` vector, one element per column, meets a tile in `add_col`, `col_max_with` and their kin"
)]
pub trait OnePerRow: Encoding {}
impl OnePerRow for PerRow {}

/// The encoding of vectors that meet a tile column by column.
#[diagnostic::on_unimplemented(
    message = "`add_col`, `col_max_with` and their kin take a vector with one element per column, but this one is `{Self}`",
    label = "not a `PerCol` vector",
    note = "a `PerRow` vector, one element per row, meets a tile in `add_row`, `row_max_with` and their kin"
)]
pub trait OnePerCol: Encoding {}
impl OnePerCol for PerCol {}

/// A vector has an element for every row of a tile.
#[diagnostic::on_unimplemented(
    message = "the vector must have as many elements as the tile has rows, but it has `{Self}` and the tile `{Rows}`",
    label = "the vector's length differs from the tile's rows"
)]
pub trait RowCount<Rows> {}
impl<const D: usize> RowCount<Dim<D>> for Dim<D> {}
#[diagnostic::do_not_recommend]
impl<const D: usize> RowCount<Unknown> for Dim<D> {}

/// A vector has an element for every column of a tile.
#[diagnostic::on_unimplemented(
    message = "the vector must have as many elements as the tile has columns, but it has `{Self}` and the tile `{Cols}`",
    label = "the vector's length differs from the tile's columns"
)]
pub trait ColCount<Cols> {}
impl<const D: usize> ColCount<Dim<D>> for Dim<D> {}
#[diagnostic::do_not_recommend]
impl<const D: usize> ColCount<Unknown> for Dim<D> {}

/// Roles that `fill` makes of element type `T`.
#[diagnostic::on_unimplemented(
    message = "`fill` makes `Row` tiles, `Acc` tiles of f32 and i32, and `Vnni` tiles of bf16 or f16, but here a `{Self}` tile of `{T}` is asked for",
    label = "`fill` does not make this tile",
    note = "a `VnniT` tile comes from `load_transpose`"
)]
pub trait FilledWith<T>: Role {}
impl<T: Arithmetic> FilledWith<T> for Row {}
impl FilledWith<f32> for Acc {}
impl FilledWith<i32> for Acc {}
impl<T: MmaInput> FilledWith<T> for Vnni {}

/// Element types that `iota` counts in.
#[diagnostic::on_unimplemented(
    message = "`iota` counts in f32 or i32, but here it would count in `{Self}`",
    label = "not a type of positions",
    note = "count in f32 or i32 and convert what is computed: `.to::<T>()`"
)]
pub trait Counted: Arithmetic {
    /// The word of the element at an index, counted from this one.
    #[doc(hidden)]
    fn word_at(self, index: u32) -> f32;
}

impl Counted for f32 {
    #[inline]
    fn word_at(self, index: u32) -> f32 {
        self + index as f32
    }
}

impl Counted for i32 {
    #[inline]
    fn word_at(self, index: u32) -> f32 {
        <i32 as crate::element::TileElement>::word_of(self.wrapping_add(index as i32))
    }
}
