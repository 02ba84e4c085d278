//! T040: closures compute elements of floats and i32.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, b: &gl<i8>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let y: rt<i8, M, 32> = load(b, [0, 0]);
    let p = y.map(|v| v + v);
    store(c, &x, at);
}

fn main() {}
