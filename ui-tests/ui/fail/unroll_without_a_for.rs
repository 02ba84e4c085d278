//! T061: `#[unroll]` stands before a `for`.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let acc: rt<f32, M, 16> = zeros();
    #[unroll]
    while n > 3 {}
    store(c, &acc, at);
}

fn main() {}
