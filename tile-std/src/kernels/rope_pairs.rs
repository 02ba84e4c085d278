//! Rotary position embedding of neighbours: each pair of elements `(2p, 2p + 1)` of a row is turned by an angle that grows with
//! the row's position.
//!
//! ```text
//! y[2p] = x[2p] cos a - x[2p + 1] sin a    y[2p + 1] = x[2p + 1] cos a + x[2p] sin a    a = angle(first + row, p)
//! ```
//!
//! The tables hold a row per position and a column per pair.
//!
//! *Schedule.* As for halves ([`crate::kernels::rope`]), but the other element of a pair is in the next lane, and so is its copy
//! of the angle. Products with small matrices move them (`PLACES`): exactly, since a f32 is a sum of three bf16 of which
//! each is moved by one product with 1 or -1, and since infinities and NaN, which a product would spread, are moved as
//! small numbers that stand for them.

use crate::Generic::Size;
use crate::functions::{exact_product, moved};
use crate::ops::dispatch::{Place, Rule};
use crate::prelude::*;

/// One sub-group's part of a rotary embedding of neighbours. `places` is `PLACES`.
#[tile_kernel(fns(exact_product, moved), derive(HALF = N / 2), instances(
    <bf16, false, 8, 32; subgroups = (8, 2)>,
    <bf16, true, 8, 32; subgroups = (8, 2)>,
    <f16, false, 8, 32; subgroups = (8, 2)>,
    <f16, true, 8, 32; subgroups = (8, 2)>,
    <f32, false, 8, 32; subgroups = (8, 2)>,
    <f32, true, 8, 32; subgroups = (8, 2)>,
))]
pub fn rope_pairs<T: Element, const COPY: bool, const M: usize, const N: usize, const HALF: usize>(
    y: &mut gl<T>,
    z: &mut gl<T>,
    x: &gl<T>,
    w: &gl<T>,
    cos: &gl<f32>,
    sin: &gl<f32>,
    places: &gl<bf16>,
    first: u32,
) {
    let at = own_tile::<M, N>(y, Linear);
    let row = at.row() * M as u32;
    let swap: rt<bf16, N, N, Vnni> = load_transform(places, [0, 0]);
    let twice: rt<bf16, HALF, N, Vnni> = load_transform(places, [2, 0]);
    let narrow: rt<f32, M, HALF> = load(cos, elements([row + first, at.col() * HALF as u32]));
    let c = exact_product::<M, HALF, N>(&narrow, &twice);
    let narrow: rt<f32, M, HALF> = load(sin, elements([row + first, at.col() * HALF as u32]));
    let s = exact_product::<M, HALF, N>(&narrow, &twice);
    let raw: rt<T, M, N> = load(x, at);
    let own = raw.to::<f32>();
    store(y, &own.mul(&c).add(&moved::<M, N>(&own, &swap).mul(&s)).to::<T>(), at);
    if at.depth() < w.depth() {
        let raw: rt<T, M, N> = load(w, at);
        if COPY {
            store(z, &raw, at);
        } else {
            let own = raw.to::<f32>();
            store(z, &own.mul(&c).add(&moved::<M, N>(&own, &swap).mul(&s)).to::<T>(), at);
        }
    }
}

/// Three matrices below each other, 48 x 32. Rows 0 to 31 exchange neighbours and negate those that move left; rows 32 to 47
/// double every column.
pub(crate) static PLACES: [[i8; 32]; 48] = {
    let mut places = [[0; 32]; 48];
    let mut pair = 0;
    while pair < 16 {
        places[2 * pair + 1][2 * pair] = -1;
        places[2 * pair][2 * pair + 1] = 1;
        places[32 + pair][2 * pair] = 1;
        places[32 + pair][2 * pair + 1] = 1;
        pair += 1;
    }
    places
};

/// One tile for all widths.
pub(crate) const POLICY: &[Rule] = &[
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(8), Size(32)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(8), Size(32)]),
];
