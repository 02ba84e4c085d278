//! T014: only the ops may be called.

use tile_std::prelude::*;

fn twice(v: u32) -> u32 {
    v * 2
}

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let k = twice(n);
    for _ in 0..k {}
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
