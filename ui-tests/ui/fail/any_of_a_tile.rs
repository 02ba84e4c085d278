//! T052: a mask is asked for a true element, not a tile of numbers.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn positive(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<8, 16>(c, Linear);
    let x: rt<f32, 8, 16> = load(a, [at.row(), at.col()]);
    if x.any() {
        store(c, &x, at);
    }
}

fn main() {}
