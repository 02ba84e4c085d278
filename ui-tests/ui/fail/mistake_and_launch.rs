//! A kernel with mistakes is not reported where it is launched.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    store(c, &tile, at);
}

fn main() {
    let mut c = Tensor::<f32>::zeros(4, 4).unwrap();
    kernel::launch::<16>(&Device::host(), &mut c).unwrap();
}
