//! T070: a vector is stored to an output of its element type.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn kernel(c: &mut gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<16, 16>(c, Linear);
    let v: rv<bf16, 16, PerCol> = load_vec(a, [0, at.col()]);
    store_vec(c, &v, at);
}

fn main() {}
