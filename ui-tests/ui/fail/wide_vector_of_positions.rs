//! T073: positions are counted along the rows or columns of a tile, not in a wide vector.

use tile_std::prelude::*;

#[tile_kernel(instances(<128; subgroups = (1, 1)>))]
fn counted<const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<1, N>(c, Linear);
    let x: rv<f32, N, Wide> = load_vec(a, [0, 0]);
    let i: rv<f32, N, Wide> = iota(0.0);
    store_vec(c, &x.add(&i), at);
}

fn main() {}
