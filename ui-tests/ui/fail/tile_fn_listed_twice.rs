//! T002: each function of `fns(..)` has a name of its own.

use tile_std::prelude::*;

mod other {
    use tile_std::prelude::*;

    #[tile_fn]
    pub fn add(s: f32) -> f32 {
        s
    }
}

#[tile_fn]
fn add<const M: usize, const N: usize>(x: &rt<f32, M, N>, v: &rv<f32, N, PerCol>, s: f32) -> rt<f32, M, N> {
    x.add_col(v).add(s)
}

#[tile_kernel(fns(add, other::add), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let x: rt<f32, M, 16> = load(a, at);
    let tile = add(&x, &x.col_max(), 1.0);
    store(c, &tile, at);
}

fn main() {}
