//! T006: the kernel takes its grid, not a device function.

use tile_std::prelude::*;

#[tile_fn]
fn place(a: &gl<f32>) -> f32 {
    let at = own_tile::<8, 16>(a, Linear);
    at.row() as f32
}

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
