//! T013: a size is a parameter of the kernel.

use tile_std::prelude::*;

const ROWS: usize = 16;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, ROWS, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
