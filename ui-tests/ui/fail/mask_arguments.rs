//! T016: masks take u32 positions and an f32 fill.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>, n: i32) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let y = x.keep_cols(n, 0.0);
    let z = x.tril(0, at.col(), a.cols());
    let tile = x.add(1.0);
    store(c, &tile, at);
}

fn main() {}
