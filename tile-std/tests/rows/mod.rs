//! What the tests of row operations share: shapes, inputs, and the comparison with a reference in f64.

#![allow(dead_code, reason = "each test program uses a part")]

use crate::reference::{Guarded, Rng, ulp};
use tile_std::prelude::*;

/// Columns around every edge that the messages, the tiles of the instances, and the work-groups have.
pub const COLS: [usize; 12] = [0, 1, 7, 16, 17, 33, 127, 129, 255, 256, 257, 700];

/// Rows around the edges of a tile of 8.
pub const ROWS: [usize; 7] = [0, 1, 7, 8, 9, 16, 17];

pub fn devices() -> [Device; 2] {
    [Device::host(), Device::sim()]
}

/// What a row of the input looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Values in -2 .. 2.
    Plain,
    /// Values up to 1e4 in size.
    Large,
    /// Every element of a row the same.
    Equal,
    /// Some rows hold one NaN, +inf or -inf, some nothing but -inf.
    Special,
}

pub const KINDS: [Rows; 4] = [Rows::Plain, Rows::Large, Rows::Equal, Rows::Special];

impl Rows {
    /// An element; the calls go row by row.
    pub fn value(self, rng: &mut Rng, r: usize, c: usize, cols: usize) -> f32 {
        let plain = rng.value();
        match self {
            Rows::Plain => plain,
            Rows::Large => plain * 5e3,
            Rows::Equal => [0.0, -3.5, 1e4, 1e-3][r % 4],
            Rows::Special => match (r % 5, c) {
                (1, _) if c == cols / 2 => f32::NAN,
                (2, _) if c + 1 == cols => f32::INFINITY,
                (3, _) if c.is_multiple_of(3) => f32::NEG_INFINITY,
                (4, _) => f32::NEG_INFINITY,
                _ => plain,
            },
        }
    }
}

/// Compares a tensor with a reference, row by row. `of_row` gives a row's values and the error each may have before it
/// is rounded to `T`; rounding may add half a unit in the last place.
///
/// # Panics
/// Where they differ, with `told` and the place.
pub fn compare<T: Element>(
    found: &Guarded<T>,
    shape: Shape,
    told: &str,
    of_row: impl Fn(usize, usize, usize) -> Vec<(f64, f64)>,
) {
    let [batch, depth, rows, _] = shape;
    let (mut error, mut norm) = (0.0, 0.0);
    for (b, d) in (0..batch * depth).map(|p| (p / depth, p % depth)) {
        for r in 0..rows {
            for (c, (want, bound)) in of_row(b, d, r).into_iter().enumerate() {
                let got = found.get(b, d, r, c);
                let close = if want.is_finite() {
                    let most = f64::from(T::from_f32(f32::MAX).to_f32());
                    let rounded = T::from_f32(want as f32).to_f32();
                    // What rounds to infinity may do so.
                    (got - want).abs() <= bound + 0.5 * ulp::<T>(want.abs() + bound)
                        || (rounded.is_infinite() || want.abs() + bound >= most) && got == f64::from(rounded)
                } else {
                    got == want || got.is_nan() && want.is_nan()
                };
                assert!(close, "{told}: ({b}, {d}, {r}, {c}) is {got}, not {want} within {bound:e}");
                if want.is_finite() && got.is_finite() {
                    error += (got - want).powi(2);
                    norm += want * want;
                }
            }
        }
    }
    assert!(error <= 5e-3f64.powi(2) * norm, "{told}: relative Frobenius error {}", (error / norm).sqrt());
}
