//! T027: a transposed store goes to an owned tile of the transposed shape.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn turn(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<32, 16>(c, Linear);
    let x: rt<f32, 32, 16> = load(a, [at.col(), at.row()]);
    store_transpose(c, &x, at);
}

fn main() {}
