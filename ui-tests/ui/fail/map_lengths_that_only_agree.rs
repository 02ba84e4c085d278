//! T033: a vector's length is the tile's in every instance.

use tile_std::prelude::*;

#[tile_kernel(instances(<16, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let v: rv<f32, N, PerRow> = zeros();
    let tile = x.add_row(&v);
    store(c, &tile, at);
}

fn main() {}
