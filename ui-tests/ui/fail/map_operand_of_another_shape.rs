//! T033: both operands of an element-wise op have one shape.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let y: rt<f32, M, 32> = load(a, [0, 0]);
    let tile = x.mul(&y);
    store(c, &tile, at);
}

fn main() {}
