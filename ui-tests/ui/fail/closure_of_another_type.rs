//! T037: a closure over elements gives an element.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let p = x.map(|v| v > 0.0);
    let q = x.map(|v| v as i32);
    let r = x.map(|v| (v, v));
    let t = x.map(|v| 1.0);
    let u = x.map(|v: f64| v + v);
    let w = x.map(|v: f32| -> f32 { v });
    store(c, &x, at);
}

fn main() {}
