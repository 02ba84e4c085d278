//! T010: an attribute in a body does not change what is compiled.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let mut tile: rt<f32, M, 16> = zeros();
    #[cfg(debug_assertions)]
    {
        tile = tile.exp2();
    }
    store(c, &tile, at);
}

fn main() {}
