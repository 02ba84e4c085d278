//! T014, T034: integers have `min` and `max` only.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let p = n.exp2();
    let q = n.max(1.5);
    let r = n.row_max();
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
