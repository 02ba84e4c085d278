//! Owns the bodies for CPUs with AVX-512 F, BW, DQ and VL.
//!
//! *Assumes*: the caller found the features (`Level::available`); regions are live and do not overlap.
//! *Guarantees*: the bits of `portable`. *Not here*: columns that fill no vector in `mma` (left to `portable`).

use core::arch::x86_64::*;

use half::{bf16, f16};

use super::ahead::Lines;
use super::{Bodies, Dst, ElementBodies, Src, portable};

/// The AVX-512 level.
pub(crate) static BODIES: Bodies = Bodies {
    mma,
    scale,
    bf16: ElementBodies {
        load: load_bf16,
        load_transposed: load_transposed_bf16,
        store: store_bf16,
        round: round_bf16,
    },
    f16: ElementBodies {
        load: load_f16,
        load_transposed: load_transposed_f16,
        store: store_f16,
        round: round_f16,
    },
    f32: ElementBodies {
        load: portable::copy_f32,
        load_transposed: portable::load_transposed_f32,
        store: portable::copy_f32,
        round: portable::copy_flat,
    },
    i8: ElementBodies {
        load: portable::load_i8,
        load_transposed: portable::load_transposed_i8,
        store: portable::store_i8,
        round: portable::copy_flat,
    },
    u8: ElementBodies {
        load: portable::load_u8,
        load_transposed: portable::load_transposed_u8,
        store: portable::store_u8,
        round: portable::copy_flat,
    },
    i32: ElementBodies {
        load: portable::load_i32,
        load_transposed: portable::load_transposed_i32,
        store: portable::store_i32,
        round: portable::copy_flat,
    },
};

/// Values in a vector.
const LANES: usize = 16;

/// Accumulates an `R x 16V` block of the product; the block lives in registers for the whole of K.
///
/// # Safety
/// The CPU has the level's features; `c` is R x 16V, `a` R x k, `b` k x 16V.
#[target_feature(enable = "avx512f")]
unsafe fn block<const R: usize, const V: usize>(
    k: usize,
    c: Dst<f32>,
    a: Src<f32>,
    b: Src<f32>,
    lines: &mut Lines,
) {
    // SAFETY: all indices below are inside the shapes the caller promises.
    unsafe {
        let mut acc = [[_mm512_setzero_ps(); V]; R];
        for (r, row) in acc.iter_mut().enumerate() {
            for (v, sum) in row.iter_mut().enumerate() {
                *sum = _mm512_loadu_ps(c.at(r, v * LANES));
            }
        }
        let (mut left, mut right) = (a, b);
        let whole = k - k % UNROLL;
        for _ in 0..whole / UNROLL {
            // Two lines per turn: a 32x64x32 product has 48 turns and its next operands have 96 lines.
            lines.fetch();
            lines.fetch();
            steps::<R, V, UNROLL>(&mut acc, left, right);
            left = left.from(0, UNROLL);
            right = right.from(UNROLL, 0);
        }
        for _ in whole..k {
            steps::<R, V, 1>(&mut acc, left, right);
            left = left.from(0, 1);
            right = right.from(1, 0);
        }
        for (r, row) in acc.iter().enumerate() {
            for (v, sum) in row.iter().enumerate() {
                _mm512_storeu_ps(c.at(r, v * LANES), *sum);
            }
        }
    }
}

/// Rows of a block. With two vectors of columns its sums take 24 of the 32 registers, and a panel of B is half as wide
/// as with six rows of four vectors: at K = 128 it stays in a 32 KiB L1 cache (measured: 1 to 4 % of a GEMM).
const ROWS: usize = 12;

/// Steps of K per turn of the loop: enough to hide the address arithmetic, which shares ports with the
/// multiply-adds.
const UNROLL: usize = 4;

/// # Safety
/// The CPU has the level's features; `a` is R x K, `b` K x 16V.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn steps<const R: usize, const V: usize, const K: usize>(
    acc: &mut [[__m512; V]; R],
    a: Src<f32>,
    b: Src<f32>,
) {
    // SAFETY: all indices below are inside the shapes the caller promises.
    unsafe {
        for i in 0..K {
            let mut vectors = [_mm512_setzero_ps(); V];
            for (v, vector) in vectors.iter_mut().enumerate() {
                *vector = _mm512_loadu_ps(b.at(i, v * LANES));
            }
            for (r, sums) in acc.iter_mut().enumerate() {
                let left = _mm512_set1_ps(*a.at(r, i));
                for (sum, vector) in sums.iter_mut().zip(vectors) {
                    *sum = _mm512_fmadd_ps(left, vector, *sum);
                }
            }
        }
    }
}

/// Accumulates `16V` columns of the product, its rows split evenly into blocks of at most [`ROWS`] rows.
///
/// # Safety
/// The CPU has the level's features; `c` is m x 16V, `a` m x k, `b` k x 16V.
#[target_feature(enable = "avx512f")]
unsafe fn columns<const V: usize>(
    m: usize,
    k: usize,
    c: Dst<f32>,
    a: Src<f32>,
    b: Src<f32>,
    lines: &mut Lines,
) {
    let blocks = m.div_ceil(ROWS);
    let mut row = 0;
    for i in 0..blocks {
        let rows = (m - row).div_ceil(blocks - i);
        let (c, a) = (c.from(row, 0), a.from(row, 0));
        // SAFETY: the block is rows `row..row + rows` of the caller's shapes.
        unsafe {
            match rows {
                1 => block::<1, V>(k, c, a, b, lines),
                2 => block::<2, V>(k, c, a, b, lines),
                3 => block::<3, V>(k, c, a, b, lines),
                4 => block::<4, V>(k, c, a, b, lines),
                5 => block::<5, V>(k, c, a, b, lines),
                6 => block::<6, V>(k, c, a, b, lines),
                7 => block::<7, V>(k, c, a, b, lines),
                8 => block::<8, V>(k, c, a, b, lines),
                9 => block::<9, V>(k, c, a, b, lines),
                10 => block::<10, V>(k, c, a, b, lines),
                11 => block::<11, V>(k, c, a, b, lines),
                _ => block::<12, V>(k, c, a, b, lines),
            }
        }
        row += rows;
    }
}

/// # Safety
/// The CPU has the level's features; `c` is m x n, `a` m x k, `b` k x n; all live, `c` apart from the others.
#[target_feature(enable = "avx512f")]
unsafe fn mma([m, n, k]: [usize; 3], c: Dst<f32>, a: Src<f32>, b: Src<f32>, lines: &mut Lines) {
    let mut col = 0;
    while col < n {
        let (c, b) = (c.from(0, col), b.from(0, col));
        // SAFETY: each call covers columns `col..` that exist.
        unsafe {
            match (n - col) / LANES {
                0 => portable::mma([m, n - col, k], c, a, b, lines),
                1 => columns::<1>(m, k, c, a, b, lines),
                _ => columns::<2>(m, k, c, a, b, lines),
            }
        }
        col += if n - col < LANES { n - col } else { ((n - col) / LANES).min(2) * LANES };
    }
}

/// # Safety
/// The CPU has the level's features; both pointers have `len` elements, live and apart.
#[target_feature(enable = "avx512f")]
unsafe fn scale(src: *const f32, dst: *mut f32, len: usize, factor: f32) {
    // SAFETY: passed on from the caller; compiled for this level, the loop uses its vectors.
    unsafe { portable::scale(src, dst, len, factor) }
}

/// The mask of the `count` lowest lanes.
fn lanes(count: usize) -> __mmask16 {
    if count >= LANES { !0 } else { (1 << count) - 1 }
}

#[target_feature(enable = "avx512f")]
fn widen_bf16(bits: __m256i) -> __m512 {
    _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(bits)))
}

#[target_feature(enable = "avx512f")]
fn widen_f16(bits: __m256i) -> __m512 {
    _mm512_cvtph_ps(bits)
}

/// Rounds to bf16 and leaves the bits in the high halves; the low halves are garbage.
#[target_feature(enable = "avx512f")]
fn round_high(value: __m512) -> __m512i {
    let bits = _mm512_castps_si512(value);
    let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
    let rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(value, value);
    _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x40_0000))
}

#[target_feature(enable = "avx512f")]
fn narrow_bf16(value: __m512) -> __m256i {
    _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(round_high(value)))
}

#[target_feature(enable = "avx512f")]
fn narrow_f16(value: __m512) -> __m256i {
    _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value)
}

#[target_feature(enable = "avx512f")]
fn to_bf16_value(value: __m512) -> __m512 {
    _mm512_castsi512_ps(_mm512_and_si512(round_high(value), _mm512_set1_epi32(-0x1_0000)))
}

#[target_feature(enable = "avx512f")]
fn to_f16_value(value: __m512) -> __m512 {
    widen_f16(narrow_f16(value))
}

macro_rules! rows {
    ($load:ident, $fixed:ident, $store:ident, $round:ident, $ty:ty, $widen:ident, $narrow:ident, $value:ident) => {
        /// # Safety
        /// The CPU has the level's features; the regions have `rows` rows of 16V elements, are live and apart.
        #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
        unsafe fn $fixed<const V: usize>(src: Src<$ty>, rows: usize, dst: Dst<f32>) {
            // SAFETY: V vectors of each of the `rows` exist.
            unsafe {
                let (mut from, mut to) = (src.ptr, dst.ptr);
                for _ in 0..rows {
                    for v in 0..V {
                        let bits = _mm256_loadu_si256(from.add(v * LANES).cast());
                        _mm512_storeu_ps(to.add(v * LANES), $widen(bits));
                    }
                    from = from.wrapping_add(src.pitch);
                    to = to.wrapping_add(dst.pitch);
                }
            }
        }

        /// # Safety
        /// The CPU has the level's features; the regions have the given shape, are live and apart.
        #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
        unsafe fn $load(src: Src<$ty>, rows: usize, cols: usize, dst: Dst<f32>) {
            // SAFETY: whole vectors and masked tails stay below `cols` in each of the `rows`.
            unsafe {
                match cols {
                    32 => return $fixed::<2>(src, rows, dst),
                    64 => return $fixed::<4>(src, rows, dst),
                    128 => return $fixed::<8>(src, rows, dst),
                    _ => {}
                }
                for row in 0..rows {
                    let (from, to) = (src.at(row, 0), dst.at(row, 0));
                    let mut col = 0;
                    while col + LANES <= cols {
                        let bits = _mm256_loadu_si256(from.add(col).cast());
                        _mm512_storeu_ps(to.add(col), $widen(bits));
                        col += LANES;
                    }
                    if col < cols {
                        let mask = lanes(cols - col);
                        let bits = _mm256_maskz_loadu_epi16(mask, from.add(col).cast());
                        _mm512_mask_storeu_ps(to.add(col), mask, $widen(bits));
                    }
                }
            }
        }

        /// # Safety
        /// The CPU has the level's features; the regions have the given shape, are live and apart.
        #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
        unsafe fn $store(src: Src<f32>, rows: usize, cols: usize, dst: Dst<$ty>) {
            // SAFETY: whole vectors and masked tails stay below `cols` in each of the `rows`.
            unsafe {
                for row in 0..rows {
                    let (from, to) = (src.at(row, 0), dst.at(row, 0));
                    let mut col = 0;
                    while col + LANES <= cols {
                        let value = _mm512_loadu_ps(from.add(col));
                        _mm256_storeu_si256(to.add(col).cast(), $narrow(value));
                        col += LANES;
                    }
                    if col < cols {
                        let mask = lanes(cols - col);
                        let value = _mm512_maskz_loadu_ps(mask, from.add(col));
                        _mm256_mask_storeu_epi16(to.add(col).cast(), mask, $narrow(value));
                    }
                }
            }
        }

        /// # Safety
        /// The CPU has the level's features; both pointers have `len` elements, live and apart.
        #[target_feature(enable = "avx512f")]
        unsafe fn $round(src: *const f32, dst: *mut f32, len: usize) {
            // SAFETY: whole vectors and a masked tail stay below `len`.
            unsafe {
                let mut i = 0;
                while i < len {
                    let mask = lanes(len - i);
                    let value = _mm512_maskz_loadu_ps(mask, src.add(i));
                    _mm512_mask_storeu_ps(dst.add(i), mask, $value(value));
                    i += LANES;
                }
            }
        }
    };
}
rows!(load_bf16, load_bf16_wide, store_bf16, round_bf16, bf16, widen_bf16, narrow_bf16, to_bf16_value);
rows!(load_f16, load_f16_wide, store_f16, round_f16, f16, widen_f16, narrow_f16, to_f16_value);

/// Splits 32-bit lanes that hold (element 2j, element 2j + 1) into the two f32 vectors.
#[target_feature(enable = "avx512f")]
fn split_bf16(pairs: __m512i) -> [__m512; 2] {
    let even = _mm512_slli_epi32::<16>(pairs);
    let odd = _mm512_and_si512(pairs, _mm512_set1_epi32(-0x1_0000));
    [_mm512_castsi512_ps(even), _mm512_castsi512_ps(odd)]
}

#[target_feature(enable = "avx512f,avx512bw")]
fn split_f16(pairs: __m512i) -> [__m512; 2] {
    let even = _mm512_and_si512(pairs, _mm512_set1_epi32(0xffff));
    let odd = _mm512_srli_epi32::<16>(pairs);
    // Packing works inside 128-bit pieces: [even 0..4, odd 0..4, even 4..8, odd 4..8, ..].
    let order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    let halves = _mm512_permutexvar_epi64(order, _mm512_packus_epi32(even, odd));
    [widen_f16(_mm512_castsi512_si256(halves)), widen_f16(_mm512_extracti64x4_epi64::<1>(halves))]
}

/// Elements of a row that a 128-bit piece holds.
const PIECE: usize = 8;

macro_rules! transposed {
    ($load:ident, $piece:ident, $ty:ty, $split:ident) => {
        /// Reads 16 x 8 elements and writes their 8 x 16 transpose.
        ///
        /// Pairs of columns move as one 32-bit lane, which halves the shuffles. Four 128-bit pieces of rows
        /// 4 apart are gathered into one vector by the load ports, so that only transposes inside 128-bit
        /// pieces are left to the one port that shuffles.
        ///
        /// # Safety
        /// The CPU has the level's features; `src` is 16 x 8, `dst` 8 x 16; live and apart.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
        unsafe fn $piece(src: Src<$ty>, dst: Dst<f32>) {
            // SAFETY: reads rows below 16, columns below 8; writes rows below 8, columns below 16.
            unsafe {
                let mut gathered = [_mm512_setzero_si512(); 4];
                for (i, vector) in gathered.iter_mut().enumerate() {
                    let row = |l: usize| _mm_loadu_si128(src.at(4 * l + i, 0).cast());
                    let mut v = _mm512_castsi128_si512(row(0));
                    v = _mm512_mask_broadcast_i32x4(v, 0x00f0, row(1));
                    v = _mm512_mask_broadcast_i32x4(v, 0x0f00, row(2));
                    *vector = _mm512_mask_broadcast_i32x4(v, 0xf000, row(3));
                }
                let [r0, r1, r2, r3] = gathered;
                let (lo01, hi01) = (_mm512_unpacklo_epi32(r0, r1), _mm512_unpackhi_epi32(r0, r1));
                let (lo23, hi23) = (_mm512_unpacklo_epi32(r2, r3), _mm512_unpackhi_epi32(r2, r3));
                let pairs = [
                    _mm512_unpacklo_epi64(lo01, lo23),
                    _mm512_unpackhi_epi64(lo01, lo23),
                    _mm512_unpacklo_epi64(hi01, hi23),
                    _mm512_unpackhi_epi64(hi01, hi23),
                ];
                for (j, pair) in pairs.into_iter().enumerate() {
                    let [even, odd] = $split(pair);
                    _mm512_storeu_ps(dst.at(2 * j, 0), even);
                    _mm512_storeu_ps(dst.at(2 * j + 1, 0), odd);
                }
            }
        }

        /// # Safety
        /// The CPU has the level's features; `src` has `rows x cols` elements, `dst` has `cols x rows`; both
        /// are live and apart.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
        unsafe fn $load(src: Src<$ty>, rows: usize, cols: usize, dst: Dst<f32>) {
            let (down, across) = (rows - rows % LANES, cols - cols % PIECE);
            // SAFETY: pieces end at row `down` and column `across`; the rest is what lies right of them, then
            // what lies below.
            unsafe {
                for row in (0..down).step_by(LANES) {
                    for col in (0..across).step_by(PIECE) {
                        $piece(src.from(row, col), dst.from(col, row));
                    }
                }
                portable::$load(src.from(0, across), down, cols - across, dst.from(across, 0));
                portable::$load(src.from(down, 0), rows - down, cols, dst.from(0, down));
            }
        }
    };
}
transposed!(load_transposed_bf16, transpose_bf16, bf16, split_bf16);
transposed!(load_transposed_f16, transpose_f16, f16, split_f16);
