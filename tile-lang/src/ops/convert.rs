//! Owns the ops that change a tile's element type or multiply it by a scalar.
//!
//! *Guarantees*: conversions round to nearest even; NaN stays NaN, or gives 0 as an integer. *Not here*: conversion while loading or
//! storing: a load gives the tensor's type, a store takes it.

use crate::element::AnyElement;
use crate::role::{Convertible, Row, Scalable};
use crate::tile::rt;
use crate::tile::sealed::Sealed as _;

impl<T: AnyElement, const M: usize, const N: usize, L> rt<T, M, N, L> {
    /// Converts to a `Row` tile of `U`. An accumulator becomes a tile to store or to multiply again.
    ///
    /// Rounds to nearest even, in f32 first if an integer goes to a 16-bit type; to an integer it saturates, and NaN
    /// gives 0.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let data = [1.00390625f32; 16]; // 1 + 2^-8 lies between two bf16 values and ties to even
    /// let a = gl::of(&data, 1, 16).expect("1 x 16 elements are there");
    /// let acc: rt<f32, 8, 16, Acc> = load(&a, [0, 0]);
    /// let row: rt<bf16, 8, 16> = acc.to::<bf16>();
    /// assert_eq!(row.get(0, 0), 1.0);
    /// ```
    #[inline(never)]
    pub fn to<U: AnyElement>(&self) -> rt<U, M, N, Row>
    where
        L: Convertible,
    {
        rt::build(|tile| tile.converted::<T, U>(self.values()))
    }

    /// Multiplies every value by `factor`.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let data = [3.0f32; 16];
    /// let a = gl::of(&data, 1, 16).expect("1 x 16 elements are there");
    /// let acc: rt<f32, 8, 16, Acc> = load(&a, [0, 0]);
    /// assert_eq!(acc.scale(0.5).get(0, 0), 1.5);
    /// ```
    #[inline(never)]
    pub fn scale(&self, factor: f32) -> rt<T, M, N, L>
    where
        T: Scalable,
        L: Convertible,
    {
        rt::build(|tile| tile.scaled(self.values(), factor))
    }
}
