//! Loads and stores at every kind of edge, against code that visits elements one by one.

use tile_lang::global::{Shape, ViewError};
use tile_lang::prelude::*;

const ROWS: u32 = 21;
const COLS: u32 = 37;

/// An index of a padded tensor that is unique, and exact in every element type.
fn value(batch: u32, depth: u32, row: u32, col: u32) -> f32 {
    ((batch * 7 + depth * 5 + row * 3 + col) % 200 + 1) as f32
}

/// A tensor of `value`s whose padding, gaps and surroundings are NaN, and its shape.
fn tensor<T: Element>(extents: [u32; 4], pad: u32, gap: u32) -> (Vec<T>, Shape) {
    let [batch, depth, rows, cols] = extents;
    let pitch = cols + pad;
    let plane = u64::from(rows * pitch + gap);
    let shape = Shape {
        extents,
        pitch,
        depth_stride: plane,
        batch_stride: u64::from(depth) * plane + u64::from(gap),
    };
    let mut data = vec![T::from_f32(f32::NAN); (u64::from(batch) * shape.batch_stride) as usize + 9];
    for b in 0..batch {
        for d in 0..depth {
            for r in 0..rows {
                for c in 0..cols {
                    data[offset(&shape, b, d, r, c)] = T::from_f32(value(b, d, r, c));
                }
            }
        }
    }
    (data, shape)
}

fn offset(shape: &Shape, batch: u32, depth: u32, row: u32, col: u32) -> usize {
    (u64::from(batch) * shape.batch_stride
        + u64::from(depth) * shape.depth_stride
        + u64::from(row * shape.pitch + col)) as usize
}

/// What element (`row`, `col`) counted from `at` must load as.
fn expected(extents: [u32; 4], [batch, depth]: [u32; 2], row: u64, col: u64) -> f32 {
    let inside = batch < extents[0]
        && depth < extents[1]
        && row < u64::from(extents[2])
        && col < u64::from(extents[3]);
    if inside { value(batch, depth, row as u32, col as u32) } else { 0.0 }
}

fn check_loads<T: MmaInput, const M: usize, const N: usize>(extents: [u32; 4], pad: u32) {
    let (data, shape) = tensor::<T>(extents, pad, 3);
    let g = gl::view(&data, shape).expect("the slice holds the tensor");
    let (m, n) = (M as u64, N as u64);
    for plane in [[0, 0], [1, 1], [1, 2], [2, 0], [0, 3], [u32::MAX, 0]] {
        for tile in [
            [0, 0],
            [0, 1],
            [1, 0],
            [2, 2],
            [5, 1],
            [1, 5],
            [u32::MAX, 0],
            [0, u32::MAX],
            [1 << 29, 0],
            [0, 1 << 28],
            [1 << 29, 1 << 28],
        ] {
            let at = [plane[0], plane[1], tile[0], tile[1]];
            let row: rt<T, M, N> = load(&g, at);
            let packed: rt<T, M, N, Vnni> = load_transform(&g, at);
            let turned: rt<T, N, M, VnniT> = load_transpose(&g, at);
            let start = [u64::from(tile[0]) * m, u64::from(tile[1]) * n];
            for r in 0..M {
                for c in 0..N {
                    let want = expected(extents, plane, start[0] + r as u64, start[1] + c as u64);
                    assert_eq!(row.get(r, c), want, "load {extents:?} at {at:?} ({r}, {c})");
                    assert_eq!(packed.get(r, c), want, "load_transform {extents:?} at {at:?} ({r}, {c})");
                    assert_eq!(turned.get(c, r), want, "load_transpose {extents:?} at {at:?} ({r}, {c})");
                }
            }
            prefetch_load::<rt<T, M, N>>(&g, at);
            prefetch_load_coop::<rt<T, M, N>>(&g, at, Peers::Col);
        }
    }
    for at in [[0, 0], [1, 3], [ROWS - 1, COLS - 1], [ROWS, 0], [0, COLS], [u32::MAX, u32::MAX]] {
        let tile: rt<T, M, N> = load(&g, elements(at));
        let deep: rt<T, M, N> = load(&g, elements([1, 0, at[0], at[1]]));
        for r in 0..M {
            for c in 0..N {
                let (row, col) = (u64::from(at[0]) + r as u64, u64::from(at[1]) + c as u64);
                assert_eq!(tile.get(r, c), expected(extents, [0, 0], row, col), "elements {at:?}");
                assert_eq!(deep.get(r, c), expected(extents, [1, 0], row, col), "elements {at:?}");
            }
        }
    }
}

#[test]
fn loads_give_zero_outside_whatever_lies_there() {
    for pad in [0, 1, 11] {
        check_loads::<bf16, 8, 16>([2, 3, ROWS, COLS], pad);
        check_loads::<f16, 8, 16>([2, 3, ROWS, COLS], pad);
        check_loads::<bf16, 32, 64>([2, 3, ROWS, COLS], pad);
        check_loads::<bf16, 16, 32>([2, 3, 16, 32], pad);
        check_loads::<f16, 16, 32>([2, 3, 48, 64], pad);
        check_loads::<bf16, 5, 3>([2, 3, ROWS, COLS], pad);
        check_loads::<bf16, 8, 16>([2, 3, 1, 1], pad);
        check_loads::<bf16, 8, 16>([2, 3, 0, COLS], pad);
        check_loads::<bf16, 8, 16>([2, 3, ROWS, 0], pad);
        check_loads::<bf16, 8, 16>([0, 3, ROWS, COLS], pad);
    }
}

#[test]
fn f32_tensors_load_as_rows_and_accumulators() {
    let (data, shape) = tensor::<f32>([1, 1, ROWS, COLS], 2, 0);
    let g = gl::view(&data, shape).expect("the slice holds the tensor");
    let row: rt<f32, 8, 16> = load(&g, [2, 2]);
    let acc: rt<f32, 8, 16, Acc> = load(&g, [2, 2]);
    for r in 0..8 {
        for c in 0..16 {
            let want = expected([1, 1, ROWS, COLS], [0, 0], 16 + r as u64, 32 + c as u64);
            assert_eq!((row.get(r, c), acc.get(r, c)), (want, want));
        }
    }
}

fn check_stores<T: Element, const M: usize, const N: usize>(extents: [u32; 4], pad: u32) {
    let source: Vec<f32> = (0..M * N).map(|i| 300.0 + (i % 128) as f32).collect();
    let tile: rt<f32, M, N> =
        load(&gl::of(&source, M as u32, N as u32).expect("all elements are there"), [0, 0]);
    let tile: rt<T, M, N> = tile.to::<T>();
    for at in
        [[0, 0, 0, 0], [1, 2, 1, 1], [0, 0, 2, 2], [0, 1, 5, 0], [2, 0, 0, 0], [0, 0, u32::MAX, u32::MAX]]
    {
        let (mut data, shape) = tensor::<T>(extents, pad, 3);
        let before = data.clone();
        let mut g = gl::view_mut(&mut data, shape).expect("the slice holds the tensor");
        // SAFETY: this is the only sub-group.
        #[allow(unsafe_code, reason = "the op under test")]
        unsafe {
            store_at(&mut g, &tile, at);
        }
        let mut want = before;
        for r in 0..M as u64 {
            for c in 0..N as u64 {
                let row = u64::from(at[2]) * M as u64 + r;
                let col = u64::from(at[3]) * N as u64 + c;
                if expected(extents, [at[0], at[1]], row, col) != 0.0 {
                    want[offset(&shape, at[0], at[1], row as u32, col as u32)] =
                        T::from_f32(source[(r as usize) * N + c as usize]);
                }
            }
        }
        let bits = |data: &[T]| data.iter().map(|v| v.to_f32().to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&data), bits(&want), "{} {extents:?} at {at:?}", T::NAME);
    }
}

#[test]
fn stores_are_dropped_outside_and_leave_padding_alone() {
    for pad in [0, 1, 11] {
        check_stores::<bf16, 8, 16>([2, 3, ROWS, COLS], pad);
        check_stores::<f16, 8, 16>([2, 3, ROWS, COLS], pad);
        check_stores::<f32, 8, 16>([2, 3, ROWS, COLS], pad);
        check_stores::<bf16, 32, 64>([2, 3, ROWS, COLS], pad);
        check_stores::<f32, 16, 32>([2, 3, 16, 32], pad);
        check_stores::<bf16, 8, 16>([2, 3, 0, COLS], pad);
        check_stores::<bf16, 8, 16>([2, 3, ROWS, 0], pad);
    }
}

#[test]
fn conversions_round_to_nearest_even_and_keep_nan_and_infinity() {
    let inputs = [
        1.0f32,
        1.0 + 2f32.powi(-8),
        1.0 + 3.0 * 2f32.powi(-8),
        f32::NAN,
        f32::INFINITY,
        -0.0,
        1e-45,
        70000.0,
        f32::MAX,
    ];
    let acc: rt<f32, 1, 9, Acc> = load(&gl::of(&inputs, 1, 9).expect("nine elements"), [0, 0]);
    let bf: rt<bf16, 1, 9> = acc.to::<bf16>();
    let hf: rt<f16, 1, 9> = acc.to::<f16>();
    let same: rt<f32, 1, 9> = acc.to::<f32>();
    for (i, input) in inputs.into_iter().enumerate() {
        let check =
            |got: f32, want: f32| assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()));
        check(bf.get(0, i), bf16::from_f32(input).to_f32());
        check(hf.get(0, i), f16::from_f32(input).to_f32());
        check(same.get(0, i), input);
        // From one 16-bit type to the other: by way of the value.
        check(bf.to::<f16>().get(0, i), f16::from_f32(bf16::from_f32(input).to_f32()).to_f32());
        check(acc.scale(-2.0).get(0, i), input * -2.0);
        check(acc.clone().get(0, i), input);
    }
    let widened: rt<f32, 1, 9> = bf.to::<f32>();
    assert_eq!(widened.get(0, 2), 1.015625);
    assert!(format!("{bf:?}").starts_with("rt<bf16, 1, 9, Row>"));
}

#[test]
fn products_of_ragged_tiles_match_a_plain_loop() {
    let (a, a_shape) = tensor::<f16>([1, 1, 11, 30], 1, 0);
    let (b, b_shape) = tensor::<f16>([1, 1, 30, 19], 2, 0);
    let (t, t_shape) = tensor::<f16>([1, 1, 19, 30], 3, 0);
    let (a, b) = (gl::view(&a, a_shape).expect("fits"), gl::view(&b, b_shape).expect("fits"));
    let t = gl::view(&t, t_shape).expect("fits");
    let (mut direct, mut turned): (rt<f32, 8, 16, Acc>, rt<f32, 8, 16, Acc>) = (zeros(), zeros());
    for k in 0..a.col_tiles(16) {
        let x: rt<f16, 8, 16> = load(&a, [1, k]);
        let y: rt<f16, 16, 16, Vnni> = load_transform(&b, [k, 1]);
        let z: rt<f16, 16, 16, VnniT> = load_transpose(&t, [1, k]);
        mma_AB(&mut direct, &x, &y);
        mma_ABt(&mut turned, &x, &z);
    }
    for r in 0..8u64 {
        for c in 0..16u64 {
            let (mut want_direct, mut want_turned) = (0f32, 0f32);
            for k in 0..32u64 {
                let left = expected([1, 1, 11, 30], [0, 0], 8 + r, k);
                want_direct += left * expected([1, 1, 30, 19], [0, 0], k, 16 + c);
                want_turned += left * expected([1, 1, 19, 30], [0, 0], 16 + c, k);
            }
            let (r, c) = (r as usize, c as usize);
            assert_eq!((direct.get(r, c), turned.get(r, c)), (want_direct, want_turned));
        }
    }
}

#[test]
fn views_check_their_slices() {
    let mut data = [0f32; 24];
    let short = |needed| Some(ViewError::TooShort { needed, given: 24 });
    assert_eq!(gl::of(&data, 5, 5).err(), short(25));
    assert_eq!(gl::of(&data, 4, 6).err(), None);
    let wide = Shape::new([2, 1, 2, 4], 7);
    assert_eq!(gl::view(&data, wide).err(), short(25));
    let huge =
        Shape { batch_stride: u64::MAX, depth_stride: u64::MAX, ..Shape::new([u32::MAX; 4], u32::MAX) };
    assert!(matches!(gl::view(&data, huge).err(), Some(ViewError::TooShort { .. })));
    // Nothing to reach: any pitch will do, and every load gives 0.
    let empty = gl::view(&data, Shape::new([1, 1, 0, 9], u32::MAX)).expect("no elements");
    let tile: rt<f32, 8, 16> = load(&empty, [0, 0]);
    assert_eq!(tile.get(0, 0), 0.0);
    // Broadcasting reads are fine, writes are not.
    let repeated = Shape { batch_stride: 0, depth_stride: 0, ..Shape::new([3, 2, 4, 6], 6) };
    assert!(gl::view(&data, repeated).is_ok());
    assert_eq!(gl::view_mut(&mut data, repeated).err(), Some(ViewError::Overlapping));
    assert_eq!(gl::view_mut(&mut data, Shape::new([1, 1, 3, 6], 5)).err(), Some(ViewError::Overlapping));
    assert!(gl::view_mut(&mut data, Shape::new([1, 1, 1, 6], 0)).is_ok());
    assert!(gl::view_mut(&mut data, Shape::new([2, 2, 2, 3], 3)).is_ok());
}

#[test]
fn tile_counts_round_up() {
    let data = [0f32; 33];
    let g = gl::of(&data, 3, 11).expect("33 elements");
    assert_eq!((g.row_tiles(8), g.col_tiles(4), g.col_tiles(11), g.col_tiles(1)), (1, 3, 1, 11));
    assert_eq!((g.row_tiles(0), g.row_tiles(usize::MAX)), (0, 1));
    assert_eq!((g.batch(), g.depth(), g.rows(), g.cols(), g.pitch()), (1, 1, 3, 11, 11));
}
