//! Rotary position embedding of halves: each pair of elements of a row, half a row apart, is turned by an angle that
//! grows with the row's position.
//!
//! ```text
//! y[p] = x[p] cos a - x[p + D/2] sin a    y[p + D/2] = x[p + D/2] cos a + x[p] sin a    a = angle(first + row, p)
//! ```
//!
//! The tables hold a row per position and a column per pair.
//!
//! *Schedule.* A sub-group turns one `M x N` tile of `y`, which lies in one half, and the tile of a second tensor `z` at the
//! same place, with the same piece of the tables: the keys beside the queries, or with `COPY` the values beside the keys,
//! which are moved and not turned. The other elements of the pairs are a second load, half a row away.

use crate::Generic::Size;
use crate::ops::dispatch::{Place, Rule};
use crate::prelude::*;

/// One sub-group's part of a rotary embedding of halves.
#[tile_kernel(instances(
    <bf16, false, 16, 32; subgroups = (4, 2)>,
    <bf16, false, 32, 16; subgroups = (4, 2)>,
    <bf16, true, 16, 32; subgroups = (4, 2)>,
    <bf16, true, 32, 16; subgroups = (4, 2)>,
    <f16, false, 16, 32; subgroups = (4, 2)>,
    <f16, false, 32, 16; subgroups = (4, 2)>,
    <f16, true, 16, 32; subgroups = (4, 2)>,
    <f16, true, 32, 16; subgroups = (4, 2)>,
    <f32, false, 16, 32; subgroups = (4, 2)>,
    <f32, false, 32, 16; subgroups = (4, 2)>,
    <f32, true, 16, 32; subgroups = (4, 2)>,
    <f32, true, 32, 16; subgroups = (4, 2)>,
))]
pub fn rope<T: Element, const COPY: bool, const M: usize, const N: usize>(
    y: &mut gl<T>,
    z: &mut gl<T>,
    x: &gl<T>,
    w: &gl<T>,
    cos: &gl<f32>,
    sin: &gl<f32>,
    first: u32,
) {
    let at = own_tile::<M, N>(y, Linear);
    let (row, start, half) = (at.row() * M as u32, at.col() * N as u32, x.cols() / 2);
    let low = start < half;
    let pair = if low { start } else { start - half };
    let other = if low { start + half } else { start - half };
    let c: rt<f32, M, N> = load(cos, elements([row + first, pair]));
    let right: rt<f32, M, N> = load(sin, elements([row + first, pair]));
    let s = if low { right.neg() } else { right };
    let own: rt<T, M, N> = load(x, at);
    let there: rt<T, M, N> = load(x, elements([at.batch(), at.depth(), row, other]));
    store(y, &own.to::<f32>().mul(&c).add(&there.to::<f32>().mul(&s)).to::<T>(), at);
    if at.depth() < w.depth() {
        let own: rt<T, M, N> = load(w, at);
        if COPY {
            store(z, &own, at);
        } else {
            let there: rt<T, M, N> = load(w, elements([at.batch(), at.depth(), row, other]));
            store(z, &own.to::<f32>().mul(&c).add(&there.to::<f32>().mul(&s)).to::<T>(), at);
        }
    }
}

/// Tiles of 64 bytes of 16-bit elements, where they fit into a half.
pub(crate) const POLICY: &[Rule] = &[
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(16), Size(32)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(16), Size(32)]),
];

/// The same for rows whose half is an odd multiple of 16.
pub(crate) const POLICY_16: &[Rule] = &[
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(32), Size(16)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(32), Size(16)]),
];
