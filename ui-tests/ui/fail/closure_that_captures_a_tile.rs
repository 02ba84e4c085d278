//! T037: a closure over elements uses scalars beside its parameters.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let y = x.neg();
    let v: rv<f32, M, PerRow> = y.row_sum();
    let p = x.map(|e| e * y);
    let q = x.map(|e| e * v);
    let r = v.map(|e| e + v);
    let t = x.map(|e| e + at);
    store(c, &x, at);
}

fn main() {}
