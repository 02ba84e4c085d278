//! T010: the condition of `while` is a comparison.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    while let 3 = n {
        return;
    }
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
