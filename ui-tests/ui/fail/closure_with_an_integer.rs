//! T016, T037: a number beside an element has its type, which is f32.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let y = x.map(|v| v * 2);
    let z = x.zip(&x, |v, w| v + w * 3u32);
    let w = x.map(|v: i32| v + v);
    store(c, &x, at);
}

fn main() {}
