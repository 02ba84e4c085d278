//! T059: an atomic add adds f32 to an f32 output, or i32 to an i32 output.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn add(c: &mut gl<bf16>, a: &gl<bf16>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<bf16, 16, 16> = load(a, at);
    atomic_add(c, &x, [0, 0]);
}

fn main() {}
