//! T005: no tensor holds masks.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<bool>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = zeros();
    store(c, &x, at);
}

fn main() {}
