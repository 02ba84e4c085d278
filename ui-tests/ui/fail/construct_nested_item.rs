//! T010: a body has no items.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    fn twice(v: u32) -> u32 {
        v * 2
    }
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
