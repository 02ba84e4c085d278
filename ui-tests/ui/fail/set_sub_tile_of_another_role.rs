//! T058: a part has the element type and role of its tile.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn part(c: &mut gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let mut x: rt<f32, 16, 16> = zeros();
    let y: rt<f32, 8, 16, Acc> = zeros();
    x.set_sub_tile(&y, 1, 0);
    store(c, &x, at);
}

fn main() {}
