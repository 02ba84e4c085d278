//! T055: a top-k keeps 1 to 32 elements, no more than there are, in tiles with room for them.

use tile_std::prelude::*;

#[tile_kernel(instances(<33, 16; subgroups = (1, 1)>, <0, 16; subgroups = (1, 1)>, <8, 64; subgroups = (1, 1)>))]
fn sizes<const K: usize, const P: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<16, P>(c, Linear);
    let x: rt<f32, 16, 64> = load(a, [at.row(), 0]);
    let (values, _) = x.row_topk::<P>(K);
    store(c, &values, at);
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn room(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<8, 16>(c, Linear);
    let x: rt<f32, 16, 16> = load(a, [at.row(), 0]);
    let (values, _) = x.col_topk::<8>(12);
    store(c, &values, at);
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn more(c: &mut gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<16, 32>(c, Linear);
    let x: rt<bf16, 16, 16> = load(a, [at.row(), 0]);
    let (values, _) = x.row_topk::<32>(20);
    store(c, &values, at);
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn packed(c: &mut gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<bf16, 16, 16, Vnni> = load_transform(a, [at.row(), 0]);
    let (values, _) = x.row_topk::<16>(8);
    store(c, &values, at);
}

fn main() {}
