//! T014: a device function calls ops only.

use tile_std::prelude::*;

#[tile_fn]
fn once(s: f32) -> f32 {
    s
}

#[tile_fn]
fn twice(s: f32) -> f32 {
    once(s) + twice(s)
}

fn main() {}
