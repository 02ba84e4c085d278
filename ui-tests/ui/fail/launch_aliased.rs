//! An output is borrowed by one argument only.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn copy<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = load(a, at);
    store(c, &tile, at);
}

fn main() {
    let mut c = Tensor::<f32>::zeros(4, 4).unwrap();
    copy::launch::<16>(&Device::host(), &mut c, &c).unwrap();
}
