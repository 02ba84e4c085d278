//! T016: an argument is of the parameter's kind.

use tile_std::prelude::*;

#[tile_fn]
fn add<const M: usize, const N: usize>(x: &rt<f32, M, N>, v: &rv<f32, N, PerCol>, s: f32) -> rt<f32, M, N> {
    x.add_col(v).add(s)
}

#[tile_kernel(fns(add), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>, s: f32, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let v = x.col_max();
    let p = add(&v, &v, 1.0);
    let q = add(&x, &x, 1.0);
    let r = add(&x, &v, n);
    let tile = add(&x, s, 1.0);
    store(c, &tile, at);
}

fn main() {}
