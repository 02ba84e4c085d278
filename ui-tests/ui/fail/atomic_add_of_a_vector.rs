//! T059: `atomic_add` adds a tile, `atomic_add_vec` a vector.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn add(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<f32, 16, 16> = load(a, at);
    atomic_add(c, &x.row_sum(), [0, 0]);
}

fn main() {}
