//! T033: packed tiles have no element-wise ops.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, b: &gl<bf16>) {
    let at = own_tile::<M, 16>(c, Linear);
    let w: rt<bf16, 16, 16, Vnni> = load_transform(b, [0, 0]);
    let y = w.relu();
    let z = w.add(1.0);
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
