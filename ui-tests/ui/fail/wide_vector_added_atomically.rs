//! T073: a wide vector is not added atomically.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn kernel(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 128>(c, Linear);
    let v: rv<f32, 128, Wide> = load_vec(a, [0, at.col()]);
    atomic_add_vec(c, &v, [0, 0]);
}

fn main() {}
