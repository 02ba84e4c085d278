//! T015: an owned position is the coordinate of a tile of its size.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<M, 16>(c, Linear);
    let wide: rt<bf16, M, 32> = load(a, at);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
