//! T003: the derived sizes of a device function are written, and are what it derives.

use tile_std::prelude::*;

#[tile_fn(derive(HALF = M / 2))]
fn halved<const M: usize, const HALF: usize>(x: &rt<f32, M, 16>) -> rt<f32, HALF, 16> {
    let v = x.col_max();
    let y: rt<f32, HALF, 16> = zeros();
    y.add_col(&v)
}

#[tile_kernel(fns(halved), derive(HALF = M / 2), instances(<32; subgroups = (1, 1)>))]
fn kernel<const M: usize, const HALF: usize>(c: &mut gl<f32>) {
    let at = own_tile::<HALF, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    let p = halved(&tile);
    let q = halved::<M, M>(&tile);
    let r = halved::<M, HALF>(&tile);
    store(c, &r, at);
}

fn main() {}
