//! A tile is used after it was moved.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let first: rt<f32, M, 16> = zeros();
    let second = first;
    store(c, &second, at);
    store(c, &first, at);
}

fn main() {}
