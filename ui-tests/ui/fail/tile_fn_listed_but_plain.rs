//! `fns(..)` lists functions with `#[tile_fn]`; rustc reports others.

use tile_std::prelude::*;

fn plain(s: f32) -> f32 {
    s
}

#[tile_kernel(fns(plain), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = fill(plain(1.0));
    store(c, &tile, at);
}

fn main() {}
