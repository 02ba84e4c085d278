//! T002: a work-group has at most 32 sub-groups.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (8, 8)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
