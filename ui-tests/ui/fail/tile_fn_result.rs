//! T010: a device function gives a tile, a vector or a scalar.

use tile_std::prelude::*;

#[tile_fn]
fn one(s: f32) -> (f32, f32) {
    s
}

#[tile_fn]
fn two(s: f32) -> usize {
    1
}

#[tile_fn]
fn three<const M: usize>(x: &rt<f32, M, 16>) -> &rt<f32, M, 16> {
    x
}

fn main() {}
