//! T015: what a device function changes is given to it once.

use tile_std::prelude::*;

#[tile_fn]
fn both<const M: usize>(x: &mut rt<f32, M, 16>, y: &rt<f32, M, 16>) {
    *x = x.add(y);
}

#[tile_kernel(fns(both), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let mut tile: rt<f32, M, 16> = zeros();
    both(&mut tile, &tile);
    store(c, &tile, at);
}

fn main() {}
