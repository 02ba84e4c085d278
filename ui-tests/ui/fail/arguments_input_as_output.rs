//! T015: an output is a `&mut gl`.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<bf16, M, 16> = zeros();
    store(a, &tile, at);
}

fn main() {}
