//! A whole kernel, generic as an author writes it, run as the host device runs it: once per sub-group.

#![allow(unsafe_code, reason = "stands in for the host device, which vouches for pointers")]

use tile_lang::launch::{Arg, Args, Cx, RawGlobal};
use tile_lang::ops::memory::prefetch_load_coop_in;
use tile_lang::ops::place::own_tile_in;
use tile_lang::prelude::*;
use tile_lang::{DType, witness};

#[allow(clippy::too_many_arguments, reason = "the hidden context, then the kernel's parameters")]
fn gemm<
    A: MmaInput,
    C: Element,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TRANS_B: bool,
    const PREFETCH: bool,
>(
    cx: &Cx,
    c: &mut gl<C>,
    a: &gl<A>,
    b: &gl<A>,
    ahead: u32,
) {
    let at = own_tile_in::<BM, BN>(cx, c, Snake(8));
    if at.outside() {
        return;
    }
    let mut acc: rt<f32, BM, BN, Acc> = zeros();
    for k in 0..a.col_tiles(BK) {
        let x: rt<A, BM, BK> = load(a, [at.batch(), at.depth(), at.row(), k]);
        if PREFETCH {
            prefetch_load_coop_in::<rt<A, BM, BK>>(
                cx,
                a,
                [at.batch(), at.depth(), at.row(), k + ahead],
                Peers::Row,
            );
        }
        if TRANS_B {
            let y: rt<A, BK, BN, VnniT> = load_transpose(b, [at.batch(), at.depth(), at.col(), k]);
            mma_ABt(&mut acc, &x, &y);
        } else {
            let y: rt<A, BK, BN, Vnni> = load_transform(b, [at.batch(), at.depth(), k, at.col()]);
            mma_AB(&mut acc, &x, &y);
        }
    }
    witness::<rt<f32, BM, BN, Acc>>(&acc);
    store(c, &acc.to::<C>(), at);
}

/// The entry that generated code has for one instance.
fn run<const TRANS_B: bool>(cx: &Cx, args: &Args<'_>) {
    let mut c = args.global_mut::<bf16>(0);
    let a = args.global::<bf16>(1);
    let b = args.global::<bf16>(2);
    gemm::<bf16, bf16, 32, 64, 32, TRANS_B, true>(cx, &mut c, &a, &b, args.u32(3));
}

/// Values in [-1, 1) that bf16 holds exactly, from a linear congruential generator.
fn values(count: usize, seed: u64) -> Vec<bf16> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            bf16::from_f32(((state >> 57) as f32 - 64.0) / 64.0)
        })
        .collect()
}

/// A plane of `rows x cols` values at `pitch`, NaN in the padding.
struct Matrix {
    data: Vec<bf16>,
    planes: u32,
    rows: u32,
    cols: u32,
    pitch: u32,
}

impl Matrix {
    fn new(planes: u32, rows: u32, cols: u32, pad: u32, seed: u64) -> Matrix {
        let pitch = cols + pad;
        let count = (planes * rows * pitch) as usize;
        let mut data = values(count, seed);
        for (i, value) in data.iter_mut().enumerate() {
            if i % pitch.max(1) as usize >= cols as usize {
                *value = bf16::NAN;
            }
        }
        Matrix { data, planes, rows, cols, pitch }
    }

    fn raw(&mut self, writable: bool) -> Arg {
        let plane = u64::from(self.rows) * u64::from(self.pitch);
        let base = self.data.as_mut_ptr().cast();
        let shape = [self.planes, 1, self.rows, self.cols];
        // SAFETY: the vector has `planes * rows * pitch` elements and lives through the launch below; the
        // three matrices are apart.
        Arg::Global(unsafe { RawGlobal::new(DType::Bf16, base, shape, self.pitch, (plane, plane), writable) })
    }

    fn at(&self, plane: u32, row: u32, col: u32) -> f32 {
        self.data[((plane * self.rows + row) * self.pitch + col) as usize].to_f32()
    }
}

fn check(m: u32, n: u32, k: u32, planes: u32, pad: u32, transposed: bool) {
    let mut a = Matrix::new(planes, m, k, pad, 1);
    let (rows, cols) = if transposed { (n, k) } else { (k, n) };
    let mut b = Matrix::new(planes, rows, cols, pad, 2);
    let mut c = Matrix::new(planes, m, n, pad, 3);
    let subgroups = (2, 2);
    let grid = (m.div_ceil(32).div_ceil(2), n.div_ceil(64).div_ceil(2));
    let args = [c.raw(true), a.raw(false), b.raw(false), Arg::U32(3)];
    for group in 0..u64::from(grid.0 * grid.1 * planes) {
        for subgroup in 0..4 {
            let cx = Cx { group, grid, planes: (planes, 1), subgroup, subgroups };
            // SAFETY: every place of this launch is bound once.
            let args = unsafe { Args::new(&cx, &args) };
            if transposed {
                run::<true>(&cx, &args);
            } else {
                run::<false>(&cx, &args);
            }
        }
    }
    for plane in 0..planes {
        for row in 0..m {
            for col in 0..c.pitch {
                let got = c.at(plane, row, col);
                if col >= n {
                    assert!(got.is_nan(), "padding was written at {plane} {row} {col}");
                    continue;
                }
                let mut expected = 0f32;
                for i in 0..k {
                    let right = if transposed { b.at(plane, col, i) } else { b.at(plane, i, col) };
                    expected = a.at(plane, row, i).mul_add(right, expected);
                }
                let expected = bf16::from_f32(expected).to_f32();
                assert_eq!(got, expected, "{m}x{n}x{k} at {plane} {row} {col}");
            }
        }
    }
}

#[test]
fn gemm_of_any_size_is_exact_and_never_touches_padding() {
    let sizes: &[u32] = if cfg!(miri) { &[0, 17] } else { &[0, 1, 7, 16, 33, 64, 130] };
    let mut run = 0;
    for &m in sizes {
        for &n in sizes {
            for &k in sizes {
                for transposed in [false, true] {
                    check(m, n, k, 1, (m + n) % 5, transposed);
                    run += 1;
                }
            }
        }
    }
    println!("{run} products checked");
    check(40, 70, 33, 3, 2, false);
    check(40, 70, 33, 3, 0, true);
}
