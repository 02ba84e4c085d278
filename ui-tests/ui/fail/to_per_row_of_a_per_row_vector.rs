//! T072: `to_per_row` turns a `PerCol` vector.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn kernel(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let v: rv<f32, 16, PerRow> = load_vec(a, [0, at.col()]);
    let u = v.to_per_row();
    let x: rt<f32, 16, 16> = zeros();
    store(c, &x.add_row(&u), at);
}

fn main() {}
