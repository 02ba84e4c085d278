//! T020: tile rows are a multiple of 8.

use tile_std::prelude::*;

#[tile_kernel(instances(<12; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
