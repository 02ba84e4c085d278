//! T033: both operands of an element-wise op have one role.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let acc: rt<f32, M, 16, Acc> = zeros();
    let tile = acc.max(&x);
    store(c, &tile, at);
}

fn main() {}
