//! T033: `zip` takes two tiles or vectors of one shape.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, b: &gl<i32>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let y: rt<f32, M, 32> = load(a, [0, 0]);
    let z: rt<i32, M, N> = load(b, [0, 0]);
    let v: rv<f32, M, PerRow> = x.row_sum();
    let w: rt<f32, M, N, Acc> = load(a, [0, 0]);
    let p = x.zip(&y, |v, w| v + w);
    let q = x.zip(&z, |v, w| v + w);
    let r = x.zip(&v, |v, w| v + w);
    let t = x.zip(&w, |v, w| v + w);
    let o = at.map(|v| v);
    store(c, &x, at);
}

fn main() {}
