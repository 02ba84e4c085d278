//! 2-D block messages (SPV_INTEL_2d_block_io) and linear sub-group block messages (SPV_INTEL_subgroups).
//!
//! The layout of every load is linear: the 16 lanes' components of a block, one component after another,
//! are the block's bytes in message order. Message order is row-major for a load; for a transform, groups of
//! 4 / element-size rows are interleaved into dwords and those are row-major; for a transpose, columns come
//! first. Source: SPV_INTEL_2d_block_io "Mapping Block Data to Invocations".
//! *Guarantees*: elements outside the surface read as 0 and are never written; a byte outside every
//! allocation is an error even if the surface claims it.
//! *Not here*: which shapes exist (`shapes`).

use crate::access::{Env, SPACE_PRIVATE, space};
use crate::counters::Message;
use crate::error::{Fault, Rule, broken, unsupported};
use crate::lanes::{LANES, Lanes};
use crate::shapes;

/// The kinds of 2-D block message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Plain load.
    Load,
    /// Load that packs rows into dwords (VNNI).
    Transform,
    /// Load that swaps rows and columns.
    Transpose,
    /// Prefetch into the cache.
    Prefetch,
    /// Store.
    Store,
}

/// A decoded 2-D block instruction; names ending in nothing are register rows.
#[derive(Debug)]
pub(crate) struct Block2d {
    pub(crate) kind: BlockKind,
    pub(crate) esz: u32,
    pub(crate) w: u32,
    pub(crate) h: u32,
    pub(crate) c: u32,
    pub(crate) base: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) pitch: u32,
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) coord_bits: u8,
    /// Private pointer to the data, except for a prefetch.
    pub(crate) data: Option<u32>,
}

/// Largest legal width, height and pitch: the message has 24-bit fields that hold the value minus 1.
const LIMIT: u64 = 1 << 24;
/// Bytes of one row of registers or private memory: a dword in each lane.
const ROW: usize = 4 * LANES;
/// Bytes that one load or store message can carry.
const MESSAGE: usize = 4096;

/// The part of a message that a surface and coordinates fix.
struct Target {
    base: u64,
    width: i64,
    height: i64,
    pitch: u64,
    x: i32,
    y: i32,
}

/// One row of a message that lies (in part) inside the surface.
struct Segment {
    /// Row of the block.
    row: u32,
    /// First byte inside the message's row, and length.
    at: usize,
    len: usize,
    address: u64,
}

impl Block2d {
    fn row_bytes(&self) -> u32 {
        self.w * self.c * self.esz
    }

    /// Reads operands and checks every rule on them.
    fn target(&self, lanes: &Lanes, hw: shapes::Hardware) -> Result<Target, Fault> {
        if !lanes.full() {
            return Err(broken(Rule::FullSubgroup, format!("active lanes are {:#06x}", lanes.mask)));
        }
        let Block2d { esz, w, h, c, .. } = *self;
        if !shapes::exists(hw, self.kind, esz, w, h, c) {
            return Err(broken(
                Rule::BlockShape,
                format!(
                    "{:?} of {esz}-byte elements, width {w}, height {h}, count {c}, on {hw:?}",
                    self.kind
                ),
            ));
        }
        let base = lanes.uniform(self.base, 64, "the base address")?;
        let width = lanes.uniform(self.width, 32, "the surface width")?;
        let height = lanes.uniform(self.height, 32, "the surface height")?;
        let pitch = lanes.uniform(self.pitch, 32, "the surface pitch")?;
        let coord = |row, name| -> Result<i32, Fault> {
            let value = lanes.uniform(row, self.coord_bits, name)?;
            let value = crate::alu::signed(value, self.coord_bits);
            i32::try_from(value).map_err(|_| unsupported(format!("{name} = {value} exceeds 32 bits")))
        };
        let (x, y) = (coord(self.x, "x")?, coord(self.y, "y")?);
        if !base.is_multiple_of(64) {
            return Err(broken(Rule::BaseAlignment, format!("the base is {base:#x}")));
        }
        if !(64..=LIMIT).contains(&width) || !width.is_multiple_of(u64::from(esz.max(4))) {
            return Err(broken(
                Rule::SurfaceWidth,
                format!("the width is {width} bytes, the element size {esz}"),
            ));
        }
        if !(1..=LIMIT).contains(&height) {
            return Err(broken(Rule::SurfaceHeight, format!("the height is {height}")));
        }
        if pitch < width || pitch > LIMIT || !pitch.is_multiple_of(16) {
            return Err(broken(Rule::SurfacePitch, format!("the pitch is {pitch}, the width {width}")));
        }
        if (i64::from(x) * i64::from(esz)).rem_euclid(4) != 0 {
            return Err(broken(Rule::CoordinateAlignment, format!("x is {x}, the element size {esz}")));
        }
        Ok(Target { base, width: width as i64, height: height as i64, pitch, x, y })
    }

    /// The rows of the message inside the surface.
    fn segments<'a>(&'a self, t: &'a Target) -> impl Iterator<Item = Segment> + 'a {
        let left = i64::from(t.x) * i64::from(self.esz);
        let first = left.clamp(0, t.width);
        let last = (left + i64::from(self.row_bytes())).clamp(0, t.width);
        (0..self.h).filter_map(move |row| {
            let y = i64::from(t.y) + i64::from(row);
            if last <= first || !(0..t.height).contains(&y) {
                return None;
            }
            let address = t.base.wrapping_add(y as u64 * t.pitch).wrapping_add(first as u64);
            Some(Segment { row, at: (first - left) as usize, len: (last - first) as usize, address })
        })
    }

    /// Byte index inside the message, in message order, of byte `at` of row `row` (load and store order).
    fn linear(&self, row: u32, at: usize) -> usize {
        let block_row = (self.w * self.esz) as usize;
        let (block, inside) = (at / block_row, at % block_row);
        (block * self.h as usize + row as usize) * block_row + inside
    }

    pub(crate) fn run(&self, lanes: &mut Lanes, env: &mut Env<'_>) -> Result<(), Fault> {
        let t = self.target(lanes, env.options.hardware)?;
        let mut data = [0u8; MESSAGE];
        let block_row = (self.w * self.esz) as usize;
        let total = (self.row_bytes() * self.h) as usize;
        let pointer = match self.data {
            Some(row) => Some(self.pointer(lanes, row)?),
            None => None,
        };
        if let (BlockKind::Store, Some(address)) = (self.kind, pointer) {
            self.collect(lanes, env, address, &mut data[..total])?;
        }
        let mut bytes = 0;
        for segment in self.segments(&t) {
            let (index, offset) = env.memory.find(segment.address, segment.len as u64)?;
            bytes += segment.len as u64;
            if let Some(touches) = &mut env.touches {
                touches.touch(env.memory, self.kind, index, offset, segment.len);
            }
            // Pieces of a row that belong to one block are contiguous in message order.
            let (mut done, end) = (0, segment.len);
            while done < end && self.kind != BlockKind::Prefetch {
                let at = segment.at + done;
                let piece = (block_row - at % block_row).min(end - done);
                let order = self.linear(segment.row, at);
                let (message, global) = (order..order + piece, offset + done..offset + done + piece);
                if self.kind == BlockKind::Store {
                    env.memory.at_mut(index)?[global].copy_from_slice(&data[message]);
                } else {
                    data[message].copy_from_slice(&env.memory.at(index)[global]);
                }
                done += piece;
            }
        }
        match (self.kind, pointer) {
            (BlockKind::Load, Some(to)) => {
                let component = self.esz * (self.w / 16).max(1);
                self.deliver(env, to, component, &data[..total])?;
            }
            (BlockKind::Transform, Some(to)) => {
                let packed = self.transform(&data[..total]);
                self.deliver(env, to, 4, &packed[..total])?;
            }
            (BlockKind::Transpose, Some(to)) => {
                let turned = self.transpose(&data[..total]);
                self.deliver(env, to, self.esz, &turned[..total])?;
            }
            _ => {}
        }
        env.tally.message(self.kind, bytes);
        if env.options.messages {
            env.messages.push(Message {
                group: env.group,
                subgroup: env.subgroup,
                kind: self.kind,
                base: t.base,
                x: t.x,
                y: t.y,
                element_bytes: self.esz,
                shape: (self.h, self.w),
                blocks: self.c,
                bytes,
            });
        }
        Ok(())
    }

    fn pointer(&self, lanes: &Lanes, row: u32) -> Result<u64, Fault> {
        let address = lanes.uniform(row, 64, "the pointer to private data")?;
        if space(address) != SPACE_PRIVATE {
            return Err(unsupported("a block message whose data pointer is not to Function storage"));
        }
        Ok(address)
    }

    /// Interleaves 4 / esz rows into dwords, block by block.
    fn transform(&self, data: &[u8]) -> [u8; MESSAGE] {
        let mut out = [0; MESSAGE];
        let (w, h, esz) = (self.w as usize, self.h as usize, self.esz as usize);
        let pack = 4 / esz;
        if esz == 2 {
            // Row pairs stay in place: two rows of 16 bits become one row of dwords.
            for (pair, out) in data.chunks_exact(4 * w).zip(out.chunks_exact_mut(4 * w)) {
                let (low, high) = pair.split_at(2 * w);
                let columns = low.chunks_exact(2).zip(high.chunks_exact(2));
                for ((low, high), dword) in columns.zip(out.chunks_exact_mut(4)) {
                    dword[..2].copy_from_slice(low);
                    dword[2..].copy_from_slice(high);
                }
            }
            return out;
        }
        for (i, element) in data.chunks_exact(esz).enumerate() {
            let (block, inside) = (i / (w * h), i % (w * h));
            let (row, column) = (inside / w, inside % w);
            let dword = (row / pack) * w + column;
            let at = block * w * h * esz + dword * 4 + (row % pack) * esz;
            out[at..at + esz].copy_from_slice(element);
        }
        out
    }

    /// Swaps rows and columns of the one block.
    fn transpose(&self, data: &[u8]) -> [u8; MESSAGE] {
        let mut out = [0; MESSAGE];
        let (w, h, esz) = (self.w as usize, self.h as usize, self.esz as usize);
        for (i, element) in data.chunks_exact(esz).enumerate() {
            let at = ((i % w) * h + i / w) * esz;
            out[at..at + esz].copy_from_slice(element);
        }
        out
    }

    /// Bytes of one block, and how many components of `component` bytes per lane it fills.
    fn components(&self, component: u32) -> (usize, usize) {
        let block = (self.w * self.h * self.esz) as usize;
        (block, block.div_ceil(component as usize * LANES))
    }

    /// Writes message bytes to the lanes' private memory, component by component.
    fn deliver(&self, env: &mut Env<'_>, to: u64, component: u32, data: &[u8]) -> Result<(), Fault> {
        let (block, per_block) = self.components(component);
        let size = component as usize;
        let count = per_block * self.c as usize;
        let offset = env.private_range(to, (count * size) as u64, u64::from(component))?;
        // Whole dword rows, which almost every message is made of, are written as such.
        let words = &mut env.private.words[(offset / 4) as usize..];
        if offset.is_multiple_of(4) && block.is_multiple_of(ROW) && component == 4 {
            for (word, row) in words.iter_mut().zip(data.chunks_exact(ROW)) {
                for (cell, bytes) in word.iter_mut().zip(row.chunks_exact(4)) {
                    *cell = little_endian(bytes) as u32;
                }
            }
            return Ok(());
        }
        if offset.is_multiple_of(4) && block.is_multiple_of(ROW) && component == 2 {
            for (word, row) in words.iter_mut().zip(data.chunks_exact(ROW)) {
                let (low, high) = row.split_at(ROW / 2);
                for ((cell, low), high) in word.iter_mut().zip(low.chunks_exact(2)).zip(high.chunks_exact(2))
                {
                    *cell = (little_endian(low) | little_endian(high) << 16) as u32;
                }
            }
            return Ok(());
        }
        for (b, bytes) in data.chunks_exact(block).enumerate() {
            for i in 0..per_block {
                // A block of fewer than 16 components leaves 0 in the other lanes.
                let values: [u64; LANES] = std::array::from_fn(|l| {
                    let at = (i * LANES + l) * size;
                    bytes.get(at..at + size).map_or(0, little_endian)
                });
                env.private.write(offset + ((b * per_block + i) * size) as u32, component, &values);
            }
        }
        Ok(())
    }

    /// Reads message bytes from the lanes' private memory, the inverse of `deliver`.
    fn collect(&self, lanes: &Lanes, env: &mut Env<'_>, from: u64, data: &mut [u8]) -> Result<(), Fault> {
        debug_assert!(lanes.full());
        let component = self.esz * (self.w / 16).max(1);
        let (block, per_block) = self.components(component);
        let size = component as usize;
        let offset = env.private_range(from, (per_block * size) as u64, u64::from(component))?;
        for (b, bytes) in data.chunks_exact_mut(block).enumerate() {
            for i in 0..per_block {
                let values = env.private.read(offset + ((b * per_block + i) * size) as u32, component);
                for (l, value) in values.iter().enumerate() {
                    let at = (i * LANES + l) * size;
                    if let Some(slot) = bytes.get_mut(at..at + size) {
                        slot.copy_from_slice(&value.to_le_bytes()[..size]);
                    }
                }
            }
        }
        Ok(())
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Which way a linear sub-group block message goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Linear {
    Read,
    Write,
}

/// `OpSubgroupBlockReadINTEL` / `WriteINTEL`: component `i` of lane `l` is element `i * 16 + l`.
pub(crate) fn linear(
    lanes: &mut Lanes,
    env: &mut Env<'_>,
    way: Linear,
    ptr: u32,
    data: u32,
    bits: u8,
    n: u8,
) -> Result<(), Fault> {
    if !lanes.full() {
        return Err(broken(Rule::FullSubgroup, format!("active lanes are {:#06x}", lanes.mask)));
    }
    let base = lanes.uniform(ptr, 64, "the pointer")?;
    let size = u64::from(bits / 8);
    // cl_intel_subgroups: reads need 4-byte, writes 16-byte alignment.
    let align = if way == Linear::Read { size.max(4) } else { 16 };
    if !base.is_multiple_of(align) {
        return Err(broken(Rule::Alignment, format!("address {base:#x}, alignment {align}")));
    }
    let step = crate::types::scalar_rows(bits);
    for i in 0..u32::from(n) {
        let at = |l: usize| base + (u64::from(i) * LANES as u64 + l as u64) * size;
        if way == Linear::Read {
            let mut values = [0; LANES];
            for (l, value) in values.iter_mut().enumerate() {
                *value = env.read_shared(at(l), size)?;
            }
            lanes.put_scalar(data + i * step, bits, &values, false);
        } else {
            let values = lanes.scalar(data + i * step, bits)?;
            for (l, value) in values.iter().enumerate() {
                env.write_shared(at(l), size, *value)?;
            }
        }
    }
    Ok(())
}

/// `OpSubgroupBlockPrefetchINTEL`: `bytes` per lane, 1 to 16.
pub(crate) fn linear_prefetch(lanes: &Lanes, env: &mut Env<'_>, ptr: u32, bytes: u32) -> Result<(), Fault> {
    if !lanes.full() {
        return Err(broken(Rule::FullSubgroup, format!("active lanes are {:#06x}", lanes.mask)));
    }
    if !(1..=16).contains(&bytes) || !bytes.is_power_of_two() {
        return Err(broken(Rule::BlockShape, format!("a prefetch of {bytes} bytes per lane (1 to 16)")));
    }
    let base = lanes.uniform(ptr, 64, "the pointer")?;
    let total = u64::from(bytes) * LANES as u64;
    env.memory.find(base, total)?;
    env.tally.bytes_prefetched_linear += total;
    Ok(())
}
