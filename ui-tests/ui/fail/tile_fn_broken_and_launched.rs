//! T010: what calls the launcher of a kernel whose device function has a mistake still finds it.

use tile_std::prelude::*;

#[tile_fn]
fn broken(s: f32) -> f32 {
    return s;
}

#[tile_kernel(fns(broken), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = fill(broken(1.0));
    store(c, &tile, at);
}

fn main() {
    let mut c = Tensor::<f32>::zeros(3, 3).unwrap();
    kernel::launch::<16>(&Device::host(), &mut c).unwrap();
}
