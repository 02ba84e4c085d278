//! T001: bounds stand on the generic parameters.

use tile_std::prelude::*;

#[tile_kernel(instances(<f32; subgroups = (1, 1)>))]
fn kernel<T>(c: &mut gl<T>)
where
    T: Element,
{
    let at = own_tile::<16, 16>(c, Linear);
    let tile: rt<T, 16, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
