//! T026: a shared prefetch cuts its tile into equal legal parts.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (3, 3)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<M, 16>(c, Linear);
    prefetch_load_coop::<rt<bf16, M, 32>>(a, [at.row(), 0], Peers::Row);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
