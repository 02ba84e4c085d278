//! T010, T014, T015, T041: how many elements a top-k keeps, and where, is known at compile time; it gives two tiles; it orders numbers.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn arguments(c: &mut gl<f32>, a: &gl<f32>, k: u32) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<f32, 16, 16> = load(a, at);
    let (v, i) = x.row_topk::<16>(k);
    let (v, i) = x.row_topk(8);
    let (v, i) = x.col_topk_with(8, &v, &i);
    store(c, &v, at);
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn one_tile(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<f32, 16, 16> = load(a, at);
    let v = x.row_topk::<16>(8);
    store(c, &v, at);
}

#[tile_kernel(instances(<f32; subgroups = (1, 1)>))]
fn bound<T: AnyElement>(c: &mut gl<f32>, a: &gl<T>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<T, 16, 16> = load(a, at);
    let (v, _) = x.row_topk::<16>(8);
    store(c, &v, at);
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn vector(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rv<f32, 16, PerCol> = load_vec(a, [0, 0]);
    let (v, _) = x.row_topk::<16>(8);
    store(c, &v, at);
}

fn main() {}
