//! T010: a pattern of `match` is a number, `true`, `false`, a range or `_`.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let k = match n {
        0 => 1u32,
        m => m + 1,
    };
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
