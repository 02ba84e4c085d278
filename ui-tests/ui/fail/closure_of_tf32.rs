//! T042: tiles of tf32 are only multiplied.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let y: rt<tf32, M, 8> = load(a, [0, 0]);
    let p = y.map(|v| v);
    store(c, &x, at);
}

fn main() {}
