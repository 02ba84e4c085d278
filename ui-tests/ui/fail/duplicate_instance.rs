//! T004: each instance is listed once.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>, <16; subgroups = (2, 2)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
