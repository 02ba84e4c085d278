//! Owns the ops that read vectors and single elements from a tensor, those that store vectors, and those that convert and scale
//! them.
//!
//! *Guarantees*: the edge rule, as for tiles: what lies outside the tensor is 0, or dropped.
//! *Not here*: element-wise ops (`map`), bounds and memory access (`global`).

use tile_ir::map::MapBinary;

use super::memory::at;
use crate::element::{AnyElement, Arithmetic, Element};
use crate::global::{At, gl};
use crate::place::{Coordinate, ElementIndex, OwnedLine, elements};
use crate::simd::map::Right;
use crate::tile::{Dim, Extent, StoredIn};
use crate::vector::sealed::Values as _;
use crate::vector::{Encoding, rv};

/// Loads a vector from `N` consecutive elements of one row of a tensor.
///
/// In `[row, i]` and `[batch, depth, row, i]` the row counts rows and `i` counts vectors of `N`; [`elements`] counts
/// elements.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let data: Vec<f32> = (0..60).map(|i| i as f32).collect();
/// let g = gl::of(&data, 3, 20).expect("3 x 20 elements are there");
/// let bias: rv<f32, 16, PerCol> = load_vec(&g, [2, 1]); // row 2, columns 16..32
/// assert_eq!((bias.get(3), bias.get(4)), (59.0, 0.0)); // column 20 is outside
/// ```
///
/// # Panics
/// As `load`: in a launch, when the tensor is an output.
#[inline(never)]
pub fn load_vec<T: Arithmetic, const N: usize, E: Encoding>(
    g: &gl<T>,
    coordinate: impl Coordinate<Extent<1, N>>,
) -> rv<T, N, E> {
    rv::build(|vector| g.load::<T>(at(coordinate), vector))
}

/// Reads the element at `[row, col]` or `[batch, depth, row, col]`, counted in elements: a value that all lanes share,
/// such as a sequence length or a scale: an f32, or an i32 from a tensor of integers.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let data = [bf16::from_f32(0.5), bf16::from_f32(2.0)];
/// let g = gl::of(&data, 1, 2).expect("1 x 2 elements are there");
/// assert_eq!(load_scalar(&g, [0, 1]), 2.0);
/// assert_eq!(load_scalar(&g, [0, 2]), 0.0); // outside the tensor
/// ```
///
/// # Panics
/// As `load`: in a launch, when the tensor is an output.
pub fn load_scalar<T: AnyElement>(g: &gl<T>, at: impl ElementIndex) -> T::Scalar {
    let origin = Coordinate::<Extent<1, 1>>::origin(elements(at));
    g.element(At { origin, claim: None })
}

/// Stores a vector at the place that belongs to the tile this sub-group owns. At `at`, the value of `own_tile::<M, N>(..)`, a `PerCol` vector of N
/// elements goes to row `at.row()` of the output, as the `at.col()`-th vector of that row; a `PerRow` vector of M elements to row
/// `at.col()`, as the `at.row()`-th. An output takes vectors of one encoding, and no tiles. `own_tile::<1, N>(..)` deals out the rows
/// of an output of vectors itself.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut data = [1f32; 12];
/// let mut sums = gl::of_mut(&mut data, 1, 12).expect("1 x 12 elements are there");
/// let at = own_tile::<8, 16>(&sums, Linear);
/// let x: rt<f32, 8, 16> = fill(0.5);
/// store_vec(&mut sums, &x.col_sum(), at); // columns 12 to 15 are dropped
/// assert_eq!(data, [4.0; 12]);
/// ```
///
/// # Panics
/// As `store`, and in a launch when the output was stored to or loaded in another way before.
pub fn store_vec<T: AnyElement, U: StoredIn<T>, const N: usize, E: Encoding>(
    c: &mut gl<T>,
    vector: &rv<U, N, E>,
    at: impl OwnedLine<E, Dim<N>>,
) {
    c.store(At { origin: at.line_origin(), claim: Some(at.line_claim()) }, N, vector.values());
}

/// Stores a vector at any coordinate, which is that of `load_vec`. A kernel that uses it gets an `unsafe` launcher.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut data = [1f32; 20];
/// let mut c = gl::of_mut(&mut data, 2, 10).expect("2 x 10 elements are there");
/// let v: rv<f32, 8, PerRow> = fill(3.0);
/// // SAFETY: this is the only sub-group.
/// unsafe { store_vec_at(&mut c, &v, [1, 1]) }; // row 1, elements 8 to 15, of which two exist
/// assert_eq!((data[17], data[18], data[19]), (1.0, 3.0, 3.0));
/// ```
///
/// # Safety
/// No other sub-group of the launch reads or writes the elements of the vector.
#[allow(unsafe_code, reason = "the safety rests with the kernel author, as for `store_at`")]
pub unsafe fn store_vec_at<T: AnyElement, U: StoredIn<T>, const N: usize, E: Encoding>(
    c: &mut gl<T>,
    vector: &rv<U, N, E>,
    coordinate: impl Coordinate<Extent<1, N>>,
) {
    // SAFETY: passed on from the caller.
    unsafe { c.store_anywhere(coordinate.origin(), N, vector.values()) }
}

impl<T: Arithmetic, const N: usize, E: Encoding> rv<T, N, E> {
    /// Converts to a vector of `U`, rounding to nearest even; to integers it saturates, and NaN gives 0.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let v: rv<f32, 16, PerCol> = fill(1.00390625);
    /// let v: rv<bf16, 16, PerCol> = v.to::<bf16>();
    /// assert_eq!(v.get(0), 1.0);
    /// ```
    #[inline(never)]
    pub fn to<U: Arithmetic>(&self) -> rv<U, N, E> {
        rv::build(|vector| vector.converted::<T, U>(self.values()))
    }

    /// Multiplies every value by `factor`.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let v: rv<f32, 8, PerRow> = fill(3.0);
    /// assert_eq!(v.scale(0.5).get(7), 1.5);
    /// ```
    #[inline(never)]
    pub fn scale(&self, factor: f32) -> rv<T, N, E>
    where
        T: Element,
    {
        rv::build(|vector| vector.binary::<T>(MapBinary::Mul, self.values(), Right::PerRow(&[factor])))
    }
}
