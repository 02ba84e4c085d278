//! Owns the bodies that run on any CPU, and that define what the others must compute.
//!
//! *Assumes*: regions are live and do not overlap. *Guarantees*: plain loops, no intrinsics.
//! *Not here*: speed; `f32::mul_add` is a library call where the compiler may not assume FMA.

use half::{bf16, f16};

use super::ahead::Lines;
use super::{Bodies, Dst, ElementBodies, Src, convert};

/// The portable level.
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
        load: copy_f32,
        load_transposed: load_transposed_f32,
        store: copy_f32,
        round: copy_flat,
    },
    i8: ElementBodies {
        load: load_i8,
        load_transposed: load_transposed_i8,
        store: store_i8,
        round: copy_flat,
    },
    u8: ElementBodies {
        load: load_u8,
        load_transposed: load_transposed_u8,
        store: store_u8,
        round: copy_flat,
    },
    i32: ElementBodies {
        load: load_i32,
        load_transposed: load_transposed_i32,
        store: store_i32,
        round: copy_flat,
    },
};

/// # Safety
/// `dst` must be writable for every index below the bounds, and `value` sound to call there.
#[inline(always)]
unsafe fn fill<D: Copy>(rows: usize, cols: usize, dst: Dst<D>, value: impl Fn(usize, usize) -> D) {
    for row in 0..rows {
        for col in 0..cols {
            // SAFETY: the caller says the region has `rows x cols` elements.
            unsafe { dst.at(row, col).write(value(row, col)) }
        }
    }
}

/// # Safety
/// The regions have the given shape, are live and apart.
pub(crate) unsafe fn load_bf16(src: Src<bf16>, rows: usize, cols: usize, dst: Dst<f32>) {
    // SAFETY: passed on from the caller.
    unsafe { fill(rows, cols, dst, |r, c| convert::bf16_to_f32((*src.at(r, c)).to_bits())) }
}

/// # Safety
/// The regions have the given shape, are live and apart.
pub(crate) unsafe fn load_f16(src: Src<f16>, rows: usize, cols: usize, dst: Dst<f32>) {
    // SAFETY: passed on from the caller.
    unsafe { fill(rows, cols, dst, |r, c| convert::f16_to_f32((*src.at(r, c)).to_bits())) }
}

/// # Safety
/// The regions have the given shape, are live and apart.
pub(crate) unsafe fn copy_f32(src: Src<f32>, rows: usize, cols: usize, dst: Dst<f32>) {
    for row in 0..rows {
        // SAFETY: passed on from the caller. A byte copy keeps the bits of signaling NaNs.
        unsafe { dst.at(row, 0).copy_from_nonoverlapping(src.at(row, 0), cols) }
    }
}

/// # Safety
/// `src` has `rows x cols` elements, `dst` has `cols x rows`; both are live and apart.
pub(crate) unsafe fn load_transposed_bf16(src: Src<bf16>, rows: usize, cols: usize, dst: Dst<f32>) {
    // SAFETY: passed on from the caller.
    unsafe { fill(cols, rows, dst, |r, c| convert::bf16_to_f32((*src.at(c, r)).to_bits())) }
}

/// # Safety
/// `src` has `rows x cols` elements, `dst` has `cols x rows`; both are live and apart.
pub(crate) unsafe fn load_transposed_f16(src: Src<f16>, rows: usize, cols: usize, dst: Dst<f32>) {
    // SAFETY: passed on from the caller.
    unsafe { fill(cols, rows, dst, |r, c| convert::f16_to_f32((*src.at(c, r)).to_bits())) }
}

/// # Safety
/// `src` has `rows x cols` elements, `dst` has `cols x rows`; both are live and apart.
pub(crate) unsafe fn load_transposed_f32(src: Src<f32>, rows: usize, cols: usize, dst: Dst<f32>) {
    // SAFETY: passed on from the caller.
    unsafe { fill(cols, rows, dst, |r, c| *src.at(c, r)) }
}

/// # Safety
/// The regions have the given shape, are live and apart.
pub(crate) unsafe fn load_i8(src: Src<i8>, rows: usize, cols: usize, dst: Dst<f32>) {
    // SAFETY: passed on from the caller.
    unsafe { fill(rows, cols, dst, |r, c| f32::from_bits(i32::from(*src.at(r, c)) as u32)) }
}

/// # Safety
/// `src` has `rows x cols` elements, `dst` has `cols x rows`; both are live and apart.
pub(crate) unsafe fn load_transposed_i8(src: Src<i8>, rows: usize, cols: usize, dst: Dst<f32>) {
    // SAFETY: passed on from the caller.
    unsafe { fill(cols, rows, dst, |r, c| f32::from_bits(i32::from(*src.at(c, r)) as u32)) }
}

/// # Safety
/// The regions have the given shape, are live and apart.
pub(crate) unsafe fn store_i8(src: Src<f32>, rows: usize, cols: usize, dst: Dst<i8>) {
    // SAFETY: passed on from the caller. A tile of bytes holds integers in their range, so no bit is lost.
    unsafe { fill(rows, cols, dst, |r, c| (*src.at(r, c)).to_bits() as i8) }
}

/// # Safety
/// The regions have the given shape, are live and apart.
pub(crate) unsafe fn load_u8(src: Src<u8>, rows: usize, cols: usize, dst: Dst<f32>) {
    // SAFETY: passed on from the caller.
    unsafe { fill(rows, cols, dst, |r, c| f32::from_bits(i32::from(*src.at(r, c)) as u32)) }
}

/// # Safety
/// `src` has `rows x cols` elements, `dst` has `cols x rows`; both are live and apart.
pub(crate) unsafe fn load_transposed_u8(src: Src<u8>, rows: usize, cols: usize, dst: Dst<f32>) {
    // SAFETY: passed on from the caller.
    unsafe { fill(cols, rows, dst, |r, c| f32::from_bits(i32::from(*src.at(c, r)) as u32)) }
}

/// # Safety
/// The regions have the given shape, are live and apart.
pub(crate) unsafe fn store_u8(src: Src<f32>, rows: usize, cols: usize, dst: Dst<u8>) {
    // SAFETY: passed on from the caller. A tile of bytes holds integers in their range, so no bit is lost.
    unsafe { fill(rows, cols, dst, |r, c| (*src.at(r, c)).to_bits() as u8) }
}

/// # Safety
/// The regions have the given shape, are live and apart.
pub(crate) unsafe fn load_i32(src: Src<i32>, rows: usize, cols: usize, dst: Dst<f32>) {
    // SAFETY: passed on from the caller; a word of a tile is the integer's bits.
    unsafe { copy_f32(Src { ptr: src.ptr.cast(), pitch: src.pitch }, rows, cols, dst) }
}

/// # Safety
/// The regions have the given shape, are live and apart.
pub(crate) unsafe fn store_i32(src: Src<f32>, rows: usize, cols: usize, dst: Dst<i32>) {
    // SAFETY: as in `load_i32`.
    unsafe { copy_f32(src, rows, cols, Dst { ptr: dst.ptr.cast(), pitch: dst.pitch }) }
}

/// # Safety
/// `src` has `rows x cols` elements, `dst` has `cols x rows`; both are live and apart.
pub(crate) unsafe fn load_transposed_i32(src: Src<i32>, rows: usize, cols: usize, dst: Dst<f32>) {
    // SAFETY: as in `load_i32`.
    unsafe { load_transposed_f32(Src { ptr: src.ptr.cast(), pitch: src.pitch }, rows, cols, dst) }
}

/// # Safety
/// The regions have the given shape, are live and apart.
pub(crate) unsafe fn store_bf16(src: Src<f32>, rows: usize, cols: usize, dst: Dst<bf16>) {
    // SAFETY: passed on from the caller.
    unsafe { fill(rows, cols, dst, |r, c| bf16::from_bits(convert::f32_to_bf16(*src.at(r, c)))) }
}

/// # Safety
/// The regions have the given shape, are live and apart.
pub(crate) unsafe fn store_f16(src: Src<f32>, rows: usize, cols: usize, dst: Dst<f16>) {
    // SAFETY: passed on from the caller.
    unsafe { fill(rows, cols, dst, |r, c| f16::from_bits(convert::f32_to_f16(*src.at(r, c)))) }
}

/// # Safety
/// Both pointers have `len` elements, live and apart.
pub(crate) unsafe fn round_bf16(src: *const f32, dst: *mut f32, len: usize) {
    for i in 0..len {
        // SAFETY: passed on from the caller.
        unsafe { *dst.add(i) = convert::bf16_to_f32(convert::f32_to_bf16(*src.add(i))) }
    }
}

/// # Safety
/// Both pointers have `len` elements, live and apart.
pub(crate) unsafe fn round_f16(src: *const f32, dst: *mut f32, len: usize) {
    for i in 0..len {
        // SAFETY: passed on from the caller.
        unsafe { *dst.add(i) = convert::f16_to_f32(convert::f32_to_f16(*src.add(i))) }
    }
}

/// # Safety
/// Both pointers have `len` elements, live and apart.
pub(crate) unsafe fn copy_flat(src: *const f32, dst: *mut f32, len: usize) {
    // SAFETY: passed on from the caller.
    unsafe { dst.copy_from_nonoverlapping(src, len) }
}

/// # Safety
/// Both pointers have `len` elements, live and apart.
pub(crate) unsafe fn scale(src: *const f32, dst: *mut f32, len: usize, factor: f32) {
    for i in 0..len {
        // SAFETY: passed on from the caller.
        unsafe { *dst.add(i) = *src.add(i) * factor }
    }
}

/// # Safety
/// `c` is m x n, `a` m x k, `b` k x n; all live, `c` apart from the others.
pub(crate) unsafe fn mma([m, n, k]: [usize; 3], c: Dst<f32>, a: Src<f32>, b: Src<f32>, _lines: &mut Lines) {
    for row in 0..m {
        for i in 0..k {
            // SAFETY: row < m and i < k.
            let left = unsafe { *a.at(row, i) };
            for col in 0..n {
                // SAFETY: row < m, i < k, col < n.
                unsafe {
                    let sum = c.at(row, col);
                    *sum = left.mul_add(*b.at(i, col), *sum);
                }
            }
        }
    }
}
