//! T041: a device function's bound is met by the kernel's type parameter.

use tile_std::prelude::*;

#[tile_fn]
fn halved<T: Element, const M: usize>(x: &rt<T, M, 16>) -> rt<T, M, 16> {
    x.mul(0.5)
}

#[tile_kernel(fns(halved), instances(<f32; subgroups = (1, 1)>))]
fn kernel<T: AnyElement>(c: &mut gl<T>, a: &gl<T>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<T, 16, 16> = load(a, at);
    let y = halved(&x);
    store(c, &y, at);
}

fn main() {}
