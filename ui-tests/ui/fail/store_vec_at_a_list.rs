//! T027: a safe kernel stores vectors where its sub-group owns a tile.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn kernel(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let v: rv<f32, 16, PerCol> = load_vec(a, [0, at.col()]);
    store_vec(c, &v, [at.row(), at.col()]);
}

fn main() {}
