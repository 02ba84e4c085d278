//! T030: a stored tile has its tensor's element type.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<bf16, M, 16> = load(a, [at.row(), at.col()]);
    store(c, &tile, at);
}

fn main() {}
