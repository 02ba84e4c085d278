//! Multiplies wherever control flow can put them: lowering peels and splits loops around them.

use super::{ones, scalar_of, tensor, tiles};
use tile_std::prelude::*;

/// Sizes with ragged edges in every dimension.
const M: usize = 11;
const N: usize = 35;
const K: usize = 70;

fn a(r: usize, c: usize) -> f32 {
    tiles::value(1, r, c)
}

fn b(r: usize, c: usize) -> f32 {
    tiles::value(2, r, c)
}

/// Runs a kernel of C, A, B on host and simulator and compares every element with `plain(row, col)`, which gives
/// the value and the size of its terms.
fn check(
    what: &str,
    k: usize,
    launch: impl Fn(&Device, &mut Tensor<f32>, &Tensor<bf16>, &Tensor<bf16>) -> Result<Report, LaunchError>,
    plain: impl Fn(usize, usize) -> (f64, f64),
) {
    let (mut x, mut y) = (tensor::<bf16>(M, k, a), tensor::<bf16>(k, N, b));
    x.fill_padding(bf16::NAN);
    y.fill_padding(bf16::NAN);
    for device in [Device::host(), Device::sim()] {
        let mut c = tensor::<f32>(M, N, |_, _| f32::NAN);
        launch(&device, &mut c, &x, &y).unwrap_or_else(|e| panic!("{what} on {}: {e}", device.name()));
        for row in 0..M {
            for col in 0..N {
                let (want, size) = plain(row, col);
                let bound = size * (4 * k + 16) as f64 * 2f64.powi(-24);
                let got = f64::from(c.get(0, 0, row, col).expect("inside"));
                assert!(
                    (got - want).abs() <= bound,
                    "{what} on {}, ({row}, {col}): {got}, expected {want} +- {bound:e}",
                    device.name()
                );
            }
        }
    }
}

/// The terms of a product for the K steps of 16 that `takes` wants, each times its weight.
fn steps(row: usize, col: usize, k: usize, weight: impl Fn(usize) -> f64) -> (f64, f64) {
    let terms = (0..k).map(|i| f64::from(a(row, i)) * f64::from(b(i, col)) * weight(i / 16));
    terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()))
}

#[tile_kernel(instances(<8; subgroups = (1, 2)>, <16; subgroups = (2, 1)>))]
fn some_steps<const ROWS: usize>(c: &mut gl<f32>, a: &gl<bf16>, b: &gl<bf16>, from: u32, skip: u32) {
    let at = own_tile::<ROWS, 32>(c, Linear);
    let mut acc: rt<f32, ROWS, 32, Acc> = zeros();
    for k in from..a.col_tiles(16) {
        let x: rt<bf16, ROWS, 16> = load(a, [at.row(), k]);
        let y: rt<bf16, 16, 32, Vnni> = load_transform(b, [k, at.col()]);
        if k != skip {
            mma_AB(&mut acc, &x, &y);
        }
    }
    store(c, &acc, at);
}

#[test]
fn a_loop_may_start_anywhere_and_skip_steps() {
    for k in [0, 1, 16, 17, K] {
        for from in [0, 1, 4, 9] {
            for skip in [0, 2, 99] {
                let weight = |step: usize| f64::from(step >= from as usize && step != skip as usize);
                let plain = |r, c| steps(r, c, k, weight);
                let what = format!("K = {k}, from {from}, without {skip}");
                check(&what, k, |d, c, a, b| some_steps::launch::<8>(d, c, a, b, from, skip), plain);
                check(&what, k, |d, c, a, b| some_steps::launch::<16>(d, c, a, b, from, skip), plain);
            }
        }
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn every_second(c: &mut gl<f32>, a: &gl<bf16>, b: &gl<bf16>) {
    let at = own_tile::<16, 16>(c, Snake(3));
    let mut even: rt<f32, 16, 16, Acc> = zeros();
    let mut odd: rt<f32, 16, 16, Acc> = zeros();
    for k in (0..a.col_tiles(16)).step_by(2) {
        let x: rt<bf16, 16, 16> = load(a, [at.row(), k]);
        let y: rt<bf16, 16, 16, Vnni> = load_transform(b, [k, at.col()]);
        mma_AB(&mut even, &x, &y);
        let x: rt<bf16, 16, 16> = load(a, [at.row(), k + 1]);
        let y: rt<bf16, 16, 16, Vnni> = load_transform(b, [k + 1, at.col()]);
        mma_AB(&mut odd, &x, &y);
    }
    let out = if at.col() % 2 == 0 { even } else { odd };
    store(c, &out, at);
}

#[test]
fn two_accumulators_share_a_loop() {
    for k in [0, 10, 33, K] {
        let plain = |r, c: usize| steps(r, c, k, |step| f64::from(step % 2 == c / 16 % 2));
        check("two accumulators", k, |d, c, a, b| every_second::launch(d, c, a, b), plain);
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn decayed(c: &mut gl<f32>, a: &gl<bf16>, b: &gl<bf16>, decay: f32) {
    let at = own_tile::<16, 48>(c, Linear);
    let mut acc: rt<f32, 16, 48, Acc> = zeros();
    for k in 0..a.col_tiles(16) {
        acc = acc.scale(decay);
        let x: rt<bf16, 16, 16> = load(a, [at.row(), k]);
        let y: rt<bf16, 16, 48, Vnni> = load_transform(b, [k, at.col()]);
        mma_AB(&mut acc, &x, &y);
    }
    store(c, &acc, at);
}

#[test]
fn an_accumulator_may_be_rescaled_in_the_loop() {
    for k in [16, K] {
        let last = k.div_ceil(16) - 1;
        let plain = |r, c| steps(r, c, k, |step| 0.5f64.powi((last - step) as i32));
        check("decay", k, |d, c, a, b| decayed::launch(d, c, a, b, 0.5), plain);
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn around(c: &mut gl<f32>, a: &gl<bf16>, b: &gl<bf16>, rounds: u32) {
    let at = own_tile::<8, 16>(c, Linear);
    let mut acc: rt<f32, 8, 16, Acc> = zeros();
    let x: rt<bf16, 8, 32> = load(a, [at.row(), 0]);
    let y: rt<bf16, 32, 16, Vnni> = load_transform(b, [0, at.col()]);
    mma_AB(&mut acc, &x, &y);
    for _ in 0..rounds {
        for k in 0..a.col_tiles(32) {
            let x: rt<bf16, 8, 32> = load(a, [at.row(), k]);
            let y: rt<bf16, 32, 16, Vnni> = load_transform(b, [k, at.col()]);
            mma_AB(&mut acc, &x, &y);
        }
    }
    mma_AB(&mut acc, &x, &y);
    store(c, &acc, at);
}

#[test]
fn multiplies_stand_before_in_and_after_nested_loops() {
    for k in [20, K] {
        for rounds in [0, 1, 3] {
            let plain = |r, c| steps(r, c, k, |step| f64::from(rounds) + if step < 2 { 2.0 } else { 0.0 });
            check("nested", k, |d, c, a, b| around::launch(d, c, a, b, rounds), plain);
        }
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn until(c: &mut gl<f32>, a: &gl<bf16>, b: &gl<bf16>, stop: u32) {
    let at = own_tile::<8, 32>(c, Linear);
    let mut acc: rt<f32, 8, 32, Acc> = zeros();
    for k in 0..a.col_tiles(16) {
        if k == stop {
            store(c, &acc, at);
            return;
        }
        let x: rt<bf16, 8, 16> = load(a, [at.row(), k]);
        let y: rt<bf16, 16, 32, Vnni> = load_transform(b, [k, at.col()]);
        mma_AB(&mut acc, &x, &y);
    }
    store(c, &acc.scale(-1.0), at);
}

#[test]
fn a_return_may_stand_in_a_loop() {
    for k in [16, K] {
        for stop in [0, 1, 3, 99] {
            let plain = |r, c| {
                let weight = |step| f64::from(step < stop as usize);
                let sign = if (stop as usize) < k.div_ceil(16) { 1.0 } else { -1.0 };
                let (sum, size) = steps(r, c, k, weight);
                (sign * sum, size)
            };
            check("return", k, |d, c, a, b| until::launch(d, c, a, b, stop), plain);
        }
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn chained(c: &mut gl<f32>, a: &gl<bf16>, b: &gl<bf16>) {
    let at = own_tile::<16, 16>(c, Linear);
    let x: rt<bf16, 16, 32> = load(a, [at.row(), 0]);
    let y: rt<bf16, 32, 16, Vnni> = load_transform(b, [0, at.col()]);
    let mut first: rt<f32, 16, 16, Acc> = zeros();
    mma_AB(&mut first, &x, &y);
    let p = first.scale(0.25).to::<bf16>();
    let z: rt<bf16, 16, 16, VnniT> = load_transpose(b, elements([0, 3]));
    let mut second: rt<f32, 16, 16, Acc> = zeros();
    mma_ABt(&mut second, &p, &z);
    store(c, &second, at);
}

#[test]
fn a_product_is_an_operand_of_the_next() {
    let plain = |row: usize, col: usize| {
        let first = |j: usize| {
            let j = col / 16 * 16 + j;
            if j >= N { 0.0 } else { steps(row, j, 32, |_| 0.25).0 }
        };
        // Which way `first` rounds to bf16 may differ by one unit, hence the size of the bound.
        let terms = (0..16).map(|j| {
            let left = f64::from(bf16::from_f32(first(j) as f32).to_f32());
            left * f64::from(b(col % 16, 3 + j))
        });
        terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs() * 300.0))
    };
    check("chain", K, |d, c, a, b| chained::launch(d, c, a, b), plain);
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn read_back(c: &mut gl<f32>, ones: &gl<f32>, s: f32) {
    let at = own_tile::<8, 16>(c, Linear);
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    store(c, &one.scale(s), at);
    for i in 0..3u32 {
        let again: rt<f32, 8, 16> = load(c, at);
        store(c, &again.scale((i + 2) as f32), at);
    }
}

#[test]
fn a_stored_tile_can_be_read_back() {
    let ones = ones();
    assert_eq!(scalar_of(|device, c| read_back::launch(device, c, &ones, 0.5)), 12.0);
}
