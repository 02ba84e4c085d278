//! The middle of a gated feed-forward layer, element by element:
//!
//! ```text
//! y = silu(gate) * up, silu(x) = x / (1 + e^-x)    or    y = gelu(gate) * up, gelu(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
//! ```
//!
//! *Schedule.* A sub-group computes one `M x N` tile in f32; two messages of a row of 128 bytes or more bring it, and nothing is
//! kept. The tile is the same on the host, where it stays in the first cache.

use crate::Generic::Size;
use crate::ops::dispatch::{Place, Rule};
use crate::prelude::*;

/// One sub-group's part of `silu(gate) * up`, or of `gelu(gate) * up`.
#[tile_kernel(instances(
    <bf16, false, 8, 128; subgroups = (4, 2)>,
    <bf16, true, 8, 128; subgroups = (4, 2)>,
    <f16, false, 8, 128; subgroups = (4, 2)>,
    <f16, true, 8, 128; subgroups = (4, 2)>,
    <f32, false, 8, 128; subgroups = (4, 2)>,
    <f32, true, 8, 128; subgroups = (4, 2)>,
))]
pub fn gated<T: Element, const GELU: bool, const M: usize, const N: usize>(
    y: &mut gl<T>,
    gate: &gl<T>,
    up: &gl<T>,
) {
    let at = own_tile::<M, N>(y, Linear);
    let raw: rt<T, M, N> = load(gate, at);
    let more: rt<T, M, N> = load(up, at);
    let wide = raw.to::<f32>();
    let open = if GELU { wide.gelu() } else { wide.silu() };
    store(y, &open.mul(&more.to::<f32>()).to::<T>(), at);
}

/// One tile for all widths.
pub(crate) const POLICY: &[Rule] = &[
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(8), Size(128)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(8), Size(128)]),
];
