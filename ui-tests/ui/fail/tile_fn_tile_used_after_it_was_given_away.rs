//! A tile that a device function takes by value is used no more; it is reported once.

use tile_std::prelude::*;

#[tile_fn]
fn spent<const M: usize>(x: rt<f32, M, 16>) -> rt<f32, M, 16> {
    x.exp2()
}

#[tile_kernel(fns(spent), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    let p = spent(tile);
    let q = spent(tile);
    store(c, &p.add(&q), at);
}

fn main() {}
