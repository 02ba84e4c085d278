//! T057: the rows and columns of a transposed tile are multiples of 16.

use tile_std::prelude::*;

#[tile_kernel(instances(<24; subgroups = (1, 1)>))]
fn turn<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let y = x.transpose();
    store(c, &x, at);
}

fn main() {}
