//! T003: a type argument satisfies the bound.

use tile_std::prelude::*;

#[tile_fn]
fn inner<A: MmaInput, const M: usize>(x: &rt<A, M, 16>) -> rt<f32, M, 16> {
    x.to::<f32>().scale(2.0)
}

#[tile_kernel(fns(inner), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let tile = inner(&x);
    store(c, &tile, at);
}

fn main() {}
