//! T056: a top-k goes on from values and indices of its own kind.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn shape(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<f32, 16, 64> = load(a, [at.row(), 0]);
    let values: rt<f32, 8, 16> = fill(f32::NEG_INFINITY);
    let indices: rt<i32, 8, 16> = fill(-1);
    let (values, _) = x.row_topk_with(8, &values, &indices, 64);
    store(c, &values, at);
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn type_of_values(c: &mut gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<bf16, 16, 64> = load(a, [at.row(), 0]);
    let values: rt<bf16, 16, 16> = fill(f32::NEG_INFINITY);
    let indices: rt<i32, 16, 16> = fill(-1);
    let (values, _) = x.row_topk_with(8, &values, &indices, 64);
    store(c, &values, at);
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn vectors(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<f32, 16, 64> = load(a, [at.row(), 0]);
    let values: rv<f32, 16, PerRow> = fill(f32::NEG_INFINITY);
    let indices: rt<i32, 16, 16> = fill(-1);
    let (values, _) = x.row_topk_with(8, &values, &indices, 64);
    store(c, &values, at);
}

fn main() {}
