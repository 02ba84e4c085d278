//! T003: the generic arguments of a call fit the parameters.

use tile_std::prelude::*;

#[tile_fn]
fn steps<const STEPS: usize, const FLAG: bool>(s: f32) -> f32 {
    let mut s = s;
    for _ in 0..STEPS as u32 {
        s = s * 2.0;
    }
    s
}

#[tile_kernel(fns(steps), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let p = steps::<3>(1.0);
    let q = steps::<true, 3>(1.0);
    let tile: rt<f32, M, 16> = fill(p + q);
    store(c, &tile, at);
}

fn main() {}
