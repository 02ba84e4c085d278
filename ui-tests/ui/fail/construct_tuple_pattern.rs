//! T010: `let` binds one variable, or the values of a device function.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let (i, (j, k)) = (n, (n, n));
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
