//! T013: a body uses only what it can see.

use tile_std::prelude::*;

const AHEAD: u32 = 3;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let k = n + AHEAD;
    for _ in 0..k {}
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
