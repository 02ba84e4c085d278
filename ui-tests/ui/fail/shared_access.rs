//! T047: what moves has the element type, a role that exists in shared memory, and a position inside.

use tile_std::prelude::*;

#[tile_kernel(instances(<bf16; subgroups = (2, 1)>))]
fn types<T: MmaInput>(c: &mut gl<f32>, a: &gl<T>) {
    let at = own_tile::<8, 16>(c, Linear);
    let mut s: st<f32, 32, 32> = shared();
    let x: rt<T, 8, 16> = load(a, [0, 0]);
    store_shared(&mut s, &x, [0, 0]);
    let v: rv<f32, 16, PerCol> = load_vec_shared(&s, 0);
    let tile: rt<f32, 8, 16> = load_shared(&s, [0, 0]);
    store(c, &tile, at);
}

#[tile_kernel(instances(<bf16; subgroups = (2, 1)>))]
fn roles<T: MmaInput>(c: &mut gl<f32>, a: &gl<T>, b: &gl<T>) {
    let at = own_tile::<8, 16>(c, Linear);
    let mut s: st<T, 32, 32> = shared();
    let y: rt<T, 16, 16, Vnni> = load_transform(b, [0, 0]);
    store_shared(&mut s, &y, [0, 0]);
    let x: rt<T, 16, 16, Vnni> = load_shared(&s, [0, 0]);
    let z: rt<T, 16, 16, Acc> = load_transpose_shared(&s, [0, 0]);
    let tile: rt<f32, 8, 16> = zeros();
    store(c, &tile, at);
}

#[tile_kernel(instances(<32; subgroups = (2, 1)>))]
fn positions<const N: usize>(c: &mut gl<f32>) {
    let at = own_tile::<8, 16>(c, Linear);
    let mut s: st<f32, N, N> = shared();
    let mut v: sv<f32, N> = shared();
    let tile: rt<f32, 8, 16> = zeros();
    store_shared(&mut s, &tile, [4, 0]);
    let row: rv<f32, 16, PerCol> = load_vec_shared(&v, 2);
    store(c, &tile, at);
}

#[tile_kernel(instances(<32; subgroups = (2, 1)>))]
fn sizes<const N: usize>(c: &mut gl<f32>) {
    let at = own_tile::<8, 16>(c, Linear);
    let s: st<f32, N, N> = shared();
    let tile: rt<f32, 8, 16> = zeros();
    let large: rt<f32, 8, 64> = load_shared(&s, [0, 0]);
    store(c, &tile, at);
}

#[tile_kernel(instances(<f32, f32; subgroups = (2, 1)>))]
fn by_name<A: Element, B: Element>(c: &mut gl<A>, b: &gl<B>) {
    let at = own_tile::<8, 16>(c, Linear);
    let mut s: st<B, 8, 16> = shared();
    let tile: rt<A, 8, 16> = zeros();
    store_shared(&mut s, &tile, [0, 0]);
    store(c, &tile, at);
}

#[tile_kernel(instances(<f32; subgroups = (2, 1)>))]
fn forms<T: Element>(c: &mut gl<T>, a: &gl<T>) {
    let at = own_tile::<8, 16>(c, Linear);
    let mut s: st<T, 8, 16> = shared();
    load_coop(s, a, [0, 0]);
    let tile: rt<T, 8, 16> = load_shared(&s, 0);
    store(c, &tile, at);
}

#[tile_kernel(instances(<f32; subgroups = (2, 1)>))]
fn kinds<T: Element>(c: &mut gl<T>, a: &gl<T>) {
    let at = own_tile::<8, 16>(c, Linear);
    let s: st<T, 8, 16> = shared();
    let tile: rt<T, 8, 16> = load_shared(&a, [0, 0]);
    load_shared(&s, [0, 0]);
    store(c, &tile, at);
}

fn main() {}
