//! T014: `f32::max` is a method.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, x: f32) {
    let at = own_tile::<M, 16>(c, Linear);
    let s = f32::max(x, 0.0);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile.scale(s), at);
}

fn main() {}
