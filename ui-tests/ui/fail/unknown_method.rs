//! T014: the nearest method is named.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<bf16>, n: u32, x: f32) {
    let at = own_tile::<M, 16>(c, Linear);
    let s = x.cbrt();
    let t = x.sqtr();
    let k = n.wrapping_add(1);
    let tiles = a.col_tile(16);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
