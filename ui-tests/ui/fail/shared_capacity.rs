//! T045: the shared memory of a work-group fits 128 KiB.

use tile_std::prelude::*;

#[tile_kernel(instances(<bf16, 128; subgroups = (2, 1)>, <f32, 256; subgroups = (2, 1)>))]
fn kernel<T: Element, const N: usize>(c: &mut gl<T>) {
    let at = own_tile::<8, 16>(c, Linear);
    let mut s: st<T, N, N> = shared();
    let mut v: sv<T, N> = shared();
    let tile: rt<T, 8, 16> = zeros();
    store_shared(&mut s, &tile, [0, 0]);
    let column: rv<T, 16, PerCol> = zeros();
    store_vec_shared(&mut v, &column, 0);
    store(c, &tile, at);
}

fn main() {}
