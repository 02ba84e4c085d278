//! T014: masks work on tiles.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let v = x.row_max().keep_rows(3, 0.0);
    let n = x.rows();
    let tile = x.add_row(&v);
    store(c, &tile, at);
}

fn main() {}
