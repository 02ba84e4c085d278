//! T016: the arguments fix each generic parameter once.

use tile_std::prelude::*;

#[tile_fn]
fn add<const M: usize, const N: usize>(x: &rt<f32, M, N>, v: &rv<f32, N, PerCol>, s: f32) -> rt<f32, M, N> {
    x.add_col(v).add(s)
}

#[tile_kernel(fns(add), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let v: rv<f32, 32, PerCol> = zeros();
    let w = x.row_max();
    let y: rt<f32, M, 16, Acc> = zeros();
    let z: rt<bf16, M, 16> = zeros();
    let p = add(&x, &v, 1.0);
    let q = add(&x, &w, 1.0);
    let r = add(&y, &x.col_max(), 1.0);
    let s = add(&z, &x.col_max(), 1.0);
    let tile = add::<32, 16>(&x, &x.col_max(), 1.0);
    store(c, &tile, at);
}

fn main() {}
