//! The transpose of every plane: `y[c, r] = x[r, c]`.
//!
//! *Schedule.* A sub-group owns an `M x N` tile of the output and loads the `N x M` tile of the input that it is the transpose
//! of: messages transpose 32-bit words on the way, and pairs of 16-bit elements are parted in registers. A work-group covers
//! 128 x 128 elements, so that both sides fill whole cache lines. The tile is the same on the host.

use crate::Generic::Size;
use crate::ops::dispatch::{Place, Rule};
use crate::prelude::*;

/// One sub-group's part of a transpose.
#[tile_kernel(instances(
    <bf16, 32, 32; subgroups = (4, 4)>,
    <f16, 32, 32; subgroups = (4, 4)>,
    <f32, 32, 32; subgroups = (4, 4)>,
    <i32, 32, 32; subgroups = (4, 4)>,
))]
pub fn transpose<T: AnyElement, const M: usize, const N: usize>(y: &mut gl<T>, x: &gl<T>) {
    let at = own_tile::<M, N>(y, Linear);
    let tile: rt<T, M, N> = load_transpose(x, [at.batch(), at.depth(), at.col(), at.row()]);
    store(y, &tile, at);
}

/// One tile for all widths.
pub(crate) const POLICY: &[Rule] = &[
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(32), Size(32)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(32), Size(32)]),
];
