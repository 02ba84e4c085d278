//! T003: a derived size is a parameter of the function.

use tile_std::prelude::*;

#[tile_kernel(derive(HALF = M / 2), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
