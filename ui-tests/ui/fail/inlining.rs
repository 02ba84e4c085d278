//! T063: inlining device functions leaves a kernel of bounded size.

use tile_std::prelude::*;

#[tile_fn]
fn f0(s: f32) -> f32 {
    s * 2.0
}

#[tile_fn(fns(f0))]
fn f1(s: f32) -> f32 {
    let a = f0(s) + f0(s);
    a + f0(a) + f0(s)
}

#[tile_fn(fns(f1))]
fn f2(s: f32) -> f32 {
    let a = f1(s) + f1(s);
    a + f1(a) + f1(s)
}

#[tile_fn(fns(f2))]
fn f3(s: f32) -> f32 {
    let a = f2(s) + f2(s);
    a + f2(a) + f2(s)
}

#[tile_fn(fns(f3))]
fn f4(s: f32) -> f32 {
    let a = f3(s) + f3(s);
    a + f3(a) + f3(s)
}

#[tile_fn(fns(f4))]
fn f5(s: f32) -> f32 {
    let a = f4(s) + f4(s);
    a + f4(a) + f4(s)
}

#[tile_fn(fns(f5))]
fn f6(s: f32) -> f32 {
    let a = f5(s) + f5(s);
    a + f5(a) + f5(s)
}

#[tile_fn(fns(f6))]
fn f7(s: f32) -> f32 {
    let a = f6(s) + f6(s);
    a + f6(a) + f6(s)
}

#[tile_fn(fns(f7))]
fn f8(s: f32) -> f32 {
    let a = f7(s) + f7(s);
    a + f7(a) + f7(s)
}

#[tile_fn(fns(f8))]
fn f9(s: f32) -> f32 {
    let a = f8(s) + f8(s);
    a + f8(a) + f8(s)
}

#[tile_kernel(fns(f9), instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    let at = own_tile::<M, 16>(c, Linear);
    let tile: rt<f32, M, 16> = fill(f9(1.0));
    store(c, &tile, at);
}

fn main() {}
