//! T029: packed tiles are not converted.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<M, 16>(c, Linear);
    let y: rt<bf16, M, 16, Vnni> = load_transform(a, [0, 0]);
    store(c, &y.to::<f32>(), at);
}

fn main() {}
