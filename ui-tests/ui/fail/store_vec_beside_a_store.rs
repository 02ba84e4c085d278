//! T071: an output takes tiles, or vectors of one encoding.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn kernel(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<f32, 16, 16> = load(a, at);
    store(c, &x, at);
    store_vec(c, &x.col_sum(), at);
}

fn main() {}
