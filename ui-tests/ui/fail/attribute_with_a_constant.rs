//! T002: the arguments of an instance are literals.

use tile_std::prelude::*;

const ROWS: usize = 16;

#[tile_kernel(instances(<{ ROWS }; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
