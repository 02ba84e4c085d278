//! T042: no tensor is of tf32.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<tf32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<tf32, M, 16> = load(a, at);
    store(c, &x.to::<f32>(), at);
}

fn main() {}
