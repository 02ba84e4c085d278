//! T014: a device function lists the functions it calls.

use tile_std::prelude::*;

#[tile_fn]
fn once(s: f32) -> f32 {
    s
}

#[tile_fn]
fn twice(s: f32) -> f32 {
    once(s) * 2.0
}

fn main() {}
