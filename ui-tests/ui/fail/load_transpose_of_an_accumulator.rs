//! T031: `load_transpose` gives `Row` and `VnniT` tiles.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn turn(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 32>(c, Linear);
    let x: rt<f32, 16, 32, Acc> = load_transpose(a, [at.col(), at.row()]);
    store(c, &x, at);
}

fn main() {}
