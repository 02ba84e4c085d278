//! Conversion of every element: `y = x` in another type.
//!
//! To a float, an element is rounded to nearest even; to an integer likewise, and then it saturates, and NaN gives 0. An
//! integer goes to a 16-bit float by way of f32.
//!
//! *Schedule.* A sub-group converts one `M x N` tile; nothing is kept. The tile is the same on the host.

use crate::Generic::Size;
use crate::ops::dispatch::{Place, Rule};
use crate::prelude::*;

/// One sub-group's part of a conversion.
#[tile_kernel(instances(
    <bf16, f16, 8, 64; subgroups = (4, 4)>,
    <bf16, f32, 8, 64; subgroups = (4, 4)>,
    <bf16, i8, 8, 64; subgroups = (4, 4)>,
    <bf16, u8, 8, 64; subgroups = (4, 4)>,
    <bf16, i32, 8, 64; subgroups = (4, 4)>,
    <f16, bf16, 8, 64; subgroups = (4, 4)>,
    <f16, f32, 8, 64; subgroups = (4, 4)>,
    <f16, i8, 8, 64; subgroups = (4, 4)>,
    <f16, u8, 8, 64; subgroups = (4, 4)>,
    <f16, i32, 8, 64; subgroups = (4, 4)>,
    <f32, bf16, 8, 64; subgroups = (4, 4)>,
    <f32, f16, 8, 64; subgroups = (4, 4)>,
    <f32, i8, 8, 64; subgroups = (4, 4)>,
    <f32, u8, 8, 64; subgroups = (4, 4)>,
    <f32, i32, 8, 64; subgroups = (4, 4)>,
    <i8, bf16, 8, 64; subgroups = (4, 4)>,
    <i8, f16, 8, 64; subgroups = (4, 4)>,
    <i8, f32, 8, 64; subgroups = (4, 4)>,
    <i8, u8, 8, 64; subgroups = (4, 4)>,
    <i8, i32, 8, 64; subgroups = (4, 4)>,
    <u8, bf16, 8, 64; subgroups = (4, 4)>,
    <u8, f16, 8, 64; subgroups = (4, 4)>,
    <u8, f32, 8, 64; subgroups = (4, 4)>,
    <u8, i8, 8, 64; subgroups = (4, 4)>,
    <u8, i32, 8, 64; subgroups = (4, 4)>,
    <i32, bf16, 8, 64; subgroups = (4, 4)>,
    <i32, f16, 8, 64; subgroups = (4, 4)>,
    <i32, f32, 8, 64; subgroups = (4, 4)>,
    <i32, i8, 8, 64; subgroups = (4, 4)>,
    <i32, u8, 8, 64; subgroups = (4, 4)>,
))]
pub fn cast<T: AnyElement, U: AnyElement, const M: usize, const N: usize>(y: &mut gl<U>, x: &gl<T>) {
    let at = own_tile::<M, N>(y, Linear);
    let tile: rt<T, M, N> = load(x, at);
    store(y, &tile.to::<U>(), at);
}

/// One tile for all widths.
pub(crate) const POLICY: &[Rule] = &[
    Rule::up_to(usize::MAX, Place::Gpu, &[Size(8), Size(64)]),
    Rule::up_to(usize::MAX, Place::Host, &[Size(8), Size(64)]),
];
