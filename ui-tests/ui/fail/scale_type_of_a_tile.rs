//! T032: `.scale(s)` works on f32 tiles.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<bf16>, a: &gl<bf16>, x: f32) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<bf16, M, 16> = load(a, [at.row(), at.col()]);
    store(c, &tile.scale(x), at);
}

fn main() {}
