//! T034: the running value has the result's type.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let v: rv<f32, M, PerCol> = zeros();
    let w: rv<f32, 32, PerRow> = zeros();
    let m = x.row_max_with(&v);
    let s = x.row_sum_with(&w);
    let tile = x.sub_row(&m).div_row(&s);
    store(c, &tile, at);
}

fn main() {}
