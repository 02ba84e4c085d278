//! T006: a kernel takes its grid from one `own_tile`.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
unsafe fn kernel<const M: usize>(c: &mut gl<f32>) {
    let tile: rt<f32, M, 16> = load(c, [0, 0]);
    store_at(c, &tile, [0, 0]);
}

fn main() {}
