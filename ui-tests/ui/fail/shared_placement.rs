//! T046: shared memory is made at the top level, by a `let` with a written type.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (2, 1)>))]
fn branch<const N: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<8, N>(c, Linear);
    if n > 1 {
        let mut s: st<f32, 8, N> = shared();
        let tile: rt<f32, 8, N> = zeros();
        store_shared(&mut s, &tile, [0, 0]);
    }
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
}

#[tile_kernel(instances(<16; subgroups = (2, 1)>))]
fn untyped<const N: usize>(c: &mut gl<f32>) {
    let at = own_tile::<8, N>(c, Linear);
    let s = shared();
    let t: st<f32, 8, N> = s;
    let u: st<f32, N> = shared();
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
}

#[tile_kernel(instances(<16; subgroups = (2, 1)>))]
fn renamed<const N: usize>(c: &mut gl<f32>) {
    let at = own_tile::<8, N>(c, Linear);
    let s: st<f32, 8, N> = shared();
    let t = s;
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
}

#[tile_fn]
fn makes() -> f32 {
    let s: sv<f32, 16> = shared();
    1.0
}

#[tile_fn]
fn takes(s: &st<f32, 8, 16>) -> f32 {
    1.0
}

fn main() {}
