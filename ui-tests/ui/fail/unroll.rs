//! T061: an unrolled loop has bounds known at compile time, exits that constants decide, and a bounded size.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(c, Linear);
    let mut acc: rt<f32, M, 16> = zeros();
    #[unroll]
    for i in 0..n {
        acc = acc.add(i as f32);
    }
    #[unroll]
    for i in 0..M as u32 {
        if i == n {
            break;
        }
        acc = acc.add(i as f32);
    }
    #[unroll]
    for i in 0..1000000u32 {
        acc = acc.add(i as f32);
    }
    store(c, &acc, at);
}

fn main() {}
