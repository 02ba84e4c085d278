//! Wide vectors: rows that are normalised, products with a vector, rotations; whole, ragged and at odd elements.
//!
//! Sums are of small multiples of a power of two, so every order of adding gives one value.

use super::{on_both, tensor};
use tile_std::prelude::*;

/// Divides every row by the mean of its squares, and says where its largest element is.
#[tile_kernel(instances(<bf16, 256; subgroups = (2, 1)>, <f16, 128; subgroups = (1, 1)>, <f32, 384; subgroups = (4, 1)>))]
fn normalised<T: Element, const N: usize>(y: &mut gl<T>, x: &gl<T>, gain: &gl<T>) {
    let at = own_tile::<1, N>(y, Linear);
    let row: rv<T, N, Wide> = load_vec(x, [at.batch(), at.depth(), at.row(), at.col()]);
    let gain: rv<T, N, Wide> = load_vec(gain, [0, at.col()]);
    let wide = row.to::<f32>();
    let squares = wide.fma(&wide, 0.0).reduce_sum();
    let z = wide.scale(1.0 / squares).mul(&gain.to::<f32>()).add(row.argmax() as f32);
    store_vec(y, &z.to::<T>(), at);
}

#[test]
fn rows_of_every_length_are_normalised() {
    fn check<T: Element, const N: usize>(small: bool)
    where
        normalised::Kernel: normalised::Compiled<T, N>,
    {
        for (rows, cols) in [(3, N), (5, 2 * N), (4, N - 1), (7, N + 9), (1, 1), (2, N / 2 + 3)] {
            let value = |r: usize, c: usize| ((r * 7 + c * 5) % 4) as f32;
            let mut x = tensor::<T>(rows, cols, value);
            x.fill_padding(T::from_f32(f32::NAN));
            let mut gain = tensor::<T>(1, cols, |_, c| (c % 3) as f32);
            gain.fill_padding(T::from_f32(f32::NAN));
            let [y] = on_both(
                (rows, cols),
                |_, _| T::from_f32(-1.0),
                |device, [y]| normalised::launch::<T, N>(device, y, &x, &gain),
            );
            for r in 0..rows {
                for c in 0..cols {
                    let first = c / N * N;
                    let piece = first..cols.min(first + N);
                    let squares: f32 = piece.clone().map(|c| value(r, c) * value(r, c)).sum();
                    let mut top = 0;
                    for c in piece {
                        if value(r, c) > value(r, first + top) {
                            top = c - first;
                        }
                    }
                    if squares == 0.0 {
                        continue;
                    }
                    let want = value(r, c) * (1.0 / squares) * (c % 3) as f32 + top as f32;
                    let got = y[r * cols + c].to_f32();
                    let most = if small { 0.01 } else { 1e-4 };
                    assert!(
                        (got - want).abs() <= most * want.abs() + 1e-6,
                        "{rows}x{cols} ({r}, {c}): {got}, not {want}"
                    );
                }
            }
        }
    }
    check::<bf16, 256>(true);
    check::<f16, 128>(true);
    check::<f32, 384>(false);
}

/// One element of a product of a matrix and a vector per sub-group: the row `at.row()` of `w` times `x`, added to all of its tile.
#[tile_kernel(instances(<bf16, 256; subgroups = (2, 1)>))]
fn product<T: Element, const N: usize>(y: &mut gl<f32>, w: &gl<T>, x: &gl<T>) {
    let at = own_tile::<8, 16>(y, Linear);
    let mut sums: rv<f32, N, Wide> = zeros();
    for k in 0..w.col_tiles(N) {
        let a: rv<T, N, Wide> = load_vec(w, [at.row(), k]);
        let b: rv<T, N, Wide> = load_vec(x, [0, k]);
        sums = a.to::<f32>().fma(&b.to::<f32>(), &sums);
    }
    let z: rt<f32, 8, 16> = fill(sums.reduce_sum());
    store(y, &z, at);
}

#[test]
fn a_wide_vector_is_carried_by_a_loop() {
    for cols in [256, 1000, 17] {
        let w = tensor::<bf16>(3, cols, |r, c| ((r + c) % 5) as f32 - 2.0);
        let x = tensor::<bf16>(1, cols, |_, c| (c % 4) as f32);
        let [y] =
            on_both((24, 16), |_, _| 0.0f32, |device, [y]| product::launch::<bf16, 256>(device, y, &w, &x));
        for r in 0..3 {
            let want: f32 = (0..cols).map(|c| (((r + c) % 5) as f32 - 2.0) * (c % 4) as f32).sum();
            assert_eq!(y[r * 8 * 16], want, "{cols} columns, row {r}");
        }
    }
}

/// Copies a piece that begins at any element.
#[tile_kernel(instances(<f16, 128; subgroups = (1, 1)>, <f32, 128; subgroups = (1, 1)>))]
unsafe fn copied<T: Element, const N: usize>(
    y: &mut gl<T>,
    x: &gl<f16>,
    ints: &gl<i32>,
    from: u32,
    to: u32,
    float: bool,
) {
    let at = own_tile::<8, 16>(y, Linear);
    if at.row() == 0 && at.col() == 0 {
        if float {
            let v: rv<f16, N, Wide> = load_vec(x, elements([1, from]));
            store_vec_at(y, &v.to::<T>(), elements([2, to]));
        } else {
            let v: rv<i32, N, Wide> = load_vec(ints, elements([1, from]));
            store_vec_at(y, &v.to::<T>(), elements([2, to]));
        }
    }
}

#[test]
fn pieces_begin_at_any_element() {
    let x = tensor::<f16>(3, 200, |r, c| (r * 200 + c) as f32);
    let ints = Tensor::from_fn([1, 1, 3, 200], |_, _, r, c| (r * 200 + c) as i32).expect("a small tensor");
    for (from, to) in [
        (0, 0),
        (1, 0),
        (2, 3),
        (71, 1),
        (72, 100),
        (150, 149),
        (199, 199),
        (200, 5),
        (u32::MAX, 0),
        (3, u32::MAX),
    ] {
        for float in [true, false] {
            // SAFETY: one sub-group stores.
            let [y] = on_both(
                (3, 200),
                |_, _| f16::from_f32(-1.0),
                |device, [y]| unsafe { copied::launch::<f16, 128>(device, y, &x, &ints, from, to, float) },
            );
            for c in 0..200u64 {
                let inside = c >= u64::from(to) && c < u64::from(to) + 128;
                let source = u64::from(from).wrapping_add(c.wrapping_sub(u64::from(to)));
                let want = match (inside, source < 200) {
                    (true, true) => (200 + source) as f32,
                    (true, false) => 0.0,
                    (false, _) => -1.0,
                };
                assert_eq!(y[400 + c as usize].to_f32(), want, "from {from} to {to}: {c}");
            }
        }
    }
}
