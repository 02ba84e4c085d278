//! T017: a literal fits its type.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let k = n + 4294967296;
    let z = -1 + n;
    for _ in 0..z {}
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
