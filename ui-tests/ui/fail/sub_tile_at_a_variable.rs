//! T058: which part of a tile it is must be known at compile time.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn part(c: &mut gl<f32>, a: &gl<f32>, i: u32) {
    let at = own_tile::<8, 16>(c, Linear);
    let x: rt<f32, 16, 16> = load(a, [at.row(), at.col()]);
    store(c, &x.sub_tile::<8, 16>(i, 0), at);
}

fn main() {}
