//! T049: each `barrier_arrive` is followed by one `barrier_wait`.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (2, 2)>))]
fn alone<const N: usize>(c: &mut gl<f32>) {
    let at = own_tile::<8, N>(c, Linear);
    barrier_wait();
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
    barrier_arrive();
}

#[tile_kernel(instances(<16; subgroups = (2, 2)>))]
fn between<const N: usize>(c: &mut gl<f32>) {
    let at = own_tile::<8, N>(c, Linear);
    barrier_arrive();
    barrier();
    barrier_arrive();
    barrier_arrive();
    barrier_wait();
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
}

#[tile_kernel(instances(<16; subgroups = (2, 2)>))]
fn ways<const N: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<8, N>(c, Linear);
    if n > 1 {
        barrier_arrive();
    }
    for i in 0..n {
        barrier_arrive();
        if i > 3 {
            break;
        }
        barrier_wait();
    }
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
}

fn main() {}
