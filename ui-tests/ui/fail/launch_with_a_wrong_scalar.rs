//! A launch argument has its parameter's type.

use tile_std::prelude::*;

#[tile_kernel(instances(<bf16, 16, 32; subgroups = (1, 1)>, <f16, 8, 16; subgroups = (1, 1)>))]
fn convert<T: Element, const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<T>, times: f32) {
    let at = own_tile::<M, N>(c, Linear);
    let tile: rt<T, M, N> = load(a, at);
    store(c, &tile.to::<f32>().scale(times), at);
}

fn main() {
    let a = Tensor::<bf16>::zeros(4, 4).unwrap();
    let mut c = Tensor::<f32>::zeros(4, 4).unwrap();
    convert::launch::<bf16, 16, 32>(&Device::host(), &mut c, &a, 1u32).unwrap();
}
