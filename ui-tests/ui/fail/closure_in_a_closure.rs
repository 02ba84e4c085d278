//! T037: a closure over elements has no closure in it.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let p = x.map(|v| x.map(|w| w).map(|w| w));
    let q = x.map(|v| v.map(|w| w));
    let r = x.map(|v| v + (|w| w)(v));
    store(c, &x, at);
}

fn main() {}
