//! Transposes in registers, while loading and while storing; parts of tiles; atomic adds.

use super::{on_both, tensor};
use tile_std::prelude::*;

/// The transpose of `x`, one tile at a time, by way `how`.
#[tile_kernel(instances(
    <f32, 16, 16; subgroups = (1, 2)>,
    <f32, 32, 16; subgroups = (2, 1)>,
    <bf16, 16, 32; subgroups = (2, 2)>,
    <f16, 16, 16; subgroups = (1, 1)>,
))]
fn turned<T: AnyElement, const M: usize, const N: usize>(y: &mut gl<T>, x: &gl<T>, how: u32) {
    let at = own_tile::<M, N>(y, Snake(2));
    if how == 0 {
        let tile: rt<T, N, M> = load(x, [at.col(), at.row()]);
        store(y, &tile.transpose(), at);
    } else if how == 1 {
        let tile: rt<T, M, N> = load_transpose(x, [at.col(), at.row()]);
        store(y, &tile, at);
    } else {
        let tile: rt<T, N, M> = load(x, [at.col(), at.row()]);
        store_transpose(y, &tile, at);
    }
}

#[test]
fn three_ways_give_the_transpose_of_ragged_tensors() {
    fn check<T: Element, const M: usize, const N: usize>()
    where
        turned::Kernel: turned::Compiled<T, M, N>,
    {
        for (rows, cols) in [(1, 1), (16, 16), (17, 5), (33, 70), (64, 31), (5, 129)] {
            let value = |r: usize, c: usize| ((r * 13 + c * 7) % 64) as f32 - 31.5;
            let mut x = tensor::<T>(rows, cols, value);
            x.fill_padding(T::from_f32(f32::NAN));
            for how in 0..3 {
                let [got] = on_both(
                    (cols, rows),
                    |_, _| T::from_f32(-77.0),
                    |device, [y]| turned::launch::<T, M, N>(device, y, &x, how),
                );
                for (i, got) in got.into_iter().enumerate() {
                    let (r, c) = (i / rows, i % rows);
                    assert_eq!(
                        got.to_f32(),
                        value(c, r),
                        "{} way {how} of {rows}x{cols} ({r}, {c})",
                        T::NAME
                    );
                }
            }
        }
    }
    check::<f32, 16, 16>();
    check::<f32, 32, 16>();
    check::<bf16, 16, 32>();
    check::<f16, 16, 16>();
}

/// The sums of the rows of `x` (a row per lane: the tile is transposed, so a sum over its rows needs no lane but its own).
#[tile_kernel(instances(<bf16, 32; subgroups = (1, 2)>, <f32, 16; subgroups = (1, 1)>, <f16, 24; subgroups = (1, 1)>))]
fn sums<T: Element, const K: usize>(y: &mut gl<f32>, x: &gl<T>) {
    let at = own_tile::<8, 16>(y, Linear);
    let mut sum: rv<f32, 16, PerCol> = zeros();
    for k in 0..x.col_tiles(K) {
        let tile: rt<T, K, 16> = load_transpose(x, [at.col(), k]);
        sum = tile.col_sum_with(&sum);
    }
    let zero: rt<f32, 8, 16> = zeros();
    store(y, &zero.add_col(&sum), at);
}

#[test]
fn sums_over_a_transposed_loop_count_no_padding() {
    for (rows, cols) in [(16, 32), (21, 33), (7, 1), (40, 97), (16, 31), (3, 200)] {
        let value = |r: usize, c: usize| ((r * 5 + c * 3) % 16) as f32 - 7.0;
        let mut a = tensor::<bf16>(rows, cols, value);
        let mut b = tensor::<f32>(rows, cols, value);
        let mut c = tensor::<f16>(rows, cols, value);
        a.fill_padding(bf16::NAN);
        b.fill_padding(f32::NAN);
        c.fill_padding(f16::NAN);
        let want: Vec<f32> = (0..rows).map(|r| (0..cols).map(|c| value(r, c)).sum()).collect();
        let check = |got: Vec<f32>| {
            for row in 0..8 {
                assert_eq!(got[row * rows..(row + 1) * rows], want, "{rows}x{cols}");
            }
        };
        let [got] = on_both((8, rows), |_, _| -77.0, |device, [y]| sums::launch::<bf16, 32>(device, y, &a));
        check(got);
        let [got] = on_both((8, rows), |_, _| -77.0, |device, [y]| sums::launch::<f32, 16>(device, y, &b));
        check(got);
        let [got] = on_both((8, rows), |_, _| -77.0, |device, [y]| sums::launch::<f16, 24>(device, y, &c));
        check(got);
    }
}

/// Swaps the halves of a tile along both sides, part by part, in a loop that carries the tile.
#[tile_kernel(derive(HALF = M / 2), instances(<f32, 16; subgroups = (1, 1)>, <bf16, 32; subgroups = (2, 1)>))]
fn halves<T: Element, const M: usize, const HALF: usize>(y: &mut gl<T>, x: &gl<T>, times: u32) {
    let at = own_tile::<M, 32>(y, Linear);
    let mut tile: rt<T, M, 32> = load(x, at);
    for _ in 0..times {
        let old: rt<T, M, 32> = tile.neg();
        tile.set_sub_tile(&old.sub_tile::<HALF, 16>(0, 0), HALF / HALF, 1);
        tile.set_sub_tile(&old.sub_tile::<HALF, 16>(0, 1), 1, 0);
        let low = old.sub_tile::<HALF, 32>(1, 0);
        tile.set_sub_tile(&low.sub_tile::<HALF, 16>(0, 0), 0, 1);
        tile.set_sub_tile(&low.sub_tile::<HALF, 16>(0, 1), 0, 0);
    }
    store(y, &tile, at);
}

#[test]
fn parts_are_read_and_replaced_in_place() {
    let (rows, cols) = (35, 41);
    let value = |r: usize, c: usize| (r * 3 + c) as f32 / 4.0;
    for times in [0u32, 1, 2, 3] {
        fn check<T: Element, const M: usize>(
            rows: usize,
            cols: usize,
            times: u32,
            value: &dyn Fn(usize, usize) -> f32,
        ) where
            halves::Kernel: halves::Compiled<T, M>,
        {
            let x = tensor::<T>(rows, cols, value);
            let [got] = on_both(
                (rows, cols),
                |_, _| T::from_f32(-77.0),
                |device, [y]| halves::launch::<T, M>(device, y, &x, times),
            );
            for (i, got) in got.into_iter().enumerate() {
                let (r, c) = (i / cols, i % cols);
                let swap = |at: usize, size: usize| at / size * size + (at % size + size / 2) % size;
                let (sr, sc) = if times % 2 == 1 { (swap(r, M), swap(c, 32)) } else { (r, c) };
                let from = if sr < rows && sc < cols { T::from_f32(value(sr, sc)).to_f32() } else { 0.0 };
                let want = if times % 2 == 1 { -from } else { from };
                assert_eq!(got.to_f32(), want, "{} {times} times ({r}, {c})", T::NAME);
            }
        }
        check::<f32, 16>(rows, cols, times, &value);
        check::<bf16, 32>(rows, cols, times, &value);
    }
}

/// Turns the parts of a tile around; the counters of unrolled loops say which.
#[tile_kernel(derive(PARTS = N / 16, LAST = N / 16 - 1), instances(<f32, 64; subgroups = (1, 1)>, <f16, 48; subgroups = (1, 2)>))]
fn rearranged<T: Element, const N: usize, const PARTS: usize, const LAST: usize>(y: &mut gl<T>, x: &gl<T>) {
    let at = own_tile::<16, N>(y, Linear);
    let old: rt<T, 16, N> = load(x, [at.row(), at.col()]);
    let mut tile: rt<T, 16, N> = zeros();
    #[unroll]
    for c in 0..PARTS as u32 {
        #[unroll]
        for r in 0..2i32 {
            tile.set_sub_tile(&old.sub_tile::<8, 16>(1 - r, LAST as u32 - c), r, c);
        }
    }
    store(y, &tile, at);
}

#[test]
fn counters_of_unrolled_loops_say_which_part() {
    fn check<T: Element, const N: usize>()
    where
        rearranged::Kernel: rearranged::Compiled<T, N>,
    {
        let (rows, cols) = (16, 2 * N);
        let x = tensor::<T>(rows, cols, |r, c| (r * cols + c) as f32);
        let [got] = on_both(
            (rows, cols),
            |_, _| T::from_f32(-77.0),
            |device, [y]| rearranged::launch::<T, N>(device, y, &x),
        );
        for (i, got) in got.into_iter().enumerate() {
            let (r, c) = (i / cols, i % cols);
            let within = (N / 16 - 1 - c % N / 16) * 16 + c % 16;
            let want = x.get(0, 0, (r + 8) % 16, c / N * N + within).expect("inside");
            assert_eq!(got.to_f32(), want.to_f32(), "{} ({r}, {c})", T::NAME);
        }
    }
    check::<f32, 64>();
    check::<f16, 48>();
}

#[tile_fn]
fn put<T: Element, const M: usize>(x: &mut rt<T, M, 32>, part: &rt<T, 8, 16>) {
    x.set_sub_tile(part, 1, 1);
}

#[tile_kernel(fns(put), instances(<f32, 16; subgroups = (1, 1)>))]
fn put_in_function<T: Element, const M: usize>(y: &mut gl<T>) {
    let at = own_tile::<M, 32>(y, Linear);
    let part: rt<T, 8, 16> = fill(2.5);
    let mut tile: rt<T, M, 32> = fill(1.0);
    put(&mut tile, &part);
    store(y, &tile, at);
}

#[test]
fn a_device_function_replaces_a_part() {
    let [got] = on_both((16, 32), |_, _| -77.0, |device, [y]| put_in_function::launch::<f32, 16>(device, y));
    for (i, got) in got.into_iter().enumerate() {
        assert_eq!(got, if i / 32 >= 8 && i % 32 >= 16 { 2.5 } else { 1.0 }, "element {i}");
    }
}

/// Column sums and row sums of `x`, each sub-group adding those of its tile; whole numbers, so that the order of the
/// additions does not show.
#[tile_kernel(instances(<bf16, 16, 32; subgroups = (2, 2)>, <f32, 8, 16; subgroups = (1, 3)>))]
fn margins<T: Element, const M: usize, const N: usize>(
    y: &mut gl<T>,
    cols: &mut gl<f32>,
    all: &mut gl<f32>,
    x: &gl<T>,
) {
    let at = own_tile::<M, N>(y, Linear);
    let tile: rt<T, M, N> = load(x, at);
    store(y, &tile, at);
    atomic_add_vec(cols, &tile.col_sum(), [0, at.col()]);
    atomic_add_vec(cols, &tile.row_sum(), [1, at.row()]);
    atomic_add(all, &tile.to::<f32>(), [0, 0]);
}

#[test]
fn many_sub_groups_add_to_the_same_elements() {
    fn check<T: Element, const M: usize, const N: usize>()
    where
        margins::Kernel: margins::Compiled<T, M, N>,
    {
        for (rows, cols) in [(16, 32), (33, 70), (100, 90), (1, 1), (7, 200)] {
            let value = |r: usize, c: usize| ((r * 3 + c * 5) % 8) as f32 - 3.0;
            let mut x = tensor::<T>(rows, cols, value);
            x.fill_padding(T::from_f32(f32::NAN));
            let length = rows.max(cols);
            for device in [Device::host(), Device::sim()] {
                let mut y = Tensor::<T>::zeros(rows, cols).expect("a small tensor");
                let mut sums = tensor::<f32>(2, length, |_, _| 1.0);
                // Narrower than a tile: what lies outside is dropped.
                let mut all = tensor::<f32>(5, 13, |_, _| 0.5);
                margins::launch::<T, M, N>(&device, &mut y, &mut sums, &mut all, &x)
                    .unwrap_or_else(|e| panic!("on {}: {e}", device.name()));
                let at = |t: &Tensor<f32>, r: usize, c: usize| t.get(0, 0, r, c).expect("inside");
                let what = format!("{} on {} {rows}x{cols}", T::NAME, device.name());
                for i in 0..length {
                    let col: f32 = if i < cols { (0..rows).map(|r| value(r, i)).sum() } else { 0.0 };
                    let row: f32 = if i < rows { (0..cols).map(|c| value(i, c)).sum() } else { 0.0 };
                    assert_eq!((at(&sums, 0, i), at(&sums, 1, i)), (1.0 + col, 1.0 + row), "{what}: {i}");
                }
                for r in 0..5 {
                    for c in 0..13 {
                        let tiles =
                            (r..rows).step_by(M).flat_map(|r| (c..cols).step_by(N).map(move |c| (r, c)));
                        let want: f32 = tiles.map(|(r, c)| value(r, c)).sum();
                        assert_eq!(at(&all, r, c), 0.5 + want, "{what}: ({r}, {c})");
                    }
                }
            }
        }
    }
    check::<bf16, 16, 32>();
    check::<f32, 8, 16>();
}
