//! T015: masks take the positions and a fill.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let y = x.tril(0.0);
    let tile = x.keep_rows(3);
    store(c, &tile, at);
}

fn main() {}
