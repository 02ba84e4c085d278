//! T016: the condition of `while` is a `bool`, and what it carries keeps its type.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let mut i = n;
    while i {
        i -= 1;
    }
    let mut tile: rt<f32, M, 16> = zeros();
    while i < 3 {
        tile = tile.row_max();
        i += 1.0;
    }
    store(c, &tile, at);
}

fn main() {}
