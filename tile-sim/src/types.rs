//! SPIR-V types as the interpreter needs them: register rows, memory size, alignment, scalar layout.
//!
//! *Assumes*: ids come from one module, types are declared before use.
//! *Guarantees*: sizes do not overflow and a value has at most [`MAX_SCALARS`] scalars, so that a hostile
//! module cannot ask for endless registers.
//! *Not here*: which capability a type needs (`requirements`).

use crate::error::{Fault, malformed, unsupported};
use rspirv::spirv::StorageClass;
use std::collections::HashMap;

/// Largest number of scalars in one SSA value.
pub(crate) const MAX_SCALARS: u64 = 4096;
/// Largest size in bytes of one type (an array variable).
const MAX_BYTES: u64 = 1 << 26;

/// A type id of the module.
pub(crate) type TypeId = u32;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    Void,
    Bool,
    Int(u8),
    Float(u8),
    Vector(TypeId, u8),
    Array(TypeId, u64),
    Struct { members: Vec<TypeId>, packed: bool },
    Pointer { class: StorageClass, pointee: TypeId },
    Function { result: TypeId, params: Vec<TypeId> },
}

/// One scalar of a type: where it is in memory and in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) offset: u32,
    pub(crate) bits: u8,
    pub(crate) row: u32,
}

/// How a value of a type moves between memory and registers.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) size: u32,
    pub(crate) align: u32,
    pub(crate) slots: Vec<Slot>,
}

/// Rows of registers that a scalar of `bits` takes (a row holds 32 bits of 16 lanes).
pub(crate) fn scalar_rows(bits: u8) -> u32 {
    if bits == 64 { 2 } else { 1 }
}

/// Size, alignment and register rows of a type, computed once so that nested types cost no recursion.
#[derive(Clone, Copy, Debug, Default)]
struct Measure {
    /// Bytes and alignment in bytes; `None` for void and function types.
    bytes: Option<(u64, u64)>,
    rows: u64,
}

#[derive(Default, Debug)]
pub(crate) struct Types {
    map: HashMap<TypeId, (Type, Measure)>,
    /// `ArrayStride` decorations on pointer types, in bytes.
    pub(crate) strides: HashMap<TypeId, u32>,
}

impl Types {
    /// Adds a type whose parts were added before.
    pub(crate) fn insert(&mut self, id: TypeId, ty: Type) -> Result<(), Fault> {
        let measure = self.measure(id, &ty)?;
        if self.map.insert(id, (ty, measure)).is_some() {
            return Err(malformed(format!("%{id} is defined twice")));
        }
        Ok(())
    }

    fn measure(&self, id: TypeId, ty: &Type) -> Result<Measure, Fault> {
        let part = |part: TypeId| -> Result<(u64, u64, u64), Fault> {
            let Some((_, m)) = self.map.get(&part) else {
                return Err(malformed(format!("%{part} is not a type")));
            };
            let Some((size, align)) = m.bytes else {
                return Err(malformed(format!("type %{part} cannot be part of type %{id}")));
            };
            Ok((size, align, m.rows))
        };
        let (size, align, rows) = match ty {
            Type::Bool => (1, 1, 1),
            Type::Int(bits) | Type::Float(bits) => {
                let bytes = u64::from(bits / 8);
                (bytes, bytes, u64::from(scalar_rows(*bits)))
            }
            Type::Pointer { .. } => (8, 8, 2),
            Type::Vector(element, n) => {
                let (size, _, rows) = part(*element)?;
                let size = size * u64::from(*n).next_power_of_two();
                (size, size, rows * u64::from(*n))
            }
            Type::Array(element, n) => {
                let (size, align, rows) = part(*element)?;
                let stride = size.next_multiple_of(align);
                (stride.saturating_mul(*n), align, rows.saturating_mul(*n))
            }
            Type::Struct { members, packed } => {
                let (mut end, mut most, mut sum) = (0u64, 1u64, 0u64);
                for member in members {
                    let (size, align, rows) = part(*member)?;
                    let align = if *packed { 1 } else { align };
                    most = most.max(align);
                    end = (end.next_multiple_of(align) + size).min(MAX_BYTES + 1);
                    sum = sum.saturating_add(rows);
                }
                (end.next_multiple_of(most), most, sum)
            }
            Type::Void | Type::Function { .. } => return Ok(Measure::default()),
        };
        if size > MAX_BYTES {
            return Err(unsupported(format!("type %{id} has {size} bytes, more than {MAX_BYTES}")));
        }
        Ok(Measure { bytes: Some((size, align)), rows })
    }

    pub(crate) fn get(&self, id: TypeId) -> Result<&Type, Fault> {
        self.entry(id).map(|(ty, _)| ty)
    }

    fn entry(&self, id: TypeId) -> Result<&(Type, Measure), Fault> {
        self.map.get(&id).ok_or_else(|| malformed(format!("%{id} is not a type")))
    }

    /// Bits of a scalar type; `Bool` counts as 1, a pointer as 64.
    pub(crate) fn scalar_bits(&self, id: TypeId) -> Result<u8, Fault> {
        match self.get(id)? {
            Type::Bool => Ok(1),
            Type::Int(bits) | Type::Float(bits) => Ok(*bits),
            Type::Pointer { .. } => Ok(64),
            other => Err(malformed(format!("%{id} is {other:?}, not a scalar type"))),
        }
    }

    /// Scalar type and component count of a scalar or vector type.
    pub(crate) fn components(&self, id: TypeId) -> Result<(TypeId, u8), Fault> {
        match self.get(id)? {
            Type::Vector(element, n) => Ok((*element, *n)),
            Type::Bool | Type::Int(_) | Type::Float(_) | Type::Pointer { .. } => Ok((id, 1)),
            other => Err(malformed(format!("%{id} is {other:?}, not a scalar or vector type"))),
        }
    }

    /// Bits and component count of a scalar or vector type.
    pub(crate) fn shape(&self, id: TypeId) -> Result<(u8, u8), Fault> {
        let (element, n) = self.components(id)?;
        Ok((self.scalar_bits(element)?, n))
    }

    pub(crate) fn is_float(&self, id: TypeId) -> Result<bool, Fault> {
        let (element, _) = self.components(id)?;
        Ok(matches!(self.get(element)?, Type::Float(_)))
    }

    pub(crate) fn is_int(&self, id: TypeId) -> Result<bool, Fault> {
        let (element, _) = self.components(id)?;
        Ok(matches!(self.get(element)?, Type::Int(_)))
    }

    pub(crate) fn pointee(&self, id: TypeId) -> Result<(StorageClass, TypeId), Fault> {
        match self.get(id)? {
            Type::Pointer { class, pointee } => Ok((*class, *pointee)),
            other => Err(malformed(format!("%{id} is {other:?}, not a pointer type"))),
        }
    }

    /// Type of component or member `index` of a composite.
    pub(crate) fn member(&self, id: TypeId, index: u64) -> Result<TypeId, Fault> {
        let (member, count) = match self.get(id)? {
            Type::Vector(element, n) => (Some(*element), u64::from(*n)),
            Type::Array(element, n) => (Some(*element), *n),
            Type::Struct { members, .. } => {
                (usize::try_from(index).ok().and_then(|i| members.get(i)).copied(), members.len() as u64)
            }
            other => return Err(malformed(format!("%{id} is {other:?}, not a composite type"))),
        };
        match member {
            Some(member) if index < count => Ok(member),
            _ => Err(malformed(format!("index {index} of type %{id}, which has {count} members"))),
        }
    }

    /// Number of members of a composite.
    pub(crate) fn member_count(&self, id: TypeId) -> Result<u64, Fault> {
        match self.get(id)? {
            Type::Vector(_, n) => Ok(u64::from(*n)),
            Type::Array(_, n) => Ok(*n),
            Type::Struct { members, .. } => Ok(members.len() as u64),
            other => Err(malformed(format!("%{id} is {other:?}, not a composite type"))),
        }
    }

    /// Size in bytes.
    pub(crate) fn size(&self, id: TypeId) -> Result<u64, Fault> {
        Ok(self.size_align(id)?.0)
    }

    /// Size and alignment in bytes by OpenCL's rules: a 3-vector takes the room of 4 components.
    pub(crate) fn size_align(&self, id: TypeId) -> Result<(u64, u64), Fault> {
        self.entry(id)?.1.bytes.ok_or_else(|| malformed(format!("type %{id} has no size")))
    }

    /// Byte distance of consecutive elements of an array, vector or pointee.
    pub(crate) fn stride(&self, element: TypeId) -> Result<u64, Fault> {
        let (size, align) = self.size_align(element)?;
        Ok(size.next_multiple_of(align))
    }

    /// Byte offset of member `index` of a composite in memory.
    pub(crate) fn member_offset(&self, id: TypeId, index: u64) -> Result<u64, Fault> {
        let member = self.member(id, index)?;
        match self.get(id)? {
            Type::Struct { members, packed } => {
                let mut end = 0u64;
                for (i, m) in members.iter().enumerate() {
                    let (size, align) = self.size_align(*m)?;
                    let at = end.next_multiple_of(if *packed { 1 } else { align });
                    if i as u64 == index {
                        return Ok(at);
                    }
                    end = at + size;
                }
                Err(malformed(format!("index {index} of struct %{id}")))
            }
            Type::Vector(..) => Ok(self.size(member)? * index),
            _ => Ok(self.stride(member)? * index),
        }
    }

    /// Register rows of a value of this type; `Void` has none.
    pub(crate) fn rows(&self, id: TypeId) -> Result<u32, Fault> {
        let (ty, Measure { rows, .. }) = self.entry(id)?;
        if matches!(ty, Type::Function { .. }) {
            return Err(malformed(format!("%{id} is not a value type")));
        }
        match u32::try_from(*rows) {
            Ok(rows) if u64::from(rows) <= 2 * MAX_SCALARS => Ok(rows),
            _ => Err(unsupported(format!("a value of type %{id} takes {rows} register rows"))),
        }
    }

    /// Row of member `index` inside a composite value.
    pub(crate) fn member_row(&self, id: TypeId, index: u64) -> Result<u32, Fault> {
        let member = self.member(id, index)?;
        match self.get(id)? {
            Type::Struct { members, .. } => {
                let mut row = 0;
                for m in members.iter().take(index as usize) {
                    row += self.rows(*m)?;
                }
                Ok(row)
            }
            _ => Ok(self.rows(member)? * index as u32),
        }
    }

    /// Memory and register layout of a value type.
    pub(crate) fn layout(&self, id: TypeId) -> Result<Layout, Fault> {
        self.rows(id)?;
        let (size, align) = self.size_align(id)?;
        let mut slots = Vec::new();
        self.flatten(id, 0, 0, &mut slots)?;
        Ok(Layout { size: size as u32, align: align as u32, slots })
    }

    fn flatten(&self, id: TypeId, offset: u64, row: u32, slots: &mut Vec<Slot>) -> Result<(), Fault> {
        match self.get(id)? {
            Type::Bool => {
                return Err(malformed(format!("OpTypeBool (inside %{id}) has no layout in memory")));
            }
            Type::Int(_) | Type::Float(_) | Type::Pointer { .. } => {
                slots.push(Slot { offset: offset as u32, bits: self.scalar_bits(id)?, row });
            }
            Type::Vector(..) | Type::Array(..) | Type::Struct { .. } => {
                for i in 0..self.member_count(id)? {
                    let member = self.member(id, i)?;
                    let at = offset + self.member_offset(id, i)?;
                    self.flatten(member, at, row + self.member_row(id, i)?, slots)?;
                }
            }
            Type::Void | Type::Function { .. } => {
                return Err(malformed(format!("%{id} is not a value type")));
            }
        }
        Ok(())
    }
}
