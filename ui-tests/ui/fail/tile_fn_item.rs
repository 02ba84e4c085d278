//! T001: a device function is a plain function.

use tile_std::prelude::*;

#[tile_fn]
unsafe fn one<const M: usize>(x: &rt<f32, M, 16>) -> rt<f32, M, 16> {
    x.scale(2.0)
}

#[tile_fn]
fn two<T, const M: usize>(x: &rt<T, M, 16>) -> rt<T, M, 16>
where
    T: Element,
{
    x.scale(2.0)
}

#[tile_fn]
const fn three(s: f32) -> f32 {
    s
}

#[tile_fn]
struct Four;

#[tile_fn(instances(<16; subgroups = (1, 1)>))]
fn five(s: f32) -> f32 {
    s
}

fn main() {}
