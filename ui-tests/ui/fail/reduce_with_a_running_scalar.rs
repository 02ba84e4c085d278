//! T034: the running value of a reduction is a vector.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let m = x.row_max_with(&s);
    let tile = x.sub_row(&m);
    store(c, &tile, at);
}

fn main() {}
