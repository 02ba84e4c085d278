//! T041: closures over elements of a parameter need its bound.

use tile_std::prelude::*;

#[tile_kernel(instances(<bf16, 8, 16; subgroups = (1, 1)>))]
fn kernel<T: AnyElement, const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, b: &gl<T>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let y: rt<T, M, N> = load(b, [0, 0]);
    let p = y.map(|v| v * 2.0);
    store(c, &x, at);
}

fn main() {}
