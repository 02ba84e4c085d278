//! T062: a device function does not call itself, directly or through others.

use tile_std::prelude::*;

#[tile_fn]
fn own(n: u32) -> u32 {
    if n == 0 { 0 } else { own(n - 1) }
}

#[tile_fn(fns(listed))]
fn listed(n: u32) -> u32 {
    n
}

#[tile_fn(fns(pong))]
fn ping(n: u32) -> u32 {
    pong(n)
}

#[tile_fn(fns(ping))]
fn pong(n: u32) -> u32 {
    ping(n)
}

#[tile_kernel(fns(ping), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = fill(ping(n) as f32);
    store(c, &tile, at);
}

fn main() {}
