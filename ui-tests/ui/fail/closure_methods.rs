//! T014: an element has operators and some methods of Rust's f32.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let p = x.map(|v| v.neg() + v.log(2.0));
    let q = x.map(|v| v.fma(v, s).clamp(0.0, 1.0));
    let r = x.map(|v| v.sin() + f32::max(v, s));
    let t = x.map(|v| v % 2.0 + v.max(s, s));
    let u = x.map(|v| v.ge(s));
    store(c, &x, at);
}

fn main() {}
