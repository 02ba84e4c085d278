//! T033: a wide vector does not meet tiles.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn kernel(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 128>(c, Linear);
    let v: rv<f32, 128, Wide> = load_vec(a, [0, at.col()]);
    let x: rt<f32, 16, 128> = load(a, [at.row(), at.col()]);
    store(c, &x.add_col(&v), at);
}

fn main() {}
