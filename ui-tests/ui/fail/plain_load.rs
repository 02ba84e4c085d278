//! The ops explain themselves in plain functions too: what a load makes.

use tile_std::prelude::*;

fn plain(a: &gl<bf16>) {
    let _: rt<bf16, 16, 16, Vnni> = load(a, [0, 0]);
    let _: rt<bf16, 16, 16> = load_transform(a, [0, 0]);
    let _: rt<f16, 16, 16> = load(a, [0, 0]);
    let _: rt<bf16, 16, 16> = load(a, [0u64, 0]);
}

fn main() {}
