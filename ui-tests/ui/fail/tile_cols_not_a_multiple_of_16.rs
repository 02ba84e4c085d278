//! T020: tile columns are a multiple of 16.

use tile_std::prelude::*;

#[tile_kernel(instances(<24; subgroups = (1, 1)>))]
fn kernel<const N: usize>(c: &mut gl<f32>) {
    let at = own_tile::<8, N>(c, Linear);
    let tile: rt<f32, 8, N> = load(c, at);
    store(c, &tile, at);
}

fn main() {}
