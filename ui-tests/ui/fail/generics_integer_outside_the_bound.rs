//! T003: `Element` is the bound of floats.

use tile_std::prelude::*;

#[tile_kernel(instances(<f32; subgroups = (1, 1)>, <i32; subgroups = (1, 1)>))]
fn kernel<T: Element>(c: &mut gl<T>, a: &gl<T>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<T, 16, 16> = load(a, at);
    store(c, &x, at);
}

fn main() {}
