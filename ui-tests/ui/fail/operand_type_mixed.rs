//! T024: both operands have one 16-bit type.

use tile_std::prelude::*;

#[tile_kernel(instances(<bf16, f16, 16, 16; subgroups = (1, 1)>))]
fn gemm<A: MmaInput, B: MmaInput, const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<A>, b: &gl<B>) {
    let at = own_tile::<M, N>(c, Linear);
    let mut acc: rt<f32, M, N, Acc> = zeros();
    let x: rt<A, M, 16> = load(a, [at.row(), 0]);
    let y: rt<B, 16, N, Vnni> = load_transform(b, [0, at.col()]);
    mma_AB(&mut acc, &x, &y);
    store(c, &acc, at);
}

fn main() {}
