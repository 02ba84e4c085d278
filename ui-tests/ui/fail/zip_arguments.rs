//! T015: `zip` takes the other tile by reference.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let p = x.zip(x, |v, w| v + w);
    let q = x.zip(&x);
    store(c, &x, at);
}

fn main() {}
