//! Owns the ops that read vectors and single elements from a tensor, and those that convert and scale vectors.
//!
//! *Guarantees*: the edge rule, as for tiles: what lies outside the tensor is 0.
//! *Not here*: element-wise ops (`map`), bounds and memory access (`global`).

use tile_ir::map::MapBinary;

use super::memory::at;
use crate::element::{AnyElement, Arithmetic, Element};
use crate::global::{At, gl};
use crate::place::{Coordinate, ElementIndex, elements};
use crate::simd::map::Right;
use crate::tile::Extent;
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
