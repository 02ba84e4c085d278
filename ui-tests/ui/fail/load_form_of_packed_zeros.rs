//! T031: `zeros` makes no packed tiles, and accumulators of f32 and i32 only.

use tile_std::prelude::*;

#[tile_kernel(instances(<bf16, 16; subgroups = (1, 1)>))]
fn packed<A: MmaInput, const M: usize>(c: &mut gl<f32>, a: &gl<A>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<A, M, 16> = load(a, [0, 0]);
    let y: rt<A, 16, 16, Vnni> = zeros();
    let mut acc: rt<f32, M, 16, Acc> = zeros();
    mma_AB(&mut acc, &x, &y);
    store(c, &acc, at);
}

#[tile_kernel(instances(<bf16, 16; subgroups = (1, 1)>))]
fn narrow<A: MmaInput, const M: usize>(c: &mut gl<f32>, a: &gl<A>) {
    let at = own_tile::<M, 16>(c, Linear);
    let acc: rt<A, M, 16, Acc> = fill(1.0);
    store(c, &acc.to::<f32>(), at);
}

fn main() {}
