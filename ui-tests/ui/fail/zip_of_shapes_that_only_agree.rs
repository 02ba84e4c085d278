//! T016: the tiles of `zip` have one shape in every instance.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16, 8; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize, const K: usize>(c: &mut gl<f32>, a: &gl<f32>, b: &gl<bf16>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let y: rt<bf16, K, N> = load(b, [0, 0]);
    let p = x.zip(&y, |v, w| v + w);
    store(c, &x, at);
}

fn main() {}
