//! T020: a part of a tile obeys the rule of tile sizes.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn part(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let mut x: rt<f32, 16, 16> = load(a, [at.row(), at.col()]);
    let y = x.sub_tile::<4, 16>(1, 0);
    x.set_sub_tile(&y, 0, 0);
    store(c, &x, at);
}

fn main() {}
