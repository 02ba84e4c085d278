//! T016: a coordinate is u32.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, b: &gl<f32>, i: i32) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = load(b, [i, 0]);
    store(c, &tile, at);
}

fn main() {}
