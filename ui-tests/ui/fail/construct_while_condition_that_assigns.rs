//! T010: the condition of a `while` changes nothing.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn assigns<const N: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<8, N>(c, Linear);
    let mut k = n;
    while {
        k = k - 1;
        k > 3
    } {}
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
}

fn main() {}
