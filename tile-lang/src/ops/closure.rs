//! Owns `map` and `zip`: closures over the elements of tiles and vectors.
//!
//! A closure is written over single elements, `x.map(|v| v * v + 1.0)`, whose type is f32 (i32 in tiles of i32), and rounded
//! to the element type once. In a kernel its body is compiled to the element-wise ops on whole tiles; the executed copy of a
//! kernel does the same through [`map_whole`] and [`zip_whole`]. Called by hand, the methods run the closure for every element.
//! *Guarantees*: a closure of exact ops gives the same bits either way. *Not here*: the ops themselves (`map`, `selection`).

use core::marker::PhantomData;

use crate::element::{AnyElement, Arithmetic, bf16, f16};
use crate::operand::ElementWise;
use crate::ops::source::{FromFill, fill};
use crate::scalar;
use crate::tile::rt;
use crate::tile::sealed::Sealed as _;
use crate::vector::sealed::Values as _;
use crate::vector::{Encoding, rv};

impl<T: Arithmetic, const M: usize, const N: usize, L: ElementWise> rt<T, M, N, L> {
    /// Computes every element from itself with a closure, which takes and gives f32 (in tiles of i32, i32); the result is rounded
    /// to the element type once.
    ///
    /// In a kernel the closure is written in place and is one expression of its parameter, scalars of the kernel and numbers. It
    /// is compiled to the element-wise ops, whose accuracies it has: `/` is the op `div`.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let x: rt<f32, 8, 16> = iota_cols(-4.0);
    /// let slope = 0.5;
    /// let y = x.map(|v| if v > 0.0 { v } else { v * slope });
    /// assert_eq!((y.get(7, 1), y.get(7, 6)), (-1.5, 2.0));
    /// ```
    pub fn map(&self, f: impl Fn(T::Scalar) -> T::Scalar) -> Self {
        let mut out = self.clone();
        each::<T>(out.values_mut(), f);
        out
    }

    /// Computes every element from itself and the element of another tile at the same place with a closure; the result has
    /// the type of the first tile.
    ///
    /// The closure is what [`map`](rt::map) takes, with a second parameter. The tiles have one shape and role; their
    /// element types may differ, if both are floats.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let x: rt<f32, 8, 16> = iota_cols(0.0);
    /// let y: rt<bf16, 8, 16> = fill(3.0);
    /// let z = x.zip(&y, |a, b| (a - b).abs());
    /// assert_eq!((z.get(7, 1), z.get(7, 5)), (2.0, 2.0));
    /// ```
    pub fn zip<U: Arithmetic>(
        &self,
        other: &rt<U, M, N, L>,
        f: impl Fn(T::Scalar, U::Scalar) -> T::Scalar,
    ) -> Self {
        let mut out = self.clone();
        both::<T, U>(out.values_mut(), other.values(), f);
        out
    }
}

impl<T: Arithmetic, const N: usize, E: Encoding> rv<T, N, E> {
    /// Computes every element from itself with a closure, as [`rt::map`] does.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let v: rv<f32, 16, PerCol> = iota(0.0);
    /// assert_eq!(v.map(|x| 1.0 - x * x).get(3), -8.0);
    /// ```
    pub fn map(&self, f: impl Fn(T::Scalar) -> T::Scalar) -> Self {
        let mut out = self.clone();
        each::<T>(out.block.0.as_flattened_mut(), f);
        out
    }

    /// Computes every element from itself and the element of another vector with the same index with a closure, as
    /// [`rt::zip`] does.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let (v, w): (rv<f32, 8>, rv<f32, 8>) = (iota(0.0), fill(5.0));
    /// assert_eq!(v.zip(&w, |x, y| x.max(y) - 1.0).get(7), 6.0);
    /// ```
    pub fn zip<U: Arithmetic>(
        &self,
        other: &rv<U, N, E>,
        f: impl Fn(T::Scalar, U::Scalar) -> T::Scalar,
    ) -> Self {
        let mut out = self.clone();
        both::<T, U>(out.block.0.as_flattened_mut(), other.values(), f);
        out
    }
}

fn each<T: Arithmetic>(words: &mut [f32], f: impl Fn(T::Scalar) -> T::Scalar) {
    for word in words {
        *word = T::word_of(f(T::scalar_of(*word)));
    }
}

fn both<T: Arithmetic, U: Arithmetic>(
    words: &mut [f32],
    others: &[f32],
    f: impl Fn(T::Scalar, U::Scalar) -> T::Scalar,
) {
    for (word, other) in words.iter_mut().zip(others) {
        *word = T::word_of(f(T::scalar_of(*word), U::scalar_of(*other)));
    }
}

/// What an element of a closure has beside the methods of Rust's f32: the element-wise ops that f32 lacks.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let x: rt<f32, 8, 16> = iota_cols(-4.0);
/// let y = x.map(|v| v.silu() + v.relu());
/// assert_eq!(y.get(0, 0), x.silu().get(0, 0));
/// ```
pub trait ElementMath: sealed::Sealed {
    /// `x` where `x > 0`, else 0; NaN stays NaN.
    fn relu(self) -> Self;
    /// Reciprocal of the square root.
    fn rsqrt(self) -> Self;
    /// Logistic function `1 / (1 + exp(-x))`.
    fn sigmoid(self) -> Self;
    /// `x * sigmoid(x)`.
    fn silu(self) -> Self;
    /// The usual approximation of GELU by `tanh`.
    fn gelu(self) -> Self;
}

mod sealed {
    pub trait Sealed: Sized {}
    impl Sealed for f32 {}
}
impl ElementMath for f32 {
    fn relu(self) -> f32 {
        scalar::relu(self)
    }
    fn rsqrt(self) -> f32 {
        scalar::rsqrt(self)
    }
    fn sigmoid(self) -> f32 {
        scalar::sigmoid(self)
    }
    fn silu(self) -> f32 {
        scalar::silu(self)
    }
    fn gelu(self) -> f32 {
        scalar::gelu(self)
    }
}

/// How tiles and vectors of an element type meet the closures of compiled kernels, which work on whole tiles and vectors of
/// [`TileElement::Scalar`].
#[doc(hidden)]
pub trait Widens: AnyElement {
    /// Hands a tile to `f` as one of scalars.
    fn with_tile<const M: usize, const N: usize, L, R>(
        tile: &rt<Self, M, N, L>,
        f: impl FnOnce(&rt<Self::Scalar, M, N, L>) -> R,
    ) -> R;
    /// Hands a vector to `f` as one of scalars.
    fn with_vector<const N: usize, E, R>(
        vector: &rv<Self, N, E>,
        f: impl FnOnce(&rv<Self::Scalar, N, E>) -> R,
    ) -> R;
    /// Rounds a tile of scalars.
    fn round_tile<const M: usize, const N: usize, L>(tile: rt<Self::Scalar, M, N, L>) -> rt<Self, M, N, L>;
    /// Rounds a vector of scalars.
    fn round_vector<const N: usize, E>(vector: rv<Self::Scalar, N, E>) -> rv<Self, N, E>;
}

/// Types that compute in themselves, then types that compute in f32. On the host an element of these is an f32 already.
macro_rules! widens {
    ($($wide:ident)+; $($narrow:ident)+) => {
        $(
            impl Widens for $wide {
                #[inline]
                fn with_tile<const M: usize, const N: usize, L, R>(
                    tile: &rt<Self, M, N, L>,
                    f: impl FnOnce(&rt<Self, M, N, L>) -> R,
                ) -> R {
                    f(tile)
                }
                #[inline]
                fn with_vector<const N: usize, E, R>(
                    vector: &rv<Self, N, E>,
                    f: impl FnOnce(&rv<Self, N, E>) -> R,
                ) -> R {
                    f(vector)
                }
                #[inline]
                fn round_tile<const M: usize, const N: usize, L>(tile: rt<Self, M, N, L>) -> rt<Self, M, N, L> {
                    tile
                }
                #[inline]
                fn round_vector<const N: usize, E>(vector: rv<Self, N, E>) -> rv<Self, N, E> {
                    vector
                }
            }
        )+
        $(
            impl Widens for $narrow {
                #[inline]
                fn with_tile<const M: usize, const N: usize, L, R>(
                    tile: &rt<Self, M, N, L>,
                    f: impl FnOnce(&rt<f32, M, N, L>) -> R,
                ) -> R {
                    f(&rt { block: tile.block.clone(), ty: PhantomData })
                }
                #[inline]
                fn with_vector<const N: usize, E, R>(
                    vector: &rv<Self, N, E>,
                    f: impl FnOnce(&rv<f32, N, E>) -> R,
                ) -> R {
                    f(&rv { block: vector.block.clone(), ty: PhantomData })
                }
                #[inline]
                fn round_tile<const M: usize, const N: usize, L>(tile: rt<f32, M, N, L>) -> rt<Self, M, N, L> {
                    rt::build(|to| to.converted::<f32, Self>(tile.values()))
                }
                #[inline]
                fn round_vector<const N: usize, E>(vector: rv<f32, N, E>) -> rv<Self, N, E> {
                    rv::build(|to| to.converted::<f32, Self>(vector.values()))
                }
            }
        )+
    };
}
widens!(f32 i32; bf16 f16);

/// Tiles and vectors with element-wise ops, and the same of scalars, which closures work on.
#[doc(hidden)]
pub trait Registers: Sized {
    /// The tile or vector of scalars.
    type Wide;
    /// Hands itself to `f` as one of scalars.
    fn with_wide<R>(&self, f: impl FnOnce(&Self::Wide) -> R) -> R;
    /// Rounds one of scalars.
    fn rounded(wide: Self::Wide) -> Self;
}

impl<T: Arithmetic, const M: usize, const N: usize, L: ElementWise> Registers for rt<T, M, N, L> {
    type Wide = rt<T::Scalar, M, N, L>;
    #[inline]
    fn with_wide<R>(&self, f: impl FnOnce(&Self::Wide) -> R) -> R {
        T::with_tile(self, f)
    }
    #[inline]
    fn rounded(wide: Self::Wide) -> Self {
        T::round_tile(wide)
    }
}

impl<T: Arithmetic, const N: usize, E: Encoding> Registers for rv<T, N, E> {
    type Wide = rv<T::Scalar, N, E>;
    #[inline]
    fn with_wide<R>(&self, f: impl FnOnce(&Self::Wide) -> R) -> R {
        T::with_vector(self, f)
    }
    #[inline]
    fn rounded(wide: Self::Wide) -> Self {
        T::round_vector(wide)
    }
}

/// The expanded form of `map`: `f` is the closure's body in ops on whole tiles or vectors.
#[doc(hidden)]
pub fn map_whole<V: Registers>(value: &V, f: impl FnOnce(&V::Wide) -> V::Wide) -> V {
    V::rounded(value.with_wide(f))
}

/// The expanded form of `zip`.
#[doc(hidden)]
pub fn zip_whole<V: Registers, U: Registers>(
    value: &V,
    other: &U,
    f: impl FnOnce(&V::Wide, &U::Wide) -> V::Wide,
) -> V {
    V::rounded(value.with_wide(|x| other.with_wide(|y| f(x, y))))
}

/// The expanded form of a number in the place of an element: a tile or vector like another.
#[doc(hidden)]
pub fn uniform<V: FromFill>(_like: &V, value: V::Scalar) -> V {
    fill(value)
}
