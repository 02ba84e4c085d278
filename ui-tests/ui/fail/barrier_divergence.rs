//! T048: a barrier or cooperative copy is reached by every sub-group of a work-group or by none.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (2, 2)>))]
fn condition<const N: usize>(c: &mut gl<f32>) {
    let at = own_tile::<8, N>(c, Linear);
    if subgroup_id() == 0 {
        barrier();
    }
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
}

#[tile_kernel(instances(<16; subgroups = (2, 2)>))]
fn early_return<const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<8, N>(c, Linear);
    let mut s: st<f32, 8, N> = shared();
    if at.outside() {
        return;
    }
    load_coop(&mut s, a, [0, 0]);
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
}

#[tile_kernel(instances(<16; subgroups = (2, 2)>))]
fn trip_count<const N: usize>(c: &mut gl<f32>, n: u32) {
    let at = own_tile::<8, N>(c, Linear);
    for i in 0..at.col() {
        barrier();
    }
    let mut k = 0u32;
    for i in 0..n {
        if i == subgroup_row() {
            k = k + 1;
        }
    }
    while k < 4 {
        k = k + 1;
        barrier();
    }
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
}

#[tile_kernel(instances(<16; subgroups = (2, 2)>))]
fn exits<const N: usize>(c: &mut gl<f32>, lengths: &gl<f32>, n: u32) {
    let at = own_tile::<8, N>(c, Linear);
    for i in 0..n {
        barrier();
        if load_scalar(lengths, [0, at.row()]) < 1.0 {
            break;
        }
    }
    for i in 0..n {
        if subgroup_col() == i {
            continue;
        }
        barrier();
    }
    let tile: rt<f32, 8, N> = zeros();
    store(c, &tile, at);
}

fn main() {}
