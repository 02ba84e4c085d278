//! Owns the arithmetic and data movement of tiles on the host CPU: one set of bodies per SIMD level,
//! compiled once here and chosen at run time.
//!
//! *Assumes*: callers pass regions that lie in live memory (the view module checks bounds first).
//! *Guarantees*: every level gives the same bits: K runs upward, every multiply-add is fused, conversions
//! round to nearest even. (The payload of a NaN that a multiply-add makes is the one thing left open.)
//! *Not here*: bounds and the edge rule (`global`), and anything about roles.

#![allow(unsafe_code, reason = "SIMD intrinsics and raw regions; bounds are checked by the callers")]

/// What belongs to a level, of `portable, avx2, avx512`; other CPUs have the first alone.
macro_rules! at_level {
    ($level:expr => $portable:expr, $avx2:expr, $avx512:expr) => {
        match $level {
            $crate::simd::Level::Portable => $portable,
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Level::Avx2 => $avx2,
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Level::Avx512 => $avx512,
            #[cfg(not(target_arch = "x86_64"))]
            $crate::simd::Level::Avx2 | $crate::simd::Level::Avx512 => $portable,
        }
    };
}

pub(crate) mod ahead;
pub mod convert;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(test)]
mod elementwise_tests;
pub(crate) mod integer;
pub(crate) mod map;
pub(crate) mod mask;
mod math;
pub(crate) mod portable;
pub(crate) mod position;
pub(crate) mod reduce;
pub(crate) mod selection;
pub(crate) mod storage;
#[cfg(test)]
mod tests;
pub(crate) mod topk;

use core::sync::atomic::{AtomicU8, Ordering};

use ahead::Lines;
use half::{bf16, f16};

/// A set of CPU features the bodies are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Plain Rust; runs anywhere.
    Portable = 1,
    /// AVX2 with FMA and F16C.
    Avx2 = 2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512 = 3,
}

impl Level {
    /// Every level, slowest first.
    pub const ALL: &'static [Level] = &[Level::Portable, Level::Avx2, Level::Avx512];

    /// Tells whether this CPU has the level's features.
    pub fn available(self) -> bool {
        match self {
            Level::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                std::is_x86_feature_detected!("avx2")
                    && std::is_x86_feature_detected!("fma")
                    && std::is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                Level::Avx2.available()
                    && std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("avx512dq")
                    && std::is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Level::Avx2 | Level::Avx512 => false,
        }
    }

    /// The bodies of this level. To call them, the level must be available.
    #[inline]
    pub(crate) fn bodies(self) -> &'static Bodies {
        at_level!(self => &portable::BODIES, &avx2::BODIES, &avx512::BODIES)
    }
}

/// The level in use; 0 until the first question.
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// The level every op uses: the best this CPU has, unless [`force`] chose another.
#[inline]
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        1 => Level::Portable,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => detect(),
    }
}

#[cold]
fn detect() -> Level {
    let best = Level::ALL.iter().rev().copied().find(|l| l.available()).unwrap_or(Level::Portable);
    LEVEL.store(best as u8, Ordering::Relaxed);
    best
}

/// Makes every op of the process use `level`, to test or measure it. Results do not change, only speed.
///
/// # Errors
/// Gives `level` back when this CPU lacks it; nothing changes then.
pub fn force(level: Level) -> Result<(), Level> {
    if !level.available() {
        return Err(level);
    }
    LEVEL.store(level as u8, Ordering::Relaxed);
    Ok(())
}

/// The bodies of the level in use.
#[inline]
pub(crate) fn bodies() -> &'static Bodies {
    level().bodies()
}

/// A region to read: element (r, c) is at `ptr + r * pitch + c`.
#[derive(Clone, Copy)]
pub struct Src<T> {
    /// Element (0, 0).
    pub ptr: *const T,
    /// Elements from a row to the next.
    pub pitch: usize,
}

/// A region to write: element (r, c) is at `ptr + r * pitch + c`.
#[derive(Clone, Copy)]
pub struct Dst<T> {
    /// Element (0, 0).
    pub ptr: *mut T,
    /// Elements from a row to the next.
    pub pitch: usize,
}

impl<T: Copy> Src<T> {
    /// The address of element (`row`, `col`); in bounds only if the region has that element.
    #[inline(always)]
    pub(crate) fn at(self, row: usize, col: usize) -> *const T {
        self.ptr.wrapping_add(row * self.pitch + col)
    }

    /// The region that starts at element (`row`, `col`).
    #[inline(always)]
    pub(crate) fn from(self, row: usize, col: usize) -> Src<T> {
        Src { ptr: self.at(row, col), pitch: self.pitch }
    }
}

impl<T: Copy> Dst<T> {
    /// The address of element (`row`, `col`); in bounds only if the region has that element.
    #[inline(always)]
    pub(crate) fn at(self, row: usize, col: usize) -> *mut T {
        self.ptr.wrapping_add(row * self.pitch + col)
    }

    /// The region that starts at element (`row`, `col`).
    #[inline(always)]
    pub(crate) fn from(self, row: usize, col: usize) -> Dst<T> {
        Dst { ptr: self.at(row, col), pitch: self.pitch }
    }
}

/// `dst[r][c] = src[r][c]` for `rows x cols` elements, converted.
pub type Copy2d<S, D> = unsafe fn(src: Src<S>, rows: usize, cols: usize, dst: Dst<D>);
/// `c[m][n] += a[m][k] * b[k][n]`, k upward, fused; the shape is `[m, n, k]`. Some `lines` are fetched on the way.
pub type Mma = unsafe fn(shape: [usize; 3], c: Dst<f32>, a: Src<f32>, b: Src<f32>, lines: &mut Lines);
/// `dst[i] = f(src[i])` for `len` elements.
pub type Map = unsafe fn(src: *const f32, dst: *mut f32, len: usize);
/// `dst[i] = src[i] * factor` for `len` elements.
pub type Scale = unsafe fn(src: *const f32, dst: *mut f32, len: usize, factor: f32);

/// The bodies that know an element type. All are unsafe for the same reasons: the regions must be live, and
/// the CPU must have the level's features.
pub struct ElementBodies<T> {
    /// Reads rows and widens them.
    pub load: Copy2d<T, f32>,
    /// Reads `rows x cols` elements and writes their transpose, `cols x rows`, widened.
    pub load_transposed: Copy2d<T, f32>,
    /// Narrows rows and writes them.
    pub store: Copy2d<f32, T>,
    /// Rounds f32 values to ones this type holds exactly. For the 16-bit types both regions may be one.
    pub round: Map,
}

/// All bodies of one level.
pub struct Bodies {
    /// Matrix multiply and accumulate.
    pub mma: Mma,
    /// Multiplies by a scalar.
    pub scale: Scale,
    /// Bodies for bf16.
    pub bf16: ElementBodies<bf16>,
    /// Bodies for f16.
    pub f16: ElementBodies<f16>,
    /// Bodies for f32.
    pub f32: ElementBodies<f32>,
    /// Bodies for i8.
    pub i8: ElementBodies<i8>,
    /// Bodies for u8.
    pub u8: ElementBodies<u8>,
    /// Bodies for i32.
    pub i32: ElementBodies<i32>,
}

/// Accumulates `c += a * b` over contiguous row-major matrices of shapes m x n, m x k and k x n.
///
/// # Panics
/// When a slice has not exactly its shape's length: an internal error, because tile types fix the lengths.
#[inline]
pub(crate) fn mma([m, n, k]: [usize; 3], c: &mut [f32], a: &[f32], b: &[f32]) {
    assert!(c.len() == m * n && a.len() == m * k && b.len() == k * n, "tile shapes fix the slice lengths");
    let (c, a, b) = (
        Dst { ptr: c.as_mut_ptr(), pitch: n },
        Src { ptr: a.as_ptr(), pitch: k },
        Src { ptr: b.as_ptr(), pitch: n },
    );
    let mut lines = ahead::on_product();
    // SAFETY: the assertion above gives the three lengths; `level()` only names levels this CPU has.
    unsafe { (bodies().mma)([m, n, k], c, a, b, &mut lines) }
    lines.finish();
}
