//! T011: a tile type is written out.

use tile_std::prelude::*;

type Tile16 = rt<f32, 16, 16>;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: Tile16 = zeros();
    store(c, &tile, at);
}

fn main() {}
