//! T033: `_row` takes one element per row, `_col` one per column.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let v = x.col_max();
    let w = x.row_max();
    let y = x.sub_row(&v);
    let tile = x.sub_col(&w);
    store(c, &tile, at);
}

fn main() {}
