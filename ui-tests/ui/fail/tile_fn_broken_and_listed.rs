//! T010: a mistake in a device function is reported once.

use tile_std::prelude::*;

#[tile_fn]
fn broken(s: f32) -> f32 {
    let [x, y] = [s, s];
    s
}

#[tile_kernel(fns(broken), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = fill(broken(1.0));
    store(c, &tile, at);
}

fn main() {}
