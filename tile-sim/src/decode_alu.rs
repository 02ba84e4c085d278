//! Decoding of element-wise instructions: which operation, and do the operand types fit.
//!
//! *Not here*: what operations compute (`alu`, `convert`), extended instructions' table (`opencl_std`).

use crate::alu::{Int1, Int2, Op};
use crate::convert::{Convert, Rounding};
use crate::decode::{Context, operand_id, result};
use crate::error::{Fault, malformed, unsupported};
use crate::inst::{Alu, Inst};
use crate::opencl_std::{self, Class};
use crate::types::scalar_rows;
use rspirv::dr::Instruction;
use rspirv::spirv::{FPRoundingMode, Op as Spv};

/// What operands and result an operation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Integers of one width in, the same out.
    Int,
    /// As `Int`, but the second operand may have another width.
    Shift,
    /// Integers in, any integer width out.
    IntResize,
    /// Integers (or pointers) in, bool out.
    IntToBool,
    Bool,
    Float,
    FloatToBool,
    FloatToInt,
    IntToFloat,
    FloatResize,
    /// f32 in, 16-bit integer out.
    ToBf16,
    FromBf16,
    /// A float vector and a float scalar.
    Scale,
}

fn int(op: Int2) -> (Op, Shape) {
    (Op::Int2(op), Shape::Int)
}

fn compare(op: Int2) -> (Op, Shape) {
    (Op::Int2(op), Shape::IntToBool)
}

fn logic(op: Int2) -> (Op, Shape) {
    (Op::Int2(op), Shape::Bool)
}

fn float(f: fn(f64, f64) -> bool) -> (Op, Shape) {
    (Op::Predicate2(f), Shape::FloatToBool)
}

fn test(f: fn(f64) -> bool) -> (Op, Shape) {
    (Op::Predicate1(f), Shape::FloatToBool)
}

fn unordered(x: f64, y: f64) -> bool {
    x.is_nan() || y.is_nan()
}

/// The remainder with the sign of the divisor.
fn modulo(x: f64, y: f64) -> f64 {
    let r = x % y;
    if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
}

fn find(op: Spv) -> Option<(Op, Shape)> {
    Some(match op {
        Spv::IAdd => int(Int2::Add),
        Spv::ISub => int(Int2::Sub),
        Spv::IMul => int(Int2::Mul),
        Spv::UDiv => int(Int2::UDiv),
        Spv::SDiv => int(Int2::SDiv),
        Spv::UMod => int(Int2::UMod),
        Spv::SRem => int(Int2::SRem),
        Spv::SMod => int(Int2::SMod),
        Spv::BitwiseAnd => int(Int2::And),
        Spv::BitwiseOr => int(Int2::Or),
        Spv::BitwiseXor => int(Int2::Xor),
        Spv::ShiftLeftLogical => (Op::Int2(Int2::Shl), Shape::Shift),
        Spv::ShiftRightLogical => (Op::Int2(Int2::LShr), Shape::Shift),
        Spv::ShiftRightArithmetic => (Op::Int2(Int2::AShr), Shape::Shift),
        Spv::SNegate => (Op::Int1(Int1::Neg), Shape::Int),
        Spv::Not => (Op::Int1(Int1::Not), Shape::Int),
        Spv::BitReverse => (Op::Int1(Int1::BitReverse), Shape::Int),
        Spv::BitCount => (Op::Int1(Int1::BitCount), Shape::IntResize),
        Spv::IEqual | Spv::PtrEqual => compare(Int2::Eq),
        Spv::INotEqual | Spv::PtrNotEqual => compare(Int2::Ne),
        Spv::ULessThan => compare(Int2::ULt),
        Spv::ULessThanEqual => compare(Int2::ULe),
        Spv::UGreaterThan => compare(Int2::UGt),
        Spv::UGreaterThanEqual => compare(Int2::UGe),
        Spv::SLessThan => compare(Int2::SLt),
        Spv::SLessThanEqual => compare(Int2::SLe),
        Spv::SGreaterThan => compare(Int2::SGt),
        Spv::SGreaterThanEqual => compare(Int2::SGe),
        Spv::LogicalEqual => logic(Int2::Eq),
        Spv::LogicalNotEqual => logic(Int2::Ne),
        Spv::LogicalAnd => logic(Int2::And),
        Spv::LogicalOr => logic(Int2::Or),
        Spv::LogicalNot => (Op::Int1(Int1::Not), Shape::Bool),
        Spv::FAdd => (Op::FAdd, Shape::Float),
        Spv::FSub => (Op::FSub, Shape::Float),
        Spv::FMul => (Op::FMul, Shape::Float),
        Spv::FDiv => (Op::FDiv, Shape::Float),
        Spv::FRem => (Op::Float2(|x, y| x % y), Shape::Float),
        Spv::FMod => (Op::Float2(modulo), Shape::Float),
        Spv::FNegate => (Op::FNeg, Shape::Float),
        Spv::VectorTimesScalar => (Op::FMul, Shape::Scale),
        Spv::FOrdEqual => float(|x, y| x == y),
        Spv::FOrdNotEqual | Spv::LessOrGreater => float(|x, y| x != y && !unordered(x, y)),
        Spv::FOrdLessThan => float(|x, y| x < y),
        Spv::FOrdLessThanEqual => float(|x, y| x <= y),
        Spv::FOrdGreaterThan => float(|x, y| x > y),
        Spv::FOrdGreaterThanEqual => float(|x, y| x >= y),
        Spv::FUnordEqual => float(|x, y| x == y || unordered(x, y)),
        Spv::FUnordNotEqual => float(|x, y| x != y),
        Spv::FUnordLessThan => float(|x, y| unordered(x, y) || x < y),
        Spv::FUnordLessThanEqual => float(|x, y| unordered(x, y) || x <= y),
        Spv::FUnordGreaterThan => float(|x, y| unordered(x, y) || x > y),
        Spv::FUnordGreaterThanEqual => float(|x, y| unordered(x, y) || x >= y),
        Spv::Ordered => float(|x, y| !unordered(x, y)),
        Spv::Unordered => float(unordered),
        Spv::IsNan => test(f64::is_nan),
        Spv::IsInf => test(f64::is_infinite),
        Spv::IsFinite => test(f64::is_finite),
        Spv::IsNormal => (Op::IsNormal, Shape::FloatToBool),
        Spv::SignBitSet => (Op::SignBit, Shape::FloatToBool),
        Spv::UConvert => (Op::Convert(Convert::Unsigned), Shape::IntResize),
        Spv::SConvert => (Op::Convert(Convert::Signed), Shape::IntResize),
        Spv::SatConvertSToU => (Op::Convert(Convert::SaturateSignedToUnsigned), Shape::IntResize),
        Spv::SatConvertUToS => (Op::Convert(Convert::SaturateUnsignedToSigned), Shape::IntResize),
        Spv::FConvert => (Op::Convert(Convert::Float), Shape::FloatResize),
        Spv::ConvertUToF => (Op::Convert(Convert::UnsignedToFloat), Shape::IntToFloat),
        Spv::ConvertSToF => (Op::Convert(Convert::SignedToFloat), Shape::IntToFloat),
        Spv::ConvertFToU => (
            Op::Convert(Convert::FloatToUnsigned { saturate: false, rounding: Rounding::Zero }),
            Shape::FloatToInt,
        ),
        Spv::ConvertFToS => (
            Op::Convert(Convert::FloatToSigned { saturate: false, rounding: Rounding::Zero }),
            Shape::FloatToInt,
        ),
        Spv::ConvertFToBF16INTEL => (Op::Convert(Convert::FloatToBf16), Shape::ToBf16),
        Spv::ConvertBF16ToFINTEL => (Op::Convert(Convert::Bf16ToFloat), Shape::FromBf16),
        Spv::RoundFToTF32INTEL => (Op::Convert(Convert::Tf32), Shape::Float),
        _ => return None,
    })
}

/// Decodes an element-wise instruction; `None` if it is not one.
pub(crate) fn decode(c: &Context, inst: &Instruction) -> Result<Option<Inst>, Fault> {
    if inst.class.opcode == Spv::ExtInst {
        return extended(c, inst);
    }
    let Some((op, shape)) = find(inst.class.opcode) else { return Ok(None) };
    let (id, ty) = result(inst)?;
    let mut alu = build(c, op, id, ty, inst, 0)?;
    let fits = match shape {
        Shape::Int => all(c, inst, 0, true)? && same(&alu),
        Shape::Shift => all(c, inst, 0, true)? && alu.out_bits == alu.bits[0],
        Shape::IntResize => all(c, inst, 0, true)? && c.types.is_int(ty)?,
        Shape::IntToBool => {
            alu.out_bits == 1 && alu.bits[0] == alu.bits[1] && alu.bits[0] > 1 && !all(c, inst, 0, false)?
        }
        Shape::Bool => alu.out_bits == 1 && alu.bits[..usize::from(alu.arity)].iter().all(|b| *b == 1),
        Shape::Float => all(c, inst, 0, false)? && same(&alu),
        Shape::Scale => all(c, inst, 0, false)? && same(&alu),
        Shape::FloatToBool => all(c, inst, 0, false)? && alu.out_bits == 1,
        Shape::FloatToInt => all(c, inst, 0, false)? && c.types.is_int(ty)?,
        Shape::IntToFloat => all(c, inst, 0, true)? && c.types.is_float(ty)?,
        Shape::FloatResize => all(c, inst, 0, false)? && c.types.is_float(ty)?,
        Shape::ToBf16 => {
            all(c, inst, 0, false)? && alu.bits[0] == 32 && alu.out_bits == 16 && c.types.is_int(ty)?
        }
        Shape::FromBf16 => {
            all(c, inst, 0, true)? && alu.bits[0] == 16 && alu.out_bits == 32 && c.types.is_float(ty)?
        }
    };
    let lengths = (0..usize::from(alu.arity))
        .all(|i| alu.step[i] > 0 || alu.n == 1 || (shape == Shape::Scale && i == 1));
    if !fits || !lengths {
        return Err(malformed("operand types do not fit the instruction"));
    }
    conversion(c, &mut alu, id)?;
    Ok(Some(Inst::Alu(alu)))
}

/// Applies decorations to a conversion.
fn conversion(c: &Context, alu: &mut Alu, id: u32) -> Result<(), Fault> {
    let decorations = c.decorations.get(&id).copied().unwrap_or_default();
    let Op::Convert(convert) = &mut alu.op else { return Ok(()) };
    let mode = decorations.rounding.map(|mode| match mode {
        FPRoundingMode::RTE => Rounding::Even,
        FPRoundingMode::RTZ => Rounding::Zero,
        FPRoundingMode::RTP => Rounding::Up,
        FPRoundingMode::RTN => Rounding::Down,
    });
    match convert {
        Convert::FloatToUnsigned { saturate, rounding } | Convert::FloatToSigned { saturate, rounding } => {
            *saturate = decorations.saturated;
            *rounding = mode.unwrap_or(*rounding);
        }
        _ if mode.is_some_and(|mode| mode != Rounding::Even) => {
            return Err(unsupported("a conversion to float that does not round to nearest even"));
        }
        _ => {}
    }
    Ok(())
}

fn same(alu: &Alu) -> bool {
    alu.bits[..usize::from(alu.arity)].iter().all(|bits| *bits == alu.out_bits)
}

/// Whether all operands from `first` on are integers (or all are floats).
fn all(c: &Context, inst: &Instruction, first: usize, integer: bool) -> Result<bool, Fault> {
    for i in first..inst.operands.len() {
        let ty = c.operand(inst, i)?.ty;
        let fits = if integer { c.types.is_int(ty)? } else { c.types.is_float(ty)? };
        if !fits {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Fills in rows, widths and steps. Operands start at `first`.
fn build(c: &Context, op: Op, id: u32, ty: u32, inst: &Instruction, first: usize) -> Result<Alu, Fault> {
    let (out_bits, n) = c.types.shape(ty)?;
    let arity = inst.operands.len() - first;
    if arity == 0 || arity > 3 {
        return Err(malformed(format!("{arity} operands")));
    }
    let mut alu = Alu {
        op,
        n,
        arity: arity as u8,
        out_bits,
        bits: [32; 3],
        step: [0; 3],
        src: [0; 3],
        dst: c.value(id)?.row,
    };
    for i in 0..arity {
        let value = c.operand(inst, first + i)?;
        let (bits, count) = c.types.shape(value.ty)?;
        if count != n && count != 1 {
            return Err(malformed(format!("an operand of {count} components for {n}")));
        }
        alu.bits[i] = bits;
        alu.src[i] = value.row;
        alu.step[i] = if count == n && n > 1 { scalar_rows(bits) as u8 } else { 0 };
    }
    Ok(alu)
}

/// An instruction of OpenCL.std.
fn extended(c: &Context, inst: &Instruction) -> Result<Option<Inst>, Fault> {
    let set = operand_id(inst, 0)?;
    let name = c.imports.get(&set).map(String::as_str);
    match name {
        Some("OpenCL.std") => {}
        Some(name) if name.starts_with("NonSemantic.") || name == "OpenCL.DebugInfo.100" => return Ok(None),
        Some(name) => return Err(unsupported(format!("the extended instruction set {name}"))),
        None => return Err(malformed(format!("%{set} is not an extended instruction set"))),
    }
    let number = crate::decode::literal(inst, 1)?;
    let Some((op, arity, class)) = opencl_std::find(number) else {
        return Err(unsupported(format!("OpenCL.std {}", opencl_std::name(number))));
    };
    let (id, ty) = result(inst)?;
    let alu = build(c, op, id, ty, inst, 2)?;
    let int_result = c.types.is_int(ty)?;
    let fits = alu.arity == arity
        && match class {
            Class::Float => all(c, inst, 2, false)? && same(&alu) && !int_result,
            Class::Int => all(c, inst, 2, true)? && same(&alu) && int_result,
            Class::FloatInt => {
                let last = c.operand(inst, inst.operands.len() - 1)?;
                alu.bits[0] == alu.out_bits && !int_result && c.types.is_int(last.ty)? && alu.bits[1] == 32
            }
        };
    // Some OpenCL built-ins (fmax, fmin, clamp, ldexp) take a scalar for a vector; SPIR-V has no such form.
    let lengths = alu.n == 1 || (0..usize::from(alu.arity)).all(|i| alu.step[i] > 0);
    if !fits || !lengths {
        return Err(malformed("operand types do not fit the extended instruction"));
    }
    Ok(Some(Inst::Alu(alu)))
}
