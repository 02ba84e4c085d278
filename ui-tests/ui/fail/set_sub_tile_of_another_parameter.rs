//! T058: a part has the element type of its tile in every instance.

use tile_std::prelude::*;

#[tile_kernel(instances(<f32, f32; subgroups = (1, 1)>))]
fn part<T: Element, U: Element>(c: &mut gl<T>) {
    let at = own_tile::<16, 16>(c, Linear);
    let mut x: rt<T, 16, 16> = zeros();
    let y: rt<U, 8, 16> = zeros();
    x.set_sub_tile(&y, 1, 0);
    store(c, &x, at);
}

fn main() {}
