//! Owns vectors of elements: their form in memory, the form they compute in, and rounding from one to the other.
//!
//! *Guarantees*: rounding and NaN as `tile_lang::simd::convert` has them on the host, bit for bit. No conversion needs an
//! extension. *Not here*: where elements lie (`walk`, `memory`).

use rspirv::spirv::{Decoration, Op as Inst, OpenclStd100Op as Std};
use tile_ir::types::DType;

use super::slabs::wide;
use crate::control::Lowering;
use crate::module::{Id, Ty};

fn ints(bits: u32, n: u32) -> Ty {
    if n == 1 { Ty::Int(bits) } else { Ty::IntVec(bits, n) }
}

fn floats(bits: u32, n: u32) -> Ty {
    if n == 1 { Ty::Float(bits) } else { Ty::FloatVec(bits, n) }
}

/// The integers that `n` elements are in memory.
pub(crate) fn in_memory(dtype: DType, n: u32) -> Ty {
    ints(8 * dtype.size_bytes(), n)
}

impl Lowering<'_> {
    /// A value in each of `n` components.
    pub(crate) fn spread_over(&mut self, ty: Ty, value: Id) -> Id {
        match ty.components() {
            1 => value,
            n => self.e.pure(Inst::CompositeConstruct, ty, &vec![value; n as usize]),
        }
    }

    fn word(&mut self, n: u32, value: u32) -> Id {
        let word = self.e.u32(value);
        self.spread_over(ints(32, n), word)
    }

    /// `n` elements as they compute, from their bits in memory.
    pub(crate) fn widened_from(&mut self, dtype: DType, n: u32, bits: Id) -> Id {
        let (words, reals) = (ints(32, n), floats(32, n));
        match dtype {
            DType::F32 => self.e.pure(Inst::Bitcast, reals, &[bits]),
            DType::I32 | DType::Bool => bits,
            DType::I8 => self.e.pure(Inst::SConvert, words, &[bits]),
            DType::U8 => self.e.pure(Inst::UConvert, words, &[bits]),
            DType::Bf16 => {
                let low = self.e.pure(Inst::UConvert, words, &[bits]);
                let by = self.word(n, 16);
                let high = self.e.pure(Inst::ShiftLeftLogical, words, &[low, by]);
                self.e.pure(Inst::Bitcast, reals, &[high])
            }
            DType::F16 => {
                let halves = self.e.pure(Inst::Bitcast, floats(16, n), &[bits]);
                self.e.pure(Inst::FConvert, reals, &[halves])
            }
            DType::Tf32 => {
                let value = self.e.pure(Inst::Bitcast, reals, &[bits]);
                self.rounded_to(DType::Tf32, n, value)
            }
        }
    }

    /// The bits in memory of `n` elements, which the type holds exactly.
    pub(crate) fn narrowed_to(&mut self, dtype: DType, n: u32, value: Id) -> Id {
        let words = ints(32, n);
        match dtype {
            DType::F32 | DType::Tf32 => self.e.pure(Inst::Bitcast, words, &[value]),
            DType::I32 | DType::Bool => value,
            DType::I8 | DType::U8 => self.e.pure(Inst::UConvert, ints(8, n), &[value]),
            DType::Bf16 => {
                let bits = self.e.pure(Inst::Bitcast, words, &[value]);
                let by = self.word(n, 16);
                let high = self.e.pure(Inst::ShiftRightLogical, words, &[bits, by]);
                self.e.pure(Inst::UConvert, ints(16, n), &[high])
            }
            DType::F16 => {
                let halves = self.e.pure(Inst::FConvert, floats(16, n), &[value]);
                self.e.pure(Inst::Bitcast, ints(16, n), &[halves])
            }
        }
    }

    /// Values of the type that a type computes in, rounded to what it holds: to nearest even, bytes saturated.
    pub(crate) fn rounded_to(&mut self, dtype: DType, n: u32, value: Id) -> Id {
        match dtype {
            DType::F32 | DType::I32 | DType::Bool => value,
            DType::Bf16 => self.rounded_off(n, value, 16),
            DType::Tf32 => self.rounded_off(n, value, 13),
            DType::F16 => {
                let halves = self.e.pure(Inst::FConvert, floats(16, n), &[value]);
                self.e.pure(Inst::FConvert, floats(32, n), &[halves])
            }
            DType::I8 | DType::U8 => {
                let (least, most) = if dtype == DType::I8 { (-128i32, 127) } else { (0, 255) };
                let (least, most) = (self.word(n, least as u32), self.word(n, most));
                self.e.opencl_once(Std::s_clamp as u32, ints(32, n), &[value, least, most])
            }
        }
    }

    /// f32 values without their last bits, rounded to nearest even; NaN stays NaN, quiet.
    fn rounded_off(&mut self, n: u32, value: Id, last: u32) -> Id {
        let ty = ints(32, n);
        let bits = self.e.pure(Inst::Bitcast, ty, &[value]);
        let (by, one) = (self.word(n, last), self.word(n, 1));
        let odd = self.e.pure(Inst::ShiftRightLogical, ty, &[bits, by]);
        let odd = self.e.pure(Inst::BitwiseAnd, ty, &[odd, one]);
        let half = self.word(n, (1 << (last - 1)) - 1);
        let up = self.e.pure(Inst::IAdd, ty, &[odd, half]);
        let up = self.e.pure(Inst::IAdd, ty, &[bits, up]);
        let quiet = self.word(n, 0x40_0000);
        let quiet = self.e.pure(Inst::BitwiseOr, ty, &[bits, quiet]);
        let nan = self.e.pure(Inst::FUnordNotEqual, ty.bools(), &[value, value]);
        let chosen = self.e.pure(Inst::Select, ty, &[nan, quiet, up]);
        let mask = self.word(n, !((1 << last) - 1));
        let kept = self.e.pure(Inst::BitwiseAnd, ty, &[chosen, mask]);
        self.e.pure(Inst::Bitcast, floats(32, n), &[kept])
    }

    /// Elements of one type as elements of another, rounded once.
    pub(crate) fn converted(&mut self, from: DType, to: DType, n: u32, value: Id) -> Id {
        if from == to {
            return value;
        }
        let value = match (from.is_integer(), to.is_integer()) {
            (false, false) | (true, true) => value,
            (true, false) => self.e.pure(Inst::ConvertSToF, floats(32, n), &[value]),
            (false, true) => {
                let (words, reals) = (ints(32, n), floats(32, n));
                let rounded = self.e.opencl_once(Std::rint as u32, reals, &[value]);
                let whole = self.e.pure(Inst::ConvertFToS, words, &[rounded]);
                self.e.decorate_once(whole, Decoration::SaturatedConversion);
                // NaN gives 0, which the decoration alone leaves open.
                let number = self.e.pure(Inst::FOrdEqual, words.bools(), &[value, value]);
                let zero = self.word(n, 0);
                self.e.pure(Inst::Select, words, &[number, whole, zero])
            }
        };
        self.rounded_to(to, n, value)
    }

    /// A scalar in each component of a vector of elements of a type, rounded to it.
    pub(crate) fn filled(&mut self, dtype: DType, number: Id) -> Id {
        let rounded = self.rounded_to(dtype, 1, number);
        self.spread_over(wide(dtype, crate::lanes::LANES), rounded)
    }
}
