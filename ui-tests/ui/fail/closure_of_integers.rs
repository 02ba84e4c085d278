//! T040: elements of i32 have the ops of i32.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, b: &gl<i32>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let y: rt<i32, M, N> = load(b, [0, 0]);
    let p = y.map(|v| v / 2);
    let q = y.map(|v| 2 / v);
    let r = y.map(|v| v.exp2());
    store(c, &x, at);
}

fn main() {}
