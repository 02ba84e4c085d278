//! A written tile type is that of the value in every instance, by name.

use tile_std::prelude::*;

#[tile_kernel(instances(<bf16, bf16, 16, 32, 64; subgroups = (1, 1)>))]
fn gemm<A: MmaInput, C: Element, const M: usize, const N: usize, const K: usize>(
    c: &mut gl<C>,
    a: &gl<A>,
    b: &gl<A>,
) {
    let at = own_tile::<M, N>(c, Linear);
    let mut acc: rt<f32, M, N, Acc> = zeros();
    let x: rt<A, M, K> = load(a, [at.row(), 0]);
    let y: rt<A, K, N, Vnni> = load_transform(b, [0, at.col()]);
    mma_AB(&mut acc, &x, &y);
    let out: rt<A, M, N> = acc.to::<C>();
    store(c, &acc.to::<C>(), at);
}

fn main() {}
