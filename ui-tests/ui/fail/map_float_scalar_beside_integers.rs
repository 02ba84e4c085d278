//! T033/T016: the scalar beside an i32 tile is an i32.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<i32>, a: &gl<i32>, s: f32) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<i32, M, 16> = load(a, at);
    let y = x.add(s);
    store(c, &y, at);
}

fn main() {}
