//! Shared memory, cooperative copies and barriers through the attribute, rustc, the lowering and the simulator: on ragged
//! sizes, with several work-groups and NaN in all padding, host == simulator == a plain loop.

mod reference;

use reference::Rng;
use tile_std::prelude::*;

fn matrix<T: Element>(rows: usize, cols: usize, seed: u64) -> Tensor<T> {
    let mut rng = Rng(seed);
    let mut t = Tensor::from_fn([1, 1, rows, cols], |_, _, _, _| T::from_f32(rng.value())).expect("small");
    t.fill_padding(T::from_f32(f32::NAN));
    t
}

/// A matrix of small whole numbers, whose sums of products are exact in any order.
fn whole<T: Element>(rows: usize, cols: usize, seed: usize) -> Tensor<T> {
    let value = |r: usize, c: usize| ((r * 7 + c * 5 + seed) % 9) as f32 - 4.0;
    let mut t = Tensor::from_fn([1, 1, rows, cols], |_, _, r, c| T::from_f32(value(r, c))).expect("small");
    t.fill_padding(T::from_f32(f32::NAN));
    t
}

fn at<T: Element>(t: &Tensor<T>, r: usize, c: usize) -> f32 {
    t.get(0, 0, r, c).expect("inside").to_f32()
}

/// RMS norm of rows that `C` sub-groups share: each sums the squares of its columns, and reads the sums of the others.
#[tile_kernel(instances(
    <bf16, 8, 32, 4, 64; subgroups = (2, 4)>,
    <f16, 24, 16, 3, 72; subgroups = (1, 3)>,
    <f32, 16, 16, 2, 32; subgroups = (1, 2)>,
))]
fn rms<T: Element, const M: usize, const N: usize, const C: usize, const P: usize>(
    y: &mut gl<T>,
    x: &gl<T>,
    eps: f32,
) {
    let own = own_tile::<M, N>(y, Linear);
    let mut sums: sv<f32, P> = shared();
    let mut squares: rv<f32, M, PerRow> = zeros();
    for k in 0..x.col_tiles(C * N) {
        let part: rt<T, M, N> = load(x, [own.row(), k * C as u32 + subgroup_col()]);
        let wide = part.to::<f32>();
        squares = wide.mul(&wide).row_sum_with(&squares);
    }
    store_vec_shared(&mut sums, &squares, subgroup_id());
    barrier();
    let mut total: rv<f32, M, PerRow> = zeros();
    for j in 0..C as u32 {
        let part: rv<f32, M, PerRow> = load_vec_shared(&sums, subgroup_row() * C as u32 + j);
        total = total.add(&part);
    }
    let inverse = total.scale(1.0 / x.cols() as f32).add(eps).rsqrt();
    let part: rt<T, M, N> = load(x, [own.row(), own.col()]);
    store(y, &part.to::<f32>().mul_row(&inverse).to::<T>(), own);
}

#[test]
fn sub_groups_share_the_rows_of_an_rms_norm() {
    fn check<T: Element, const M: usize, const N: usize, const C: usize, const P: usize>(
        device: &Device,
        (rows, cols): (usize, usize),
        tolerance: f64,
    ) where
        rms::Kernel: rms::Compiled<T, M, N, C, P>,
    {
        let x = matrix::<T>(rows, cols, 3);
        let mut y = Tensor::<T>::zeros(rows, cols).expect("small");
        rms::launch::<T, M, N, C, P>(device, &mut y, &x, 1e-5).unwrap_or_else(|e| panic!("{e}"));
        for r in 0..rows {
            let mean = (0..cols).map(|c| f64::from(at(&x, r, c)).powi(2)).sum::<f64>() / cols.max(1) as f64;
            for c in 0..cols {
                let (found, want) = (f64::from(at(&y, r, c)), f64::from(at(&x, r, c)) / (mean + 1e-5).sqrt());
                let near = (found - want).abs() <= tolerance * want.abs().max(1.0);
                assert!(near, "{} {rows}x{cols} at {r}, {c}: {found}, not {want}", device.name());
            }
        }
    }
    for device in [Device::host(), Device::sim()] {
        for size in [(1, 1), (19, 100), (40, 130), (16, 256), (0, 64), (5, 0)] {
            check::<bf16, 8, 32, 4, 64>(&device, size, 1e-2);
            check::<f16, 24, 16, 3, 72>(&device, size, 2e-3);
            check::<f32, 16, 16, 2, 32>(&device, size, 1e-5);
        }
    }
}

/// The transpose of a matrix: a work-group copies a block of `x` to shared memory, and reads it across.
#[tile_kernel(instances(
    <bf16, 16, 32, 32, 64; subgroups = (2, 2)>,
    <f16, 32, 16, 32, 48; subgroups = (1, 3)>,
    <f32, 16, 16, 64, 16; subgroups = (4, 1)>,
))]
fn transpose<T: Element, const M: usize, const N: usize, const RM: usize, const CN: usize>(
    y: &mut gl<T>,
    x: &gl<T>,
) {
    let own = own_tile::<M, N>(y, Snake(2));
    let mut block: st<T, CN, RM> = shared();
    load_coop(&mut block, x, [own.batch(), own.depth(), own.group_col(), own.group_row()]);
    barrier();
    let tile: rt<T, M, N> = load_transpose_shared(&block, [subgroup_col(), subgroup_row()]);
    store(y, &tile, own);
}

#[test]
fn a_transpose_goes_through_shared_memory() {
    fn check<T: Element, const M: usize, const N: usize, const RM: usize, const CN: usize>(
        rows: usize,
        cols: usize,
    ) where
        transpose::Kernel: transpose::Compiled<T, M, N, RM, CN>,
    {
        let x = matrix::<T>(rows, cols, 8);
        for device in [Device::host(), Device::sim()] {
            let mut y = Tensor::<T>::zeros(cols, rows).expect("small");
            transpose::launch::<T, M, N, RM, CN>(&device, &mut y, &x).unwrap_or_else(|e| panic!("{e}"));
            for r in 0..cols {
                for c in 0..rows {
                    let (found, want) = (at(&y, r, c), at(&x, c, r));
                    assert_eq!(found, want, "{} {rows}x{cols} at {r}, {c}", device.name());
                }
            }
        }
    }
    for (rows, cols) in [(1, 1), (31, 65), (70, 33), (128, 64), (100, 7)] {
        check::<bf16, 16, 32, 32, 64>(rows, cols);
        check::<f16, 32, 16, 32, 48>(rows, cols);
        check::<f32, 16, 16, 64, 16>(rows, cols);
    }
}

/// C = A B, both operands staged in shared memory.
#[tile_kernel(instances(
    <bf16, 16, 32, 32, 32, 64; subgroups = (2, 2)>,
    <f16, 8, 16, 16, 24, 32; subgroups = (3, 2)>,
))]
fn staged<
    T: MmaInput,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const RM: usize,
    const CN: usize,
>(
    c: &mut gl<f32>,
    a: &gl<T>,
    b: &gl<T>,
) {
    let own = own_tile::<BM, BN>(c, Linear);
    let mut left: st<T, RM, BK> = shared();
    let mut right: st<T, BK, CN> = shared();
    let mut acc: rt<f32, BM, BN, Acc> = zeros();
    for k in 0..a.col_tiles(BK) {
        load_coop(&mut left, a, [own.group_row(), k]);
        load_coop(&mut right, b, [k, own.group_col()]);
        barrier();
        let x: rt<T, BM, BK> = load_shared(&left, [subgroup_row(), 0]);
        let y: rt<T, BK, BN, Vnni> = load_transform_shared(&right, [0, subgroup_col()]);
        mma_AB(&mut acc, &x, &y);
        barrier();
    }
    store(c, &acc, own);
}

/// The same with B stored [N, K].
#[tile_kernel(instances(
    <bf16, 16, 32, 32, 32, 64; subgroups = (2, 2)>,
    <f16, 8, 16, 16, 24, 32; subgroups = (3, 2)>,
))]
fn staged_bt<
    T: MmaInput,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const RM: usize,
    const CN: usize,
>(
    c: &mut gl<f32>,
    a: &gl<T>,
    b: &gl<T>,
) {
    let own = own_tile::<BM, BN>(c, Linear);
    let mut left: st<T, RM, BK> = shared();
    let mut right: st<T, CN, BK> = shared();
    let mut acc: rt<f32, BM, BN, Acc> = zeros();
    for k in 0..a.col_tiles(BK) {
        barrier();
        load_coop(&mut left, a, [own.group_row(), k]);
        load_coop(&mut right, b, [own.group_col(), k]);
        barrier();
        let x: rt<T, BM, BK> = load_shared(&left, [subgroup_row(), 0]);
        let y: rt<T, BK, BN, VnniT> = load_transpose_shared(&right, [subgroup_col(), 0]);
        mma_ABt(&mut acc, &x, &y);
    }
    store(c, &acc, own);
}

#[test]
fn matrices_multiply_out_of_shared_memory() {
    fn check<T: Element>(
        (m, n, k): (usize, usize, usize),
        transposed: bool,
        launch: impl Fn(&Device, &mut Tensor<f32>, &Tensor<T>, &Tensor<T>) -> Result<Report, LaunchError>,
    ) {
        let a = whole::<T>(m, k, 1);
        let b = if transposed { whole::<T>(n, k, 2) } else { whole::<T>(k, n, 2) };
        for device in [Device::host(), Device::sim()] {
            let mut c = Tensor::<f32>::zeros(m, n).expect("small");
            launch(&device, &mut c, &a, &b).unwrap_or_else(|e| panic!("{e}"));
            for r in 0..m {
                for col in 0..n {
                    let of_b = |i| if transposed { at(&b, col, i) } else { at(&b, i, col) };
                    let want: f32 = (0..k).map(|i| at(&a, r, i) * of_b(i)).sum();
                    assert_eq!(at(&c, r, col), want, "{} {m}x{n}x{k} at {r}, {col}", device.name());
                }
            }
        }
    }
    for size in [(1, 1, 1), (33, 65, 40), (64, 64, 64), (50, 70, 33), (7, 100, 95)] {
        check::<bf16>(size, false, |d, c, a, b| staged::launch::<bf16, 16, 32, 32, 32, 64>(d, c, a, b));
        check::<f16>(size, false, |d, c, a, b| staged::launch::<f16, 8, 16, 16, 24, 32>(d, c, a, b));
        check::<bf16>(size, true, |d, c, a, b| staged_bt::launch::<bf16, 16, 32, 32, 32, 64>(d, c, a, b));
        check::<f16>(size, true, |d, c, a, b| staged_bt::launch::<f16, 8, 16, 16, 24, 32>(d, c, a, b));
    }
}

/// Every sub-group puts its tile where its right neighbour's belongs, with a split barrier before the copy out; the last
/// vector of a tile's maxima goes the same way in 16 bits.
#[tile_kernel(instances(
    <f32, 8, 16, 16, 48, 48; subgroups = (2, 3)>,
    <bf16, 24, 32, 24, 64, 48; subgroups = (1, 2)>,
))]
fn rotate<T: Element, const M: usize, const N: usize, const RM: usize, const CN: usize, const P: usize>(
    y: &mut gl<T>,
    x: &gl<T>,
    bias: &gl<T>,
    columns: u32,
) {
    let own = own_tile::<M, N>(y, Linear);
    let mut tiles: st<T, RM, CN> = shared();
    let mut least: sv<T, P> = shared();
    let mine: rt<T, M, N> = load(x, own);
    let next = (subgroup_col() + 1) % columns;
    store_shared(&mut tiles, &mine, [subgroup_row(), next]);
    store_vec_shared(&mut least, &mine.to::<f32>().row_min().to::<T>(), subgroup_id());
    barrier_arrive();
    let b: rv<T, N, PerCol> = load_vec(bias, [0, own.col()]);
    barrier_wait();
    let low: rv<T, M, PerRow> = load_vec_shared(&least, subgroup_row() * columns + next);
    let there: rt<T, M, N> = load_shared(&tiles, [subgroup_row(), subgroup_col()]);
    let sum = there.to::<f32>().add_col(&b.to::<f32>()).sub_row(&low.to::<f32>());
    barrier();
    store_shared(&mut tiles, &sum.to::<T>(), [subgroup_row(), subgroup_col()]);
    store_coop(y, &tiles, own);
}

#[test]
fn split_barriers_and_cooperative_stores_agree_bit_for_bit() {
    fn run<T: Element, const M: usize, const N: usize, const RM: usize, const CN: usize, const P: usize>(
        columns: usize,
        (rows, cols): (usize, usize),
    ) where
        rotate::Kernel: rotate::Compiled<T, M, N, RM, CN, P>,
    {
        let (x, bias) = (whole::<T>(rows, cols, 0), whole::<T>(1, cols, 4));
        let inside = |r: usize, c: usize| if r < rows && c < cols { at(&x, r, c) } else { 0.0 };
        for device in [Device::host(), Device::sim()] {
            let mut y = Tensor::<T>::zeros(rows, cols).expect("small");
            y.fill_padding(T::from_f32(f32::NAN));
            rotate::launch::<T, M, N, RM, CN, P>(&device, &mut y, &x, &bias, columns as u32)
                .unwrap_or_else(|e| panic!("{e}"));
            for r in 0..rows {
                for c in 0..cols {
                    let tile = c / N;
                    let (group, col) = (tile / columns, tile % columns);
                    let from = (group * columns + (col + columns - 1) % columns) * N + c % N;
                    let after = (group * columns + (col + 1) % columns) * N;
                    let low = (after..after + N).map(|c| inside(r, c)).fold(f32::INFINITY, f32::min);
                    let want = inside(r, from) + at(&bias, 0, c) - low;
                    assert_eq!(at(&y, r, c), want, "{} {rows}x{cols} at {r}, {c}", device.name());
                }
            }
        }
    }
    for size in [(1, 1), (16, 48), (17, 95), (40, 130)] {
        run::<f32, 8, 16, 16, 48, 48>(3, size);
        run::<bf16, 24, 32, 24, 64, 48>(2, size);
    }
}

/// Reads shared memory at a position of the caller, after storing one tile.
#[tile_kernel(instances(<f32; subgroups = (1, 2)>))]
fn peek<T: Element>(y: &mut gl<T>, x: &gl<T>, row: u32) {
    let own = own_tile::<8, 16>(y, Linear);
    let mut s: st<T, 24, 32> = shared();
    let tile: rt<T, 8, 16> = load(x, own);
    store_shared(&mut s, &tile, [1, subgroup_col()]);
    barrier();
    let back: rt<T, 8, 16> = load_shared(&s, [row, subgroup_col()]);
    store(y, &back, own);
}

#[test]
fn positions_outside_and_memory_that_nobody_wrote_are_errors() {
    let x = whole::<f32>(8, 32, 0);
    let run = |device: &Device, row: u32| {
        let mut y = Tensor::<f32>::zeros(8, 32).expect("small");
        peek::launch::<f32>(device, &mut y, &x, row).map(|_| y.to_vec())
    };
    for device in [Device::host(), Device::sim()] {
        assert_eq!(run(&device, 1).expect("inside"), x.to_vec(), "{}", device.name());
        for row in [3, u32::MAX, 1 << 29, 1 << 31] {
            let error = run(&device, row).expect_err("outside").to_string();
            let rule = if device.name() == "host" {
                "stays inside its shared memory"
            } else {
                "every byte accessed lies inside"
            };
            assert!(error.contains(rule), "{row}: {error}");
        }
    }
    let error = run(&Device::sim(), 2).expect_err("nobody wrote it").to_string();
    assert!(error.contains("work-group memory is stored before it is read"), "{error}");
}

#[test]
fn a_thousand_launches_leave_nothing_behind() {
    let x = whole::<f32>(8, 32, 0);
    let mut y = Tensor::<f32>::zeros(8, 32).expect("small");
    let device = Device::host_with_threads(std::num::NonZeroUsize::MIN);
    let mut run = |row| peek::launch::<f32>(&device, &mut y, &x, row).is_ok();
    let resident = || -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        text.split_whitespace().next().and_then(|pages| pages.parse().ok()).unwrap_or(0)
    };
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let mut ends = vec![];
    for i in 0..1000 {
        // Every other launch panics in a body while the other sub-group has ended or waits.
        assert_eq!(run(if i % 2 == 0 { 1 } else { 9 }), i % 2 == 0);
        if i == 100 || i == 999 {
            ends.push(resident());
        }
    }
    std::panic::set_hook(hook);
    // Pages of virtual memory, in which the other tests run too: stacks that were not taken back would be 500,000.
    assert!(ends[1] <= ends[0] + 65_536, "{ends:?}");
}
