//! T010: a device function ends at its end.

use tile_std::prelude::*;

#[tile_fn]
fn twice<const M: usize>(x: &rt<f32, M, 16>, flag: bool) -> rt<f32, M, 16> {
    if flag {
        return x.scale(2.0);
    }
    x.scale(1.0)
}

fn main() {}
