//! The ops explain themselves in plain functions too: operands of two types.

use tile_std::prelude::*;

fn plain(a: &gl<bf16>, b: &gl<f16>) {
    let mut acc: rt<f32, 16, 32, Acc> = zeros();
    let x: rt<bf16, 16, 16> = load(a, [0, 0]);
    let y: rt<f16, 16, 32, Vnni> = load_transform(b, [0, 0]);
    mma_AB(&mut acc, &x, &y);
}

fn main() {}
