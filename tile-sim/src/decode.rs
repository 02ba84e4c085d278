//! What decoding knows about ids: types, values, constants; and access to operands.
//!
//! *Guarantees*: the same constant bits share a row; row numbers handed out lie inside the register file.
//! *Not here*: function bodies (`functions`, `instructions`).

use crate::error::{Fault, Rule, broken, malformed, unsupported};
use crate::inst::Inst;
use crate::lanes::POISON;
use crate::module::{Code, Decorations};
use crate::requirements::Declared;
use crate::types::{Type, TypeId, Types};
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{BuiltIn, Op};
use std::collections::HashMap;

/// Most register rows of a module (8 MiB per sub-group, of which a work-group with barriers has up to 128).
const MAX_ROWS: u32 = 1 << 17;

/// Where a value lives and what it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) row: u32,
    pub(crate) ty: TypeId,
}

/// The state of a parse.
#[derive(Default)]
pub(crate) struct Context {
    pub(crate) declared: Declared,
    pub(crate) types: Types,
    /// Global values, and those of the function being decoded.
    pub(crate) values: HashMap<u32, Value>,
    pub(crate) decorations: HashMap<u32, Decorations>,
    pub(crate) imports: HashMap<u32, String>,
    pub(crate) debug_names: HashMap<u32, String>,
    /// Function id to index and type.
    pub(crate) functions: HashMap<u32, (u32, TypeId)>,
    pub(crate) code: Code,
    layouts: HashMap<TypeId, u32>,
    names: HashMap<String, u16>,
}

/// The id in operand `index`.
pub(crate) fn operand_id(inst: &Instruction, index: usize) -> Result<u32, Fault> {
    match inst.operands.get(index) {
        Some(Operand::IdRef(id) | Operand::IdScope(id) | Operand::IdMemorySemantics(id)) => Ok(*id),
        _ => Err(malformed(format!("operand {index} is not an id"))),
    }
}

/// The 32-bit literal in operand `index`.
pub(crate) fn literal(inst: &Instruction, index: usize) -> Result<u32, Fault> {
    match inst.operands.get(index) {
        Some(Operand::LiteralBit32(value) | Operand::LiteralExtInstInteger(value)) => Ok(*value),
        _ => Err(malformed(format!("operand {index} is not a literal"))),
    }
}

/// Result id and type of an instruction that has both.
pub(crate) fn result(inst: &Instruction) -> Result<(u32, TypeId), Fault> {
    inst.result_id.zip(inst.result_type).ok_or_else(|| malformed("an instruction without a result"))
}

impl Context {
    /// A parse that starts with the two constants every module has.
    pub(crate) fn new() -> Context {
        let mut context = Context::default();
        context.code.constants = vec![0, 0, 1, 0];
        context
    }

    /// A scalar of any width with value 0.
    pub(crate) fn zero_row(&self) -> u32 {
        0
    }

    /// A scalar of any width with value 1.
    pub(crate) fn one_row(&self) -> u32 {
        2
    }

    /// Adds a value whose rows hold `rows`, uniform and fixed.
    pub(crate) fn define_constant(&mut self, id: u32, ty: TypeId, rows: &[u32]) -> Result<(), Fault> {
        if self.types.rows(ty)? as usize != rows.len() {
            return Err(malformed(format!("constant %{id} does not fit its type")));
        }
        let row = self.code.constants.len() as u32;
        self.code.constants.extend_from_slice(rows);
        self.check_rows(self.code.constants.len() as u32)?;
        self.insert(id, Value { row, ty })
    }

    pub(crate) fn check_rows(&self, rows: u32) -> Result<(), Fault> {
        if rows > MAX_ROWS {
            return Err(unsupported(format!("a module that needs {rows} register rows")));
        }
        Ok(())
    }

    pub(crate) fn insert(&mut self, id: u32, value: Value) -> Result<(), Fault> {
        if self.values.insert(id, value).is_some() {
            return Err(malformed(format!("%{id} is defined twice")));
        }
        Ok(())
    }

    /// Takes in a constant instruction.
    pub(crate) fn constant(&mut self, inst: &Instruction) -> Result<(), Fault> {
        let (id, ty) = result(inst)?;
        let n = self.types.rows(ty)? as usize;
        let rows: Vec<u32> = match inst.class.opcode {
            Op::ConstantTrue | Op::SpecConstantTrue => vec![1],
            Op::ConstantFalse | Op::SpecConstantFalse => vec![0],
            Op::ConstantNull => vec![0; n],
            Op::Undef => vec![POISON & self.scalar_mask(ty)?; n],
            Op::Constant | Op::SpecConstant => match inst.operands.first() {
                Some(Operand::LiteralBit32(value)) => vec![value & self.scalar_mask(ty)?],
                Some(Operand::LiteralBit64(value)) => vec![*value as u32, (value >> 32) as u32],
                _ => return Err(malformed("a constant without a value")),
            },
            Op::ConstantComposite | Op::SpecConstantComposite => {
                let members = self.types.member_count(ty)?;
                if members != inst.operands.len() as u64 {
                    return Err(malformed(format!("{} members for {members}", inst.operands.len())));
                }
                let mut rows = Vec::with_capacity(n);
                for i in 0..inst.operands.len() {
                    let value = self.value(operand_id(inst, i)?)?;
                    if value.ty != self.types.member(ty, i as u64)? {
                        return Err(malformed(format!("member {i} is not of the composite's type")));
                    }
                    let (row, n) = (value.row as usize, self.types.rows(value.ty)? as usize);
                    let part = self.code.constants.get(row..row + n);
                    rows.extend_from_slice(
                        part.ok_or_else(|| malformed(format!("member {i} is not constant")))?,
                    );
                }
                rows
            }
            other => return Err(unsupported(format!("Op{other:?}"))),
        };
        // The work-group size may also come as a decorated constant.
        if self.decorations.get(&id).is_some_and(|d| d.builtin == Some(BuiltIn::WorkgroupSize)) {
            return Err(unsupported("a WorkgroupSize constant"));
        }
        self.define_constant(id, ty, &rows)
    }

    /// Bits that a scalar of fewer than 32 bits keeps in its row; all bits for other types.
    fn scalar_mask(&self, ty: TypeId) -> Result<u32, Fault> {
        Ok(match self.types.get(ty)? {
            Type::Int(bits) | Type::Float(bits) if *bits < 32 => (1 << bits) - 1,
            Type::Bool => 1,
            _ => u32::MAX,
        })
    }

    /// The value of an integer constant.
    pub(crate) fn integer(&self, id: u32) -> Result<u64, Fault> {
        let value = self.value(id)?;
        let row = value.row as usize;
        let Type::Int(bits) = self.types.get(value.ty)? else {
            return Err(malformed(format!("%{id} is not an integer")));
        };
        let low = self.code.constants.get(row).copied();
        let low = low.ok_or_else(|| broken(Rule::ConstantOperand, format!("%{id} is not a constant")))?;
        let high = if *bits == 64 { self.code.constants.get(row + 1).copied().unwrap_or(0) } else { 0 };
        Ok(u64::from(low) | u64::from(high) << 32)
    }

    /// The index of a type's layout.
    pub(crate) fn layout(&mut self, ty: TypeId) -> Result<u32, Fault> {
        if let Some(index) = self.layouts.get(&ty) {
            return Ok(*index);
        }
        let layout = self.types.layout(ty)?;
        let index = self.code.layouts.len() as u32;
        self.code.layouts.push(layout);
        self.layouts.insert(ty, index);
        Ok(index)
    }

    /// The index of an instruction name.
    pub(crate) fn name(&mut self, name: String) -> Result<u16, Fault> {
        if let Some(index) = self.names.get(&name) {
            return Ok(*index);
        }
        let index =
            u16::try_from(self.code.names.len()).map_err(|_| unsupported("65536 instruction names"))?;
        self.code.names.push(name.clone());
        self.names.insert(name, index);
        Ok(index)
    }

    /// The type of a value operand.
    pub(crate) fn operand(&self, inst: &Instruction, index: usize) -> Result<Value, Fault> {
        self.value(operand_id(inst, index)?)
    }

    /// An operand that must be of a given type.
    pub(crate) fn operand_of(&self, inst: &Instruction, index: usize, ty: TypeId) -> Result<Value, Fault> {
        let value = self.operand(inst, index)?;
        if value.ty != ty {
            return Err(malformed(format!("operand {index} has type %{}, not %{ty}", value.ty)));
        }
        Ok(value)
    }

    /// A scalar integer operand: row and bits.
    pub(crate) fn index(&self, inst: &Instruction, index: usize) -> Result<(u32, u8), Fault> {
        let value = self.operand(inst, index)?;
        match self.types.get(value.ty)? {
            Type::Int(bits) => Ok((value.row, *bits)),
            _ => Err(malformed(format!("operand {index} is not an integer"))),
        }
    }

    /// A pointer operand: row and pointee type.
    pub(crate) fn pointer(&self, inst: &Instruction, index: usize) -> Result<(u32, TypeId), Fault> {
        let value = self.operand(inst, index)?;
        let (_, pointee) = self.types.pointee(value.ty)?;
        Ok((value.row, pointee))
    }
}

/// A copy, or nothing if source and destination are the same rows.
pub(crate) fn copy(dst: u32, src: u32, n: u32) -> Inst {
    if n == 0 || dst == src { Inst::Nop } else { Inst::Copy { dst, src, n } }
}
