//! T040: integers have no exponential.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<i32>, a: &gl<i32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<i32, M, 16> = load(a, at);
    let y = x.exp();
    store(c, &y, at);
}

fn main() {}
