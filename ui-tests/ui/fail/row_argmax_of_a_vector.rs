//! T034: `row_argmax` takes a tile.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn kernel(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<f32, 16, 16> = load(a, at);
    let i = x.row_max().row_argmax();
    let y = x.add(1.0);
    store(c, &y, at);
}

fn main() {}
