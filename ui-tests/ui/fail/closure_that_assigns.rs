//! T037: a closure over elements changes nothing.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let mut sum = 0.0f32;
    let p = x.map(|v| sum += v);
    let q = x.map(|mut v| v);
    let r = x.map(|v| v + { sum = 1.0; sum });
    let t = x.map(|v| v = 1.0);
    store(c, &x, at);
}

fn main() {}
