//! T005: a device function takes tiles, vectors, scalars and `&gl`.

use tile_std::prelude::*;

#[tile_fn]
fn one(x: &[f32]) -> f32 {
    1.0
}

#[tile_fn]
fn two<const M: usize>(c: &mut gl<f32>, x: &rt<f32, M, 16>) {
    store(c, x, [0, 0]);
}

#[tile_fn]
fn three((x, y): (f32, f32)) -> f32 {
    x
}

#[tile_fn]
fn four(n: usize) -> u32 {
    1
}

#[tile_fn]
fn five(s: &f32) -> f32 {
    1.0
}

fn main() {}
