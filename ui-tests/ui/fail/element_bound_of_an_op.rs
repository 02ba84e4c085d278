//! T041: an op that computes needs a bound that promises arithmetic.

use tile_std::prelude::*;

#[tile_kernel(instances(<f32; subgroups = (1, 1)>))]
fn kernel<T: AnyElement>(c: &mut gl<T>, a: &gl<T>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<T, 16, 16> = load(a, at);
    let y = x.abs();
    store(c, &y, at);
}

fn main() {}
