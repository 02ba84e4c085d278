//! T010: a parameter passed by reference is not hidden by a variable.

use tile_std::prelude::*;

#[tile_fn]
fn twice<const M: usize>(x: &rt<f32, M, 16>) -> rt<f32, M, 16> {
    let x = x.scale(2.0);
    x
}

fn main() {}
