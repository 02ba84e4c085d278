//! T058: a part lies in its tile.

use tile_std::prelude::*;

#[tile_kernel(instances(<32, 2; subgroups = (1, 1)>))]
fn part<const M: usize, const I: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, [at.row(), at.col()]);
    let y = x.sub_tile::<16, 16>(I, 0);
    store(c, &y, at);
}

fn main() {}
