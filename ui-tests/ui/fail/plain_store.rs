//! The ops explain themselves in plain functions too: what is stored, and where.

use tile_std::prelude::*;

fn plain(c: &mut gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<8, 16>(c, Linear);
    let x: rt<bf16, 8, 16> = load(a, at);
    store(c, &x, at);
    let y: rt<f32, 8, 32> = zeros();
    store(c, &y, at);
    store(c, &x.to::<f32>(), [0, 0]);
}

fn main() {}
