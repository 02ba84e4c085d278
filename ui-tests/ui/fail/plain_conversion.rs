//! The ops explain themselves in plain functions too: conversions and scaling.

use tile_std::prelude::*;

fn plain(a: &gl<bf16>) {
    let x: rt<bf16, 16, 16, Vnni> = load_transform(a, [0, 0]);
    let _ = x.to::<f32>();
    let y: rt<bf16, 16, 16> = load(a, [0, 0]);
    let _ = y.scale(2.0);
}

fn main() {}
