//! T014: scalars are compared by operators.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let small = s.lt(1.0);
    let y = s.fma(2.0, 1.0);
    store(c, &x, at);
}

fn main() {}
