//! T033: a vector beside a tile is f32.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>, b: &gl<bf16>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let w: rv<bf16, 16, PerCol> = load_vec(b, [0, 0]);
    let tile = x.mul_col(&w);
    store(c, &tile, at);
}

fn main() {}
