//! T011: a vector's type says what its elements belong to.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let v: rv<f32> = zeros();
    let w: rv<f32, M, Row> = zeros();
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
