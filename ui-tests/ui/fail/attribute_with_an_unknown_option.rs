//! T002: the options of an instance are `subgroups` and `host`.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1); cpu>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
