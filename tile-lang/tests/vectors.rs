//! Sources of vectors and scalars at every kind of edge, reductions of tiles, and masks by exhaustion.

use tile_lang::global::Shape;
use tile_lang::operand::ElementWise;
use tile_lang::prelude::*;
use tile_lang::role::Loaded;
use tile_lang::vector::Encoding;

const EXTENTS: [u32; 4] = [2, 3, 5, 37];

fn value([batch, depth, row, col]: [u64; 4]) -> f32 {
    ((batch * 7 + depth * 5 + row * 41 + col) % 200 + 1) as f32
}

/// A tensor of `value`s whose padding, gaps and surroundings are NaN.
fn tensor<T: Element>() -> (Vec<T>, Shape) {
    let shape = Shape { extents: EXTENTS, pitch: 40, depth_stride: 207, batch_stride: 640 };
    let mut data = vec![T::from_f32(f32::NAN); 2 * 640 + 9];
    let [batches, depths, rows, cols] = EXTENTS.map(u64::from);
    for b in 0..batches {
        for d in 0..depths {
            for r in 0..rows {
                for c in 0..cols {
                    data[(b * 640 + d * 207 + r * 40 + c) as usize] = T::from_f32(value([b, d, r, c]));
                }
            }
        }
    }
    (data, shape)
}

fn expected(at: [u64; 4]) -> f32 {
    if at.iter().zip(EXTENTS).all(|(i, extent)| *i < extent.into()) { value(at) } else { 0.0 }
}

const INDICES: [u32; 12] = [0, 1, 2, 3, 4, 5, 6, 36, 37, 38, 1 << 28, u32::MAX];

fn loads<T: Element, const N: usize, E: Encoding>() {
    let (data, shape) = tensor::<T>();
    let g = gl::view(&data, shape).unwrap();
    for row in INDICES {
        for i in INDICES {
            for [b, d] in [[0, 0], [1, 2], [2, 0], [0, 3], [u32::MAX, 1]] {
                let check = |got: &rv<T, N, E>, start: u64| {
                    for k in 0..N {
                        let at = [b.into(), d.into(), row.into(), start + k as u64];
                        assert_eq!(got.get(k), expected(at), "{N} at {at:?}");
                    }
                };
                check(&load_vec(&g, [b, d, row, i]), u64::from(i) * N as u64);
                check(&load_vec(&g, elements([b, d, row, i])), i.into());
                let at = [b, d, row, i];
                assert_eq!(load_scalar(&g, at), expected(at.map(u64::from)), "{at:?}");
                if [b, d] == [0, 0] {
                    check(&load_vec(&g, [row, i]), u64::from(i) * N as u64);
                    check(&load_vec(&g, elements([row, i])), i.into());
                    assert_eq!(load_scalar(&g, [row, i]), expected(at.map(u64::from)), "{at:?}");
                }
            }
        }
    }
}

#[test]
fn vectors_and_scalars_load_zero_outside_whatever_lies_there() {
    loads::<f32, 16, PerCol>();
    loads::<bf16, 16, PerRow>();
    loads::<f16, 32, PerCol>();
    loads::<f32, 8, PerRow>();
    loads::<bf16, 1, PerCol>();
    loads::<f32, 64, PerCol>();
}

#[test]
fn sources_make_what_is_written() {
    let tile: rt<bf16, 8, 32> = zeros();
    let acc: rt<f32, 16, 16, Acc> = fill(0.1);
    let packed: rt<f16, 16, 32, Vnni> = fill(0.1);
    let vector: rv<f16, 24, PerCol> = zeros();
    let filled: rv<bf16, 24> = fill(0.1);
    for r in 0..8 {
        for c in 0..32 {
            assert_eq!(tile.get(r, c).to_bits(), 0);
        }
    }
    for r in 0..16 {
        for c in 0..16 {
            assert_eq!(acc.get(r, c), 0.1);
            assert_eq!(packed.get(r, 2 * c), f16::from_f32(0.1).to_f32());
        }
    }
    for i in 0..24 {
        assert_eq!(vector.get(i).to_bits(), 0);
        assert_eq!(filled.get(i), bf16::from_f32(0.1).to_f32());
    }
    assert!(format!("{filled:?}").starts_with("rv<bf16, 24, PerRow> [0.1"), "{filled:?}");
    assert_eq!(align_of_val(&filled), 64);
    assert_eq!(filled.clone().get(3), filled.get(3));
}

/// Values whose sums and products are exact in any order.
fn small<T: Element>(rows: usize, cols: usize) -> Vec<T> {
    (0..rows * cols).map(|i| T::from_f32([0.5, 1.0, 2.0, -1.0, 1.0, 1.0, -2.0][i * 5 % 7])).collect()
}

fn reductions<T: Element, const M: usize, const N: usize, L: Loaded<T> + ElementWise>() {
    let data = small::<T>(M, N);
    let g = gl::of(&data, M as u32, N as u32).unwrap();
    let x: rt<T, M, N, L> = load(&g, [0, 0]);
    let (before_rows, before_cols): (rv<f32, M>, rv<f32, N, PerCol>) = (fill(1.5), fill(1.5));
    type Step = fn(f32, f32) -> f32;
    let steps: [Step; 4] = [f32::max, f32::min, |a, b| a + b, |a, b| a * b];
    let by_row = [x.row_max(), x.row_min(), x.row_sum(), x.row_prod()];
    let by_col = [x.col_max(), x.col_min(), x.col_sum(), x.col_prod()];
    let by_row_on = [
        x.row_max_with(&before_rows),
        x.row_min_with(&before_rows),
        x.row_sum_with(&before_rows),
        x.row_prod_with(&before_rows),
    ];
    let by_col_on = [
        x.col_max_with(&before_cols),
        x.col_min_with(&before_cols),
        x.col_sum_with(&before_cols),
        x.col_prod_with(&before_cols),
    ];
    for (k, step) in steps.into_iter().enumerate() {
        for r in 0..M {
            let want = (0..N).map(|c| x.get(r, c)).reduce(step).unwrap();
            assert_eq!(by_row[k].get(r), want, "row {r} of step {k}");
            assert_eq!(by_row_on[k].get(r), step(1.5, want), "row {r} of step {k}, continued");
        }
        for c in 0..N {
            let want = (0..M).map(|r| x.get(r, c)).reduce(step).unwrap();
            assert_eq!(by_col[k].get(c), want, "column {c} of step {k}");
            assert_eq!(by_col_on[k].get(c), step(1.5, want), "column {c} of step {k}, continued");
        }
    }
}

#[test]
fn tiles_of_every_role_and_type_reduce() {
    reductions::<f32, 8, 16, Row>();
    reductions::<bf16, 32, 64, Row>();
    reductions::<f16, 16, 32, Row>();
    reductions::<f32, 16, 48, Acc>();
    reductions::<f32, 8, 128, Acc>();
}

#[test]
fn the_running_value_is_the_left_operand() {
    // A NaN on either side loses to a number.
    let (nan, x): (rv<f32, 8>, rt<f32, 8, 16>) = (fill(f32::NAN), fill(3.0));
    assert_eq!(x.row_max_with(&nan).get(0), 3.0);
    let (three, nans): (rv<f32, 8>, rt<f32, 8, 16>) = (fill(3.0), fill(f32::NAN));
    assert_eq!(nans.row_min_with(&three).get(0), 3.0);
    assert!(nans.row_max().get(0).is_nan() && nans.row_max_with(&nan).get(0).is_nan());
    // Of two zeros the right one wins, which is the reduction.
    let (minus, zero): (rv<f32, 8>, rt<f32, 8, 16>) = (fill(-0.0), fill(0.0));
    assert_eq!(zero.row_max_with(&minus).get(0).to_bits(), 0);
}

fn masks<T: Element, const M: usize, const N: usize, L: Loaded<T> + ElementWise>() {
    let data: Vec<T> = (0..M * N).map(|i| T::from_f32((i % 251) as f32 + 1.0)).collect();
    let g = gl::of(&data, M as u32, N as u32).unwrap();
    let x: rt<T, M, N, L> = load(&g, [0, 0]);
    let fill = -0.3;
    let check = |got: &rt<T, M, N, L>, what: &dyn Fn() -> String, keeps: &dyn Fn(u64, u64) -> bool| {
        for r in 0..M {
            for c in 0..N {
                let want = if keeps(r as u64, c as u64) { x.get(r, c) } else { T::from_f32(fill).to_f32() };
                assert_eq!(got.get(r, c), want, "{} at ({r}, {c})", what());
            }
        }
    };
    for n in (0..M.max(N) as u32 + 2).chain([1 << 31, u32::MAX]) {
        check(&x.keep_cols(n, fill), &|| format!("keep_cols {n}"), &|_, c| c < n.into());
        check(&x.keep_rows(n, fill), &|| format!("keep_rows {n}"), &|r, _| r < n.into());
    }
    let near = (0..(M + N) as u32 + 2)
        .flat_map(|d| [(0, d), (d, 0), (u32::MAX, u32::MAX - d), (u32::MAX - d, u32::MAX)]);
    for (row, col) in
        near.chain([(0, u32::MAX), (u32::MAX, 0), (1 << 31, 1 << 31), (0, 1 << 31), (1 << 31, 0)])
    {
        let (r0, c0) = (u64::from(row), u64::from(col));
        check(&x.tril(row, col, fill), &|| format!("tril {row} {col}"), &|r, c| c0 + c <= r0 + r);
        check(&x.triu(row, col, fill), &|| format!("triu {row} {col}"), &|r, c| c0 + c >= r0 + r);
    }
}

#[test]
fn masks_keep_what_they_say() {
    masks::<f32, 8, 16, Row>();
    masks::<bf16, 16, 32, Row>();
    masks::<f16, 24, 16, Row>();
    masks::<f32, 16, 48, Acc>();
}

#[test]
fn a_softmax_is_what_it_should_be() {
    let data: Vec<f32> = (0..8 * 40).map(|i| ((i * 37) % 101) as f32 * 0.1 - 5.0).collect();
    let g = gl::of(&data, 8, 40).unwrap();
    let mut most: rv<f32, 8> = fill(f32::NEG_INFINITY);
    let mut sum: rv<f32, 8> = zeros();
    for k in 0..g.col_tiles(16) {
        let x: rt<f32, 8, 16> = load(&g, [0, k]);
        let x = x.keep_cols(g.cols() - k * 16, f32::NEG_INFINITY);
        let next = x.row_max_with(&most);
        let shrink = most.sub(&next).exp();
        sum = x.sub_row(&next).exp().row_sum_with(&sum.mul(&shrink));
        most = next;
    }
    for r in 0..8 {
        let row = &data[r * 40..][..40];
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let want: f64 = row.iter().map(|x| f64::from(x - top).exp()).sum();
        assert_eq!(most.get(r), top);
        assert!((f64::from(sum.get(r)) - want).abs() < 1e-5 * want, "{} instead of {want}", sum.get(r));
    }
}
