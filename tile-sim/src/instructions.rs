//! Decoding of single instructions, except element-wise ones (`decode_alu`).
//!
//! *Guarantees*: operand types are checked here, so that execution can rely on them.
//! *Not here*: execution.

use crate::alu::mask_of;
use crate::block::{Block2d, BlockKind};
use crate::decode::{copy, literal, operand_id, result};
use crate::decode_alu;
use crate::dpas::{self, Dpas};
use crate::error::{Fault, Rule, broken, malformed, unsupported};
use crate::functions::Decoder;
use crate::group::{Combine, GroupKind, GroupOp, Scan};
use crate::inst::{Atomic, AtomicKind, DynamicIndex, Inst, Wide};
use crate::shapes::{self, Hardware};
use crate::types::{Type, scalar_rows};
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{GroupOperation, MemoryAccess, Op};

/// Decodes an instruction of a function body.
pub(crate) fn decode(d: &mut Decoder<'_>, inst: &Instruction) -> Result<Inst, Fault> {
    let op = inst.class.opcode;
    if let Some(alu) = decode_alu::decode(d.context, inst)? {
        return Ok(alu);
    }
    match op {
        Op::Nop | Op::LifetimeStart | Op::LifetimeStop | Op::MemoryBarrier => Ok(Inst::Nop),
        Op::ExtInst => Ok(Inst::Nop),
        Op::Variable => {
            let (id, _) = result(inst)?;
            let address = d.out.vars.iter().find(|v| v.id == id).map(|v| u64::from(v.offset));
            let address = address.ok_or_else(|| malformed("a variable outside the function's variables"))?;
            let base = d.context.zero_row();
            let offset = crate::access::space_base(crate::access::SPACE_PRIVATE) + address;
            Ok(Inst::Access { dst: d.context.value(id)?.row, base, offset, dynamic: Box::new([]) })
        }
        Op::Undef => {
            let (id, ty) = result(inst)?;
            Ok(Inst::Undef { dst: d.context.value(id)?.row, n: d.context.types.rows(ty)? })
        }
        Op::CopyObject
        | Op::PtrCastToGeneric
        | Op::GenericCastToPtr
        | Op::ConvertPtrToU
        | Op::ConvertUToPtr
        | Op::Bitcast => cast(d, inst),
        Op::CompositeConstruct
        | Op::CompositeExtract
        | Op::CompositeInsert
        | Op::VectorShuffle
        | Op::VectorExtractDynamic
        | Op::VectorInsertDynamic => composite(d, inst),
        Op::Select => select(d, inst),
        Op::Any | Op::All => {
            let (id, _) = result(inst)?;
            let value = d.context.operand(inst, 0)?;
            let (_, n) = d.context.types.shape(value.ty)?;
            Ok(Inst::AnyAll { all: op == Op::All, dst: d.context.value(id)?.row, src: value.row, n })
        }
        Op::Dot => {
            let (id, _) = result(inst)?;
            let (a, b) = (d.context.operand(inst, 0)?, d.context.operand(inst, 1)?);
            let (bits, n) = d.context.types.shape(a.ty)?;
            if a.ty != b.ty || !d.context.types.is_float(a.ty)? {
                return Err(malformed("OpDot of operands that are not float vectors of one type"));
            }
            Ok(Inst::Dot { dst: d.context.value(id)?.row, a: a.row, b: b.row, n, bits })
        }
        Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => wide(d, inst),
        Op::AccessChain | Op::InBoundsAccessChain => access_chain(d, inst, false),
        Op::PtrAccessChain | Op::InBoundsPtrAccessChain => access_chain(d, inst, true),
        Op::Load | Op::Store | Op::CopyMemory | Op::CopyMemorySized => memory(d, inst),
        Op::Subgroup2DBlockLoadINTEL => block2d(d, inst, BlockKind::Load),
        Op::Subgroup2DBlockLoadTransformINTEL => block2d(d, inst, BlockKind::Transform),
        Op::Subgroup2DBlockLoadTransposeINTEL => block2d(d, inst, BlockKind::Transpose),
        Op::Subgroup2DBlockPrefetchINTEL => block2d(d, inst, BlockKind::Prefetch),
        Op::Subgroup2DBlockStoreINTEL => block2d(d, inst, BlockKind::Store),
        Op::SubgroupMatrixMultiplyAccumulateINTEL => dpas(d, inst),
        Op::SubgroupBlockReadINTEL => {
            let (id, ty) = result(inst)?;
            let (bits, n) = block_type(d, ty)?;
            let (ptr, _) = d.context.pointer(inst, 0)?;
            Ok(Inst::BlockRead { dst: d.context.value(id)?.row, ptr, bits, n })
        }
        Op::SubgroupBlockWriteINTEL => {
            let (ptr, _) = d.context.pointer(inst, 0)?;
            let value = d.context.operand(inst, 1)?;
            let (bits, n) = block_type(d, value.ty)?;
            Ok(Inst::BlockWrite { ptr, src: value.row, bits, n })
        }
        Op::SubgroupBlockPrefetchINTEL => {
            let (ptr, _) = d.context.pointer(inst, 0)?;
            let bytes = d.context.integer(operand_id(inst, 1)?)?;
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            Ok(Inst::BlockPrefetch { ptr, bytes })
        }
        Op::ControlBarrierArriveINTEL | Op::ControlBarrierWaitINTEL => {
            const WORKGROUP: u64 = 2;
            match d.context.integer(operand_id(inst, 0)?)? {
                WORKGROUP if op == Op::ControlBarrierArriveINTEL => Ok(Inst::Arrive),
                WORKGROUP => Ok(Inst::Wait),
                other => Err(unsupported(format!("a split barrier of scope {other}"))),
            }
        }
        Op::ControlBarrier => {
            const WORKGROUP: u64 = 2;
            const SUBGROUP: u64 = 3;
            match d.context.integer(operand_id(inst, 0)?)? {
                WORKGROUP => Ok(Inst::Barrier { workgroup: true }),
                SUBGROUP => Ok(Inst::Barrier { workgroup: false }),
                other => Err(unsupported(format!("a barrier of scope {other}"))),
            }
        }
        Op::FunctionCall => call(d, inst),
        Op::Branch => Ok(Inst::Branch(d.target(operand_id(inst, 0)?)?)),
        Op::BranchConditional => {
            let cond = d.context.operand(inst, 0)?;
            if *d.context.types.get(cond.ty)? != Type::Bool {
                return Err(malformed("the condition of a branch is not a bool"));
            }
            let (yes, no) = (operand_id(inst, 1)?, operand_id(inst, 2)?);
            let structured = d.merges || d.exits.contains(&yes) || d.exits.contains(&no);
            Ok(Inst::BranchIf { cond: cond.row, then: d.target(yes)?, other: d.target(no)?, structured })
        }
        Op::Switch => switch(d, inst),
        Op::Return => {
            if *d.context.types.get(d.returns)? != Type::Void {
                return Err(malformed("OpReturn in a function that returns a value"));
            }
            Ok(Inst::Return)
        }
        Op::ReturnValue => {
            let value = d.context.operand_of(inst, 0, d.returns)?;
            Ok(Inst::ReturnValue { src: value.row })
        }
        Op::Unreachable => Ok(Inst::Unreachable),
        op if atomic_kind(op).is_some() => atomic(d, inst),
        op if crate::decode_group::is_group(op) => crate::decode_group::decode(d, inst),
        other => Err(unsupported(format!("Op{other:?}"))),
    }
}

/// Copies and casts that keep the bits.
fn cast(d: &mut Decoder<'_>, inst: &Instruction) -> Result<Inst, Fault> {
    let (id, ty) = result(inst)?;
    let value = d.context.operand(inst, 0)?;
    let dst = d.context.value(id)?.row;
    let types = &d.context.types;
    if inst.class.opcode == Op::CopyObject {
        if value.ty != ty {
            return Err(malformed("OpCopyObject changes the type"));
        }
        return Ok(copy(dst, value.row, types.rows(ty)?));
    }
    let ((from, n), (to, m)) = (types.shape(value.ty)?, types.shape(ty)?);
    let bits = u32::from(from) * u32::from(n);
    if bits != u32::from(to) * u32::from(m) || from == 1 {
        return Err(malformed(format!("a cast from {n} x {from} to {m} x {to} bits")));
    }
    if from == to {
        return Ok(copy(dst, value.row, types.rows(ty)?));
    }
    Ok(Inst::Repack { dst, src: value.row, from, to, bytes: bits / 8 })
}

fn composite(d: &mut Decoder<'_>, inst: &Instruction) -> Result<Inst, Fault> {
    let (id, ty) = result(inst)?;
    let c = &d.context;
    let types = &c.types;
    let dst = c.value(id)?.row;
    let total = types.rows(ty)?;
    let wrong = |what: &str| malformed(what.to_string());
    // Follows literal indices down a type: row inside the value and type of the member.
    let walk = |mut ty: u32, from: usize| -> Result<(u32, u32), Fault> {
        let mut row = 0;
        for i in from..inst.operands.len() {
            let index = u64::from(literal(inst, i)?);
            row += types.member_row(ty, index)?;
            ty = types.member(ty, index)?;
        }
        Ok((row, ty))
    };
    match inst.class.opcode {
        Op::CompositeConstruct => {
            let mut rows = Vec::with_capacity(total as usize);
            let vector = matches!(types.get(ty)?, Type::Vector(..));
            for i in 0..inst.operands.len() {
                let value = c.operand(inst, i)?;
                let fits = if vector {
                    types.components(value.ty)?.0 == types.components(ty)?.0
                } else {
                    types.member(ty, i as u64)? == value.ty
                };
                if !fits {
                    return Err(wrong("a constituent does not fit the composite's type"));
                }
                rows.extend(value.row..value.row + types.rows(value.ty)?);
            }
            if rows.len() != total as usize {
                return Err(wrong("constituents do not fill the composite"));
            }
            Ok(Inst::Gather { dst, rows: rows.into() })
        }
        Op::CompositeExtract => {
            let value = c.operand(inst, 0)?;
            let (row, member) = walk(value.ty, 1)?;
            if member != ty {
                return Err(wrong("OpCompositeExtract of another type than its result"));
            }
            Ok(copy(dst, value.row + row, total))
        }
        Op::CompositeInsert => {
            let (object, base) = (c.operand(inst, 0)?, c.operand_of(inst, 1, ty)?);
            let (row, member) = walk(ty, 2)?;
            if member != object.ty {
                return Err(wrong("OpCompositeInsert of another type than the member"));
            }
            let n = types.rows(member)?;
            let rows = (0..total)
                .map(|i| if (row..row + n).contains(&i) { object.row + i - row } else { base.row + i })
                .collect();
            Ok(Inst::Gather { dst, rows })
        }
        Op::VectorShuffle => {
            let (a, b) = (c.operand(inst, 0)?, c.operand(inst, 1)?);
            let ((bits, n), (bits_b, m)) = (types.shape(a.ty)?, types.shape(b.ty)?);
            let (out, count) = types.shape(ty)?;
            if bits != bits_b || bits != out || usize::from(count) + 2 != inst.operands.len() {
                return Err(wrong("OpVectorShuffle with operands that do not match"));
            }
            let step = scalar_rows(bits);
            let mut rows = Vec::new();
            for i in 2..inst.operands.len() {
                let index = literal(inst, i)?;
                let from = match index {
                    // An undefined component takes any value.
                    u32::MAX => a.row,
                    i if i < u32::from(n) => a.row + i * step,
                    i if i < u32::from(n) + u32::from(m) => b.row + (i - u32::from(n)) * step,
                    _ => return Err(wrong("a component number past both vectors")),
                };
                rows.extend(from..from + step);
            }
            Ok(Inst::Gather { dst, rows: rows.into() })
        }
        Op::VectorExtractDynamic => {
            let vector = c.operand(inst, 0)?;
            let (index, index_bits) = c.index(inst, 1)?;
            let (element, n) = types.components(vector.ty)?;
            if element != ty || element == vector.ty {
                return Err(wrong("OpVectorExtractDynamic of another type than its result"));
            }
            let bits = types.scalar_bits(ty)?;
            Ok(Inst::ExtractDynamic { dst, vector: vector.row, index, bits, index_bits, n })
        }
        _ => {
            let vector = c.operand_of(inst, 0, ty)?;
            let (element, n) = types.components(ty)?;
            let value = c.operand_of(inst, 1, element)?;
            let (index, index_bits) = c.index(inst, 2)?;
            let bits = types.scalar_bits(element)?;
            let (vector, value) = (vector.row, value.row);
            Ok(Inst::InsertDynamic { dst, vector, value, index, bits, index_bits, n })
        }
    }
}

fn select(d: &mut Decoder<'_>, inst: &Instruction) -> Result<Inst, Fault> {
    let (id, ty) = result(inst)?;
    let c = &d.context;
    let cond = c.operand(inst, 0)?;
    let (a, b) = (c.operand_of(inst, 1, ty)?, c.operand_of(inst, 2, ty)?);
    let (bits, count) = c.types.shape(cond.ty)?;
    let rows = c.types.rows(ty)?;
    let n = if count == 1 { 1 } else { c.types.components(ty)?.1 };
    if bits != 1 || (count != 1 && count != n) {
        return Err(malformed("the condition of OpSelect does not fit"));
    }
    let rows = rows / u32::from(n);
    Ok(Inst::Select { dst: c.value(id)?.row, cond: cond.row, step: 1, a: a.row, b: b.row, n, rows })
}

fn wide(d: &mut Decoder<'_>, inst: &Instruction) -> Result<Inst, Fault> {
    let (id, ty) = result(inst)?;
    let c = &d.context;
    let (a, b) = (c.operand(inst, 0)?, c.operand(inst, 1)?);
    let (bits, n) = c.types.shape(a.ty)?;
    if a.ty != b.ty || c.types.member(ty, 0)? != a.ty || c.types.member(ty, 1)? != a.ty {
        return Err(malformed("operands and members of the result are not of one type"));
    }
    let kind = match inst.class.opcode {
        Op::IAddCarry => Wide::AddCarry,
        Op::ISubBorrow => Wide::SubBorrow,
        Op::UMulExtended => Wide::UMul,
        _ => Wide::SMul,
    };
    Ok(Inst::Wide { kind, dst: c.value(id)?.row, a: a.row, b: b.row, n, bits })
}

fn access_chain(d: &mut Decoder<'_>, inst: &Instruction, element: bool) -> Result<Inst, Fault> {
    let (id, ty) = result(inst)?;
    let c = &d.context;
    let types = &c.types;
    let base = c.operand(inst, 0)?;
    let (class, mut at) = types.pointee(base.ty)?;
    let (mut offset, mut members, mut dynamic) = (0u64, 0u64, Vec::new());
    let mut step = |index: usize, stride: u64| -> Result<(), Fault> {
        let (row, bits) = c.index(inst, index)?;
        match c.integer(operand_id(inst, index)?) {
            Ok(value) => {
                let value = crate::alu::signed(value & mask_of(bits), bits) as u64;
                offset = offset.wrapping_add(value.wrapping_mul(stride));
            }
            Err(_) => dynamic.push(DynamicIndex { row, bits, stride }),
        }
        Ok(())
    };
    let first = if element {
        let stride = match types.strides.get(&base.ty) {
            Some(stride) => u64::from(*stride),
            None => types.stride(at)?,
        };
        step(1, stride)?;
        2
    } else {
        1
    };
    for index in first..inst.operands.len() {
        match types.get(at)?.clone() {
            Type::Struct { .. } => {
                let member = c.integer(operand_id(inst, index)?)?;
                members = members.wrapping_add(types.member_offset(at, member)?);
                at = types.member(at, member)?;
            }
            Type::Vector(inner, _) => {
                step(index, types.size(inner)?)?;
                at = inner;
            }
            Type::Array(inner, _) => {
                step(index, types.stride(inner)?)?;
                at = inner;
            }
            other => return Err(malformed(format!("an index into {other:?}"))),
        }
    }
    if types.pointee(ty)? != (class, at) {
        return Err(malformed("an access chain that ends at another type than its result's"));
    }
    Ok(Inst::Access {
        dst: c.value(id)?.row,
        base: base.row,
        offset: offset.wrapping_add(members),
        dynamic: dynamic.into(),
    })
}

/// The alignment an access promises: its `Aligned` operand, else the type's own.
fn alignment(inst: &Instruction, from: usize, natural: u32) -> Result<u32, Fault> {
    let Some(Operand::MemoryAccess(access)) = inst.operands.get(from) else { return Ok(natural) };
    if !access.contains(MemoryAccess::ALIGNED) {
        return Ok(natural);
    }
    let align = literal(inst, from + 1)?;
    if !align.is_power_of_two() {
        return Err(malformed(format!("an alignment of {align}")));
    }
    Ok(align)
}

fn memory(d: &mut Decoder<'_>, inst: &Instruction) -> Result<Inst, Fault> {
    match inst.class.opcode {
        Op::Load => {
            let (id, ty) = result(inst)?;
            let (ptr, pointee) = d.context.pointer(inst, 0)?;
            if pointee != ty {
                return Err(malformed("a load of another type than the pointer's"));
            }
            let layout = d.context.layout(ty)?;
            let align = alignment(inst, 1, d.context.code.layouts[layout as usize].align)?;
            Ok(Inst::Load { dst: d.context.value(id)?.row, ptr, layout, align })
        }
        Op::Store => {
            let (ptr, pointee) = d.context.pointer(inst, 0)?;
            let value = d.context.operand_of(inst, 1, pointee)?;
            let layout = d.context.layout(pointee)?;
            let align = alignment(inst, 2, d.context.code.layouts[layout as usize].align)?;
            Ok(Inst::Store { ptr, src: value.row, layout, align })
        }
        copied => {
            let ((to, a), (from, b)) = (d.context.pointer(inst, 0)?, d.context.pointer(inst, 1)?);
            let (size, align, next) = if copied == Op::CopyMemory {
                if a != b {
                    return Err(malformed("OpCopyMemory between pointers of different types"));
                }
                let (size, align) = d.context.types.size_align(a)?;
                (size, align as u32, 2)
            } else {
                (d.context.integer(operand_id(inst, 2)?)?, 1, 3)
            };
            if size > 1 << 16 {
                return Err(unsupported(format!("a memory copy of {size} bytes")));
            }
            Ok(Inst::CopyMemory { to, from, size, align: alignment(inst, next, align)? })
        }
    }
}

fn block2d(d: &mut Decoder<'_>, inst: &Instruction, kind: BlockKind) -> Result<Inst, Fault> {
    let c = &d.context;
    let constant = |i: usize| -> Result<u32, Fault> {
        let value = c.integer(operand_id(inst, i)?)?;
        u32::try_from(value).map_err(|_| broken(Rule::BlockShape, format!("a dimension of {value}")))
    };
    let (esz, w, h, blocks) = (constant(0)?, constant(1)?, constant(2)?, constant(3)?);
    if ![Hardware::Pvc, Hardware::Xe2, Hardware::Cri]
        .iter()
        .any(|hw| shapes::exists(*hw, kind, esz, w, h, blocks))
    {
        return Err(broken(
            Rule::BlockShape,
            format!(
                "{kind:?} of {esz}-byte elements, width {w}, height {h}, count {blocks}, on any hardware"
            ),
        ));
    }
    let word = |i: usize| -> Result<u32, Fault> {
        match c.index(inst, i)? {
            (row, 32) => Ok(row),
            (_, bits) => Err(malformed(format!("operand {i} is a {bits}-bit integer, not 32 bits"))),
        }
    };
    // A store has its data pointer before the surface, a load after the coordinates.
    let (data, base) = match kind {
        BlockKind::Store => (Some(4), 5),
        BlockKind::Prefetch => (None, 4),
        _ => (Some(9), 4),
    };
    let data = data.map(|i| c.pointer(inst, i)).transpose()?.map(|(row, _)| row);
    let (base_row, _) = c.pointer(inst, base)?;
    let coord = c.operand(inst, base + 4)?;
    let (coord_bits, n) = c.types.shape(coord.ty)?;
    if n != 2 || !c.types.is_int(coord.ty)? || coord_bits < 32 {
        return Err(malformed("coordinates are not a vector of two 32-bit integers"));
    }
    Ok(Inst::Block2d(Box::new(Block2d {
        kind,
        esz,
        w,
        h,
        c: blocks,
        base: base_row,
        width: word(base + 1)?,
        height: word(base + 2)?,
        pitch: word(base + 3)?,
        x: coord.row,
        y: coord.row + scalar_rows(coord_bits),
        coord_bits,
        data,
    })))
}

fn dpas(d: &mut Decoder<'_>, inst: &Instruction) -> Result<Inst, Fault> {
    let (id, ty) = result(inst)?;
    let c = &d.context;
    let k = c.integer(operand_id(inst, 0)?)?;
    let values = [c.operand(inst, 1)?, c.operand(inst, 2)?, c.operand(inst, 3)?, c.value(id)?];
    let mut shapes = [(0, false, 0); 4];
    for (shape, value) in shapes.iter_mut().zip(values) {
        let (bits, n) = c.types.shape(value.ty)?;
        *shape = (bits, c.types.is_float(value.ty)?, n);
    }
    let flags = match inst.operands.get(4) {
        Some(Operand::MatrixMultiplyAccumulateOperands(flags)) => flags.bits(),
        _ => 0,
    };
    if c.types.pointee(ty).is_ok() {
        return Err(malformed("a matrix of pointers"));
    }
    let (input, acc, m) = dpas::classify(k, shapes, flags)?;
    let [a, b, acc_in, out] = values.map(|v| v.row);
    Ok(Inst::Dpas(Box::new(Dpas { input, acc, m, a, b, c: acc_in, dst: out })))
}

/// Element width and count of a type that sub-group block reads take.
fn block_type(d: &Decoder<'_>, ty: u32) -> Result<(u8, u8), Fault> {
    if !d.context.types.is_int(ty)? {
        return Err(malformed("sub-group block reads and writes take integers"));
    }
    d.context.types.shape(ty)
}

fn call(d: &mut Decoder<'_>, inst: &Instruction) -> Result<Inst, Fault> {
    let (id, ty) = result(inst)?;
    let callee = operand_id(inst, 0)?;
    let (index, function) =
        d.context.functions.get(&callee).copied().ok_or_else(|| malformed(format!("a call of %{callee}")))?;
    let Type::Function { result: returned, params } = d.context.types.get(function)?.clone() else {
        return Err(malformed(format!("%{function} is not a function type")));
    };
    if returned != ty || params.len() + 1 != inst.operands.len() {
        return Err(malformed("a call does not match the function's type"));
    }
    let mut args = Vec::new();
    for (i, param) in params.iter().enumerate() {
        let value = d.context.operand_of(inst, i + 1, *param)?;
        args.push((value.row, d.context.types.rows(*param)?));
    }
    let rows = d.context.types.rows(ty)?;
    let dst = if rows == 0 { 0 } else { d.context.value(id)?.row };
    d.callees.push(index);
    Ok(Inst::Call { callee: index, args: args.into(), dst, rows })
}

fn switch(d: &mut Decoder<'_>, inst: &Instruction) -> Result<Inst, Fault> {
    let (selector, bits) = d.context.index(inst, 0)?;
    let default = d.target(operand_id(inst, 1)?)?;
    let mut cases = Vec::new();
    let mut exits = d.exits.contains(&operand_id(inst, 1)?);
    for pair in inst.operands[2..].chunks(2) {
        let (value, label) = match pair {
            [Operand::LiteralBit32(value), Operand::IdRef(label)] if bits <= 32 => (u64::from(*value), label),
            [Operand::LiteralBit64(value), Operand::IdRef(label)] if bits == 64 => (*value, label),
            _ => return Err(malformed("a case without a literal of the selector's width and a label")),
        };
        exits |= d.exits.contains(label);
        cases.push((value & mask_of(bits), d.target(*label)?));
    }
    Ok(Inst::Switch { selector, bits, default, cases: cases.into(), structured: d.merges || exits })
}

fn atomic_kind(op: Op) -> Option<AtomicKind> {
    Some(match op {
        Op::AtomicLoad => AtomicKind::Load,
        Op::AtomicStore => AtomicKind::Store,
        Op::AtomicExchange => AtomicKind::Exchange,
        Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => AtomicKind::CompareExchange,
        Op::AtomicIIncrement | Op::AtomicIAdd => AtomicKind::Add,
        Op::AtomicIDecrement | Op::AtomicISub => AtomicKind::Sub,
        Op::AtomicSMin => AtomicKind::SMin,
        Op::AtomicUMin => AtomicKind::UMin,
        Op::AtomicSMax => AtomicKind::SMax,
        Op::AtomicUMax => AtomicKind::UMax,
        Op::AtomicAnd => AtomicKind::And,
        Op::AtomicOr => AtomicKind::Or,
        Op::AtomicXor => AtomicKind::Xor,
        Op::AtomicFAddEXT => AtomicKind::FAdd,
        Op::AtomicFMinEXT => AtomicKind::FMin,
        Op::AtomicFMaxEXT => AtomicKind::FMax,
        _ => return None,
    })
}

fn atomic(d: &mut Decoder<'_>, inst: &Instruction) -> Result<Inst, Fault> {
    let op = inst.class.opcode;
    let kind = atomic_kind(op).ok_or_else(|| unsupported(format!("Op{op:?}")))?;
    let (ptr, pointee) = d.context.pointer(inst, 0)?;
    let bits = d.context.types.scalar_bits(pointee)?;
    if bits < 16 {
        return Err(malformed(format!("an atomic on {bits} bits")));
    }
    let float = matches!(kind, AtomicKind::FAdd | AtomicKind::FMin | AtomicKind::FMax);
    if float != d.context.types.is_float(pointee)?
        && !matches!(kind, AtomicKind::Load | AtomicKind::Store | AtomicKind::Exchange)
    {
        return Err(malformed("an atomic on the wrong kind of number"));
    }
    let dst = match inst.result_id {
        Some(id) if inst.result_type == Some(pointee) => Some(d.context.value(id)?.row),
        Some(_) => return Err(malformed("an atomic whose result is not of the pointer's type")),
        None => None,
    };
    let (value, comparator) = match op {
        Op::AtomicLoad => (None, None),
        Op::AtomicIIncrement | Op::AtomicIDecrement => (Some(d.context.one_row()), None),
        Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => (
            Some(d.context.operand_of(inst, 4, pointee)?.row),
            Some(d.context.operand_of(inst, 5, pointee)?.row),
        ),
        _ => (Some(d.context.operand_of(inst, 3, pointee)?.row), None),
    };
    Ok(Inst::Atomic(Box::new(Atomic { kind, bits, dst, ptr, value, comparator })))
}

/// Builds the group operation of a reduction or scan.
pub(crate) fn combine(
    op: Combine,
    operation: GroupOperation,
    identity: u64,
    cluster: Option<u64>,
) -> Result<GroupKind, Fault> {
    let scan = match operation {
        GroupOperation::Reduce => Scan::Reduce,
        GroupOperation::InclusiveScan => Scan::Inclusive,
        GroupOperation::ExclusiveScan => Scan::Exclusive,
        GroupOperation::ClusteredReduce => match cluster {
            Some(size @ (1 | 2 | 4 | 8 | 16)) => Scan::Clustered(size as u32),
            other => return Err(malformed(format!("a cluster of {other:?} lanes"))),
        },
        other => return Err(unsupported(format!("group operation {other:?}"))),
    };
    Ok(GroupKind::Combine { op, scan, identity })
}

/// A default group operation, to be filled in.
pub(crate) fn group(kind: GroupKind, nonuniform: bool, dst: u32, src: u32, bits: u8, n: u8) -> GroupOp {
    GroupOp { kind, nonuniform, bits, n, dst, src, second: src, index: None }
}
