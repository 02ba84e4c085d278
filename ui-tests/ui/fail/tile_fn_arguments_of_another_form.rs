//! T015: an argument is passed as the parameter says.

use tile_std::prelude::*;

#[tile_fn]
fn add<const M: usize, const N: usize>(x: &rt<f32, M, N>, v: &rv<f32, N, PerCol>, s: f32) -> rt<f32, M, N> {
    x.add_col(v).add(s)
}

#[tile_kernel(fns(add), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let mut x: rt<f32, M, 16> = load(a, at);
    let v = x.col_max();
    let p = add(x, &v, 1.0);
    let q = add(&mut x, &v, 1.0);
    let tile = add(&x, v, 1.0);
    store(c, &tile, at);
}

fn main() {}
