//! Stores of vectors, reductions to scalars and positions of extremes: at the edges of tensors, several outputs beside each
//! other, and in conditions.
//!
//! Sums are of small multiples of a power of two, so every order of adding gives one value.

use super::{on_both, tensor};
use tile_std::prelude::*;

/// Of each tile of `x`: the sums of its columns, the columns of the largest elements of its rows, and the tile less its mean row.
#[tile_kernel(instances(
    <bf16, 8, 16; subgroups = (2, 2)>,
    <f16, 16, 32; subgroups = (1, 3)>,
    <f32, 24, 16; subgroups = (3, 1)>,
))]
fn summary<T: Element, const M: usize, const N: usize>(
    y: &mut gl<T>,
    sums: &mut gl<f32>,
    tops: &mut gl<i32>,
    x: &gl<T>,
) {
    let at = own_tile::<M, N>(y, Snake(2));
    let tile: rt<T, M, N> = load(x, [at.batch(), at.depth(), at.row(), at.col()]);
    let columns = tile.col_sum();
    store_vec(sums, &columns, at);
    store_vec(tops, &tile.row_argmax(), at);
    let all = columns.reduce_sum();
    let z = if all > 0.0 { tile.neg() } else { tile.add(1.0) };
    store(y, &z, at);
}

#[test]
fn vectors_are_stored_where_a_tile_is_owned() {
    fn check<T: Element, const M: usize, const N: usize>()
    where
        summary::Kernel: summary::Compiled<T, M, N>,
    {
        for (rows, cols) in [(M, N), (33, 70), (1, 1), (50, 17)] {
            let value = |p: usize, r: usize, c: usize| ((p * 7 + r * 3 + c * 5) % 16) as f32 - 8.0;
            let mut x = Tensor::from_fn([1, 2, rows, cols], |_, p, r, c| T::from_f32(value(p, r, c)))
                .expect("a small tensor");
            x.fill_padding(T::from_f32(f32::NAN));
            let (down, across) = (rows.div_ceil(M), cols.div_ceil(N));
            for device in [Device::host(), Device::sim()] {
                let zeros = |_, _, _, _| T::from_f32(0.0);
                let mut y = Tensor::from_fn([1, 2, rows, cols], zeros).expect("a small tensor");
                // One row more than there are rows of tiles, for what nobody stores to.
                let mut sums =
                    Tensor::from_fn([1, 2, down, cols], |_, _, _, _| -1.0f32).expect("a small tensor");
                let mut tops =
                    Tensor::from_fn([1, 2, across, rows], |_, _, _, _| -1i32).expect("a small tensor");
                summary::launch::<T, M, N>(&device, &mut y, &mut sums, &mut tops, &x)
                    .unwrap_or_else(|e| panic!("on {}: {e}", device.name()));
                let what = format!("{} on {} {rows}x{cols}", T::NAME, device.name());
                for plane in 0..2 {
                    for i in 0..down {
                        for c in 0..cols {
                            let want: f32 = (i * M..rows.min((i + 1) * M)).map(|r| value(plane, r, c)).sum();
                            assert_eq!(sums.get(0, plane, i, c), Some(want), "{what}: sum {i} {c}");
                        }
                    }
                    for j in 0..across {
                        for r in 0..rows {
                            let of =
                                |c: usize| if j * N + c < cols { value(plane, r, j * N + c) } else { 0.0 };
                            let top = (0..N).fold(0, |best, c| if of(c) > of(best) { c } else { best });
                            assert_eq!(tops.get(0, plane, j, r), Some(top as i32), "{what}: top {j} {r}");
                        }
                    }
                    for r in 0..rows {
                        for c in 0..cols {
                            let (top, left) = (r / M * M, c / N * N);
                            let tile = (top..rows.min(top + M))
                                .flat_map(|r| (left..cols.min(left + N)).map(move |c| (r, c)));
                            let all: f32 = tile.map(|(r, c)| value(plane, r, c)).sum();
                            let x = value(plane, r, c);
                            let want = if all > 0.0 { -x } else { x + 1.0 };
                            assert_eq!(
                                y.get(0, plane, r, c).map(Element::to_f32),
                                Some(want),
                                "{what}: {r} {c}"
                            );
                        }
                    }
                }
            }
        }
    }
    check::<bf16, 8, 16>();
    check::<f16, 16, 32>();
    check::<f32, 24, 16>();
}

/// Each sub-group makes M sums of rows: the output of vectors deals out its own places.
#[tile_kernel(instances(<bf16, 16, 32; subgroups = (1, 2)>, <f32, 32, 16; subgroups = (2, 1)>))]
fn row_sums<T: Element, const M: usize, const N: usize>(sums: &mut gl<f32>, x: &gl<T>) {
    let at = own_tile::<1, M>(sums, Linear);
    let mut total: rv<f32, M, PerRow> = zeros();
    for k in 0..x.col_tiles(N) {
        let tile: rt<T, M, N> = load(x, [at.row(), at.depth(), at.col(), k]);
        total = tile.row_sum_with(&total);
    }
    store_vec(sums, &total.to_per_col(), at);
}

#[test]
fn an_output_of_vectors_is_dealt_out_by_itself() {
    for (rows, cols) in [(16, 32), (70, 33), (1, 5)] {
        let x = tensor::<f32>(rows, cols, |r, c| ((r * 3 + c) % 8) as f32);
        let [sums] = on_both(
            (1, rows),
            |_, _| 9.0f32,
            |device, [sums]| row_sums::launch::<f32, 32, 16>(device, sums, &x),
        );
        for (r, sum) in sums.into_iter().enumerate() {
            assert_eq!(sum, (0..cols).map(|c| ((r * 3 + c) % 8) as f32).sum::<f32>(), "{rows}x{cols}: {r}");
        }
    }
}

/// Greedy sampling: the token with the largest logit, and how many sub-groups of a row saw it.
#[tile_kernel(instances(<f16, 64; subgroups = (1, 1)>))]
unsafe fn greedy<T: Element, const N: usize>(out: &mut gl<f32>, x: &gl<T>) {
    let at = own_tile::<8, 16>(out, Linear);
    let mut best = -3.0e38;
    let mut token = 0i32;
    for k in 0..x.col_tiles(N) {
        let v: rv<T, N, PerCol> = load_vec(x, [at.row(), k]);
        let top = v.reduce_max();
        if top > best {
            best = top;
            token = v.argmax() + (k * N as u32) as i32;
        }
    }
    let found: rv<f32, 16, PerCol> = fill(token as f32);
    store_vec_at(out, &found, [at.row(), at.col()]);
}

#[test]
fn a_position_is_found_over_many_vectors() {
    for top in [0usize, 1, 63, 64, 100, 129] {
        let x = tensor::<f16>(1, 130, |_, c| if c >= top { 5.0 } else { (c % 7) as f32 - 3.0 });
        // SAFETY: one sub-group runs.
        let [out] = on_both(
            (1, 16),
            |_, _| 0.0f32,
            |device, [out]| unsafe { greedy::launch::<f16, 64>(device, out, &x) },
        );
        assert_eq!(out[0], top as f32);
    }
}
