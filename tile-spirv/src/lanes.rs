//! Owns how the `xe` target packs a tile into registers, and which block messages fill it.
//!
//! A tile is a list of *chunks*: vectors of 8 components per lane, 16 lanes. Chunks run down the rows first.
//!
//! | role, element | chunk | component `i` of lane `l` holds |
//! |---|---|---|
//! | `Row`, 16 bits | 8 x 16, `v8ushort` | element (i, l) |
//! | `Row` and `Acc`, f32 | 8 x 16, `v8float` | element (i, l) |
//! | `Row` and `Acc`, i32 | 8 x 16, `v8uint` | element (i, l) |
//! | mask | 8 x 16, 8 `bool` | element (i, l) |
//! | `Row`, 8 bits | 8 x 32, `v8ushort` | elements (i, 2l) low and (i, 2l + 1) high |
//! | `Row`, tf32 | 8 x 8, `v4float` | element (2i, l) in lanes 0 to 7, (2i + 1, l - 8) in the others |
//! | `Vnni` and `VnniT`, 16 bits | 16 x 16, `v8uint` | elements (2i, l) low and (2i + 1, l) high |
//! | `Vnni` and `VnniT`, 8 bits | 32 x 16, `v8uint` | elements (4i, l) to (4i + 3, l), the first in the lowest byte |
//! | `Vnni` and `VnniT`, tf32 | 8 x 16, `v8float` | element (i, l) |
//!
//! These are at once the layouts of the block messages and of the operands of the matrix instruction, so no
//! register is moved between them (SPV_INTEL_2d_block_io, "Mapping Block Data to Invocations";
//! SPV_INTEL_subgroup_matrix_multiply_accumulate, operand tables for sub-group size 16; xe_facts 1.3).
//!
//! Elements of tf32 are held as the f32 they were loaded as, and rounded when they are multiplied.
//!
//! A vector is a list of registers of one f32 or i32 per lane: element `i` is in lane `i % 16` of register `i / 16`. A
//! 16-bit element is held as the f32 of its value. Beside a tile, register `j` of a vector along columns belongs to the chunks
//! of columns `16j` to `16j + 15`.
//!
//! A wide vector is a list of chunks of a `Row` tile: component `i` of lane `l` of chunk `b` is element `128 b + 8 l + i`.
//!
//! *Guarantees*: every message named here is a row of `tile_ir::legal::BLOCKS`.
//! *Not here*: emission (`ops`).

use tile_ir::ir::LoadForm;
use tile_ir::legal::{self, BlockOp};
use tile_ir::types::{DType, Role, TileType, VectorType};

use crate::LowerError;
use crate::module::Ty;

/// Lanes of a sub-group.
pub(crate) const LANES: u32 = 16;

/// Most bytes one prefetch may name: the L1 cache of the largest device (xe_facts 8, pvc).
const MAX_PREFETCH_BYTES: u64 = 512 * 1024;

/// The tile that a wide vector is held as.
pub(crate) fn wide_tile(v: VectorType) -> TileType {
    TileType { dtype: v.dtype, rows: 8, cols: v.len / 8, role: Role::Row }
}

/// The packed operand whose words hold two rows each of a transposed tile of 16-bit elements.
pub(crate) fn in_words(tile: TileType) -> TileType {
    TileType { rows: tile.rows.next_multiple_of(16), role: Role::VnniT, ..tile }
}

/// The register layout of a tile type.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    tile: TileType,
}

impl Layout {
    /// The layout of a tile type.
    pub(crate) fn of(tile: TileType) -> Layout {
        Layout { tile }
    }

    /// The SPIR-V type of a register of a vector: one element per lane, in the type it computes in.
    pub(crate) fn register(dtype: DType) -> Ty {
        match dtype {
            DType::Bool => Ty::Bool,
            DType::I8 | DType::U8 | DType::I32 => Ty::Int(32),
            DType::Bf16 | DType::F16 | DType::F32 | DType::Tf32 => Ty::Float(32),
        }
    }

    /// The SPIR-V type of a chunk of elements in the type they compute in.
    pub(crate) fn wide_chunk(dtype: DType) -> Ty {
        if dtype.is_integer() { Ty::Int8(32) } else { Ty::Float8(32) }
    }

    /// Number of registers of a vector.
    pub(crate) fn registers(vector: VectorType) -> usize {
        vector.len.div_ceil(LANES) as usize
    }

    /// The SPIR-V type of a chunk.
    pub(crate) fn chunk(self) -> Ty {
        match (self.tile.role.is_right_operand(), self.tile.dtype) {
            (true, DType::Tf32) => Ty::Float8(32),
            (true, _) => Ty::Int8(32),
            (false, DType::F32) => Ty::Float8(32),
            (false, DType::I32) => Ty::Int8(32),
            (false, DType::Bool) => Ty::Bool8,
            (false, DType::Bf16 | DType::F16 | DType::I8 | DType::U8) => Ty::Int8(16),
            (false, DType::Tf32) => Ty::FloatVec(32, 4),
        }
    }

    /// The SPIR-V type of one component of a chunk.
    pub(crate) fn component(self) -> Ty {
        if self.chunk() == Ty::Float8(32) { Ty::Float(32) } else { Ty::Int(self.component_bits()) }
    }

    /// Bits of one component of a chunk.
    pub(crate) fn component_bits(self) -> u32 {
        if self.tile.role.is_right_operand() { 32 } else { 8 * self.tile.dtype.size_bytes() }
    }

    /// Rows of a chunk.
    pub(crate) fn chunk_rows(self) -> u32 {
        match legal::element_type(self.tile.dtype).mma_k {
            Some(k) if self.tile.role.is_right_operand() => k,
            Some(_) | None => 8,
        }
    }

    /// Columns of a chunk.
    pub(crate) fn chunk_cols(self) -> u32 {
        if self.tile.role.is_right_operand() { LANES } else { legal::element_type(self.tile.dtype).cols }
    }

    /// Neighbouring columns that one component of a lane holds.
    pub(crate) fn per_lane(self) -> u32 {
        (self.chunk_cols() / LANES).max(1)
    }

    /// Chunks below each other.
    pub(crate) fn down(self) -> u32 {
        self.tile.rows / self.chunk_rows()
    }

    /// Chunks side by side.
    pub(crate) fn across(self) -> u32 {
        self.tile.cols / self.chunk_cols()
    }

    /// Number of chunks.
    pub(crate) fn count(self) -> usize {
        (self.down() * self.across()) as usize
    }

    /// Position in the list of the chunk at (down, across).
    pub(crate) fn index(self, down: u32, across: u32) -> usize {
        (across * self.down() + down) as usize
    }
}

impl Layout {
    /// The chunks of a part, each with its position in the list of the whole tile's chunks. The part's (row, col) is
    /// counted in parts.
    pub(crate) fn places_in(self, whole: Layout, (row, col): (u32, u32)) -> Vec<(usize, usize)> {
        let mut out = vec![];
        for across in 0..self.across() {
            for down in 0..self.down() {
                let outer = whole.index(row * self.down() + down, col * self.across() + across);
                out.push((self.index(down, across), outer));
            }
        }
        out
    }
}

/// Rows and columns that a tile covers in its tensor.
pub(crate) fn footprint(tile: TileType, form: LoadForm) -> (u32, u32) {
    form.window((tile.rows, tile.cols))
}

/// One block message of a load or prefetch.
pub(crate) struct Message {
    /// Bytes of an element of the message (4 for a transposing load of smaller elements).
    pub(crate) elem_bytes: u32,
    /// Columns of a block, in elements of the message.
    pub(crate) width: u32,
    /// Rows of a block.
    pub(crate) height: u32,
    /// Blocks side by side.
    pub(crate) count: u32,
    /// Column of the first block in the tile, in elements of the message.
    pub(crate) x: u32,
    /// Row of the first block in the tile.
    pub(crate) y: u32,
    /// Chunks the message fills, in the order of its result.
    pub(crate) chunks: Vec<usize>,
}

fn tallest(op: BlockOp, elem_bytes: u32, width: u32, count: u32, rows: u32) -> Result<u32, LowerError> {
    [32, 16, 8, 4, 2, 1]
        .into_iter()
        .find(|&h| h <= rows && legal::block(op, elem_bytes, width, h, count).is_some())
        .ok_or(LowerError::NoMessage { op, elem_bytes, rows, cols: width * count })
}

/// Cuts an area into the largest messages of blocks of a width, left to right and top to bottom.
fn cut(op: BlockOp, elem_bytes: u32, width: u32, rows: u32, cols: u32) -> Result<Vec<Message>, LowerError> {
    let mut out = vec![];
    let mut x = 0;
    while x < cols {
        // The last block of bytes may be half as wide.
        let width = width.min(cols - x);
        let count = [4, 2, 1]
            .into_iter()
            .find(|&c| c * width <= cols - x && legal::block(op, elem_bytes, width, 32, c).is_some())
            .unwrap_or(1);
        let mut y = 0;
        while y < rows {
            let height = tallest(op, elem_bytes, width, count, rows - y)?;
            out.push(Message { elem_bytes, width, height, count, x, y, chunks: vec![] });
            y += height;
        }
        x += width * count;
    }
    Ok(out)
}

/// The messages that load a tile.
///
/// # Errors
/// When the tables hold no message for the shape.
pub(crate) fn loads(tile: TileType, form: LoadForm) -> Result<Vec<Message>, LowerError> {
    let layout = Layout::of(tile);
    let elem_bytes = tile.dtype.size_bytes();
    let op = match form {
        LoadForm::Plain => BlockOp::Load,
        // Elements of 32 bits are packed as they are.
        LoadForm::Transform if tile.dtype == DType::Tf32 => BlockOp::Load,
        LoadForm::Transform => BlockOp::Transform,
        LoadForm::Transpose => return transposed(tile),
    };
    let mut messages = cut(op, elem_bytes, layout.chunk_cols(), tile.rows, tile.cols)?;
    let step = layout.chunk_rows();
    for m in &mut messages {
        for block in 0..m.count {
            for down in 0..m.height / step {
                m.chunks.push(layout.index(m.y / step + down, m.x / layout.chunk_cols() + block));
            }
        }
    }
    Ok(messages)
}

/// A transposing load moves 8 columns of 32 bits by 16 rows: a packed chunk (4, 2 or 1 elements along K), or an 8 x 16 chunk
/// of 32 bits.
fn transposed(tile: TileType) -> Result<Vec<Message>, LowerError> {
    let (op, elem_bytes, width, height, count) = (BlockOp::Transpose, 4, 8, 16, 1);
    if legal::block(op, elem_bytes, width, height, count).is_none() {
        return Err(LowerError::NoMessage { op, elem_bytes, rows: height, cols: width });
    }
    let layout = Layout::of(tile);
    let mut out = vec![];
    for k in 0..layout.down() {
        for n in 0..layout.across() {
            let chunks = vec![layout.index(k, n)];
            out.push(Message { elem_bytes, width, height, count, x: width * k, y: height * n, chunks });
        }
    }
    Ok(out)
}

/// The messages that prefetch an area.
///
/// # Errors
/// When the tables hold no message for the shape.
pub(crate) fn prefetches(elem_bytes: u32, rows: u32, cols: u32) -> Result<Vec<Message>, LowerError> {
    // Nothing else bounds a prefetched area: it takes no registers.
    let bytes = u64::from(elem_bytes) * u64::from(rows) * u64::from(cols);
    if bytes > MAX_PREFETCH_BYTES {
        return Err(LowerError::PrefetchSize { bytes, most: MAX_PREFETCH_BYTES });
    }
    cut(BlockOp::Prefetch, elem_bytes, if elem_bytes == 1 { 32 } else { LANES }, rows, cols)
}
