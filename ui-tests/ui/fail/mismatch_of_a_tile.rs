//! T016: a written tile type is that of the value.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let acc: rt<f32, M, 16, Acc> = zeros();
    let out: rt<f32, M, 16> = acc;
    store(c, &out, at);
}

fn main() {}
