//! T054: `iota` makes vectors, `iota_rows` and `iota_cols` tiles.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = iota(0.0);
    let v: rv<f32, N, PerCol> = iota_cols(0.0);
    store(c, &x.add_col(&v), at);
}

fn main() {}
