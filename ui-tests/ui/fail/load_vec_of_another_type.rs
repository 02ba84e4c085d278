//! T031: a vector has the element type of its tensor.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, b: &gl<bf16>) {
    let at = own_tile::<M, 16>(c, Linear);
    let v: rv<f32, 16, PerCol> = load_vec(b, [0, 0]);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
