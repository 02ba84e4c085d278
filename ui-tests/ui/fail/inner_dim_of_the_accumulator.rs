//! T023: the accumulator has A's rows and B's columns.

use tile_std::prelude::*;

#[tile_kernel(instances(<bf16, f32, 16, 32, 64; subgroups = (1, 1)>))]
fn gemm<A: MmaInput, C: Element, const M: usize, const N: usize, const K: usize>(
    c: &mut gl<C>,
    a: &gl<A>,
    b: &gl<A>,
) {
    let at = own_tile::<M, N>(c, Linear);
    let mut acc: rt<f32, M, K, Acc> = zeros();
    let x: rt<A, M, K> = load(a, [at.row(), 0]);
    let y: rt<A, K, N, Vnni> = load_transform(b, [0, at.col()]);
    mma_AB(&mut acc, &x, &y);
    let out: rt<C, M, N> = zeros();
    store(c, &out, at);
}

fn main() {}
