//! T057: a packed tile has no transpose in registers.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn turn(c: &mut gl<bf16>, a: &gl<bf16>) {
    let at = own_tile::<16, 32>(c, Linear);
    let x: rt<bf16, 32, 16, Vnni> = load_transform(a, [at.col(), at.row()]);
    store(c, &x.transpose(), at);
}

fn main() {}
