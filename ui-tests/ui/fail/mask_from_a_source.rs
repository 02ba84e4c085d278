//! T052: masks come from comparisons only.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let mask: rt<bool, M, N> = zeros();
    store(c, &mask.select(&x, 0.0), at);
}

fn main() {}
