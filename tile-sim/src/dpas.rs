//! Matrix multiply-accumulate (SPV_INTEL_subgroup_matrix_multiply_accumulate) for 16 lanes, N = 16.
//!
//! *Guarantees*: products are exact and each sum is one fused multiply-add in f32, in ascending k; integer
//! sums wrap at 32 bits; a 16-bit accumulator is widened first and rounded once at the end.
//! *Not here*: the order in which hardware adds (it is not documented), fp8 and fp4 operands (typed
//! `Unsupported`).

use crate::alu::signed;
use crate::convert::{bf16_from_f32, f32_from_f16};
use crate::error::{Fault, Rule, broken, unsupported};
use crate::lanes::{LANES, Lanes, Row};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Bf16,
    F16,
    Tf32,
    Int8 { a_signed: bool, b_signed: bool },
    Int4 { a_signed: bool, b_signed: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accumulator {
    F32,
    F16,
    Bf16,
    I32,
}

#[derive(Debug)]
pub(crate) struct Dpas {
    pub(crate) input: Input,
    pub(crate) acc: Accumulator,
    pub(crate) m: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
    pub(crate) dst: u32,
}

/// Operand types as (bits, is float, components), in the order A, B, C, result.
pub(crate) type Shapes = [(u8, bool, u8); 4];

/// Finds the row of the extension's operand tables that an instruction uses.
pub(crate) fn classify(k: u64, shapes: Shapes, flags: u32) -> Result<(Input, Accumulator, u32), Fault> {
    const A_SIGNED: u32 = 1;
    const B_SIGNED: u32 = 2;
    let [a, b, c, d] = shapes;
    let wrong = |what: String| broken(Rule::MatrixShape, what);
    if flags & 0x000f_c000 != 0 {
        return Err(unsupported(format!("fp8 and fp4 matrix operands (flags {flags:#x})")));
    }
    if c != d {
        return Err(wrong("the type of C is not the result type".into()));
    }
    let m = u32::from(d.2);
    if !matches!(m, 1 | 2 | 4 | 8) {
        return Err(wrong(format!("M is {m}; it is 1, 2, 4 or 8")));
    }
    let (a_signed, b_signed) = (flags & A_SIGNED != 0, flags & B_SIGNED != 0);
    let integer_signs = A_SIGNED | B_SIGNED;
    let (input, acc, want_k) = match flags {
        0x3000 => (Input::Bf16, Accumulator::F32, 16),
        0x300c => (Input::Bf16, Accumulator::Bf16, 16),
        0xc00 if d.0 == 16 => (Input::F16, Accumulator::F16, 16),
        0xc00 => (Input::F16, Accumulator::F32, 16),
        0x300 => (Input::Tf32, Accumulator::F32, 8),
        f if f & !integer_signs == 0x30 => (Input::Int8 { a_signed, b_signed }, Accumulator::I32, 32),
        f if f & !integer_signs == 0xc0 => (Input::Int4 { a_signed, b_signed }, Accumulator::I32, 64),
        f => return Err(wrong(format!("flags {f:#x} name no combination of the tables"))),
    };
    if k != want_k {
        return Err(wrong(format!("K is {k}; for {input:?} it is {want_k}")));
    }
    let (want_a, want_b) = match input {
        Input::Tf32 => ((32, true, d.2.div_ceil(2)), (32, true, 8)),
        _ => ((16, false, d.2), (32, false, 8)),
    };
    let want_d = match acc {
        Accumulator::F32 => (32, true),
        Accumulator::F16 => (16, true),
        Accumulator::Bf16 => (16, false),
        Accumulator::I32 => (32, false),
    };
    for (name, got, want) in
        [("A", a, want_a), ("B", b, want_b), ("the result", d, (want_d.0, want_d.1, d.2))]
    {
        if got != want {
            let say = |(bits, float, n): (u8, bool, u8)| {
                format!("{n} x {}{bits}", if float { "float" } else { "int" })
            };
            return Err(wrong(format!(
                "{name} is {}; for {input:?} with M = {m} it is {}",
                say(got),
                say(want)
            )));
        }
    }
    Ok((input, acc, m))
}

type Matrix = [[f32; LANES]; LANES];

impl Dpas {
    pub(crate) fn run(&self, lanes: &mut Lanes) -> Result<(), Fault> {
        if !lanes.full() {
            return Err(broken(Rule::FullSubgroup, format!("active lanes are {:#06x}", lanes.mask)));
        }
        match self.input {
            Input::Bf16 | Input::F16 | Input::Tf32 => self.float(lanes),
            Input::Int8 { a_signed, b_signed } => self.integer(lanes, 8, a_signed, b_signed),
            Input::Int4 { a_signed, b_signed } => self.integer(lanes, 4, a_signed, b_signed),
        }
    }

    fn float(&self, lanes: &mut Lanes) -> Result<(), Fault> {
        let m = self.m as usize;
        let mut a: Matrix = [[0.0; LANES]; LANES];
        let mut b: Matrix = [[0.0; LANES]; LANES];
        let depth = match self.input {
            Input::Tf32 => {
                for (i, row) in a.iter_mut().enumerate().take(m) {
                    let half = lanes.row(self.a + (i / 2) as u32)?;
                    for (k, value) in row.iter_mut().enumerate().take(8) {
                        *value = tf32(half[i % 2 * 8 + k]);
                    }
                }
                for (j, row) in b.iter_mut().enumerate().take(8) {
                    *row = lanes.row(self.b + j as u32)?.map(tf32);
                }
                8
            }
            Input::Bf16 => {
                for (i, row) in a.iter_mut().enumerate().take(m) {
                    *row = lanes.row(self.a + i as u32)?.map(|v| f32::from_bits(v << 16));
                }
                for (j, pair) in b.chunks_exact_mut(2).enumerate() {
                    let packed = lanes.row(self.b + j as u32)?;
                    pair[0] = packed.map(|v| f32::from_bits(v << 16));
                    pair[1] = packed.map(|v| f32::from_bits(v & 0xffff_0000));
                }
                16
            }
            _ => {
                for (i, row) in a.iter_mut().enumerate().take(m) {
                    *row = lanes.row(self.a + i as u32)?.map(|v| f32_from_f16(v as u16));
                }
                for (j, pair) in b.chunks_exact_mut(2).enumerate() {
                    let packed = lanes.row(self.b + j as u32)?;
                    pair[0] = packed.map(|v| f32_from_f16(v as u16));
                    pair[1] = packed.map(|v| f32_from_f16((v >> 16) as u16));
                }
                16
            }
        };
        let exact = self.input == Input::F16 || (moderate(&a[..m]) && moderate(&b[..depth]));
        for (i, row) in a.iter().enumerate().take(m) {
            let c = *lanes.row(self.c + i as u32)?;
            let mut acc = match self.acc {
                Accumulator::F16 => c.map(|v| f32_from_f16(v as u16)),
                Accumulator::Bf16 => c.map(|v| f32::from_bits(v << 16)),
                Accumulator::F32 | Accumulator::I32 => c.map(f32::from_bits),
            };
            if exact {
                for (value, line) in row[..depth].iter().zip(&b) {
                    for (sum, other) in acc.iter_mut().zip(line) {
                        *sum += value * other;
                    }
                }
            } else {
                for (value, line) in row[..depth].iter().zip(&b) {
                    for (sum, other) in acc.iter_mut().zip(line) {
                        *sum = value.mul_add(*other, *sum);
                    }
                }
            }
            let out: Row = match self.acc {
                Accumulator::F16 => acc.map(|v| u32::from(half::f16::from_f32(v).to_bits())),
                Accumulator::Bf16 => acc.map(|v| u32::from(bf16_from_f32(v.to_bits()))),
                Accumulator::F32 | Accumulator::I32 => acc.map(f32::to_bits),
            };
            lanes.put(self.dst + i as u32, out, false);
        }
        Ok(())
    }

    fn integer(&self, lanes: &mut Lanes, bits: u8, a_signed: bool, b_signed: bool) -> Result<(), Fault> {
        let per_dword = 32 / u32::from(bits);
        let per_word = per_dword / 2;
        let pick = |word: u32, i: u32, is_signed: bool| -> i32 {
            let field = word >> (i * u32::from(bits)) & ((1 << bits) - 1);
            if is_signed { signed(u64::from(field), bits) as i32 } else { field as i32 }
        };
        let mut b = vec![[0i32; LANES]; 8 * per_dword as usize];
        for (k, row) in b.iter_mut().enumerate() {
            let packed = lanes.row(self.b + k as u32 / per_dword)?;
            *row = packed.map(|v| pick(v, k as u32 % per_dword, b_signed));
        }
        for i in 0..self.m {
            let words = *lanes.row(self.a + i)?;
            let mut acc = lanes.row(self.c + i)?.map(|v| v as i32);
            for (k, line) in b.iter().enumerate() {
                let k = k as u32;
                let value = pick(words[(k / per_word) as usize], k % per_word, a_signed);
                for (sum, other) in acc.iter_mut().zip(line) {
                    *sum = sum.wrapping_add(value * other);
                }
            }
            lanes.put(self.dst + i, acc.map(|v| v as u32), false);
        }
        Ok(())
    }
}

/// The hardware reads 19 bits of a tf32 operand.
fn tf32(bits: u32) -> f32 {
    f32::from_bits(bits & !0x1fff)
}

/// Whether every value is 0 or has a binary exponent in [-63, 63]: then a product of two, with at most 24
/// significant bits, is exact in f32 and a separate multiply and add round like a fused one.
fn moderate(rows: &[[f32; LANES]]) -> bool {
    const LOW: i32 = (127 - 63) << 23;
    const HIGH: i32 = (127 + 64) << 23;
    let mut bad = 0;
    for row in rows {
        for value in row {
            let magnitude = (value.to_bits() & 0x7fff_ffff) as i32;
            let outside = i32::from(magnitude < LOW) | i32::from(magnitude >= HIGH);
            bad |= outside & i32::from(magnitude != 0);
        }
    }
    bad == 0
}
