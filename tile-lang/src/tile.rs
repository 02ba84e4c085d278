//! Owns the register tile `rt` and the rules that compare shapes and element types of two tiles.
//!
//! On the host a tile is row-major f32 whatever its element type (16-bit storage measured 0.72-0.79x); the
//! role is in the type only. *Guarantees*: a bf16 or f16 tile holds values of that type only.
//! *Not here*: ops (`ops`), the memory of a tile (`simd::storage`).

use core::fmt;
use core::marker::PhantomData;

pub use crate::element::{Element, MmaInput, bf16, f16};
use crate::role::Row;
use crate::simd::storage::Block;

/// A register tile: `M` rows and `N` columns of `T`, in the role `L`.
///
/// Tiles are made by ops (`zeros`, `load`, …), used by ops and moved, never copied silently.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let data = vec![bf16::ONE; 4 * 8];
/// let a = gl::of(&data, 4, 8).expect("4 x 8 elements are there");
/// let tile: rt<bf16, 8, 16> = load(&a, [0, 0]);
/// assert_eq!(tile.get(3, 7), 1.0);
/// assert_eq!(tile.get(4, 0), 0.0); // outside the tensor
/// ```
#[allow(non_camel_case_types, reason = "the field's name for a register tile")]
#[repr(C)]
pub struct rt<T, const M: usize, const N: usize, L = Row> {
    pub(crate) block: Block<M, N>,
    pub(crate) ty: PhantomData<fn() -> (T, L)>,
}

impl<T, const M: usize, const N: usize, L> Clone for rt<T, M, N, L> {
    fn clone(&self) -> Self {
        rt { block: self.block.clone(), ty: PhantomData }
    }
}

impl<T: Element, const M: usize, const N: usize, L> rt<T, M, N, L> {
    /// Reads one value, for tests and debugging on the host; kernels work on whole tiles.
    ///
    /// # Panics
    /// When `row >= M` or `col >= N`.
    pub fn get(&self, row: usize, col: usize) -> f32 {
        self.block.0[row][col]
    }
}

impl<T: Element, const M: usize, const N: usize, L: crate::role::Role> fmt::Debug for rt<T, M, N, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "rt<{}, {M}, {N}, {}>", T::NAME, L::NAME)?;
        f.debug_list().entries(self.block.0.iter()).finish()
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T, const M: usize, const N: usize, L> Sealed for super::rt<T, M, N, L> {}
    impl<const D: usize> Sealed for super::Dim<D> {}
}

/// A tile type, where an op needs one by name: `prefetch_load::<rt<bf16, 32, 32>>(..)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tile type",
    label = "not a tile type",
    note = "name the tile like this: `rt<bf16, 32, 32>`"
)]
pub trait Tile: sealed::Sealed {
    /// The element type.
    type Element: Element;
    /// Rows and columns as a type.
    type Extent;
    /// Rows.
    const ROWS: usize;
    /// Columns.
    const COLS: usize;
}

impl<T: Element, const M: usize, const N: usize, L> Tile for rt<T, M, N, L> {
    type Element = T;
    type Extent = Extent<M, N>;
    const ROWS: usize = M;
    const COLS: usize = N;
}

/// The shape of a tile as a type: `M` rows, `N` columns.
pub struct Extent<const M: usize, const N: usize>;

/// One extent of a tile as a type.
pub struct Dim<const D: usize>;

/// Never an extent. A second candidate for the shape rules keeps rustc from deriving one shape from the other
/// and then reporting a bare `expected 32, found 64`.
pub struct Unknown;

/// The inner extents of a matrix multiply are equal.
#[diagnostic::on_unimplemented(
    message = "A's columns must equal B's rows, but A has {COLS} columns and B has {ROWS} rows",
    label = "A's columns differ from B's rows",
    note = "A is M x K, B is K x N, the accumulator is M x N"
)]
pub trait InnerDim<B, const COLS: usize, const ROWS: usize>: sealed::Sealed {}
impl<const K: usize> InnerDim<Dim<K>, K, K> for Dim<K> {}
#[diagnostic::do_not_recommend]
impl<const K: usize, const C: usize, const R: usize> InnerDim<Unknown, C, R> for Dim<K> {}

/// The accumulator has A's rows.
#[diagnostic::on_unimplemented(
    message = "the accumulator's rows must equal A's rows, but it has {ACC} rows and A has {A}",
    label = "the accumulator's rows differ from A's rows",
    note = "A is M x K, B is K x N, the accumulator is M x N"
)]
pub trait AccumulatorRows<Other, const ACC: usize, const A: usize>: sealed::Sealed {}
impl<const M: usize> AccumulatorRows<Dim<M>, M, M> for Dim<M> {}
#[diagnostic::do_not_recommend]
impl<const M: usize, const C: usize, const A: usize> AccumulatorRows<Unknown, C, A> for Dim<M> {}

/// The accumulator has B's columns.
#[diagnostic::on_unimplemented(
    message = "the accumulator's columns must equal B's columns, but it has {ACC} columns and B has {B}",
    label = "the accumulator's columns differ from B's columns",
    note = "A is M x K, B is K x N, the accumulator is M x N"
)]
pub trait AccumulatorCols<Other, const ACC: usize, const B: usize>: sealed::Sealed {}
impl<const N: usize> AccumulatorCols<Dim<N>, N, N> for Dim<N> {}
#[diagnostic::do_not_recommend]
impl<const N: usize, const C: usize, const B: usize> AccumulatorCols<Unknown, C, B> for Dim<N> {}

/// Both operands of a matrix multiply have one element type.
#[diagnostic::on_unimplemented(
    message = "no matrix instruction multiplies `{Self}` by `{B}`",
    label = "A and B have different element types",
    note = "load both operands from tensors of one element type, bf16 or f16"
)]
pub trait SameOperand<B>: Element {}
impl<T: Element> SameOperand<T> for T {}
#[diagnostic::do_not_recommend]
impl<T: Element> SameOperand<Unknown> for T {}

/// A stored tile has the element type of its tensor.
#[diagnostic::on_unimplemented(
    message = "a tensor of `{T}` stores tiles of `{T}`, but this is a tile of `{Self}`",
    label = "the tile's element type differs from the tensor's",
    note = "convert the tile first: `.to::<{T}>()`"
)]
pub trait StoredIn<T>: Element {}
impl<T: Element> StoredIn<T> for T {}
#[diagnostic::do_not_recommend]
impl<T: Element> StoredIn<Unknown> for T {}
