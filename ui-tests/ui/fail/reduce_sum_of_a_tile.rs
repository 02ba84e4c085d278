//! T034: `reduce_sum` takes a vector.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn kernel(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<f32, 16, 16> = load(a, at);
    let s = x.reduce_sum();
    store(c, &x.mul(s), at);
}

fn main() {}
