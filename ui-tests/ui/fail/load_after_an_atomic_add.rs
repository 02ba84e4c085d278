//! T060: an output takes either atomic adds or plain stores and loads.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn add(c: &mut gl<f32>, d: &mut gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let one: rt<f32, 16, 16> = fill(1.0);
    atomic_add(c, &one, at);
    let x: rt<f32, 16, 16> = load(c, at);
    atomic_add(d, &x, at);
}

fn main() {}
