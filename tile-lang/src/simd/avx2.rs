//! Owns the bodies for CPUs with AVX2, FMA and F16C.
//!
//! *Assumes*: the caller found the features (`Level::available`); regions are live and do not overlap.
//! *Guarantees*: the bits of `portable`. *Not here*: tails that fill no vector (left to `portable`).

use core::arch::x86_64::*;

use half::{bf16, f16};

use super::ahead::Lines;
use super::{Bodies, Dst, ElementBodies, Src, portable};

/// The AVX2 level.
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
const LANES: usize = 8;

/// Columns of a panel of B: what a block keeps in the registers of a row.
const PANEL: usize = 2 * LANES;

/// Rows of a packed panel: 16 KiB, half of a usual L1 cache.
const DEPTH: usize = 256;

/// Rows of C from which packing a panel pays: it costs about as much as one block of rows.
const PACK_FROM: usize = 24;

/// Steps of K per turn of the loop: enough to hide the address arithmetic.
const UNROLL: usize = 4;

/// A panel of B with its rows one after another, on a cache-line boundary. In a tile the rows lie some hundred
/// bytes apart and fall into few sets of the L1 cache, where they evict each other and A's.
#[repr(align(64))]
struct Panel([f32; DEPTH * PANEL]);

/// Accumulates an `R x 8V` block of the product; the block lives in registers for the whole of K.
///
/// # Safety
/// The CPU has the level's features; `c` is R x 8V, `a` R x k, `b` k x 8V.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn block<const R: usize, const V: usize, const PACKED: bool>(
    k: usize,
    c: Dst<f32>,
    a: Src<f32>,
    b: Src<f32>,
    lines: &mut Lines,
) {
    // SAFETY: all indices below are inside the shapes the caller promises; prefetches are hints.
    unsafe {
        // A constant pitch leaves more registers for the rows of A.
        let b = if PACKED { Src { ptr: b.ptr, pitch: V * LANES } } else { b };
        let mut acc = [[_mm256_setzero_ps(); V]; R];
        for (r, row) in acc.iter_mut().enumerate() {
            for (v, sum) in row.iter_mut().enumerate() {
                *sum = _mm256_loadu_ps(c.at(r, v * LANES));
            }
        }
        // The next block's part of C, and turn by turn its rows of A, which are one region in a tile.
        for r in 0..R {
            _mm_prefetch::<_MM_HINT_T0>(c.at(R + r, 0).cast());
        }
        let (mut left, mut right, mut next) = (a, b, a.from(R, 0));
        for _ in 0..k / UNROLL {
            lines.fetch();
            for line in 0..(R * UNROLL).div_ceil(LINE) {
                _mm_prefetch::<_MM_HINT_T0>(next.at(0, line * LINE).cast());
            }
            steps::<R, V, UNROLL>(&mut acc, left, right);
            left = left.from(0, UNROLL);
            right = right.from(UNROLL, 0);
            next = next.from(0, R * UNROLL);
        }
        for _ in 0..k % UNROLL {
            steps::<R, V, 1>(&mut acc, left, right);
            left = left.from(0, 1);
            right = right.from(1, 0);
        }
        for (r, row) in acc.iter().enumerate() {
            for (v, sum) in row.iter().enumerate() {
                _mm256_storeu_ps(c.at(r, v * LANES), *sum);
            }
        }
    }
}

/// Values in a cache line.
const LINE: usize = 16;

/// # Safety
/// The CPU has the level's features; `a` is R x K, `b` K x 8V.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn steps<const R: usize, const V: usize, const K: usize>(
    acc: &mut [[__m256; V]; R],
    a: Src<f32>,
    b: Src<f32>,
) {
    // SAFETY: all indices below are inside the shapes the caller promises.
    unsafe {
        for i in 0..K {
            let mut vectors = [_mm256_setzero_ps(); V];
            for (v, vector) in vectors.iter_mut().enumerate() {
                *vector = _mm256_loadu_ps(b.at(i, v * LANES));
            }
            for (r, sums) in acc.iter_mut().enumerate() {
                let left = _mm256_set1_ps(*a.at(r, i));
                for (sum, vector) in sums.iter_mut().zip(vectors) {
                    *sum = _mm256_fmadd_ps(left, vector, *sum);
                }
            }
        }
    }
}

/// Accumulates `8V` columns of the product, its rows split evenly into blocks of at most 6 rows.
///
/// # Safety
/// The CPU has the level's features; `c` is m x 8V, `a` m x k, `b` k x 8V.
#[target_feature(enable = "avx2,fma")]
unsafe fn columns<const V: usize, const PACKED: bool>(
    m: usize,
    k: usize,
    c: Dst<f32>,
    a: Src<f32>,
    b: Src<f32>,
    lines: &mut Lines,
) {
    let blocks = m.div_ceil(6);
    let mut row = 0;
    for i in 0..blocks {
        let rows = (m - row).div_ceil(blocks - i);
        let (c, a) = (c.from(row, 0), a.from(row, 0));
        // SAFETY: the block is rows `row..row + rows` of the caller's shapes.
        unsafe {
            match rows {
                1 => block::<1, V, PACKED>(k, c, a, b, lines),
                2 => block::<2, V, PACKED>(k, c, a, b, lines),
                3 => block::<3, V, PACKED>(k, c, a, b, lines),
                4 => block::<4, V, PACKED>(k, c, a, b, lines),
                5 => block::<5, V, PACKED>(k, c, a, b, lines),
                _ => block::<6, V, PACKED>(k, c, a, b, lines),
            }
        }
        row += rows;
    }
}

/// Accumulates the columns of a panel, [`DEPTH`] steps of K after another, with each part of B packed.
///
/// # Safety
/// The CPU has the level's features; `c` is m x [`PANEL`], `a` m x k, `b` k x [`PANEL`].
#[target_feature(enable = "avx2,fma")]
unsafe fn packed(m: usize, k: usize, c: Dst<f32>, a: Src<f32>, b: Src<f32>, lines: &mut Lines) {
    let mut panel = core::mem::MaybeUninit::<Panel>::uninit();
    // SAFETY: only the address of the field is taken.
    let ptr: *mut f32 = unsafe { &raw mut (*panel.as_mut_ptr()).0 }.cast();
    for from in (0..k).step_by(DEPTH) {
        let depth = DEPTH.min(k - from);
        let (a, b) = (a.from(0, from), b.from(from, 0));
        // SAFETY: rows below `depth` exist in `b` and in the panel; all of those that are read are written.
        unsafe {
            for row in 0..depth {
                for v in 0..PANEL / LANES {
                    let vector = _mm256_loadu_ps(b.at(row, v * LANES));
                    _mm256_store_ps(ptr.add(row * PANEL + v * LANES), vector);
                }
            }
            columns::<{ PANEL / LANES }, true>(m, depth, c, a, Src { ptr, pitch: PANEL }, lines);
        }
    }
}

/// # Safety
/// The CPU has the level's features; `c` is m x n, `a` m x k, `b` k x n; all live, `c` apart from the others.
#[target_feature(enable = "avx2,fma")]
unsafe fn mma([m, n, k]: [usize; 3], c: Dst<f32>, a: Src<f32>, b: Src<f32>, lines: &mut Lines) {
    let mut col = 0;
    while col < n {
        let (c, b) = (c.from(0, col), b.from(0, col));
        // SAFETY: each call covers columns `col..` that exist.
        unsafe {
            match (n - col) / LANES {
                0 => portable::mma([m, n - col, k], c, a, b, lines),
                1 => columns::<1, false>(m, k, c, a, b, lines),
                _ if m >= PACK_FROM => packed(m, k, c, a, b, lines),
                _ => columns::<2, false>(m, k, c, a, b, lines),
            }
        }
        col += if n - col < LANES { n - col } else { ((n - col) / LANES).min(2) * LANES };
    }
}

/// # Safety
/// The CPU has the level's features; both pointers have `len` elements, live and apart.
#[target_feature(enable = "avx2")]
unsafe fn scale(src: *const f32, dst: *mut f32, len: usize, factor: f32) {
    // SAFETY: passed on from the caller; compiled for this level, the loop uses its vectors.
    unsafe { portable::scale(src, dst, len, factor) }
}

#[target_feature(enable = "avx2")]
fn widen_bf16(bits: __m128i) -> __m256 {
    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(bits)))
}

#[target_feature(enable = "avx2,f16c")]
fn widen_f16(bits: __m128i) -> __m256 {
    _mm256_cvtph_ps(bits)
}

/// Rounds to bf16 and leaves the bits in the high halves; the low halves are garbage.
#[target_feature(enable = "avx2")]
fn round_high(value: __m256) -> __m256i {
    let bits = _mm256_castps_si256(value);
    let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
    let rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    let quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x40_0000));
    let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(value, value));
    _mm256_blendv_epi8(rounded, quiet, nan)
}

#[target_feature(enable = "avx2")]
fn narrow_bf16(value: __m256) -> __m128i {
    let high = _mm256_srli_epi32::<16>(round_high(value));
    _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256::<1>(high))
}

#[target_feature(enable = "avx2,f16c")]
fn narrow_f16(value: __m256) -> __m128i {
    _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value)
}

#[target_feature(enable = "avx2")]
fn to_bf16_value(value: __m256) -> __m256 {
    _mm256_castsi256_ps(_mm256_and_si256(round_high(value), _mm256_set1_epi32(-0x1_0000)))
}

#[target_feature(enable = "avx2,f16c")]
fn to_f16_value(value: __m256) -> __m256 {
    widen_f16(narrow_f16(value))
}

macro_rules! rows {
    ($load:ident, $store:ident, $round:ident, $ty:ty, $widen:ident, $narrow:ident, $value:ident) => {
        /// # Safety
        /// The CPU has the level's features; the regions have the given shape, are live and apart.
        #[target_feature(enable = "avx2,f16c")]
        unsafe fn $load(src: Src<$ty>, rows: usize, cols: usize, dst: Dst<f32>) {
            let whole = cols - cols % LANES;
            // SAFETY: vectors end at `whole`, the tail at `cols`, in each of the `rows`.
            unsafe {
                for row in 0..rows {
                    let (from, to) = (src.at(row, 0), dst.at(row, 0));
                    for col in (0..whole).step_by(LANES) {
                        let bits = _mm_loadu_si128(from.add(col).cast());
                        _mm256_storeu_ps(to.add(col), $widen(bits));
                    }
                }
                portable::$load(src.from(0, whole), rows, cols - whole, dst.from(0, whole));
            }
        }

        /// # Safety
        /// The CPU has the level's features; the regions have the given shape, are live and apart.
        #[target_feature(enable = "avx2,f16c")]
        unsafe fn $store(src: Src<f32>, rows: usize, cols: usize, dst: Dst<$ty>) {
            let whole = cols - cols % LANES;
            // SAFETY: vectors end at `whole`, the tail at `cols`, in each of the `rows`.
            unsafe {
                for row in 0..rows {
                    let (from, to) = (src.at(row, 0), dst.at(row, 0));
                    for col in (0..whole).step_by(LANES) {
                        let value = _mm256_loadu_ps(from.add(col));
                        _mm_storeu_si128(to.add(col).cast(), $narrow(value));
                    }
                }
                portable::$store(src.from(0, whole), rows, cols - whole, dst.from(0, whole));
            }
        }

        /// # Safety
        /// The CPU has the level's features; both pointers have `len` elements, live and apart.
        #[target_feature(enable = "avx2,f16c")]
        unsafe fn $round(src: *const f32, dst: *mut f32, len: usize) {
            let whole = len - len % LANES;
            // SAFETY: vectors end at `whole`, the tail at `len`.
            unsafe {
                for i in (0..whole).step_by(LANES) {
                    _mm256_storeu_ps(dst.add(i), $value(_mm256_loadu_ps(src.add(i))));
                }
                portable::$round(src.add(whole), dst.add(whole), len - whole);
            }
        }
    };
}
rows!(load_bf16, store_bf16, round_bf16, bf16, widen_bf16, narrow_bf16, to_bf16_value);
rows!(load_f16, store_f16, round_f16, f16, widen_f16, narrow_f16, to_f16_value);

/// Splits 32-bit lanes that hold (element 2j, element 2j + 1) into the two f32 vectors.
#[target_feature(enable = "avx2")]
fn split_bf16(pairs: __m256i) -> [__m256; 2] {
    let even = _mm256_slli_epi32::<16>(pairs);
    let odd = _mm256_and_si256(pairs, _mm256_set1_epi32(-0x1_0000));
    [_mm256_castsi256_ps(even), _mm256_castsi256_ps(odd)]
}

#[target_feature(enable = "avx2,f16c")]
fn split_f16(pairs: __m256i) -> [__m256; 2] {
    let even = _mm256_and_si256(pairs, _mm256_set1_epi32(0xffff));
    let odd = _mm256_srli_epi32::<16>(pairs);
    // Packing works inside 128-bit pieces: [even 0..4, odd 0..4, even 4..8, odd 4..8].
    let halves = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(even, odd));
    [widen_f16(_mm256_castsi256_si128(halves)), widen_f16(_mm256_extracti128_si256::<1>(halves))]
}

/// Elements of a row that a 128-bit piece holds.
const PIECE: usize = 8;

/// 16-bit elements in a cache line.
const SOURCE_LINE: usize = 32;

/// Where blocks of [`LINE`] rows and [`SOURCE_LINE`] columns begin, down first: a block uses whole cache lines of
/// both sides at once, which matters where rows of the source are a power of two apart and share L1 sets.
fn blocks(rows: usize, cols: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..cols).step_by(SOURCE_LINE).flat_map(move |left| (0..rows).step_by(LINE).map(move |top| (top, left)))
}

macro_rules! transposed {
    ($load:ident, $piece:ident, $ty:ty, $split:ident) => {
        /// Reads 8 x 8 elements and writes their transpose. Pairs of columns move as one 32-bit lane, which
        /// halves the shuffles.
        ///
        /// # Safety
        /// The CPU has the level's features; `src` is 8 x 8, `dst` 8 x 8; live and apart.
        #[target_feature(enable = "avx2,f16c")]
        unsafe fn $piece(src: Src<$ty>, dst: Dst<f32>) {
            // SAFETY: reads rows below 8, columns below 8; writes rows below 8, columns below 8.
            unsafe {
                let mut gathered = [_mm256_setzero_si256(); 4];
                for (i, vector) in gathered.iter_mut().enumerate() {
                    let row = |l: usize| _mm_loadu_si128(src.at(4 * l + i, 0).cast());
                    *vector = _mm256_set_m128i(row(1), row(0));
                }
                let [r0, r1, r2, r3] = gathered;
                let (lo01, hi01) = (_mm256_unpacklo_epi32(r0, r1), _mm256_unpackhi_epi32(r0, r1));
                let (lo23, hi23) = (_mm256_unpacklo_epi32(r2, r3), _mm256_unpackhi_epi32(r2, r3));
                let pairs = [
                    _mm256_unpacklo_epi64(lo01, lo23),
                    _mm256_unpackhi_epi64(lo01, lo23),
                    _mm256_unpacklo_epi64(hi01, hi23),
                    _mm256_unpackhi_epi64(hi01, hi23),
                ];
                for (j, pair) in pairs.into_iter().enumerate() {
                    let [even, odd] = $split(pair);
                    _mm256_storeu_ps(dst.at(2 * j, 0), even);
                    _mm256_storeu_ps(dst.at(2 * j + 1, 0), odd);
                }
            }
        }

        /// # Safety
        /// The CPU has the level's features; `src` has `rows x cols` elements, `dst` has `cols x rows`; both
        /// are live and apart.
        #[target_feature(enable = "avx2,f16c")]
        unsafe fn $load(src: Src<$ty>, rows: usize, cols: usize, dst: Dst<f32>) {
            let (down, across) = (rows - rows % LANES, cols - cols % PIECE);
            // SAFETY: pieces end at row `down` and column `across`; the rest is what lies right of them, then
            // what lies below.
            unsafe {
                for (top, left) in blocks(down, across) {
                    for col in (left..across.min(left + SOURCE_LINE)).step_by(PIECE) {
                        for row in (top..down.min(top + LINE)).step_by(LANES) {
                            $piece(src.from(row, col), dst.from(col, row));
                        }
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
