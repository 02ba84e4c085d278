//! T003: an element type satisfies its bound.

use tile_std::prelude::*;

#[tile_kernel(instances(<f32; subgroups = (1, 1)>))]
fn kernel<A: MmaInput>(c: &mut gl<A>) {
    let at = own_tile::<16, 16>(c, Linear);
    let tile: rt<A, 16, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
