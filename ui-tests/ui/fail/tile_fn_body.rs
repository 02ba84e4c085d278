//! T020, T035: the sizes of a device function are checked where a kernel calls it.

use tile_std::prelude::*;

#[tile_fn]
fn odd<const M: usize, const N: usize>(s: f32) -> f32 {
    let _y: rt<f32, M, N> = fill(s);
    let _v: rv<f32, N, PerCol> = fill(s);
    s
}

#[tile_kernel(fns(odd), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, s: f32) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    let t = odd::<M, 24>(s);
    store(c, &tile, at);
}

fn main() {}
