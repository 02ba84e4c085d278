//! Loads, stores and atomics through pointers: address spaces, bounds, alignment.
//!
//! Pointers are 64-bit numbers; bits 44 and up name the space. Private memory (Function variables) and
//! built-ins are kept as rows of dwords, one column per lane, so that a uniform address moves whole rows.
//! *Guarantees*: every byte is checked before it is touched; inactive lanes touch nothing.
//! *Not here*: 2-D block messages (`block`), address arithmetic (`subgroup`).

use crate::counters::{Message, Tally, Touches};
use crate::error::{Fault, Rule, broken};
use crate::inst::{Atomic, AtomicKind};
use crate::lanes::{LANES, Lanes, POISON, Row, lanes_of};
use crate::memory::Memory;
use crate::module::Code;
use crate::run::Options;
use crate::shared::SharedMemory;
use crate::types::Layout;
use crate::{alu, convert};

/// Space numbers: an address shifted right by [`SPACE_SHIFT`].
pub(crate) const SPACE_SHIFT: u32 = 44;
pub(crate) const SPACE_PRIVATE: u64 = 5;
pub(crate) const SPACE_SHARED: u64 = 6;
pub(crate) const SPACE_INPUT: u64 = 7;
pub(crate) const SPACE_CONSTANT: u64 = 8;

/// The space an address lies in; everything below [`SPACE_PRIVATE`] is global memory.
pub(crate) fn space(address: u64) -> u64 {
    address >> SPACE_SHIFT
}

/// First address of a space.
pub(crate) const fn space_base(space: u64) -> u64 {
    space << SPACE_SHIFT
}

/// Bytes of private memory that belong to one granule; variables start at one and leave one free.
pub(crate) const GRANULE: u32 = 64;

/// Memory with one column per lane: row `w` holds bytes `4w..4w + 4` of every lane.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) words: Vec<Row>,
}

impl Columns {
    /// Reads `size` bytes at `offset` in every lane.
    pub(crate) fn read(&self, offset: u32, size: u32) -> [u64; LANES] {
        let (word, shift) = ((offset / 4) as usize, offset % 4 * 8);
        let mask = alu::mask_of((size * 8) as u8);
        if shift + size * 8 <= 32 {
            return self.words[word].map(|v| u64::from(v >> shift) & mask);
        }
        std::array::from_fn(|l| self.read_lane(offset, size, l))
    }

    /// Writes `size` bytes at `offset` in every lane.
    pub(crate) fn write(&mut self, offset: u32, size: u32, values: &[u64; LANES]) {
        let (word, shift) = ((offset / 4) as usize, offset % 4 * 8);
        if shift + size * 8 <= 32 {
            let hole = !((alu::mask_of((size * 8) as u8) as u32) << shift);
            for (cell, value) in self.words[word].iter_mut().zip(values) {
                *cell = *cell & hole | (*value as u32) << shift & !hole;
            }
            return;
        }
        for (l, value) in values.iter().enumerate() {
            self.write_lane(offset, size, l, *value);
        }
    }

    pub(crate) fn read_lane(&self, offset: u32, size: u32, lane: usize) -> u64 {
        let mut value = 0;
        for i in 0..size {
            let at = offset + i;
            let byte = self.words[(at / 4) as usize][lane] >> (at % 4 * 8) & 0xff;
            value |= u64::from(byte) << (i * 8);
        }
        value
    }

    pub(crate) fn write_lane(&mut self, offset: u32, size: u32, lane: usize, value: u64) {
        for i in 0..size {
            let at = offset + i;
            let cell = &mut self.words[(at / 4) as usize][lane];
            let shift = at % 4 * 8;
            *cell = *cell & !(0xff << shift) | ((value >> (i * 8)) as u32 & 0xff) << shift;
        }
    }
}

/// Everything a sub-group touches besides its registers.
pub(crate) struct Env<'a> {
    pub(crate) code: &'a Code,
    pub(crate) options: &'a Options,
    pub(crate) memory: &'a mut Memory,
    pub(crate) shared: &'a mut SharedMemory,
    pub(crate) private: &'a mut Columns,
    pub(crate) inputs: &'a Columns,
    pub(crate) tally: &'a mut Tally,
    pub(crate) block_runs: &'a mut [u64],
    pub(crate) steps_left: &'a mut u64,
    pub(crate) touches: &'a mut Option<Touches>,
    pub(crate) messages: &'a mut Vec<Message>,
    pub(crate) group: [u32; 3],
    pub(crate) subgroup: u32,
}

/// Checks alignment; `align` is a power of two.
fn aligned(address: u64, align: u32) -> Result<(), Fault> {
    if address & u64::from(align - 1) != 0 {
        return Err(broken(Rule::Alignment, format!("address {address:#x}, alignment {align}")));
    }
    Ok(())
}

fn outside(what: &str, offset: u64, size: u64, end: usize) -> Fault {
    broken(Rule::OutOfBounds, format!("{size} bytes at offset {offset:#x} of {what} memory of {end} bytes"))
}

impl Env<'_> {
    /// Checks that a range lies in one private variable and gives its offset.
    pub(crate) fn private_range(&self, address: u64, size: u64, align: u64) -> Result<u32, Fault> {
        aligned(address, align as u32)?;
        let offset = address - space_base(SPACE_PRIVATE);
        let granule = usize::try_from(offset / u64::from(GRANULE)).unwrap_or(usize::MAX);
        let owner = self.code.granules.get(granule).copied().unwrap_or(0);
        let Some(var) = (owner as usize).checked_sub(1).and_then(|i| self.code.private_vars.get(i)) else {
            return Err(outside("private", offset, size, self.code.granules.len() * GRANULE as usize));
        };
        let end = u64::from(var.offset) + u64::from(var.size);
        if offset < u64::from(var.offset) || offset + size > end {
            let at = offset as i64 - i64::from(var.offset);
            return Err(broken(
                Rule::OutOfBounds,
                format!("{size} bytes at offset {at} of variable %{}, which has {} bytes", var.id, var.size),
            ));
        }
        Ok(offset as u32)
    }

    fn input_range(&self, address: u64, size: u64) -> Result<u32, Fault> {
        let offset = address - space_base(SPACE_INPUT);
        let end = self.inputs.words.len() * 4;
        if offset.saturating_add(size) > end as u64 {
            return Err(outside("built-in", offset, size, end));
        }
        Ok(offset as u32)
    }

    /// Reads up to 8 bytes of memory that all lanes share (global, work-group, constant).
    pub(crate) fn read_shared(&mut self, address: u64, size: u64) -> Result<u64, Fault> {
        let bytes = match space(address) {
            SPACE_SHARED => {
                self.tally.bytes_shared_loaded += size;
                self.shared.read(self.subgroup, address - space_base(SPACE_SHARED), size)?
            }
            SPACE_CONSTANT => {
                slice(&self.code.constant_bytes, "constant", address - space_base(SPACE_CONSTANT), size)?
            }
            _ => {
                let (index, offset) = self.memory.find(address, size)?;
                self.tally.bytes_gathered += size;
                &self.memory.at(index)[offset..offset + size as usize]
            }
        };
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(whole))
    }

    /// Writes up to 8 bytes of memory that all lanes share.
    pub(crate) fn write_shared(&mut self, address: u64, size: u64, value: u64) -> Result<(), Fault> {
        let bytes = match space(address) {
            SPACE_SHARED => {
                self.tally.bytes_shared_stored += size;
                let offset = address - space_base(SPACE_SHARED);
                return self.shared.write(self.subgroup, offset, &value.to_le_bytes()[..size as usize]);
            }
            SPACE_CONSTANT => {
                return Err(broken(Rule::ReadOnly, format!("address {address:#x} is constant memory")));
            }
            _ => {
                let (index, offset) = self.memory.find(address, size)?;
                self.tally.bytes_scattered += size;
                &mut self.memory.at_mut(index)?[offset..offset + size as usize]
            }
        };
        bytes.copy_from_slice(&value.to_le_bytes()[..size as usize]);
        Ok(())
    }

    /// Reads one scalar of one lane, wherever it lives.
    fn read(&mut self, lane: usize, address: u64, size: u64) -> Result<u64, Fault> {
        match space(address) {
            SPACE_PRIVATE => {
                let offset = self.private_range(address, size, 1)?;
                Ok(self.private.read_lane(offset, size as u32, lane))
            }
            SPACE_INPUT => {
                let offset = self.input_range(address, size)?;
                Ok(self.inputs.read_lane(offset, size as u32, lane))
            }
            _ => self.read_shared(address, size),
        }
    }

    fn write(&mut self, lane: usize, address: u64, size: u64, value: u64) -> Result<(), Fault> {
        match space(address) {
            SPACE_PRIVATE => {
                let offset = self.private_range(address, size, 1)?;
                self.private.write_lane(offset, size as u32, lane, value);
                Ok(())
            }
            SPACE_INPUT => Err(broken(Rule::ReadOnly, format!("address {address:#x} is a built-in"))),
            _ => self.write_shared(address, size, value),
        }
    }
}

fn slice<'a>(bytes: &'a [u8], what: &str, offset: u64, size: u64) -> Result<&'a [u8], Fault> {
    let range = usize::try_from(offset).ok().zip(usize::try_from(offset.saturating_add(size)).ok());
    range
        .and_then(|(start, end)| bytes.get(start..end))
        .ok_or_else(|| outside(what, offset, size, bytes.len()))
}

/// `OpLoad`.
pub(crate) fn load(
    lanes: &mut Lanes,
    env: &mut Env<'_>,
    dst: u32,
    ptr: u32,
    layout: &Layout,
    align: u32,
) -> Result<(), Fault> {
    let addresses = lanes.scalar(ptr, 64)?;
    let first = lanes.mask.trailing_zeros() as usize % LANES;
    if lanes.scalar_uniform(ptr, 64) {
        let address = addresses[first];
        aligned(address, align)?;
        let size = u64::from(layout.size);
        match space(address) {
            SPACE_PRIVATE => {
                let offset = env.private_range(address, size, 1)?;
                return columns_load(lanes, env.private, offset, dst, layout, false);
            }
            SPACE_INPUT => {
                let offset = env.input_range(address, size)?;
                return columns_load(lanes, env.inputs, offset, dst, layout, true);
            }
            _ => {
                for slot in &layout.slots {
                    let value =
                        env.read_shared(address + u64::from(slot.offset), u64::from(slot.bits / 8))?;
                    lanes.put_uniform(dst + slot.row, slot.bits, value);
                }
                return Ok(());
            }
        }
    }
    for l in lanes_of(lanes.mask) {
        aligned(addresses[l], align)?;
    }
    for slot in &layout.slots {
        let mut values = [0; LANES];
        for l in lanes_of(lanes.mask) {
            let address = addresses[l].wrapping_add(u64::from(slot.offset));
            values[l] = env.read(l, address, u64::from(slot.bits / 8))?;
        }
        lanes.put_scalar(dst + slot.row, slot.bits, &values, false);
    }
    Ok(())
}

/// Moves whole rows from column memory; `inputs` may turn out uniform, which is worth knowing.
fn columns_load(
    lanes: &mut Lanes,
    columns: &Columns,
    offset: u32,
    dst: u32,
    layout: &Layout,
    inputs: bool,
) -> Result<(), Fault> {
    for slot in &layout.slots {
        let at = offset + slot.offset;
        let alike = |row: &Row| inputs && row.iter().all(|v| *v == row[0]);
        if slot.bits >= 32 && at.is_multiple_of(4) {
            for half in 0..u32::from(slot.bits / 32) {
                let row = columns.words[(at / 4 + half) as usize];
                lanes.put(dst + slot.row + half, row, alike(&row));
            }
        } else {
            let values = columns.read(at, u32::from(slot.bits / 8));
            lanes.put_scalar(dst + slot.row, slot.bits, &values, false);
        }
    }
    Ok(())
}

/// `OpStore`.
pub(crate) fn store(
    lanes: &mut Lanes,
    env: &mut Env<'_>,
    ptr: u32,
    src: u32,
    layout: &Layout,
    align: u32,
) -> Result<(), Fault> {
    let addresses = lanes.scalar(ptr, 64)?;
    for l in lanes_of(lanes.mask) {
        aligned(addresses[l], align)?;
    }
    let private = space(addresses[0]) == SPACE_PRIVATE;
    if private && lanes.full() && lanes.scalar_uniform(ptr, 64) {
        let offset = env.private_range(addresses[0], u64::from(layout.size), 1)?;
        for slot in &layout.slots {
            let at = offset + slot.offset;
            if slot.bits >= 32 && at.is_multiple_of(4) {
                for half in 0..u32::from(slot.bits / 32) {
                    env.private.words[(at / 4 + half) as usize] = *lanes.row(src + slot.row + half)?;
                }
            } else {
                let values = lanes.scalar(src + slot.row, slot.bits)?;
                env.private.write(at, u32::from(slot.bits / 8), &values);
            }
        }
        return Ok(());
    }
    for slot in &layout.slots {
        let values = lanes.scalar(src + slot.row, slot.bits)?;
        for l in lanes_of(lanes.mask) {
            let address = addresses[l].wrapping_add(u64::from(slot.offset));
            env.write(l, address, u64::from(slot.bits / 8), values[l])?;
        }
    }
    Ok(())
}

/// `OpCopyMemory` and `OpCopyMemorySized`.
pub(crate) fn copy_memory(
    lanes: &mut Lanes,
    env: &mut Env<'_>,
    to: u32,
    from: u32,
    size: u64,
    align: u32,
) -> Result<(), Fault> {
    let (to, from) = (lanes.scalar(to, 64)?, lanes.scalar(from, 64)?);
    for l in lanes_of(lanes.mask) {
        aligned(to[l], align)?;
        aligned(from[l], align)?;
        for i in 0..size {
            let byte = env.read(l, from[l].wrapping_add(i), 1)?;
            env.write(l, to[l].wrapping_add(i), 1, byte)?;
        }
    }
    Ok(())
}

/// Fills a function's fresh variables with the poison pattern.
pub(crate) fn poison(env: &mut Env<'_>, offset: u32, size: u32) {
    let (first, last) = (offset / 4, (offset + size).div_ceil(4));
    env.private.words[first as usize..last as usize].fill([POISON; LANES]);
}

/// Atomics: active lanes take turns, lowest first.
pub(crate) fn atomic(lanes: &mut Lanes, env: &mut Env<'_>, atomic: &Atomic) -> Result<(), Fault> {
    env.shared.atomic = true;
    let done = take_turns(lanes, env, atomic);
    env.shared.atomic = false;
    done
}

fn take_turns(lanes: &mut Lanes, env: &mut Env<'_>, atomic: &Atomic) -> Result<(), Fault> {
    let bits = atomic.bits;
    let size = u64::from(bits / 8);
    let addresses = lanes.scalar(atomic.ptr, 64)?;
    let operand = |row: Option<u32>| row.map_or(Ok([0; LANES]), |row| lanes.scalar(row, bits));
    let (values, comparators) = (operand(atomic.value)?, operand(atomic.comparator)?);
    let mut old = [0; LANES];
    for l in lanes_of(lanes.mask) {
        aligned(addresses[l], u32::from(bits / 8))?;
        let before = if atomic.kind == AtomicKind::Store { 0 } else { env.read(l, addresses[l], size)? };
        old[l] = before;
        let int = |op| alu::int2(op, bits, before, values[l], bits);
        let float = |f: fn(f64, f64) -> f64| {
            convert::from_f64(f(convert::to_f64(before, bits), convert::to_f64(values[l], bits)), bits)
        };
        let after = match atomic.kind {
            AtomicKind::Load => continue,
            AtomicKind::Store | AtomicKind::Exchange => values[l],
            AtomicKind::CompareExchange if before == comparators[l] => values[l],
            AtomicKind::CompareExchange => continue,
            AtomicKind::Add => int(alu::Int2::Add)?,
            AtomicKind::Sub => int(alu::Int2::Sub)?,
            AtomicKind::SMin => int(alu::Int2::SMin)?,
            AtomicKind::UMin => int(alu::Int2::UMin)?,
            AtomicKind::SMax => int(alu::Int2::SMax)?,
            AtomicKind::UMax => int(alu::Int2::UMax)?,
            AtomicKind::And => int(alu::Int2::And)?,
            AtomicKind::Or => int(alu::Int2::Or)?,
            AtomicKind::Xor => int(alu::Int2::Xor)?,
            AtomicKind::FAdd => float(|a, b| a + b),
            AtomicKind::FMin => float(f64::min),
            AtomicKind::FMax => float(f64::max),
        };
        env.write(l, addresses[l], size, after)?;
    }
    if let Some(dst) = atomic.dst {
        lanes.put_scalar(dst, bits, &old, false);
    }
    Ok(())
}
