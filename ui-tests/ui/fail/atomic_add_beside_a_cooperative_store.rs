//! T060: a cooperative copy to or from an output is a plain store or load of it.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 2)>))]
fn add<const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<8, N>(c, Linear);
    let mut s: st<f32, 8, 32> = shared();
    let x: rt<f32, 8, N> = load(a, at);
    store_shared(&mut s, &x, [0u32, subgroup_col()]);
    atomic_add(c, &x, [0, 0]);
    barrier();
    store_coop(c, &s, at);
}

fn main() {}
