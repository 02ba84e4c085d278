//! T010: loops have no labels.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    'outer: for i in 0..n {
        if i == 3 {
            break;
        }
    }
    'inner: while n > 3 {
        break;
    }
    for i in 0..n {
        if i == 3 {
            break 'outer;
        }
        if i == 4 {
            continue 'outer;
        }
    }
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
