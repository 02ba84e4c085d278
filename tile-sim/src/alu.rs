//! Element-wise arithmetic: what each operation computes on one lane, and the loop over lanes.
//!
//! *Guarantees*: integers of fewer than 32 bits are kept zero-extended; f16 and f32 operations round once to
//! nearest even (f64 carries enough bits that rounding twice cannot show for + - * / and square root).
//! Undefined integer arithmetic (division by zero, wide shifts) is an error in any active lane.
//! *Not here*: which SPIR-V instruction is which operation (`decode_alu`, `opencl_std`).

use crate::convert::{self, Convert, from_f64, to_f64};
use crate::error::{Fault, Rule, broken};
use crate::inst::Alu;
use crate::lanes::{LANES, Lanes, Row, lanes_of};

/// An operation on one or more scalars.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Int1(Int1),
    Int2(Int2),
    Int3(Int3),
    /// Hot float operations have their own variants; the rest is a function on f64.
    FAdd,
    FSub,
    FMul,
    FDiv,
    Fma,
    FMax,
    FMin,
    FNeg,
    FAbs,
    Float1(fn(f64) -> f64),
    Float2(fn(f64, f64) -> f64),
    Float3(fn(f64, f64, f64) -> f64),
    FloatInt(fn(f64, i64) -> f64),
    Predicate1(fn(f64) -> bool),
    Predicate2(fn(f64, f64) -> bool),
    SignBit,
    IsNormal,
    Convert(Convert),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Int1 {
    Neg,
    Not,
    BitCount,
    BitReverse,
    Clz,
    Ctz,
    SAbs,
    UAbs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Int2 {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    UMod,
    SRem,
    SMod,
    And,
    Or,
    Xor,
    Shl,
    LShr,
    AShr,
    Eq,
    Ne,
    ULt,
    ULe,
    UGt,
    UGe,
    SLt,
    SLe,
    SGt,
    SGe,
    UMin,
    UMax,
    SMin,
    SMax,
    UMulHi,
    SMulHi,
    UAddSat,
    SAddSat,
    USubSat,
    SSubSat,
    Rotate,
    UAbsDiff,
    SAbsDiff,
    UHadd,
    SHadd,
    URhadd,
    SRhadd,
    UMul24,
    SMul24,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Int3 {
    UClamp,
    SClamp,
    UMadHi,
    SMadHi,
    UMad24,
    SMad24,
    BitSelect,
    UMadSat,
    SMadSat,
}

/// All ones in the low `bits`.
pub(crate) fn mask_of(bits: u8) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Sign-extends the low `bits`.
pub(crate) fn signed(value: u64, bits: u8) -> i64 {
    let shift = 64 - u32::from(bits);
    ((value << shift) as i64) >> shift
}

pub(crate) fn int1(op: Int1, bits: u8, a: u64) -> u64 {
    let r = match op {
        Int1::Neg => a.wrapping_neg(),
        Int1::Not => !a,
        Int1::BitCount => u64::from(a.count_ones()),
        Int1::BitReverse => a.reverse_bits() >> (64 - u32::from(bits)),
        Int1::Clz => u64::from(a.leading_zeros()) - (64 - u64::from(bits)),
        Int1::Ctz => u64::from(a.trailing_zeros()).min(u64::from(bits)),
        Int1::UAbs => a,
        Int1::SAbs => signed(a, bits).unsigned_abs(),
    };
    r & mask_of(bits)
}

/// Clamps a wide signed result into `bits`.
fn saturate_signed(value: i128, bits: u8) -> u64 {
    let max = i128::from(mask_of(bits) >> 1);
    value.clamp(-max - 1, max) as u64
}

fn saturate_unsigned(value: i128, bits: u8) -> u64 {
    value.clamp(0, i128::from(mask_of(bits))) as u64
}

pub(crate) fn int2(op: Int2, bits: u8, a: u64, b: u64, shift_bits: u8) -> Result<u64, Fault> {
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    let (wa, wb) = (i128::from(sa), i128::from(sb));
    let (ua, ub) = (i128::from(a), i128::from(b));
    let shift = || {
        if b < u64::from(bits) {
            Ok(b as u32)
        } else {
            let amount = signed(b, shift_bits);
            Err(broken(Rule::ShiftRange, format!("a {bits}-bit value is shifted by {amount}")))
        }
    };
    let divisor = || {
        if b == 0 {
            return Err(broken(Rule::DivisionByZero, format!("{a} is divided by 0")));
        }
        Ok(())
    };
    let signed_divisor = || {
        divisor()?;
        if sb == -1 && wa == -i128::from(mask_of(bits) >> 1) - 1 {
            return Err(broken(Rule::DivisionOverflow, format!("{sa} is divided by -1 in {bits} bits")));
        }
        Ok(())
    };
    let low24 = |v: u64| (v << 40) as i64 >> 40;
    let r = match op {
        Int2::Add => a.wrapping_add(b),
        Int2::Sub => a.wrapping_sub(b),
        Int2::Mul => a.wrapping_mul(b),
        Int2::UDiv => {
            divisor()?;
            a / b
        }
        Int2::SDiv => {
            signed_divisor()?;
            (sa / sb) as u64
        }
        Int2::UMod => {
            divisor()?;
            a % b
        }
        Int2::SRem => {
            signed_divisor()?;
            (sa % sb) as u64
        }
        Int2::SMod => {
            signed_divisor()?;
            let r = sa % sb;
            (if r != 0 && (r < 0) != (sb < 0) { r + sb } else { r }) as u64
        }
        Int2::And => a & b,
        Int2::Or => a | b,
        Int2::Xor => a ^ b,
        Int2::Shl => a << shift()?,
        Int2::LShr => a >> shift()?,
        Int2::AShr => (sa >> shift()?) as u64,
        Int2::Eq => u64::from(a == b),
        Int2::Ne => u64::from(a != b),
        Int2::ULt => u64::from(a < b),
        Int2::ULe => u64::from(a <= b),
        Int2::UGt => u64::from(a > b),
        Int2::UGe => u64::from(a >= b),
        Int2::SLt => u64::from(sa < sb),
        Int2::SLe => u64::from(sa <= sb),
        Int2::SGt => u64::from(sa > sb),
        Int2::SGe => u64::from(sa >= sb),
        Int2::UMin => a.min(b),
        Int2::UMax => a.max(b),
        Int2::SMin => sa.min(sb) as u64,
        Int2::SMax => sa.max(sb) as u64,
        Int2::UMulHi => ((u128::from(a) * u128::from(b)) >> bits) as u64,
        Int2::SMulHi => ((wa * wb) >> bits) as u64,
        Int2::UAddSat => saturate_unsigned(ua + ub, bits),
        Int2::SAddSat => saturate_signed(wa + wb, bits),
        Int2::USubSat => saturate_unsigned(ua - ub, bits),
        Int2::SSubSat => saturate_signed(wa - wb, bits),
        Int2::Rotate => {
            let n = b % u64::from(bits);
            if n == 0 { a } else { a << n | a >> (u64::from(bits) - n) }
        }
        Int2::UAbsDiff => a.abs_diff(b),
        Int2::SAbsDiff => sa.abs_diff(sb),
        Int2::UHadd => ((ua + ub) >> 1) as u64,
        Int2::SHadd => ((wa + wb) >> 1) as u64,
        Int2::URhadd => ((ua + ub + 1) >> 1) as u64,
        Int2::SRhadd => ((wa + wb + 1) >> 1) as u64,
        Int2::UMul24 => (a & 0xff_ffff) * (b & 0xff_ffff),
        Int2::SMul24 => low24(a).wrapping_mul(low24(b)) as u64,
    };
    Ok(r & mask_of(bits))
}

fn int3(op: Int3, bits: u8, a: u64, b: u64, c: u64) -> Result<u64, Fault> {
    let (sa, sb, sc) = (signed(a, bits), signed(b, bits), signed(c, bits));
    let two = |op| int2(op, bits, a, b, bits);
    let r = match op {
        Int3::UClamp => a.max(b).min(c),
        Int3::SClamp => sa.max(sb).min(sc) as u64,
        Int3::UMadHi => two(Int2::UMulHi)?.wrapping_add(c),
        Int3::SMadHi => two(Int2::SMulHi)?.wrapping_add(c),
        Int3::UMad24 => two(Int2::UMul24)?.wrapping_add(c),
        Int3::SMad24 => two(Int2::SMul24)?.wrapping_add(c),
        Int3::BitSelect => a & !c | b & c,
        Int3::UMadSat => {
            let wide = u128::from(a) * u128::from(b) + u128::from(c);
            wide.min(u128::from(mask_of(bits))) as u64
        }
        Int3::SMadSat => saturate_signed(i128::from(sa) * i128::from(sb) + i128::from(sc), bits),
    };
    Ok(r & mask_of(bits))
}

/// Computes one lane. Operands and result are bit patterns, zero-extended.
pub(crate) fn eval(alu: &Alu, v: [u64; 3]) -> Result<u64, Fault> {
    let bits = alu.bits[0];
    let f = |i: usize| to_f64(v[i], alu.bits[i]);
    let round = |x: f64| from_f64(x, alu.out_bits);
    Ok(match alu.op {
        Op::Int1(op) => int1(op, bits, v[0]) & mask_of(alu.out_bits),
        Op::Int2(op) => int2(op, bits, v[0], v[1], alu.bits[1])?,
        Op::Int3(op) => int3(op, bits, v[0], v[1], v[2])?,
        Op::FAdd => round(f(0) + f(1)),
        Op::FSub => round(f(0) - f(1)),
        Op::FMul => round(f(0) * f(1)),
        Op::FDiv => round(f(0) / f(1)),
        Op::Fma if bits == 32 => {
            let x = |i: usize| f32::from_bits(v[i] as u32);
            u64::from(x(0).mul_add(x(1), x(2)).to_bits())
        }
        Op::Fma => round(f(0).mul_add(f(1), f(2))),
        Op::FMax => round(f(0).max(f(1))),
        Op::FMin => round(f(0).min(f(1))),
        Op::FNeg => v[0] ^ 1 << (bits - 1),
        Op::FAbs => v[0] & (mask_of(bits) >> 1),
        Op::Float1(op) => round(op(f(0))),
        Op::Float2(op) => round(op(f(0), f(1))),
        Op::Float3(op) => round(op(f(0), f(1), f(2))),
        Op::FloatInt(op) => round(op(f(0), signed(v[1], alu.bits[1]))),
        Op::Predicate1(op) => u64::from(op(f(0))),
        Op::Predicate2(op) => u64::from(op(f(0), f(1))),
        Op::SignBit => v[0] >> (bits - 1) & 1,
        Op::IsNormal => u64::from(convert::is_normal(v[0], bits)),
        Op::Convert(op) => op.eval(v[0], bits, alu.out_bits)?,
    })
}

/// Applies a function to every lane; the compiler vectorises it.
fn each2(a: &Row, b: &Row, f: impl Fn(u32, u32) -> u32) -> Row {
    std::array::from_fn(|l| f(a[l], b[l]))
}

fn each2f(a: &Row, b: &Row, f: impl Fn(f32, f32) -> f32) -> Row {
    each2(a, b, |x, y| f(f32::from_bits(x), f32::from_bits(y)).to_bits())
}

/// The whole-row form of common 32-bit operations that cannot fail.
fn vector(op: Op, a: &Row, b: &Row) -> Option<Row> {
    Some(match op {
        Op::Int2(op) => match op {
            Int2::Add => each2(a, b, u32::wrapping_add),
            Int2::Sub => each2(a, b, u32::wrapping_sub),
            Int2::Mul => each2(a, b, u32::wrapping_mul),
            Int2::And => each2(a, b, |x, y| x & y),
            Int2::Or => each2(a, b, |x, y| x | y),
            Int2::Xor => each2(a, b, |x, y| x ^ y),
            Int2::Eq => each2(a, b, |x, y| u32::from(x == y)),
            Int2::Ne => each2(a, b, |x, y| u32::from(x != y)),
            Int2::ULt => each2(a, b, |x, y| u32::from(x < y)),
            Int2::ULe => each2(a, b, |x, y| u32::from(x <= y)),
            Int2::UGt => each2(a, b, |x, y| u32::from(x > y)),
            Int2::UGe => each2(a, b, |x, y| u32::from(x >= y)),
            Int2::SLt => each2(a, b, |x, y| u32::from((x as i32) < y as i32)),
            Int2::SLe => each2(a, b, |x, y| u32::from(x as i32 <= y as i32)),
            Int2::SGt => each2(a, b, |x, y| u32::from(x as i32 > y as i32)),
            Int2::SGe => each2(a, b, |x, y| u32::from(x as i32 >= y as i32)),
            Int2::UMin => each2(a, b, u32::min),
            Int2::UMax => each2(a, b, u32::max),
            _ => return None,
        },
        Op::FAdd => each2f(a, b, |x, y| x + y),
        Op::FSub => each2f(a, b, |x, y| x - y),
        Op::FMul => each2f(a, b, |x, y| x * y),
        Op::FDiv => each2f(a, b, |x, y| x / y),
        Op::FMax => each2f(a, b, f32::max),
        Op::FMin => each2f(a, b, f32::min),
        _ => return None,
    })
}

impl Lanes {
    /// Executes an element-wise instruction.
    pub(crate) fn alu(&mut self, alu: &Alu) -> Result<(), Fault> {
        let out_step = if alu.out_bits == 64 { 2 } else { 1 };
        let hot = alu.bits[0] == 32 && alu.arity == 2 && alu.bits[1] == 32;
        for i in 0..u32::from(alu.n) {
            let src: [u32; 3] = std::array::from_fn(|j| alu.src[j] + i * u32::from(alu.step[j]));
            let dst = alu.dst + i * out_step;
            if hot && let Some(value) = vector(alu.op, self.row(src[0])?, self.row(src[1])?) {
                let uniform = self.is_uniform(src[0]) && self.is_uniform(src[1]);
                self.put(dst, value, uniform);
                continue;
            }
            self.alu_lanes(alu, src, dst)?;
        }
        Ok(())
    }

    fn alu_lanes(&mut self, alu: &Alu, src: [u32; 3], dst: u32) -> Result<(), Fault> {
        let arity = usize::from(alu.arity);
        let mut uniform = true;
        for (row, bits) in src.iter().zip(alu.bits).take(arity) {
            self.defined(*row)?;
            if bits == 64 {
                self.defined(row + 1)?;
            }
            uniform &= self.scalar_uniform(*row, bits);
        }
        let operands = |lanes: &Lanes, l: usize| -> [u64; 3] {
            std::array::from_fn(|j| if j < arity { lanes.lane(src[j], alu.bits[j], l) } else { 0 })
        };
        if uniform && self.full() {
            let value = eval(alu, operands(self, 0))?;
            self.put_uniform(dst, alu.out_bits, value);
            return Ok(());
        }
        let mut values = [0; LANES];
        for l in lanes_of(self.mask) {
            values[l] = eval(alu, operands(self, l))?;
        }
        self.put_scalar(dst, alu.out_bits, &values, false);
        Ok(())
    }
}
