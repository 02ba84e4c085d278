//! T031: `load_vec` gives a vector, `load` a tile.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = load_vec(a, [0, 0]);
    let v: rv<f32, 16, PerCol> = load(a, [0, 0]);
    store(c, &tile, at);
}

fn main() {}
