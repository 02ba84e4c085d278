//! T052: a mask takes no part in arithmetic.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let mask = x.lt(0.0);
    let twice = mask.mul(2.0);
    let sum = mask.row_sum();
    store(c, &x, at);
}

fn main() {}
