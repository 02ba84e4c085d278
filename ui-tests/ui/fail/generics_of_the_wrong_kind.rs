//! T003: an instance gives one fitting argument per generic parameter.

use tile_std::prelude::*;

#[tile_kernel(instances(<bf16; subgroups = (1, 1)>, <16, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
