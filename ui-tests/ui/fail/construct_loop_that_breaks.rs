//! T010: a loop body does not always leave the loop.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    for i in 0..n {
        if i == 3 {
            break;
        } else {
            return;
        }
    }
    while n > 0 {
        break;
    }
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
