//! T037: a closure over elements is written in place, with a plain parameter for each tile.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let p = x.map(f32::exp2);
    let q = x.map(|v, w| v + w);
    let r = x.zip(&x, |v| v);
    let t = x.map(move |v| v);
    let u = x.map(|(v, w)| v);
    let w = x.zip(&x, |v, v| v);
    store(c, &x, at);
}

fn main() {}
