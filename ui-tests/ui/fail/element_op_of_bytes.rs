//! T040: bytes are moved, converted and multiplied, not computed with.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<i8>, a: &gl<i8>) {
    let at = own_tile::<M, 32>(c, Linear);
    let x: rt<i8, M, 32> = load(a, at);
    let y = x.neg();
    store(c, &y, at);
}

fn main() {}
