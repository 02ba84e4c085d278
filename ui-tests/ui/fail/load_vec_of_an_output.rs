//! T028: an output is read only at the owned tile.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let v: rv<f32, 16, PerCol> = load_vec(c, [0, 0]);
    let x: rt<f32, M, 16> = zeros();
    let tile = x.add_col(&v);
    store(c, &tile, at);
}

fn main() {}
