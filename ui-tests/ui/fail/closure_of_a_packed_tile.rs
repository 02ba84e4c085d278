//! T033: closures work on `Row` and `Acc` tiles.

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>, b: &gl<bf16>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let w: rt<bf16, 16, 16, Vnni> = load_transform(b, [0, 0]);
    let p = w.map(|v| v);
    store(c, &x, at);
}

fn main() {}
