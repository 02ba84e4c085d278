//! T053: both operands of `select` have one type, or the second is a number.

use tile_std::prelude::*;

#[tile_kernel(instances(<bf16, 8, 16; subgroups = (1, 1)>))]
fn kernel<T: Element, const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, b: &gl<T>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, [0, 0]);
    let y: rt<T, M, N> = load(b, [0, 0]);
    let z = x.lt(0.0).select(&x, &y);
    store(c, &z, at);
}

fn main() {}
