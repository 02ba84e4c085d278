//! Owns how elements become keys and come back: the order of `tile_ir::topk` in registers.
//!
//! An element of 16 bits has its index in the same word: the key of its bits above, the complement of the index below, so that
//! the larger word comes first and one step of a network is two instructions. One of 32 bits has its index in a word
//! beside. A packed word is 0 only for no element.
//! *Assumes* fewer than 65,535 rows and columns, which the register file bounds far below.

use rspirv::spirv::{Capability, Op as Inst, OpenclStd100Op as Std};
use tile_ir::types::DType;

use super::Entry;
use crate::arith::U32;
use crate::control::Lowering;
use crate::lanes::Layout;
use crate::module::{Id, Ty};

/// The bits of +inf of a float type, as the upper half of a word where it has 16 bits; `None` for integers.
const fn infinity(dtype: DType) -> Option<u32> {
    match dtype {
        DType::F16 => Some(0x7C00_0000),
        DType::Bf16 => Some(0x7F80_0000),
        DType::F32 | DType::Tf32 => Some(0x7F80_0000),
        DType::I32 | DType::I8 | DType::U8 | DType::Bool => None,
    }
}

/// The key of NaN, above that of +inf.
const fn nan_key(dtype: DType, infinity: u32) -> u32 {
    2 * infinity + if dtype.size_bytes() == 2 { 0x1_0000 } else { 1 }
}

/// The bits of the quiet NaN.
const fn quiet_nan(dtype: DType, infinity: u32) -> u32 {
    infinity | if matches!(dtype, DType::F16) { 0x0200_0000 } else { 0x0040_0000 }
}

const SIGN: u32 = 0x8000_0000;

impl Lowering<'_> {
    /// An element of a tile, given as it lies in a chunk, with its index.
    pub(super) fn entry(&mut self, dtype: DType, part: Id, index: u32) -> Entry {
        if dtype.size_bytes() == 2 {
            let bits = self.upper(part);
            return Entry { key: self.float_key(U32, dtype, bits, 0xFFFF - index), index: None };
        }
        Entry { key: self.wide_key(U32, dtype, part), index: Some(self.e.u32(index)) }
    }

    /// Two elements of 16 bits in a word, the lower half first, with the index of the first.
    ///
    /// The halves become numbers without sign together: what [`Lowering::float_key`] takes four instructions per element for
    /// takes five per word (measured with Intel's compiler on pvc, 128 elements to a lane, k = 8: 2,125 -> 1,875 instructions).
    pub(super) fn entries_of_pair(&mut self, dtype: DType, word: Id, index: u32) -> [Entry; 2] {
        let infinity = infinity(dtype).unwrap_or(0);
        let nan = nan_key(dtype, infinity);
        // In each half, sign and size become 0x8000 plus or minus the size; a zero of either sign is 0x8000, so nothing is
        // carried from half to half.
        let signs = self.e.and_u32(word, 0x8000_8000);
        let ones = self.e.shr_u32(signs, 15);
        let below_signs = self.e.sub(U32, signs, ones);
        let flipped = self.e.pure(Inst::BitwiseXor, U32, &[word, below_signs]);
        let middle = self.e.u32(0x8000_8000);
        let flipped = self.e.pure(Inst::BitwiseXor, U32, &[flipped, middle]);
        let both = self.e.add(U32, flipped, ones);
        let by = self.e.u32(16);
        let halves =
            [self.e.pure(Inst::ShiftLeftLogical, U32, &[both, by]), self.e.and_u32(both, 0xFFFF_0000)];
        [(halves[0], 0xFFFF - index), (halves[1], 0xFFFE - index)].map(|(half, low)| {
            // Counted from -inf, as in `float_key`.
            let key = self.e.add_u32(half, infinity.wrapping_sub(SIGN).wrapping_add(low));
            let nan = self.e.u32(nan + low);
            Entry { key: self.e.opencl_once(Std::u_min as u32, U32, &[key, nan]), index: None }
        })
    }

    /// A 16-bit word as the upper half of one of 32 bits. That is the f32 of a bf16, whose conversion is one shift; widening and
    /// shifting an integer takes two instructions.
    fn upper(&mut self, part: Id) -> Id {
        self.e.need(Capability::BFloat16ConversionINTEL);
        let float = self.e.pure(Inst::ConvertBF16ToFINTEL, Ty::Float(32), &[part]);
        self.e.pure(Inst::Bitcast, U32, &[float])
    }

    /// A running element, which is none if its index is -1. `value` is of the type that `dtype` computes in.
    pub(super) fn running_entry(&mut self, dtype: DType, value: Id, index: Id) -> Entry {
        let key = self.wide_key(U32, dtype.wide(), value);
        let nowhere = self.e.u32(u32::MAX);
        let none = self.e.pure(Inst::IEqual, Ty::Bool, &[index, nowhere]);
        let zero = self.e.u32(0);
        Entry { key: self.e.select(U32, none, zero, key), index: Some(index) }
    }

    /// An element of the tile as it stands beside running ones: its key in the type its values have, its index from a base on.
    pub(super) fn based(&mut self, dtype: DType, entry: Entry, base: Id) -> Entry {
        let (key, index) = match entry.index {
            Some(index) => (entry.key, index),
            None => {
                let (value, index) = self.decoded(dtype, Some(entry), false);
                (self.wide_key(U32, dtype.wide(), value), index)
            }
        };
        Entry { key, index: Some(self.e.add(U32, index, base)) }
    }

    /// The key, of type `ints`, of values of 32 bits.
    pub(crate) fn wide_key(&mut self, ints: Ty, dtype: DType, value: Id) -> Id {
        if dtype.is_integer() {
            return self.without_sign(ints, value);
        }
        let bits = self.e.pure(Inst::Bitcast, ints, &[value]);
        self.float_key(ints, dtype, bits, 0)
    }

    /// Integers and their keys: the sign is the other way round.
    fn without_sign(&mut self, ints: Ty, words: Id) -> Id {
        let sign = self.number(ints, SIGN.into());
        self.e.pure(Inst::BitwiseXor, ints, &[words, sign])
    }

    /// The key of a float given by its bits, perhaps with more below them.
    ///
    /// Measured with Intel's compiler on pvc: a select costs less than shifting the sign down and flipping by it, which needs the
    /// constants of every row in registers.
    fn float_key(&mut self, ints: Ty, dtype: DType, bits: Id, low: u32) -> Id {
        let infinity = infinity(dtype).unwrap_or(0);
        let (zero, sign) = (self.number(ints, 0), self.number(ints, SIGN.into()));
        // Sign and size as two's complement, in which zeros of both signs are 0, then counted from -inf: the NaNs of both signs
        // come to lie above +inf.
        let negative = self.e.pure(Inst::SLessThan, ints.bools(), &[bits, zero]);
        let turned = self.e.sub(ints, sign, bits);
        let signed = self.e.select(ints, negative, turned, bits);
        let above = self.number(ints, (infinity + low).into());
        let nan = self.number(ints, (nan_key(dtype, infinity) + low).into());
        let key = self.e.add(ints, signed, above);
        self.e.opencl_once(Std::u_min as u32, ints, &[key, nan])
    }

    /// The value of a type of 32 bits that a key of type `ints` stands for.
    pub(crate) fn value_of_key(&mut self, ints: Ty, dtype: DType, key: Id) -> Id {
        match infinity(dtype) {
            None => self.without_sign(ints, key),
            Some(infinity) => {
                let bits = self.float_bits(ints, dtype, infinity, key);
                let floats = match ints.components() {
                    1 => Ty::Float(32),
                    n => Ty::FloatVec(32, n),
                };
                self.e.pure(Inst::Bitcast, floats, &[bits])
            }
        }
    }

    /// The bits of a float that a key stands for.
    fn float_bits(&mut self, ints: Ty, dtype: DType, infinity: u32, key: Id) -> Id {
        let (by, below) = (self.number(ints, 31), self.number(ints, infinity.into()));
        let signed = self.e.sub(ints, key, below);
        let sign = self.e.pure(Inst::ShiftRightArithmetic, ints, &[signed, by]);
        let size = self.e.pure(Inst::BitwiseXor, ints, &[signed, sign]);
        let size = self.e.sub(ints, size, sign);
        let top = self.number(ints, SIGN.into());
        let sign = self.e.pure(Inst::BitwiseAnd, ints, &[sign, top]);
        let bits = self.e.pure(Inst::BitwiseOr, ints, &[size, sign]);
        let nan = self.number(ints, nan_key(dtype, infinity).into());
        let quiet = self.number(ints, quiet_nan(dtype, infinity).into());
        let is_nan = self.e.pure(Inst::UGreaterThanEqual, ints.bools(), &[key, nan]);
        self.e.select(ints, is_nan, quiet, bits)
    }

    /// The value, of the type that `dtype` computes in, and the index of an element; without one, the least value and -1.
    /// `perhaps` says that the lanes of some have none.
    pub(super) fn decoded(&mut self, dtype: DType, entry: Option<Entry>, perhaps: bool) -> (Id, Id) {
        let nowhere = self.e.u32(u32::MAX);
        let Some(Entry { key, index }) = entry else {
            let least = if dtype.is_integer() {
                self.e.u32(SIGN)
            } else {
                self.e.int(Ty::Float(32), f32::NEG_INFINITY.to_bits().into())
            };
            return (least, nowhere);
        };
        // What has an index beside it has a key of 32 bits, whatever the tile was.
        let dtype = if index.is_some() { dtype.wide() } else { dtype };
        let (top, index) = match index {
            Some(index) => (key, index),
            None => {
                let low = self.e.and_u32(key, 0xFFFF);
                let all = self.e.u32(0xFFFF);
                let index = self.e.pure(Inst::BitwiseXor, U32, &[low, all]);
                let zero = self.e.u32(0);
                let index = if perhaps {
                    let none = self.e.pure(Inst::IEqual, Ty::Bool, &[key, zero]);
                    self.e.select(U32, none, nowhere, index)
                } else {
                    index
                };
                (self.e.and_u32(key, 0xFFFF_0000), index)
            }
        };
        if dtype != DType::F16 {
            return (self.value_of_key(U32, dtype, top), index);
        }
        let bits = self.float_bits(U32, dtype, infinity(dtype).unwrap_or(0), top);
        self.e.need(Capability::Float16);
        let half = self.e.shr_u32(bits, 16);
        let half = self.e.resize(Ty::Int(16), half);
        let half = self.e.pure(Inst::Bitcast, Ty::Float(16), &[half]);
        (self.e.pure(Inst::FConvert, Ty::Float(32), &[half]), index)
    }

    /// The bits of a value of 32 bits.
    pub(super) fn as_word(&mut self, dtype: DType, value: Id) -> Id {
        if dtype.is_integer() { value } else { self.e.pure(Inst::Bitcast, U32, &[value]) }
    }

    /// The value of a type of 32 bits that a word holds.
    pub(super) fn as_number(&mut self, dtype: DType, word: Id) -> Id {
        if dtype.is_integer() { word } else { self.e.pure(Inst::Bitcast, Ty::Float(32), &[word]) }
    }

    /// A component of a chunk of i32.
    pub(super) fn word_of(&mut self, chunk: Id, i: u32) -> Id {
        let ty = self.e.ty(Layout::register(DType::I32));
        self.e.pure_with(Inst::CompositeExtract, ty, &[chunk], &[i])
    }
}
