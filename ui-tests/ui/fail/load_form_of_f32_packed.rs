//! T031: packed tiles are 16-bit.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, b: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let y: rt<f32, M, 16, Vnni> = load_transform(b, [0, 0]);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
