//! T015: an op is called by its form.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<bf16>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<bf16, M, 16> = load(a, n);
    let other: rt<bf16, M, 16> = load(a, [n]);
    let third: rt<bf16, M, 16> = load(&a[0], [n, n]);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
