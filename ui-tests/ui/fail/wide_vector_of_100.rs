//! T035: the length of a wide vector is a multiple of 128.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn kernel(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 128>(c, Linear);
    let v: rv<f32, 100, Wide> = load_vec(a, [0, at.col()]);
    let x: rt<f32, 16, 128> = fill(v.reduce_sum());
    store(c, &x, at);
}

fn main() {}
