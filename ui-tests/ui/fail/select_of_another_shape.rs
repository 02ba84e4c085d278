//! T053: `select` chooses elements of its mask's shape.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let y: rt<f32, M, 32> = load(a, [0, 0]);
    let z = y.lt(0.0).select(&x, 0.0);
    store(c, &z, at);
}

fn main() {}
