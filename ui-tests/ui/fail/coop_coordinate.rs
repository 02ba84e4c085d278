//! T050: the coordinate of `load_coop` is the same in every sub-group; `store_coop` goes to owned tiles.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (2, 2)>))]
fn loads<const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<8, N>(c, Linear);
    let mut s: st<f32, 16, 32> = shared();
    load_coop(&mut s, a, [at.row(), at.group_col()]);
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
}

#[tile_kernel(instances(<16; subgroups = (2, 2)>))]
fn stores<const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<8, N>(c, Linear);
    let mut s: st<f32, 32, 32> = shared();
    load_coop(&mut s, c, [0, 0]);
    store_coop(a, &s, at);
    store_coop(c, &s, at);
}

#[tile_kernel(instances(<16; subgroups = (2, 2)>))]
fn lists<const N: usize>(c: &mut gl<f32>) {
    let at = own_tile::<8, N>(c, Linear);
    let s: st<f32, 16, 32> = shared();
    store_coop(c, &s, [0, 0]);
}

fn main() {}
