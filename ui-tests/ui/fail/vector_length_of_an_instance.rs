//! T035: a vector has the length of a tile's side in every instance.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>, <40; subgroups = (1, 1)>))]
fn kernel<const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<8, 16>(c, Linear);
    let w: rv<f32, N, PerCol> = load_vec(a, [0, 0]);
    let tile: rt<f32, 8, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
