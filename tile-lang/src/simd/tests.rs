//! Every level this CPU has gives the bits of the portable level, on shapes with and without tails, and writes
//! nothing outside its region.

use core::fmt::Debug;

use super::*;
use crate::element::Element;

/// The levels to compare with the portable one; the others are named.
pub(super) fn levels() -> Vec<Level> {
    Level::ALL
        .iter()
        .copied()
        .filter(|level| *level != Level::Portable)
        .filter(|level| {
            if !level.available() {
                println!("SKIPPED: this CPU lacks {level:?}");
            }
            level.available()
        })
        .collect()
}

/// Bits from a linear congruential generator, every third one replaced by a value that is special in f32, and
/// in the 16-bit formats when cut.
pub(super) fn bits(count: usize, seed: u64) -> Vec<u32> {
    const SPECIAL: [u32; 24] = [
        0,
        0x8000_0000,
        0x3f80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0xffc1_2345,
        0x7f80_0001,
        0x7f81_0000,
        1,
        0x8000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x3380_0000,
        0x3300_0000,
        0x3300_0001,
        0x387f_c000,
        0x387f_e000,
        0x477f_e000,
        0x477f_efff,
        0x477f_f000,
        0x7f7f_ffff,
        0x3f80_8000,
        0x3f81_8000,
    ];
    let mut state = seed;
    (0..count)
        .map(|i| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let random = (state >> 32) as u32;
            if i % 3 == 0 { SPECIAL[random as usize % SPECIAL.len()] } else { random }
        })
        .collect()
}

/// Comparable bits of an element.
trait Bits: Element {
    fn of(bits: u32) -> Self;
    fn bits(self) -> u32;
}

impl Bits for bf16 {
    fn of(bits: u32) -> bf16 {
        bf16::from_bits((bits >> 16) as u16)
    }
    fn bits(self) -> u32 {
        self.to_bits().into()
    }
}

impl Bits for f16 {
    fn of(bits: u32) -> f16 {
        f16::from_bits((bits >> 16) as u16)
    }
    fn bits(self) -> u32 {
        self.to_bits().into()
    }
}

impl Bits for f32 {
    fn of(bits: u32) -> f32 {
        f32::from_bits(bits)
    }
    fn bits(self) -> u32 {
        self.to_bits()
    }
}

fn src<T: Copy>(data: &[T], pitch: usize) -> Src<T> {
    Src { ptr: data.as_ptr(), pitch }
}

fn same<T: Bits>(got: &[T], expected: &[T], what: impl Debug) {
    let differs = got.iter().zip(expected).position(|(g, e)| g.bits() != e.bits());
    if let Some(i) = differs {
        panic!("{what:?}, element {i}: {:#x} instead of {:#x}", got[i].bits(), expected[i].bits());
    }
}

/// Runs one copying body at both levels into buffers full of a guard value and compares all of both buffers.
fn compare<S: Bits, D: Bits>(
    what: impl Debug + Copy,
    bodies: [Copy2d<S, D>; 2],
    (rows, cols): (usize, usize),
    transposes: bool,
    input: &[S],
) {
    let (in_pitch, guard) = (cols + 3, D::of(0x1234_5678));
    let (out_rows, out_cols) = if transposes { (cols, rows) } else { (rows, cols) };
    let out_pitch = out_cols + 5;
    let outputs = bodies.map(|body| {
        let mut out = vec![guard; (out_rows + 1) * out_pitch];
        let dst = Dst { ptr: out.as_mut_ptr(), pitch: out_pitch };
        // SAFETY: `input` has `rows` rows at `in_pitch`, `out` has `out_rows` at `out_pitch`, and the levels
        // are available.
        unsafe { body(src(input, in_pitch), rows, cols, dst) };
        out
    });
    same(&outputs[1], &outputs[0], (what, rows, cols));
    for (i, value) in outputs[1].iter().enumerate() {
        if i / out_pitch >= out_rows || i % out_pitch >= out_cols {
            assert_eq!(value.bits(), guard.bits(), "{what:?} {rows}x{cols} wrote outside its region");
        }
    }
}

const ROWS: &[usize] = &[0, 1, 3, 7, 8, 9, 16, 17, 32, 35];
const COLS: &[usize] = &[0, 1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 64, 65, 96, 128, 130];

fn element<T: Bits>(level: Level) {
    let (portable, other) = (T::bodies(Level::Portable.bodies()), T::bodies(level.bodies()));
    for &rows in ROWS {
        for &cols in COLS {
            let what = |op: &'static str| (level, T::NAME, op);
            let raw = bits((rows + 1) * (cols + 3), (rows * 1000 + cols) as u64);
            let elements: Vec<T> = raw.iter().map(|&b| T::of(b)).collect();
            let wide: Vec<f32> = raw.iter().map(|&b| f32::from_bits(b)).collect();
            compare(what("load"), [portable.load, other.load], (rows, cols), false, &elements);
            let transposed = [portable.load_transposed, other.load_transposed];
            compare(what("load_transposed"), transposed, (rows, cols), true, &elements);
            compare(what("store"), [portable.store, other.store], (rows, cols), false, &wide);
        }
    }
}

#[test]
fn rows_move_and_convert_alike() {
    for level in levels() {
        element::<bf16>(level);
        element::<f16>(level);
        element::<f32>(level);
    }
}

/// Every 16-bit pattern widens, and every upper half with telling lower halves rounds, alike at all levels.
fn all_patterns<T: Bits>(level: Level) {
    let (portable, other) = (T::bodies(Level::Portable.bodies()), T::bodies(level.bodies()));
    let narrow: Vec<T> = (0..=0xffffu32).map(|b| T::of(b << 16)).collect();
    compare((level, T::NAME, "load"), [portable.load, other.load], (1, 0xfffd), false, &narrow);
    for low in [0u32, 1, 0x0fff, 0x1000, 0x1001, 0x2000, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff] {
        let wide: Vec<f32> = (0..=0xffffu32).map(|high| f32::from_bits(high << 16 | low)).collect();
        let rounded = [portable.round, other.round].map(|body| {
            let mut out = vec![0f32; wide.len()];
            // SAFETY: both slices have `wide.len()` values and the levels are available.
            unsafe { body(wide.as_ptr(), out.as_mut_ptr(), wide.len()) };
            out
        });
        same(&rounded[1], &rounded[0], (level, T::NAME, "round", low));
        compare((level, T::NAME, "store"), [portable.store, other.store], (1, 0xfffd), false, &wide);
    }
}

#[test]
fn every_pattern_converts_alike() {
    for level in levels() {
        all_patterns::<bf16>(level);
        all_patterns::<f16>(level);
        all_patterns::<f32>(level);
    }
}

#[test]
fn rounding_and_scaling_reach_every_length_and_no_further() {
    for level in levels() {
        for len in 0..70 {
            let input: Vec<f32> = bits(len, len as u64).into_iter().map(f32::from_bits).collect();
            let run = |level: Level| {
                let bodies = level.bodies();
                let mut out = vec![7f32; 4 * (len + 1)];
                let (source, at) = (input.as_ptr(), out.as_mut_ptr());
                // SAFETY: each body writes `len` of the `len + 1` values of its part; the level is available.
                unsafe {
                    (bodies.bf16.round)(source, at, len);
                    (bodies.f16.round)(source, at.add(len + 1), len);
                    (bodies.f32.round)(source, at.add(2 * (len + 1)), len);
                    (bodies.scale)(source, at.add(3 * (len + 1)), len, 1.5);
                }
                assert!((1..=4).all(|part| out[part * (len + 1) - 1] == 7.0), "{level:?} wrote past {len}");
                // The payload of a NaN that a multiplication makes is open.
                out.iter().map(|v| if v.is_nan() { f32::NAN } else { *v }).collect::<Vec<f32>>()
            };
            same(&run(level), &run(Level::Portable), (level, len));
        }
    }
}

#[test]
fn products_are_bit_identical() {
    let shapes = [
        [8, 16, 16],
        [32, 64, 32],
        [16, 64, 32],
        [64, 128, 32],
        [24, 48, 16],
        [33, 80, 7],
        [1, 1, 1],
        [7, 3, 5],
        [5, 17, 9],
        [13, 31, 4],
        [6, 112, 3],
        [0, 16, 4],
        [8, 0, 4],
        [8, 16, 0],
        [9, 24, 33],
        // Deep enough for a panel of B to be packed in two parts, with a rest of rows, columns and steps.
        [24, 16, 256],
        [31, 42, 515],
        [23, 32, 258],
    ];
    for level in levels() {
        for [m, n, k] in shapes {
            for special in [false, true] {
                let values = |count: usize, seed: u64| -> Vec<f32> {
                    let random = |b: u32| (b as i32) as f32 / i32::MAX as f32;
                    let raw = bits(count, seed).into_iter();
                    if special { raw.map(f32::from_bits).collect() } else { raw.map(random).collect() }
                };
                let (pad, a, b) = (4, values(m * (k + 4), 1), values(k * (n + 4), 2));
                let start = values((m + 1) * (n + pad), 3);
                let run = |level: Level| {
                    let mut c = start.clone();
                    let dst = Dst { ptr: c.as_mut_ptr(), pitch: n + pad };
                    // SAFETY: the vectors have the shapes at these pitches; the level is available.
                    unsafe {
                        (level.bodies().mma)(
                            [m, n, k],
                            dst,
                            src(&a, k + pad),
                            src(&b, n + pad),
                            &mut ahead::on_product(),
                        )
                    };
                    for (i, (got, was)) in c.iter().zip(&start).enumerate() {
                        let outside = i / (n + pad) >= m || i % (n + pad) >= n;
                        assert!(!outside || got.to_bits() == was.to_bits(), "{level:?} wrote outside");
                    }
                    // The payload of a NaN that arithmetic makes is open.
                    c.into_iter().map(|v| if v.is_nan() { f32::NAN } else { v }).collect::<Vec<f32>>()
                };
                same(&run(level), &run(Level::Portable), (level, [m, n, k], special));
            }
        }
    }
}

#[test]
fn portable_products_are_chains_of_fused_multiply_adds() {
    // (1 + 2^-12)^2 - 1 - 2^-11 is 2^-24 when fused and 0 when the product is rounded first.
    let x = 1.0 + 2f32.powi(-12);
    let mut c = [0f32];
    mma([1, 1, 2], &mut c, &[1.0, x], &[-(1.0 + 2f32.powi(-11)), x]);
    assert_eq!(c, [2f32.powi(-24)]);
}

#[test]
fn a_level_can_be_forced_if_the_cpu_has_it() {
    let before = level();
    for &wanted in Level::ALL {
        if wanted.available() {
            assert_eq!(force(wanted), Ok(()));
        } else {
            assert_eq!(force(wanted), Err(wanted));
        }
    }
    assert_eq!(force(before), Ok(()));
}
