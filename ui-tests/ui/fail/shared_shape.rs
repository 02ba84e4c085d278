//! T051: a shared tile has rows in multiples of 8 and columns in multiples of 16, a shared vector elements in multiples of 8.

use tile_std::prelude::*;

#[tile_kernel(instances(<12, 24; subgroups = (2, 1)>))]
fn kernel<const M: usize, const N: usize>(c: &mut gl<f32>) {
    let at = own_tile::<8, 16>(c, Linear);
    let rows: st<f32, M, 16> = shared();
    let cols: st<f32, 8, N> = shared();
    let length: sv<f32, M> = shared();
    let tile: rt<f32, 8, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
