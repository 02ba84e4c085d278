//! T059: the output of an atomic add is f32 in every instance.

use tile_std::prelude::*;

#[tile_kernel(instances(<f32; subgroups = (1, 1)>))]
fn add<C: Element>(c: &mut gl<C>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<f32, 16, 16> = load(a, at);
    atomic_add(c, &x, [0, 0]);
}

fn main() {}
