//! T014: a kernel lists the device functions it calls.

use tile_std::prelude::*;

#[tile_fn]
fn shifted<const M: usize, const N: usize>(x: &rt<f32, M, N>, v: &rv<f32, N, PerCol>, s: f32) -> rt<f32, M, N> {
    x.add_col(v).add(s)
}

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let tile = shifted(&x, &x.col_max(), 1.0);
    let y = add(&x, 1.0);
    store(c, &tile, at);
}

fn main() {}
