//! T048: the condition of a `while` counts like its body.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (2, 2)>))]
fn returns<const N: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<8, N>(c, Linear);
    let mut k = 0u32;
    while {
        if subgroup_id() == k {
            return;
        }
        k < n
    } {
        k = k + 1;
        barrier();
    }
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
}

fn main() {}
