//! Where loads and stores land, and what happens to whole tiles.

use super::{Bits, on_both, tensor};
use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn tile_at(c: &mut gl<f32>, a: &gl<f32>, row: u32, col: u32, n: u32, scale: u32) {
    let at = own_tile::<8, 16>(c, Linear);
    let tile: rt<f32, 8, 16> = load(a, [row * scale, col + n - 1]);
    store(c, &tile, at);
}

/// What a load of an 8 x 16 tile at this element gives of a 20 x 24 tensor that counts from 1.
fn window(row: u64, col: u64) -> Vec<f32> {
    let inside = |r: u64, c: u64| r < 20 && c < 24;
    let at = |r: u64, c: u64| if inside(r, c) { (r * 24 + c + 1) as f32 } else { 0.0 };
    (0..8).flat_map(|r| (0..16).map(move |c| at(row + r, col + c))).collect()
}

fn counting() -> Tensor<f32> {
    let mut a = tensor(20, 24, |r, c| (r * 24 + c + 1) as f32);
    a.fill_padding(f32::NAN);
    a
}

#[test]
fn tile_coordinates_wrap_as_u32_and_are_then_multiplied_out_in_64_bits() {
    let a = counting();
    let coordinates = [
        (0, 0, 1, 1),
        (2, 1, 1, 1),
        (1, 0, 1, 3),
        (u32::MAX, 0, 1, 1),
        (0, u32::MAX, 1, 1),
        (0, 0, 0, 1),            // n - 1 with n = 0
        (1, 0, 1, 0x1000_0000),  // 2^28 tiles of 8 rows: 2^31 rows
        (2, 0, 1, 0x1000_0000),  // 2^32 rows: 0 in 32 bits
        (16, 1, 1, 0x1000_0000), // wraps to 0 as a coordinate
        (0, 0x1000_0000, 1, 1),  // 2^32 columns
        (0, 0x0fff_ffff, 1, 1),  // the last 16 columns below 2^32
        (0x1fff_ffff, 0, 1, 1),  // the last 8 rows below 2^32
        (0x1000_0000, 0x0800_0000, 1, 1),
    ];
    for (row, col, n, scale) in coordinates {
        let [got] =
            on_both((8, 16), |_, _| -77.0, |device, [c]| tile_at::launch(device, c, &a, row, col, n, scale));
        let rows = u64::from(row.wrapping_mul(scale)) * 8;
        let cols = u64::from(col.wrapping_add(n).wrapping_sub(1)) * 16;
        assert_eq!(got, window(rows, cols), "tile ({row} * {scale}, {col} + {n} - 1)");
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn elements_at(c: &mut gl<f32>, a: &gl<f32>, row: u32, col: u32) {
    let at = own_tile::<8, 16>(c, Linear);
    let tile: rt<f32, 8, 16> = load(a, elements([row, col]));
    store(c, &tile, at);
}

#[test]
fn element_coordinates_load_from_any_row_and_column() {
    let a = counting();
    for row in [0, 1, 7, 19, 20, 0x7fff_fff8, 0x7fff_ffff, 0x8000_0000, u32::MAX - 3, u32::MAX] {
        for col in [0, 1, 2, 3, 9, 15, 23, 24, 0x7fff_fff1, 0x8000_0000, u32::MAX - 3, u32::MAX] {
            let [got] =
                on_both((8, 16), |_, _| -77.0, |device, [c]| elements_at::launch(device, c, &a, row, col));
            assert_eq!(got, window(row.into(), col.into()), "element ({row}, {col})");
        }
    }
}

#[tile_kernel(instances(<bf16; subgroups = (1, 1)>, <f16; subgroups = (1, 1)>))]
fn narrow_elements_at<T: Element>(c: &mut gl<f32>, a: &gl<T>, row: u32, col: u32) {
    let at = own_tile::<8, 16>(c, Linear);
    let tile: rt<T, 8, 16> = load(a, elements([0, 0, row, col]));
    store(c, &tile.to::<f32>(), at);
}

#[test]
fn narrow_elements_load_at_odd_columns() {
    let mut a = tensor::<bf16>(12, 40, |r, c| (r * 10 + c % 10) as f32);
    let mut b = tensor::<f16>(12, 40, |r, c| (r * 10 + c % 10) as f32);
    a.fill_padding(bf16::NAN);
    b.fill_padding(f16::NAN);
    let plain = |row: usize, col: usize| -> Vec<f32> {
        let at = |r: usize, c: usize| if r < 12 && c < 40 { (r * 10 + c % 10) as f32 } else { 0.0 };
        (0..8).flat_map(|r| (0..16).map(move |c| at(row + r, col + c))).collect()
    };
    for row in [0, 5, 11] {
        for col in [0, 1, 2, 3, 25, 31, 39, 40] {
            let want = plain(row, col);
            let (row, col) = (row as u32, col as u32);
            let [got] = on_both(
                (8, 16),
                |_, _| -77.0,
                |device, [c]| narrow_elements_at::launch::<bf16>(device, c, &a, row, col),
            );
            assert_eq!(got, want, "bf16 at ({row}, {col})");
            let [got] = on_both(
                (8, 16),
                |_, _| -77.0,
                |device, [c]| narrow_elements_at::launch::<f16>(device, c, &b, row, col),
            );
            assert_eq!(got, want, "f16 at ({row}, {col})");
        }
    }
}

#[tile_kernel(instances(<; subgroups = (1, 2)>))]
fn planes(c: &mut gl<f32>, a: &gl<f32>, batch: u32, depth: u32) {
    let at = own_tile::<8, 16>(c, Snake(2));
    let tile: rt<f32, 8, 16> = load(a, [batch, depth, at.row(), at.col()]);
    store(c, &tile, at);
}

#[test]
fn a_plane_outside_the_tensor_is_0() {
    let a = Tensor::from_fn([2, 3, 9, 17], |b, d, r, c| (b * 1000 + d * 300 + r * 20 + c) as f32)
        .expect("a small tensor");
    for (batch, depth) in [(0, 0), (1, 2), (2, 0), (0, 3), (u32::MAX, 0), (0, u32::MAX), (1, 0x8000_0001)] {
        let [got] = on_both((9, 17), |_, _| -77.0, |device, [c]| planes::launch(device, c, &a, batch, depth));
        let inside = batch < 2 && depth < 3;
        let base = (batch.wrapping_mul(1000)).wrapping_add(depth.wrapping_mul(300));
        let want = (0..9 * 17).map(|i| if inside { (base + i / 17 * 20 + i % 17) as f32 } else { 0.0 });
        assert_eq!(got, want.collect::<Vec<_>>(), "plane ({batch}, {depth})");
    }
}

#[tile_kernel(instances(<; subgroups = (2, 2)>))]
fn two_outputs(sum: &mut gl<f32>, diff: &mut gl<bf16>, a: &gl<f32>, s: f32) {
    let at = own_tile::<8, 16>(sum, Snake(1));
    let tile: rt<f32, 8, 16> = load(a, at);
    store(sum, &tile.scale(s), at);
    store(diff, &tile.scale(-s).to::<bf16>(), at);
}

#[test]
fn two_outputs_are_stored_at_one_owned_tile() {
    let a = tensor::<f32>(21, 40, |r, c| (r * 40 + c) as f32 * 0.37);
    let run = |device: &Device| {
        let mut sum = Tensor::<f32>::zeros(21, 40).expect("a small tensor");
        let mut diff = Tensor::<bf16>::zeros(21, 40).expect("a small tensor");
        two_outputs::launch(device, &mut sum, &mut diff, &a, 1.5)
            .unwrap_or_else(|e| panic!("on {}: {e}", device.name()));
        (sum.to_vec(), diff.to_vec())
    };
    let (host, sim) = (run(&Device::host()), run(&Device::sim()));
    assert_eq!(host, sim);
    for (i, a) in a.iter().enumerate() {
        assert_eq!(host.0[i], a * 1.5);
        assert_eq!(host.1[i], bf16::from_f32(a * -1.5));
    }
}

#[tile_kernel(instances(<bf16, bf16; subgroups = (1, 1)>, <bf16, f16; subgroups = (1, 1)>, <f16, bf16; subgroups = (1, 1)>, <f32, bf16; subgroups = (1, 1)>, <f32, f16; subgroups = (1, 1)>, <f16, f16; subgroups = (1, 1)>))]
fn convert<T: Element, U: Element>(c: &mut gl<U>, a: &gl<T>) {
    let at = own_tile::<8, 32>(c, Linear);
    let tile: rt<T, 8, 32> = load(a, at);
    store(c, &tile.to::<f32>().to::<U>(), at);
}

#[test]
fn conversions_round_to_nearest_even_and_keep_nan_and_infinity() {
    // 256 values spread over the exponents, with ties, subnormals, NaN and the infinities.
    let value = |r: usize, c: usize| match (r, c) {
        (0, 0) => f32::NAN,
        (0, 1) => f32::INFINITY,
        (0, 2) => f32::NEG_INFINITY,
        (0, 3) => -0.0,
        (0, 4) => f32::MAX,
        (0, 5) => 65519.996,           // rounds to f16's largest value
        (0, 6) => 65520.0,             // ties to infinity in f16
        (0, 7) => 1.0 + 2f32.powi(-8), // ties to even in bf16
        (0, 8) => 1.0 + 3.0 * 2f32.powi(-8),
        (0, 9) => 1.0 + 2f32.powi(-11), // ties to even in f16
        (0, 10) => 5.9604645e-8,        // f16's smallest subnormal
        (0, 11) => 2.9802322e-8,        // ties to 0 in f16
        (0, 12) => 4.4703484e-8,
        _ => {
            let bits = ((r * 32 + c) as u32).wrapping_mul(0x9e37_79b9);
            f32::from_bits((bits & 0x8fff_ffff) | 0x3000_0000)
        }
    };
    let a = tensor::<f32>(8, 32, value);
    let [got] =
        on_both((8, 32), |_, _| bf16::ZERO, |device, [c]| convert::launch::<f32, bf16>(device, c, &a));
    for (i, (got, a)) in got.iter().zip(a.iter()).enumerate() {
        assert_eq!(got.bits(), half_bits(bf16::from_f32(a)), "element {i}: bf16 of {a}");
    }
    let [got] = on_both((8, 32), |_, _| f16::ZERO, |device, [c]| convert::launch::<f32, f16>(device, c, &a));
    for (i, (got, a)) in got.iter().zip(a.iter()).enumerate() {
        assert_eq!(got.bits(), half_bits(f16::from_f32(a)), "element {i}: f16 of {a}");
    }
    let b = tensor::<bf16>(8, 32, value);
    let [got] = on_both((8, 32), |_, _| f16::ZERO, |device, [c]| convert::launch::<bf16, f16>(device, c, &b));
    for (i, (got, b)) in got.iter().zip(b.iter()).enumerate() {
        assert_eq!(got.bits(), half_bits(f16::from_f32(b.to_f32())), "element {i}: f16 of {b}");
    }
    let [got] =
        on_both((8, 32), |_, _| bf16::ZERO, |device, [c]| convert::launch::<bf16, bf16>(device, c, &b));
    assert!(got.iter().zip(b.iter()).all(|(got, b)| got.bits() == b.bits()));
}

fn half_bits<T: Element>(value: T) -> u32 {
    value.bits()
}

/// The product of row `r` of A and column `c` of B, with the bound of its rounding errors.
fn product(k: usize, a: impl Fn(usize) -> f32, b: impl Fn(usize) -> f32) -> (f64, f64) {
    let terms = (0..k).map(|i| f64::from(a(i)) * f64::from(b(i)));
    let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()));
    (sum, (k as f64 + 2.0) * size * 2f64.powi(-24))
}

pub(crate) fn value(seed: usize, r: usize, c: usize) -> f32 {
    bf16::from_f32((((r * 31 + c * 17 + seed * 7) * 2654435761) >> 7 & 0x3ff) as f32 / 512.0 - 1.0).to_f32()
}

#[tile_kernel(
    derive(HALF = M / 2),
    instances(<bf16, 16, 32, true; subgroups = (1, 1)>, <f16, 32, 16, false; subgroups = (2, 1)>)
)]
fn update<A: MmaInput, const M: usize, const HALF: usize, const K: usize, const TRANS: bool>(
    c: &mut gl<f32>,
    a: &gl<A>,
    b: &gl<A>,
    alpha: f32,
    beta: f32,
) {
    let at = own_tile::<HALF, 32>(c, Snake(8));
    let old: rt<f32, HALF, 32, Acc> = load(c, at);
    let mut acc = old.scale(beta);
    for k in 0..a.col_tiles(K) {
        let x: rt<A, HALF, K> = load(a, [at.row(), k]);
        if TRANS {
            let y: rt<A, K, 32, VnniT> = load_transpose(b, [at.col(), k]);
            mma_ABt(&mut acc, &x, &y);
        } else {
            let y: rt<A, K, 32, Vnni> = load_transform(b, [k, at.col()]);
            mma_AB(&mut acc, &x, &y);
        }
    }
    let out = if alpha != 1.0 { acc.scale(alpha) } else { acc };
    store(c, &out, at);
}

#[test]
fn an_update_of_the_owned_tile_multiplies_and_accumulates() {
    let (m, n, k) = (21, 37, 51);
    let (alpha, beta) = (0.75f32, -2.0f32);
    let c = |r: usize, c: usize| value(3, r, c);
    let mut a16 = tensor::<bf16>(m, k, |r, c| value(1, r, c));
    let mut bt = tensor::<bf16>(n, k, |r, c| value(2, c, r));
    let mut a = tensor::<f16>(m, k, |r, c| value(1, r, c));
    let mut b = tensor::<f16>(k, n, |r, c| value(2, r, c));
    a16.fill_padding(bf16::NAN);
    bt.fill_padding(bf16::NAN);
    a.fill_padding(f16::NAN);
    b.fill_padding(f16::NAN);
    for device in [Device::host(), Device::sim()] {
        for transposed in [true, false] {
            let mut out = tensor::<f32>(m, n, c);
            let ran = if transposed {
                update::launch::<bf16, 16, 32, true>(&device, &mut out, &a16, &bt, alpha, beta)
            } else {
                update::launch::<f16, 32, 16, false>(&device, &mut out, &a, &b, alpha, beta)
            };
            ran.unwrap_or_else(|e| panic!("on {}: {e}", device.name()));
            for row in 0..m {
                for col in 0..n {
                    let (sum, bound) = product(k, |i| value(1, row, i), |i| value(2, i, col));
                    let old = f64::from(beta * c(row, col));
                    let want = f64::from(alpha) * (old + sum);
                    let bound = bound + old.abs() * k as f64 * 2f64.powi(-24) + want.abs() * 2f64.powi(-23);
                    let got = f64::from(out.get(0, 0, row, col).expect("inside"));
                    assert!(
                        (got - want).abs() <= bound,
                        "on {}, transposed {transposed}, ({row}, {col}): {got}, expected {want} +- {bound:e}",
                        device.name()
                    );
                }
            }
        }
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn chosen(c: &mut gl<f32>, a: &gl<f32>, b: &gl<f32>, pick: u32, rounds: u32) {
    let at = own_tile::<16, 16>(c, Linear);
    let first: rt<f32, 16, 16> = load(a, [0, 0]);
    let second: rt<f32, 16, 16> = load(b, [0, 0]);
    let mut tile = if pick == 0 {
        first
    } else if pick == 1 {
        let s = 2.0;
        second.scale(s)
    } else {
        first.to::<bf16>().to::<f32>()
    };
    for i in 0..rounds {
        if i % 2 == 0 {
            tile = tile.scale(-0.5);
        } else {
            let fresh: rt<f32, 16, 16> = load(b, elements([i, 0]));
            tile = fresh;
        }
    }
    store(c, &tile, at);
}

#[test]
fn branches_and_loops_carry_tiles() {
    let a = tensor::<f32>(16, 16, |r, c| 1.0 + (r * 16 + c) as f32 / 512.0);
    let b = tensor::<f32>(16, 16, |r, c| 3.0 + (r * 16 + c) as f32);
    for pick in [0, 1, 2] {
        for rounds in 0..5u32 {
            let [got] = on_both(
                (16, 16),
                |_, _| -77.0,
                |device, [c]| chosen::launch(device, c, &a, &b, pick, rounds),
            );
            let plain = |r: usize, c: usize| {
                let at = |t: &Tensor<f32>, r, c| t.get(0, 0, r, c).unwrap_or(0.0);
                let mut v = match pick {
                    0 => at(&a, r, c),
                    1 => 2.0 * at(&b, r, c),
                    _ => bf16::from_f32(at(&a, r, c)).to_f32(),
                };
                for i in 0..rounds as usize {
                    v = if i % 2 == 0 { v * -0.5 } else { at(&b, r + i, c) };
                }
                v
            };
            let want: Vec<f32> = (0..256).map(|i| plain(i / 16, i % 16)).collect();
            assert_eq!(got, want, "pick {pick}, {rounds} rounds");
        }
    }
}

#[tile_kernel(instances(<f32; subgroups = (1, 1)>, <bf16; subgroups = (1, 1)>))]
unsafe fn place_at<T: Element>(c: &mut gl<T>, a: &gl<T>, row: u32, col: u32) {
    let own = own_tile::<32, 64>(c, Linear);
    if own.outside() {
        return;
    }
    let tile: rt<T, 8, 16> = load(a, [0, 0]);
    // SAFETY: passed on from the caller.
    unsafe {
        store_at(c, &tile, elements([row, col]));
        store_at(c, &tile, [row, col]);
    }
}

#[test]
fn an_unsafe_kernel_stores_where_it_says() {
    let a = tensor::<f32>(8, 16, |r, c| (r * 16 + c + 1) as f32);
    let a16 = tensor::<bf16>(8, 16, |r, c| (r * 16 + c + 1) as f32);
    for (row, col) in [(0, 0), (1, 1), (9, 13), (3, 2), (u32::MAX, 0), (0, u32::MAX - 2), (0x2000_0000, 0)] {
        let plain: Vec<f32> = (0..20 * 35)
            .map(|i| {
                let (r, c) = (i / 35, i % 35);
                let covers = |r0: u64, c0: u64| r >= r0 && r < r0 + 8 && c >= c0 && c < c0 + 16;
                let (row, col) = (u64::from(row), u64::from(col));
                let at = |r0: u64, c0: u64| ((r - r0) * 16 + c - c0 + 1) as f32;
                if covers(row * 8, col * 16) {
                    at(row * 8, col * 16)
                } else if covers(row, col) {
                    at(row, col)
                } else {
                    -77.0
                }
            })
            .collect();
        let [got] = on_both(
            (20, 35),
            |_, _| -77.0,
            |device, [c]| {
                // SAFETY: one sub-group runs, so no other stores.
                unsafe { place_at::launch::<f32>(device, c, &a, row, col) }
            },
        );
        assert_eq!(got, plain, "f32 at ({row}, {col})");
        let [got] = on_both(
            (20, 35),
            |_, _| bf16::from_f32(-77.0),
            |device, [c]| {
                // SAFETY: as above.
                unsafe { place_at::launch::<bf16>(device, c, &a16, row, col) }
            },
        );
        let got: Vec<f32> = got.into_iter().map(bf16::to_f32).collect();
        assert_eq!(got, plain, "bf16 at ({row}, {col})");
    }
}

#[tile_kernel(instances(<; subgroups = (3, 2)>))]
fn who(c: &mut gl<f32>, ones: &gl<f32>) {
    let at = own_tile::<8, 16>(c, Snake(2));
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    let place = subgroup_id() * 100 + subgroup_row() * 10 + subgroup_col();
    store(c, &one.scale((at.row() * 100000 + at.col() * 10000 + place) as f32), at);
}

#[test]
fn a_subgroup_knows_its_place() {
    let ones = tensor::<f32>(8, 16, |_, _| 1.0);
    let [got] = on_both((50, 70), |_, _| -77.0, |device, [c]| who::launch(device, c, &ones));
    for (i, got) in got.iter().enumerate() {
        let (row, col) = (i / 70 / 8, i % 70 / 16);
        let (r, c) = (row % 3, col % 2);
        let want = row * 100000 + col * 10000 + (r * 2 + c) * 100 + r * 10 + c;
        assert_eq!(*got, want as f32, "element {i}");
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn dimensions(c: &mut gl<f32>, ones: &gl<f32>, a: &gl<bf16>) {
    let at = own_tile::<8, 16>(c, Linear);
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    let tiles = a.row_tiles(8) * 10 + a.col_tiles(16 * 2);
    let shape = ((a.batch() * 10 + a.depth()) * 100 + a.rows()) * 100 + a.cols();
    store(c, &one.scale((shape * 100 + tiles) as f32), at);
}

#[test]
fn dimensions_are_those_of_the_tensor() {
    let ones = tensor::<f32>(8, 16, |_, _| 1.0);
    let shapes = [[1, 1, 17, 65], [1, 2, 8, 32], [1, 3, 0, 33], [1, 1, 9, 0]];
    for [batch, depth, rows, cols] in shapes {
        let a = Tensor::<bf16>::with_shape([batch, depth, rows, cols]).expect("a small tensor");
        let got = super::scalar_of(|device, c| dimensions::launch(device, c, &ones, &a));
        let tiles = rows.div_ceil(8) * 10 + cols.div_ceil(32);
        let shape = ((batch * 10 + depth) * 100 + rows) * 100 + cols;
        assert_eq!(got, (shape * 100 + tiles) as f32, "{batch} x {depth} x {rows} x {cols}");
    }
}
