//! T017: a number that has methods has a type.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let p = 1.0.max(s);
    let q = (-2.5).exp2() + (1.0 + 2.0).min(s);
    let r = x.map(|v| 1.0.max(v));
    let t = 1.0f32.max(s) + 0.max(1) as f32;
    store(c, &x, at);
}

fn main() {}
