//! Owns the register tile `rt` and the rules that compare shapes and element types of two tiles.
//!
//! On the host a tile is row-major words of f32 whatever its element type (16-bit storage measured 0.72-0.79x); an
//! integer is kept as its bits. The role is in the type only. *Guarantees*: a bf16 or f16 tile holds values of that
//! type only.
//! *Not here*: ops (`ops`), the memory of a tile (`simd::storage`).

use core::fmt;
use core::marker::PhantomData;

pub use crate::element::{AnyElement, Element, MmaInput, TileElement, bf16, f16, tf32};
use crate::role::{Role, Row};
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

impl<T: TileElement, const M: usize, const N: usize, L> rt<T, M, N, L> {
    /// Reads one value, for tests and debugging on the host; kernels work on whole tiles.
    ///
    /// # Panics
    /// When `row >= M` or `col >= N`.
    pub fn get(&self, row: usize, col: usize) -> T::Scalar {
        T::scalar_of(self.block.0[row][col])
    }
}

impl<T: TileElement, const M: usize, const N: usize, L: Role> fmt::Debug for rt<T, M, N, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "rt<{}, {M}, {N}, {}>", T::NAME, L::NAME)?;
        f.debug_list().entries(self.block.0.iter().map(|row| row.map(T::scalar_of))).finish()
    }
}

pub(crate) mod sealed {
    /// Gives the ops the values of a tile.
    pub trait Sealed {
        /// The values, row after row.
        fn values(&self) -> &[f32];
        /// The values, row after row, to change.
        fn values_mut(&mut self) -> &mut [f32];
    }
}

impl<T, const M: usize, const N: usize, L> sealed::Sealed for rt<T, M, N, L> {
    #[inline(always)]
    fn values(&self) -> &[f32] {
        self.block.0.as_flattened()
    }

    #[inline(always)]
    fn values_mut(&mut self) -> &mut [f32] {
        self.block.0.as_flattened_mut()
    }
}

/// A tile type: any `rt`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tile",
    label = "not a tile",
    note = "a tile has the type `rt<T, ROWS, COLS, ROLE>`, where `ROLE` is `Row` unless written"
)]
pub trait Tile: sealed::Sealed {
    /// The element type.
    type Element: TileElement;
    /// The role.
    type Role: Role;
    /// Rows and columns as one type.
    type Extent;
    /// Rows as a type.
    type Rows;
    /// Columns as a type.
    type Cols;
    /// Rows.
    const ROWS: usize;
    /// Columns.
    const COLS: usize;
}

impl<T: TileElement, const M: usize, const N: usize, L: Role> Tile for rt<T, M, N, L> {
    type Element = T;
    type Role = L;
    type Extent = Extent<M, N>;
    type Rows = Dim<M>;
    type Cols = Dim<N>;
    const ROWS: usize = M;
    const COLS: usize = N;
}

/// The shape of a tile as a type: `M` rows, `N` columns.
pub struct Extent<const M: usize, const N: usize>;

/// One extent of a tile as a type.
pub struct Dim<const D: usize>;

/// Never an extent or an element type. Being a second candidate for the rules below, it keeps rustc from
/// deriving one operand's type from the other's and then reporting a bare `expected 32, found 64`.
pub struct Unknown;

/// A's columns equal B's rows.
#[diagnostic::on_unimplemented(
    message = "A's columns must equal B's rows, but A's columns are `{Self}` and B's rows are `{B}`",
    label = "A's columns differ from B's rows",
    note = "A is M x K, B is K x N, the accumulator is M x N"
)]
pub trait InnerDim<B> {}
impl<const K: usize> InnerDim<Dim<K>> for Dim<K> {}
#[diagnostic::do_not_recommend]
impl<const K: usize> InnerDim<Unknown> for Dim<K> {}

/// The accumulator has A's rows.
#[diagnostic::on_unimplemented(
    message = "the accumulator's rows must equal A's rows, but they are `{Acc}` and A's rows are `{Self}`",
    label = "A's rows differ from the accumulator's rows",
    note = "A is M x K, B is K x N, the accumulator is M x N"
)]
pub trait AccumulatorRows<Acc> {}
impl<const M: usize> AccumulatorRows<Dim<M>> for Dim<M> {}
#[diagnostic::do_not_recommend]
impl<const M: usize> AccumulatorRows<Unknown> for Dim<M> {}

/// The accumulator has B's columns.
#[diagnostic::on_unimplemented(
    message = "the accumulator's columns must equal B's columns, but they are `{Acc}` and B's columns are `{Self}`",
    label = "B's columns differ from the accumulator's columns",
    note = "A is M x K, B is K x N, the accumulator is M x N"
)]
pub trait AccumulatorCols<Acc> {}
impl<const N: usize> AccumulatorCols<Dim<N>> for Dim<N> {}
#[diagnostic::do_not_recommend]
impl<const N: usize> AccumulatorCols<Unknown> for Dim<N> {}

/// A matrix instruction multiplies these operands, A's element type being `Self`.
#[diagnostic::on_unimplemented(
    message = "no matrix instruction multiplies `{Self}` by `{B}`",
    label = "no instruction for these element types",
    note = "there are: bf16 by bf16, f16 by f16 and tf32 by tf32 into f32; i8 and u8, mixed at will, into i32"
)]
pub trait Multiplies<B>: TileElement {}
impl<T: MmaInput> Multiplies<T> for T {}
impl Multiplies<tf32> for tf32 {}
impl Multiplies<i8> for i8 {}
impl Multiplies<u8> for i8 {}
impl Multiplies<i8> for u8 {}
impl Multiplies<u8> for u8 {}
#[diagnostic::do_not_recommend]
impl<T: TileElement> Multiplies<Unknown> for T {}

/// A tile comes from a tensor of its element type `T`, or is of tf32 and comes from one of f32.
#[diagnostic::on_unimplemented(
    message = "a tensor of `{T}` gives tiles of `{T}`, but here a tile of `{Self}` is asked for",
    label = "the tile's element type differs from the tensor's",
    note = "load `rt<{T}, ..>` and convert it: `.to::<{Self}>()`"
)]
pub trait LoadedFrom<T>: TileElement {}
impl<T: AnyElement> LoadedFrom<T> for T {}
impl LoadedFrom<f32> for tf32 {}
#[diagnostic::do_not_recommend]
impl<T: TileElement> LoadedFrom<Unknown> for T {}

/// A part of a tile has the tile's element type.
#[diagnostic::on_unimplemented(
    message = "a part of a tile of `{T}` is a tile of `{T}`, but this is a tile of `{Self}`",
    label = "the part's element type differs from the tile's",
    note = "convert the part first: `.to::<{T}>()`"
)]
pub trait PartOf<T>: AnyElement {}
impl<T: AnyElement> PartOf<T> for T {}
#[diagnostic::do_not_recommend]
impl<T: AnyElement> PartOf<Unknown> for T {}

/// A stored tile has the element type of its tensor.
#[diagnostic::on_unimplemented(
    message = "a tensor of `{T}` stores tiles of `{T}`, but this is a tile of `{Self}`",
    label = "the tile's element type differs from the tensor's",
    note = "convert the tile first: `.to::<{T}>()`"
)]
pub trait StoredIn<T>: AnyElement {}
impl<T: AnyElement> StoredIn<T> for T {}
#[diagnostic::do_not_recommend]
impl<T: AnyElement> StoredIn<Unknown> for T {}

/// A tile or vector stored to shared memory has its element type.
#[diagnostic::on_unimplemented(
    message = "shared memory of `{T}` stores elements of `{T}`, but this one has elements of `{Self}`",
    label = "the element type differs from that of the shared memory",
    note = "convert it first: `.to::<{T}>()`"
)]
pub trait StoredShared<T>: AnyElement {}
impl<T: AnyElement> StoredShared<T> for T {}
#[diagnostic::do_not_recommend]
impl<T: AnyElement> StoredShared<Unknown> for T {}
