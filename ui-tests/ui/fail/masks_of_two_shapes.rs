//! T052: two masks combine if they have one type.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let y: rt<f32, M, 32> = load(a, [0, 0]);
    let both = x.lt(0.0).and(&y.lt(0.0));
    store(c, &both.select(&x, 0.0), at);
}

fn main() {}
