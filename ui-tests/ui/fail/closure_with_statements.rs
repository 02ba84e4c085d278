//! T037: a closure over elements is one expression.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let p = x.map(|v| {
        let w = v * v;
        w + w
    });
    let q = x.map(|v| if v > 0.0 { v });
    let r = x.map(|v| v * if s > 0.0 { s } else { 1.0 });
    let t = x.map(|v| if s > 0.0 { v } else { -v });
    let u = x.map(|v| match v { _ => v });
    let w = x.map(|v| return v);
    store(c, &x, at);
}

fn main() {}
