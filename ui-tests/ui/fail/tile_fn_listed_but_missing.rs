//! `fns(..)` lists functions by path; rustc reports a path that leads nowhere.

use tile_std::prelude::*;

#[tile_kernel(fns(other::plain), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = fill(other::plain(1.0));
    store(c, &tile, at);
}

fn main() {}
