//! A kernel that stores anywhere has an unsafe launcher.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
unsafe fn fill<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    unsafe { store_at(c, &tile, [at.row(), at.col()]) };
}

fn main() {
    let mut c = Tensor::<f32>::zeros(4, 4).unwrap();
    fill::launch::<16>(&Device::host(), &mut c).unwrap();
}
