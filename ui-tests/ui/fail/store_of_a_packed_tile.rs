//! T030: a packed tile is not stored.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<bf16>, a: &gl<bf16>) {
    let at = own_tile::<M, 16>(c, Linear);
    let y: rt<bf16, M, 16, Vnni> = load_transform(a, [0, 0]);
    store(c, &y, at);
}

fn main() {}
