//! T010: what stands for a value has a way on.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = zeros();
    let mut m = n;
    while {
        if m > 3 {
            return;
        } else {
            return;
        }
        m > 0
    } {
        m -= 1;
    }
    store(c, &tile, at);
}

fn main() {}
