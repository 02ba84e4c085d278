//! T054: positions are counted in f32 or i32, which no bound promises.

use tile_std::prelude::*;

#[tile_kernel(instances(<f32, 8, 16; subgroups = (1, 1)>))]
fn kernel<T: Element, const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    let v: rv<T, N, PerCol> = iota(0.0);
    let y: rt<T, M, N> = iota_rows(0.0);
    store(c, &x, at);
}

fn main() {}
