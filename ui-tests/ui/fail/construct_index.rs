//! T010: tensors are read by loads.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<M, 16>(c, Linear);
    let first = a[0];
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
