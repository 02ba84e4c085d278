//! An accumulator is `mut`.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<M, 16>(c, Linear);
    let acc: rt<f32, M, 16, Acc> = zeros();
    let x: rt<bf16, M, 16> = load(a, [0, 0]);
    let y: rt<bf16, 16, 16, Vnni> = load_transform(a, [0, 0]);
    mma_AB(&mut acc, &x, &y);
    store(c, &acc, at);
}

fn main() {}
