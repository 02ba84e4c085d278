//! T010: a safe kernel has no `unsafe` block.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    unsafe { store_at(c, &tile, [0, 0]) };
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
