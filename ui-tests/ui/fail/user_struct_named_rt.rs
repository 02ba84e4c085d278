//! A struct named `rt` is not a tile.

use tile_std::prelude::*;

#[allow(non_camel_case_types)]
struct rt<T, const M: usize, const N: usize>(T);

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
