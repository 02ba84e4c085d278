//! T054: positions are counted in f32 or i32.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<bf16>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<bf16, M, N> = iota_cols(0.0);
    store(c, &x, at);
}

fn main() {}
