//! T033: a vector beside a tile has one element per row, or one per column.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let v: rv<f32, 32, PerRow> = zeros();
    let w: rv<f32, 32, PerCol> = zeros();
    let y = x.add_row(&v);
    let tile = x.add_col(&w);
    store(c, &tile, at);
}

fn main() {}
