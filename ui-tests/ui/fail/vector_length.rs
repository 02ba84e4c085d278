//! T035: a vector has the length of a tile's side.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let v: rv<f32, 12, PerRow> = zeros();
    let w: rv<f32, 24, PerCol> = zeros();
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
