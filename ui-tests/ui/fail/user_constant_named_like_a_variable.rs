//! A constant cannot be shadowed by a variable.

use tile_std::prelude::*;

#[allow(non_upper_case_globals)]
const tile: u32 = 3;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
