//! T060: an output takes either atomic adds or plain stores and loads.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn add(c: &mut gl<f32>, a: &gl<f32>, first: bool) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<f32, 16, 16> = load(a, at);
    if first {
        store(c, &x, at);
    } else {
        atomic_add(c, &x, at);
    }
}

fn main() {}
