//! Owns the bodies of reductions, in the order that the header of `tile_ir::ops::reduce` fixes.
//!
//! *Guarantees*: all levels give the same bits (the payload of a NaN is left open).
//! *Not here*: the typing rule.

use core::mem::MaybeUninit;

use tile_ir::ir::Reduction;
use tile_ir::map::{self as recipe};
use tile_ir::types::Along;

use super::math::Lane;
use super::storage::{Filled, Unfilled};
use super::{Level, integer, level};
use crate::element::Arithmetic;

/// Lanes of the tree that combines the columns of a row.
const LANES: usize = 16;

/// Combines two elements.
#[inline(always)]
fn combine(how: Reduction, a: f32, b: f32) -> f32 {
    recipe::binary(&mut Lane, how.combiner(), a, b)
}

/// Sixteen elements in the registers of a level.
///
/// # Safety
/// The CPU has the level's features, for every method.
trait Lanes: Copy {
    /// Reads 16 elements, which are live.
    unsafe fn load(from: *const f32) -> Self;
    /// Writes 16 elements, which are live.
    unsafe fn store(self, to: *mut f32);
    /// Combines lane by lane.
    unsafe fn with(self, how: Reduction, other: Self) -> Self;
    /// Eight elements.
    type Half: Copy;
    /// The first step of the tree: combines lane `l` with `l + 8`.
    unsafe fn halved(self, how: Reduction) -> Self::Half;
    /// The other steps, `l + 4`, `l + 2` and `l + 1`, of eight rows together; writes eight results, which are live.
    unsafe fn trees(rows: [Self::Half; 8], how: Reduction, to: *mut f32);
}

#[derive(Clone, Copy)]
struct Plain([f32; LANES]);

impl Lanes for Plain {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: passed on from the caller.
        Plain(unsafe { from.cast::<[f32; LANES]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: passed on from the caller.
        unsafe { to.cast::<[f32; LANES]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn with(self, how: Reduction, other: Self) -> Self {
        let mut lanes = self.0;
        for (lane, other) in lanes.iter_mut().zip(other.0) {
            *lane = combine(how, *lane, other);
        }
        Plain(lanes)
    }

    type Half = [f32; 8];

    #[inline(always)]
    unsafe fn halved(self, how: Reduction) -> [f32; 8] {
        let mut half = [0.0; 8];
        for (l, lane) in half.iter_mut().enumerate() {
            *lane = combine(how, self.0[l], self.0[l + 8]);
        }
        half
    }

    #[inline(always)]
    unsafe fn trees(rows: [[f32; 8]; 8], how: Reduction, to: *mut f32) {
        for (r, mut lanes) in rows.into_iter().enumerate() {
            for half in [4, 2, 1] {
                for l in 0..half {
                    lanes[l] = combine(how, lanes[l], lanes[l + half]);
                }
            }
            // SAFETY: passed on from the caller.
            unsafe { to.add(r).write(lanes[0]) }
        }
    }
}

/// The tree over the first `count` of 16 lanes; lanes that do not exist take no part.
#[inline(always)]
fn some_tree(how: Reduction, mut lanes: [f32; LANES], count: usize) -> f32 {
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            if l + half < count {
                lanes[l] = combine(how, lanes[l], lanes[l + half]);
            }
        }
    }
    if count == 0 { how.neutral() } else { lanes[0] }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use tile_ir::ir::Reduction;

    use super::Lanes;

    /// Combines lane by lane.
    #[inline(always)]
    unsafe fn with_256(how: Reduction, a: __m256, b: __m256) -> __m256 {
        // SAFETY: passed on from the caller.
        unsafe {
            let larger_or_smaller = match how {
                Reduction::Max => _mm256_max_ps(a, b),
                Reduction::Min => _mm256_min_ps(a, b),
                Reduction::Sum => return _mm256_add_ps(a, b),
                Reduction::Prod => return _mm256_mul_ps(a, b),
            };
            _mm256_blendv_ps(larger_or_smaller, a, _mm256_cmp_ps::<_CMP_UNORD_Q>(b, b))
        }
    }

    /// Each step combines the halves of two rows in one register: half the arithmetic of eight trees one by one.
    #[inline(always)]
    unsafe fn trees(rows: [__m256; 8], how: Reduction, to: *mut f32) {
        let [a, b, c, d, e, f, g, h] = rows;
        // SAFETY: passed on from the caller.
        unsafe {
            // Lanes l and l + 4 of two rows: the low 128 bits are the first row's.
            let (ab, cd) = (fours(how, a, b), fours(how, c, d));
            let (ef, gh) = (fours(how, e, f), fours(how, g, h));
            // Lanes l and l + 2: now [a a c c | b b d d] and [e e g g | f f h h].
            let (abcd, efgh) = (twos(how, ab, cd), twos(how, ef, gh));
            let even = _mm256_shuffle_ps::<0b10_00_10_00>(abcd, efgh);
            let odd = _mm256_shuffle_ps::<0b11_01_11_01>(abcd, efgh);
            // [a c e g | b d f h]
            let one = with_256(how, even, odd);
            let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            _mm256_storeu_ps(to, _mm256_permutevar8x32_ps(one, order));
        }
    }

    #[inline(always)]
    unsafe fn fours(how: Reduction, a: __m256, b: __m256) -> __m256 {
        // SAFETY: passed on from the caller.
        unsafe {
            let (low, high) = (_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b));
            with_256(how, low, high)
        }
    }

    #[inline(always)]
    unsafe fn twos(how: Reduction, a: __m256, b: __m256) -> __m256 {
        // SAFETY: passed on from the caller.
        unsafe {
            let (a, b) = (_mm256_castps_pd(a), _mm256_castps_pd(b));
            let (low, high) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            with_256(how, _mm256_castpd_ps(low), _mm256_castpd_ps(high))
        }
    }

    #[derive(Clone, Copy)]
    pub(super) struct Ymm(__m256, __m256);

    impl Lanes for Ymm {
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: passed on from the caller.
            unsafe { Ymm(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: passed on from the caller.
            unsafe {
                _mm256_storeu_ps(to, self.0);
                _mm256_storeu_ps(to.add(8), self.1);
            }
        }

        #[inline(always)]
        unsafe fn with(self, how: Reduction, other: Self) -> Self {
            // SAFETY: passed on from the caller.
            unsafe { Ymm(with_256(how, self.0, other.0), with_256(how, self.1, other.1)) }
        }

        type Half = __m256;

        #[inline(always)]
        unsafe fn halved(self, how: Reduction) -> __m256 {
            // SAFETY: passed on from the caller.
            unsafe { with_256(how, self.0, self.1) }
        }

        #[inline(always)]
        unsafe fn trees(rows: [__m256; 8], how: Reduction, to: *mut f32) {
            // SAFETY: passed on from the caller.
            unsafe { trees(rows, how, to) }
        }
    }

    #[derive(Clone, Copy)]
    pub(super) struct Zmm(__m512);

    impl Lanes for Zmm {
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: passed on from the caller.
            unsafe { Zmm(_mm512_loadu_ps(from)) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: passed on from the caller.
            unsafe { _mm512_storeu_ps(to, self.0) }
        }

        #[inline(always)]
        unsafe fn with(self, how: Reduction, other: Self) -> Self {
            let (a, b) = (self.0, other.0);
            // SAFETY: passed on from the caller.
            unsafe {
                let larger_or_smaller = match how {
                    Reduction::Max => _mm512_max_ps(a, b),
                    Reduction::Min => _mm512_min_ps(a, b),
                    Reduction::Sum => return Zmm(_mm512_add_ps(a, b)),
                    Reduction::Prod => return Zmm(_mm512_mul_ps(a, b)),
                };
                Zmm(_mm512_mask_mov_ps(larger_or_smaller, _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(b, b), a))
            }
        }

        type Half = __m256;

        #[inline(always)]
        unsafe fn halved(self, how: Reduction) -> __m256 {
            // SAFETY: passed on from the caller.
            unsafe { with_256(how, _mm512_castps512_ps256(self.0), _mm512_extractf32x8_ps::<1>(self.0)) }
        }

        #[inline(always)]
        unsafe fn trees(rows: [__m256; 8], how: Reduction, to: *mut f32) {
            // SAFETY: passed on from the caller.
            unsafe { trees(rows, how, to) }
        }
    }
}

/// One result per row of `cols` columns.
///
/// # Safety
/// The CPU has the level's features.
#[inline(always)]
unsafe fn row_wise<V: Lanes>(how: Reduction, cols: usize, src: &[f32], dst: &mut [MaybeUninit<f32>]) {
    if cols == 0 || !cols.is_multiple_of(LANES) {
        ragged_rows(how, cols, src, dst);
        return;
    }
    let eights = dst.len() - dst.len() % 8;
    let (whole, rest) = dst.split_at_mut(eights);
    for (to, block) in whole.chunks_exact_mut(8).zip(src.chunks_exact(8 * cols)) {
        // SAFETY: eight rows of whole groups of 16 are read, and eight results written.
        unsafe {
            let at = block.as_ptr();
            let [a, b, c, d] = four_rows::<V>(how, cols, at);
            let [e, f, g, h] = four_rows::<V>(how, cols, at.add(4 * cols));
            V::trees([a, b, c, d, e, f, g, h], how, to.as_mut_ptr().cast());
        }
    }
    for (to, row) in rest.iter_mut().zip(src[eights * cols..].chunks_exact(cols)) {
        // SAFETY: as above, for one row of whole groups of 16.
        unsafe { to.write(one_row::<V>(how, row)) };
    }
}

/// A row by itself: that of a vector, or one of the last few of a tile.
///
/// # Safety
/// The CPU has the level's features; the row has whole groups of 16 elements, at least one.
#[inline(always)]
unsafe fn one_row<V: Lanes>(how: Reduction, row: &[f32]) -> f32 {
    let mut out = [0.0; 8];
    // SAFETY: every group of 16 starts below the row's length, and eight results are written.
    unsafe {
        let mut sum = V::load(row.as_ptr());
        for group in row[LANES..].chunks_exact(LANES) {
            sum = sum.with(how, V::load(group.as_ptr()));
        }
        V::trees([sum.halved(how); 8], how, out.as_mut_ptr());
    }
    out[0]
}

/// Four rows after the first step of their trees; together, so that their chains of combinations overlap.
///
/// # Safety
/// The CPU has the level's features; `cols` is a multiple of 16 and not 0; four rows of as many elements are live.
#[inline(always)]
unsafe fn four_rows<V: Lanes>(how: Reduction, cols: usize, at: *const f32) -> [V::Half; 4] {
    // SAFETY: every group of 16 starts below `cols`.
    unsafe {
        let (mut a, mut b) = (V::load(at), V::load(at.add(cols)));
        let (mut c, mut d) = (V::load(at.add(2 * cols)), V::load(at.add(3 * cols)));
        let mut col = LANES;
        while col < cols {
            let at = at.add(col);
            a = a.with(how, V::load(at));
            b = b.with(how, V::load(at.add(cols)));
            c = c.with(how, V::load(at.add(2 * cols)));
            d = d.with(how, V::load(at.add(3 * cols)));
            col += LANES;
        }
        [a.halved(how), b.halved(how), c.halved(how), d.halved(how)]
    }
}

/// The same for rows that are not whole groups of 16, such as a vector of 8.
#[cold]
fn ragged_rows(how: Reduction, cols: usize, src: &[f32], dst: &mut [MaybeUninit<f32>]) {
    for (r, to) in dst.iter_mut().enumerate() {
        let row = &src[r * cols..][..cols];
        let mut lanes = [0.0; LANES];
        for (c, &value) in row.iter().enumerate() {
            let l = c % LANES;
            lanes[l] = if c < LANES { value } else { combine(how, lanes[l], value) };
        }
        to.write(some_tree(how, lanes, cols.min(LANES)));
    }
}

/// One result per column, `dst` having as many elements as a row has columns.
///
/// # Safety
/// The CPU has the level's features.
#[inline(always)]
unsafe fn col_wise<V: Lanes>(how: Reduction, src: &[f32], dst: &mut [MaybeUninit<f32>]) {
    let cols = dst.len();
    if src.is_empty() {
        dst.fill(MaybeUninit::new(how.neutral()));
        return;
    }
    let mut col = 0;
    // SAFETY: each block is of columns that exist.
    unsafe {
        while cols - col >= 4 * LANES {
            col_block::<V, 4>(how, col, src, dst);
            col += 4 * LANES;
        }
        while cols - col >= LANES {
            col_block::<V, 1>(how, col, src, dst);
            col += LANES;
        }
    }
    for (c, to) in dst.iter_mut().enumerate().skip(col) {
        let mut values = src.chunks_exact(cols).map(|row| row[c]);
        let first = values.next().unwrap_or(how.neutral());
        to.write(values.fold(first, |sum, value| combine(how, sum, value)));
    }
}

/// The results of columns `col..col + 16B`.
///
/// # Safety
/// The CPU has the level's features; the columns exist and `src` has a row.
#[inline(always)]
unsafe fn col_block<V: Lanes, const B: usize>(
    how: Reduction,
    col: usize,
    src: &[f32],
    dst: &mut [MaybeUninit<f32>],
) {
    let cols = dst.len();
    let (first, out) = (src[col..][..B * LANES].as_ptr(), dst[col..][..B * LANES].as_mut_ptr());
    // SAFETY: the slices just taken have 16 B elements, and so has the block in each further row.
    unsafe {
        let mut lanes = [V::load(first); B];
        for (b, lanes) in lanes.iter_mut().enumerate() {
            *lanes = V::load(first.add(b * LANES));
        }
        for row in src[cols..].chunks_exact(cols) {
            let at = row.as_ptr().add(col);
            for (b, lanes) in lanes.iter_mut().enumerate() {
                *lanes = lanes.with(how, V::load(at.add(b * LANES)));
            }
        }
        for (b, lanes) in lanes.into_iter().enumerate() {
            lanes.store(out.cast::<f32>().add(b * LANES));
        }
    }
}

/// # Safety
/// The CPU has the level's features.
#[inline(always)]
unsafe fn core<V: Lanes>(
    how: Reduction,
    along: Along,
    cols: usize,
    src: &[f32],
    dst: &mut [MaybeUninit<f32>],
) {
    macro_rules! each {
        ($($how:ident)+) => {
            // SAFETY: passed on from the caller.
            unsafe {
                match (how, along) {
                    $(
                        (Reduction::$how, Along::Rows) => row_wise::<V>(Reduction::$how, cols, src, dst),
                        (Reduction::$how, Along::Cols) => col_wise::<V>(Reduction::$how, src, dst),
                    )+
                }
            }
        };
    }
    each!(Max Min Sum Prod)
}

/// Reduces rows of `cols` columns; `along` is what stays.
type ReduceBody =
    unsafe fn(how: Reduction, along: Along, cols: usize, src: &[f32], dst: &mut [MaybeUninit<f32>]);

macro_rules! levels {
    ($($name:ident $lanes:path $(, #[$feature:meta])?;)+) => {$(
        /// # Safety
        /// The CPU has the level's features.
        $(#[$feature])?
        unsafe fn $name(how: Reduction, along: Along, cols: usize, src: &[f32], dst: &mut [MaybeUninit<f32>]) {
            // SAFETY: passed on from the caller.
            unsafe { core::<$lanes>(how, along, cols, src, dst) }
        }
    )+};
}
levels! {
    portable Plain;
}
#[cfg(target_arch = "x86_64")]
levels! {
    avx2 x86::Ymm, #[target_feature(enable = "avx2,fma")];
    avx512 x86::Zmm, #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")];
}

/// The body of a level. To call it, the level must be available.
pub(crate) fn body(level: Level) -> ReduceBody {
    at_level!(level => portable, avx2, avx512)
}

#[inline(never)]
fn reduce(
    how: Reduction,
    along: Along,
    (rows, cols): (usize, usize),
    src: &[f32],
    dst: &mut [MaybeUninit<f32>],
) {
    let left = match along {
        Along::Rows => rows,
        Along::Cols => cols,
    };
    assert!(
        src.len() == rows * cols && dst.len() == left,
        "a tile's shape fixes the length of its reduction"
    );
    // SAFETY: `level()` only names levels this CPU has.
    unsafe { body(level())(how, along, cols, src, dst) }
}

/// Combines the running values, on the left, with what `reduce` wrote.
#[inline(never)]
fn resume(how: Reduction, running: &[f32], dst: &mut [MaybeUninit<f32>]) {
    assert_eq!(running.len(), dst.len(), "a running value has the length of the reduction");
    for (to, before) in dst.iter_mut().zip(running) {
        // SAFETY: `reduce` wrote all of them.
        let now = unsafe { to.assume_init() };
        to.write(combine(how, *before, now));
    }
}

impl<'vector> Unfilled<'vector> {
    /// Writes the reduction of `src`, of the given shape; `along` is what stays. A running value comes first.
    #[inline(always)]
    pub(crate) fn reduced<T: Arithmetic>(
        mut self,
        how: Reduction,
        along: Along,
        shape: (usize, usize),
        src: &[f32],
        running: Option<&[f32]>,
    ) -> Filled<'vector> {
        if T::DTYPE.is_integer() {
            integer::reduce(how, along, shape, src, running, self.memory());
        } else {
            reduce(how, along, shape, src, self.memory());
            if let Some(running) = running {
                resume(how, running, self.memory());
            }
        }
        // SAFETY: `reduce`, in both forms, writes all of its destination.
        unsafe { self.assume_filled() }
    }
}
