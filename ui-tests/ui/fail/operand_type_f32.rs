//! T024: operands are bf16 or f16.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn gemm<const M: usize>(c: &mut gl<f32>, a: &gl<f32>, b: &gl<bf16>) {
    let at = own_tile::<M, 16>(c, Linear);
    let mut acc: rt<f32, M, 16, Acc> = zeros();
    let x: rt<f32, M, 16> = load(a, [at.row(), 0]);
    let y: rt<bf16, 16, 16, Vnni> = load_transform(b, [0, at.col()]);
    mma_AB(&mut acc, &x, &y);
    store(c, &acc, at);
}

fn main() {}
