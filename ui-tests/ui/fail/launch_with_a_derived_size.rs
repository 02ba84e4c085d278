//! A launch leaves out derived sizes.

use tile_std::prelude::*;

#[tile_kernel(derive(HALF = M / 2), instances(<16; subgroups = (1, 1)>))]
fn halves<const M: usize, const HALF: usize>(c: &mut gl<f32>) {
    let at = own_tile::<HALF, 16>(c, Linear);
    let tile: rt<f32, HALF, 16> = zeros();
    store(c, &tile, at);
}

fn main() {
    let mut c = Tensor::<f32>::zeros(4, 4).unwrap();
    halves::launch::<16, 8>(&Device::host(), &mut c).unwrap();
}
