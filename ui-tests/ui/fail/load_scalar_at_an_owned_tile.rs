//! T015: `load_scalar` takes the element's row and column.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let s = load_scalar(a, at);
    let tile: rt<f32, M, 16> = fill(s);
    store(c, &tile, at);
}

fn main() {}
