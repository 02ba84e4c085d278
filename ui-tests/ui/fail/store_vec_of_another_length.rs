//! T027: a stored vector is as long as the side of the owned tile.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn kernel(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 32>(c, Linear);
    let v: rv<f32, 16, PerCol> = load_vec(a, [0, at.col()]);
    store_vec(c, &v, at);
}

fn main() {}
