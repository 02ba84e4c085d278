//! The ops explain themselves in plain functions too: the accumulator's type.

use tile_std::prelude::*;

fn plain(a: &gl<bf16>) {
    let mut acc: rt<bf16, 16, 32, Acc> = zeros();
    let x: rt<bf16, 16, 16> = load(a, [0, 0]);
    let y: rt<bf16, 16, 32, Vnni> = load_transform(a, [0, 0]);
    mma_AB(&mut acc, &x, &y);
}

fn main() {}
