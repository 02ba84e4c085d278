//! Owns the register vector `rv` and its encodings.
//!
//! On the host a vector is `N` values of f32 whatever its element type, like a tile of one row.
//! *Guarantees*: a bf16 or f16 vector holds values of that type only. *Not here*: ops (`ops`), the memory of a vector
//! (`simd::storage`).

use core::fmt;
use core::marker::PhantomData;

use crate::element::AnyElement;
use crate::simd::storage::Block;
use crate::tile::Dim;

pub(crate) mod sealed {
    /// Closes the set of encodings.
    pub trait Sealed {}

    /// Gives the ops the values of a vector.
    pub trait Values {
        /// The values.
        fn values(&self) -> &[f32];
    }
}

/// The default encoding: one element per row of a tile, such as the maxima of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerRow {}

/// The encoding with one element per column of a tile, such as a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerCol {}

/// The encoding of vectors by themselves, such as a row that is normalised: on a device 8 neighbouring elements lie in one lane, so
/// that a lane moves 16 bytes of a 16-bit type at a time. The length is a multiple of 128.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let data = vec![bf16::from_f32(2.0); 128];
/// let x: rv<bf16, 128, Wide> = load_vec(&gl::of(&data, 1, 128).expect("128 elements are there"), [0, 0]);
/// let x = x.to::<f32>();
/// assert_eq!(x.mul(&x).reduce_sum(), 512.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wide {}

impl sealed::Sealed for PerRow {}
impl sealed::Sealed for PerCol {}
impl sealed::Sealed for Wide {}

/// The encoding of a vector: `PerRow`, `PerCol` or `Wide`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the encoding of a vector",
    label = "not an encoding",
    note = "the encodings are `PerRow` (the default: one element per row of a tile), `PerCol` (one per column) and `Wide` (vectors by themselves)"
)]
pub trait Encoding: sealed::Sealed + 'static {
    /// The name in kernel source.
    const NAME: &'static str;
}

impl Encoding for PerRow {
    const NAME: &'static str = "PerRow";
}
impl Encoding for PerCol {
    const NAME: &'static str = "PerCol";
}
impl Encoding for Wide {
    const NAME: &'static str = "Wide";
}

/// A register vector: `N` elements of `T`, one per row of a tile, one per column, or by themselves, as the encoding `E` says.
///
/// Vectors are made by ops (`zeros`, `load_vec`, `row_max`, …), used by ops and moved, never copied silently.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let tile: rt<f32, 8, 16> = fill(2.0);
/// let sums: rv<f32, 8> = tile.row_sum();
/// assert_eq!(sums.get(7), 32.0);
/// ```
#[allow(non_camel_case_types, reason = "the field's name for a register vector")]
#[repr(C)]
pub struct rv<T, const N: usize, E = PerRow> {
    pub(crate) block: Block<1, N>,
    pub(crate) ty: PhantomData<fn() -> (T, E)>,
}

impl<T, const N: usize, E> Clone for rv<T, N, E> {
    fn clone(&self) -> Self {
        rv { block: self.block.clone(), ty: PhantomData }
    }
}

impl<T: AnyElement, const N: usize, E> rv<T, N, E> {
    /// Reads one value, for tests and debugging on the host; kernels work on whole vectors.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let v: rv<bf16, 16, PerCol> = fill(0.25);
    /// assert_eq!(v.get(15), 0.25);
    /// ```
    ///
    /// # Panics
    /// When `index >= N`.
    pub fn get(&self, index: usize) -> T::Scalar {
        T::scalar_of(self.block.0[0][index])
    }
}

impl<T, const N: usize, E> sealed::Values for rv<T, N, E> {
    #[inline(always)]
    fn values(&self) -> &[f32] {
        self.block.0.as_flattened()
    }
}

/// A vector type: any `rv`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a vector",
    label = "not a vector",
    note = "a vector has the type `rv<T, LEN, ENCODING>`, where `ENCODING` is `PerRow` unless written"
)]
pub trait Vector: sealed::Values {
    /// The element type.
    type Element: AnyElement;
    /// The encoding.
    type Encoding: Encoding;
    /// The length as a type.
    type Len;
}

impl<T: AnyElement, const N: usize, E: Encoding> Vector for rv<T, N, E> {
    type Element = T;
    type Encoding = E;
    type Len = Dim<N>;
}

impl<T: AnyElement, const N: usize, E: Encoding> fmt::Debug for rv<T, N, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rv<{}, {N}, {}> ", T::NAME, E::NAME)?;
        f.debug_list().entries(self.block.0[0]).finish()
    }
}
