//! Decoding of instructions that work across the lanes of a sub-group.

use crate::alu::{Int2, mask_of};
use crate::decode::{operand_id, result};
use crate::error::{Fault, malformed, unsupported};
use crate::functions::Decoder;
use crate::group::{Combine, GroupKind, GroupOp};
use crate::inst::Inst;
use crate::instructions::{combine, group};
use crate::types::Type;
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::Op;

/// Where an instruction has its scope, value and further operands.
#[derive(Clone, Copy, Debug)]
struct Form {
    kind: GroupKind,
    nonuniform: bool,
    /// Whether the first operand is a scope.
    scope: bool,
    /// Index of the operand that is a lane number, mask or distance.
    index: Option<usize>,
}

fn form(op: Op) -> Option<Form> {
    let with = |kind, nonuniform, scope, index| Some(Form { kind, nonuniform, scope, index });
    match op {
        Op::GroupAll => with(GroupKind::All, false, true, None),
        Op::GroupAny => with(GroupKind::Any, false, true, None),
        Op::GroupBroadcast => with(GroupKind::Broadcast, false, true, Some(2)),
        Op::GroupNonUniformElect => with(GroupKind::Elect, true, true, None),
        Op::GroupNonUniformAll => with(GroupKind::All, true, true, None),
        Op::GroupNonUniformAny => with(GroupKind::Any, true, true, None),
        Op::GroupNonUniformAllEqual => with(GroupKind::AllEqual, true, true, None),
        Op::GroupNonUniformBallot => with(GroupKind::Ballot, true, true, None),
        Op::GroupNonUniformBroadcastFirst => with(GroupKind::BroadcastFirst, true, true, None),
        Op::GroupNonUniformBroadcast => with(GroupKind::Broadcast, true, true, Some(2)),
        Op::GroupNonUniformShuffle => with(GroupKind::Shuffle, true, true, Some(2)),
        Op::GroupNonUniformShuffleXor => with(GroupKind::ShuffleXor, true, true, Some(2)),
        Op::GroupNonUniformShuffleUp => with(GroupKind::ShuffleUp, true, true, Some(2)),
        Op::GroupNonUniformShuffleDown => with(GroupKind::ShuffleDown, true, true, Some(2)),
        Op::SubgroupShuffleINTEL => with(GroupKind::Shuffle, true, false, Some(1)),
        Op::SubgroupShuffleXorINTEL => with(GroupKind::ShuffleXor, true, false, Some(1)),
        Op::SubgroupShuffleDownINTEL => with(GroupKind::ShuffleDown2, true, false, Some(2)),
        Op::SubgroupShuffleUpINTEL => with(GroupKind::ShuffleUp2, true, false, Some(2)),
        _ => None,
    }
}

/// Combining operation, whether float, whether non-uniform.
fn combining(op: Op) -> Option<(Combine, bool)> {
    let int = |op, nonuniform| Some((Combine::Int(op), nonuniform));
    let float = |f: fn(f64, f64) -> f64, nonuniform| Some((Combine::Float(f), nonuniform));
    match op {
        Op::GroupIAdd => int(Int2::Add, false),
        Op::GroupUMin => int(Int2::UMin, false),
        Op::GroupSMin => int(Int2::SMin, false),
        Op::GroupUMax => int(Int2::UMax, false),
        Op::GroupSMax => int(Int2::SMax, false),
        Op::GroupFAdd => float(|a, b| a + b, false),
        Op::GroupFMin => float(f64::min, false),
        Op::GroupFMax => float(f64::max, false),
        Op::GroupNonUniformIAdd => int(Int2::Add, true),
        Op::GroupNonUniformIMul => int(Int2::Mul, true),
        Op::GroupNonUniformUMin => int(Int2::UMin, true),
        Op::GroupNonUniformSMin => int(Int2::SMin, true),
        Op::GroupNonUniformUMax => int(Int2::UMax, true),
        Op::GroupNonUniformSMax => int(Int2::SMax, true),
        Op::GroupNonUniformBitwiseAnd | Op::GroupNonUniformLogicalAnd => int(Int2::And, true),
        Op::GroupNonUniformBitwiseOr | Op::GroupNonUniformLogicalOr => int(Int2::Or, true),
        Op::GroupNonUniformBitwiseXor | Op::GroupNonUniformLogicalXor => int(Int2::Xor, true),
        Op::GroupNonUniformFAdd => float(|a, b| a + b, true),
        Op::GroupNonUniformFMul => float(|a, b| a * b, true),
        Op::GroupNonUniformFMin => float(f64::min, true),
        Op::GroupNonUniformFMax => float(f64::max, true),
        _ => None,
    }
}

/// Whether this file decodes an instruction.
pub(crate) fn is_group(op: Op) -> bool {
    form(op).is_some() || combining(op).is_some()
}

/// The value that an exclusive scan gives its first lane.
fn identity(op: Combine, float_op: Op, bits: u8) -> u64 {
    match op {
        Combine::Int(Int2::Mul) => 1,
        Combine::Int(Int2::And | Int2::UMin) => mask_of(bits),
        Combine::Int(Int2::SMin) => mask_of(bits) >> 1,
        Combine::Int(Int2::SMax) => 1 << (bits - 1),
        Combine::Int(_) => 0,
        Combine::Float(_) => {
            let value = match float_op {
                Op::GroupFMin | Op::GroupNonUniformFMin => f64::INFINITY,
                Op::GroupFMax | Op::GroupNonUniformFMax => f64::NEG_INFINITY,
                Op::GroupNonUniformFMul => 1.0,
                _ => 0.0,
            };
            crate::convert::from_f64(value, bits)
        }
    }
}

fn check_scope(d: &Decoder<'_>, inst: &Instruction) -> Result<(), Fault> {
    const SUBGROUP: u64 = 3;
    match d.context.integer(operand_id(inst, 0)?)? {
        SUBGROUP => Ok(()),
        other => Err(unsupported(format!("Op{} of scope {other}", inst.class.opname))),
    }
}

/// Decodes a group instruction.
pub(crate) fn decode(d: &mut Decoder<'_>, inst: &Instruction) -> Result<Inst, Fault> {
    let op = inst.class.opcode;
    let (id, ty) = result(inst)?;
    let dst = d.context.value(id)?.row;
    if let Some((op_kind, nonuniform)) = combining(op) {
        check_scope(d, inst)?;
        let Some(Operand::GroupOperation(operation)) = inst.operands.get(1) else {
            return Err(malformed("a group operation without its kind"));
        };
        let value = d.context.operand_of(inst, 2, ty)?;
        let (bits, n) = d.context.types.shape(ty)?;
        let float = matches!(op_kind, Combine::Float(_));
        if float != d.context.types.is_float(ty)? {
            return Err(malformed("a group operation on the wrong kind of number"));
        }
        let cluster = operand_id(inst, 3).ok().map(|id| d.context.integer(id)).transpose()?;
        let kind = combine(op_kind, *operation, identity(op_kind, op, bits), cluster)?;
        return Ok(Inst::Group(Box::new(group(kind, nonuniform, dst, value.row, bits, n))));
    }
    let Some(form) = form(op) else { return Err(unsupported(format!("Op{op:?}"))) };
    if form.scope {
        check_scope(d, inst)?;
    }
    let mut out: GroupOp = group(form.kind, form.nonuniform, dst, d.context.zero_row(), 32, 1);
    let (result_bits, result_n) = d.context.types.shape(ty)?;
    match form.kind {
        GroupKind::Elect => {}
        GroupKind::All | GroupKind::Any | GroupKind::Ballot | GroupKind::AllEqual => {
            let value = d.context.operand(inst, 1)?;
            let boolean = *d.context.types.get(value.ty)? == Type::Bool;
            if !boolean && !matches!(form.kind, GroupKind::AllEqual) {
                return Err(malformed("a vote on a value that is not a bool"));
            }
            (out.bits, out.n) = d.context.types.shape(value.ty)?;
            out.src = value.row;
        }
        _ => {
            let at = usize::from(form.scope);
            let value = d.context.operand_of(inst, at, ty)?;
            (out.bits, out.n) = (result_bits, result_n);
            (out.src, out.second) = (value.row, value.row);
            if matches!(form.kind, GroupKind::ShuffleDown2 | GroupKind::ShuffleUp2) {
                out.second = d.context.operand_of(inst, at + 1, ty)?.row;
            }
        }
    }
    let want = match form.kind {
        GroupKind::Ballot => (32, 4),
        GroupKind::Elect | GroupKind::All | GroupKind::Any | GroupKind::AllEqual => (1, 1),
        _ => (result_bits, result_n),
    };
    if want != (result_bits, result_n) {
        return Err(malformed("the result type does not fit the group operation"));
    }
    if let Some(index) = form.index {
        out.index = Some(d.context.index(inst, index)?);
    }
    Ok(Inst::Group(Box::new(out)))
}
