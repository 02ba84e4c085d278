//! Owns the legality tables: which block messages and matrix instructions exist on which device.
//!
//! Tables are data; each row names its source. `xe_facts` stands for the project's collection of facts compiled with
//! Intel's compiler (IGC 2.40), `SPV_INTEL_2d_block_io` and
//! `SPV_INTEL_subgroup_matrix_multiply_accumulate` for the extension texts.
//! *Guarantees*: the verifier, the lowering and the documentation read the same rows.

use crate::types::DType;
use core::fmt;

/// A GPU generation that Intel's offline compiler can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Device {
    /// Data Center GPU Max (Xe-HPC).
    Pvc,
    /// Arc B series (Xe2).
    Bmg,
    /// Core Ultra 200V (Xe2).
    Lnl,
    /// Core Ultra 300 (Xe3).
    Ptl,
    /// Crescent Island (Xe3P).
    Cri,
}

impl Device {
    /// Every device of the `xe` target.
    pub const ALL: &'static [Device] = &[Device::Pvc, Device::Bmg, Device::Lnl, Device::Ptl, Device::Cri];

    /// The name that Intel's offline compiler takes.
    pub const fn name(self) -> &'static str {
        match self {
            Device::Pvc => "pvc",
            Device::Bmg => "bmg",
            Device::Lnl => "lnl",
            Device::Ptl => "ptl",
            Device::Cri => "cri",
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A kind of 2-D block message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockOp {
    /// Load in memory order.
    Load,
    /// Load, packing pairs of rows.
    Transform,
    /// Load, transposing 32-bit elements.
    Transpose,
    /// Warm the caches.
    Prefetch,
    /// Store.
    Store,
}

/// Block messages that exist: one row per element size and width.
#[derive(Clone, Copy, Debug)]
pub struct BlockRow {
    /// Kind of message.
    pub op: BlockOp,
    /// Bytes of an element.
    pub elem_bytes: u32,
    /// Width of a block in elements.
    pub width: u32,
    /// Heights in rows.
    pub heights: &'static [u32],
    /// Numbers of blocks side by side.
    pub counts: &'static [u32],
    /// Devices that have it.
    pub devices: &'static [Device],
    /// Where the row comes from.
    pub source: &'static str,
}

const ALL: &[Device] = Device::ALL;
const H32: &[u32] = &[1, 2, 4, 8, 16, 32];
const H8: &[u32] = &[1, 2, 4, 8];
const LOADS: &str = "xe_facts 1.2, load table; SPV_INTEL_2d_block_io, supported variants";
const TRANSFORMS: &str = "xe_facts 1.2, transform rows; SPV_INTEL_2d_block_io, supported variants";
const TRANSPOSES: &str = "xe_facts 1.2, transpose rows; SPV_INTEL_2d_block_io, supported variants";
const PREFETCHES: &str = "xe_facts 1.1, prefetch row";
const STORES: &str = "xe_facts 1.1, store row";

const fn row(
    op: BlockOp,
    elem_bytes: u32,
    width: u32,
    heights: &'static [u32],
    counts: &'static [u32],
    source: &'static str,
) -> BlockRow {
    BlockRow { op, elem_bytes, width, heights, counts, devices: ALL, source }
}

/// The block messages the lowering may emit. Only rows that drivers from before mid-2026 also take, plus
/// heights below them that IGC verifiably compiles to one message.
pub const BLOCKS: &[BlockRow] = &[
    row(BlockOp::Load, 1, 32, H32, &[1, 2], LOADS),
    row(BlockOp::Load, 2, 16, H32, &[1, 2], LOADS),
    row(BlockOp::Load, 4, 8, H32, &[1, 2], LOADS),
    row(BlockOp::Load, 4, 16, H32, &[1], LOADS),
    row(BlockOp::Transform, 1, 16, &[32], &[1, 2, 4], TRANSFORMS),
    row(BlockOp::Transform, 2, 16, &[16, 32], &[1, 2], TRANSFORMS),
    row(BlockOp::Transpose, 4, 8, &[16], &[1], TRANSPOSES),
    row(BlockOp::Prefetch, 1, 16, H32, &[1], PREFETCHES),
    row(BlockOp::Prefetch, 1, 32, H32, &[1, 2], PREFETCHES),
    row(BlockOp::Prefetch, 2, 16, H32, &[1, 2], PREFETCHES),
    row(BlockOp::Prefetch, 4, 16, H32, &[1], PREFETCHES),
    row(BlockOp::Store, 1, 32, H8, &[1], STORES),
    row(BlockOp::Store, 2, 16, H8, &[1], STORES),
    row(BlockOp::Store, 4, 16, H8, &[1], STORES),
];

/// Finds the row for a message, if it exists.
pub fn block(op: BlockOp, elem_bytes: u32, width: u32, height: u32, count: u32) -> Option<&'static BlockRow> {
    BLOCKS.iter().find(|r| {
        r.op == op
            && r.elem_bytes == elem_bytes
            && r.width == width
            && r.heights.contains(&height)
            && r.counts.contains(&count)
    })
}

/// The arithmetic that elements of a type take part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Every element-wise op, in f32.
    Floats,
    /// `add`, `sub`, `mul`, `min`, `max`, `neg`, `abs`, which wrap.
    Integers,
    /// None: elements are moved, converted or multiplied.
    None,
}

/// What elements of a type take part in.
#[derive(Clone, Copy, Debug)]
pub struct DTypeRow {
    /// The element type.
    pub dtype: DType,
    /// Tensors have it: `load`, `store`, `zeros`, `.to::<T>()`, `load_scalar`.
    pub tensors: bool,
    /// Element-wise ops, reductions, masks, fills and vectors.
    pub arithmetic: Arithmetic,
    /// For operands of a matrix multiply: elements along K that one instruction consumes.
    pub mma_k: Option<u32>,
    /// Columns of the smallest tile that is not packed.
    pub cols: u32,
    /// Where the row comes from.
    pub source: &'static str,
}

const fn element(
    dtype: DType,
    tensors: bool,
    arithmetic: Arithmetic,
    mma_k: Option<u32>,
    cols: u32,
    source: &'static str,
) -> DTypeRow {
    DTypeRow { dtype, tensors, arithmetic, mma_k, cols, source }
}

/// Element types, in the order of [`DType::ALL`], and then masks.
pub const DTYPES: &[DTypeRow] = &[
    element(
        DType::Bf16,
        true,
        Arithmetic::Floats,
        Some(16),
        16,
        "xe_facts 3 and 4; SPV_INTEL_bfloat16_conversion",
    ),
    element(DType::F16, true, Arithmetic::Floats, Some(16), 16, "xe_facts 3 and 4"),
    element(DType::F32, true, Arithmetic::Floats, None, 16, "xe_facts 4; no matrix instruction takes f32"),
    // One component of a left operand holds two bytes of a row, so the smallest tile is 32 wide.
    element(
        DType::I8,
        true,
        Arithmetic::None,
        Some(32),
        32,
        "xe_facts 1.3 and 3; byte arithmetic would need four instructions where i32 needs one (xe_facts 4)",
    ),
    element(DType::U8, true, Arithmetic::None, Some(32), 32, "as i8"),
    element(
        DType::I32,
        true,
        Arithmetic::Integers,
        None,
        16,
        "SPIR-V, arithmetic instructions; OpenCL.std, integer functions",
    ),
    element(
        DType::Tf32,
        false,
        Arithmetic::None,
        Some(8),
        8,
        "xe_facts 3; SPV_INTEL_tensor_float32_conversion: rounds to the format, no arithmetic in it",
    ),
    element(
        DType::Bool,
        false,
        Arithmetic::None,
        None,
        16,
        "masks have rules of their own: `ops::selection`",
    ),
];

/// The row of an element type.
pub const fn element_type(dtype: DType) -> &'static DTypeRow {
    &DTYPES[dtype as usize]
}

/// A matrix instruction that exists.
#[derive(Clone, Copy, Debug)]
pub struct MmaRow {
    /// Element type of the left operand.
    pub a: DType,
    /// Element type of the right operand.
    pub b: DType,
    /// Element type of the accumulator.
    pub acc: DType,
    /// Elements along K that one instruction consumes.
    pub k: u32,
    /// `Matrix Multiply Accumulate Operands` mask of the SPIR-V instruction.
    pub flags: u32,
    /// Devices that have it.
    pub devices: &'static [Device],
    /// Where the row comes from.
    pub source: &'static str,
}

/// Rows of one matrix instruction (its repeat count), and so of the smallest tile.
pub const MMA_ROWS: u32 = 8;
/// Columns of one matrix instruction on every `xe` device, and so of the smallest tile.
pub const MMA_COLS: u32 = 16;

/// A transpose in registers moves square blocks of this many rows and columns: the lanes of a register.
pub const TRANSPOSE_UNIT: u32 = 16;

const MATRIX: &str =
    "xe_facts 3; SPV_INTEL_subgroup_matrix_multiply_accumulate, table for Device sub-group size 16";

const fn product(a: DType, b: DType, acc: DType, k: u32, flags: u32) -> MmaRow {
    MmaRow { a, b, acc, k, flags, devices: ALL, source: MATRIX }
}

/// The matrix instructions the lowering may emit. Integer sums wrap.
pub const MMAS: &[MmaRow] = &[
    product(DType::Bf16, DType::Bf16, DType::F32, 16, 0x3000),
    product(DType::F16, DType::F16, DType::F32, 16, 0xC00),
    product(DType::Tf32, DType::Tf32, DType::F32, 8, 0x300),
    product(DType::U8, DType::U8, DType::I32, 32, 0x30),
    product(DType::I8, DType::U8, DType::I32, 32, 0x31),
    product(DType::U8, DType::I8, DType::I32, 32, 0x32),
    product(DType::I8, DType::I8, DType::I32, 32, 0x33),
];

/// Finds the matrix instruction for two operands and an accumulator type.
pub fn mma(a: DType, b: DType, acc: DType) -> Option<&'static MmaRow> {
    MMAS.iter().find(|r| r.a == a && r.b == b && r.acc == acc)
}

/// Bytes of the register file of one sub-group in the 256-register mode (256 x 64 bytes; xe_facts 6).
pub const REGISTER_BYTES: u64 = 256 * 64;

/// Sub-groups that fit one work-group on every device at 256 registers: 8 vector engines x 4 threads
/// (xe_facts 6 and 8).
pub const MAX_SUBGROUPS: u32 = 32;

/// Bytes of shared memory of one work-group on every device (xe_facts 8: 128 KiB, 384 KiB on cri).
pub const SHARED_BYTES: u64 = 128 * 1024;

/// Bytes of the widest block row, and of a cache line (xe_facts 1.1).
pub const BLOCK_ROW_BYTES: u32 = 64;

/// How a cooperative prefetch is cut: every part is `height` x `width`, and the parts of a tile lie
/// `down` below each other in each of `across` columns of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefetchCut {
    /// Rows of a part.
    pub height: u32,
    /// Columns of a part.
    pub width: u32,
    /// Parts below each other.
    pub down: u32,
    /// Parts side by side.
    pub across: u32,
}

/// Cuts a tile of (rows, cols) into `parts` equal parts of whole rows that block messages can fetch, or says
/// which rule fails.
///
/// # Errors
/// The rule with its numbers, as a sentence.
pub fn prefetch_cut(tile: (u32, u32), elem_bytes: u32, parts: u32) -> Result<PrefetchCut, String> {
    let (rows, cols) = tile;
    let width = cols.min(BLOCK_ROW_BYTES / elem_bytes);
    let elements = u64::from(rows) * u64::from(cols);
    if parts == 0 || width == 0 || !elements.is_multiple_of(u64::from(parts) * u64::from(width)) {
        return Err(format!(
            "a {rows}x{cols} tile does not divide into {parts} parts of whole rows {width} elements wide"
        ));
    }
    let height = (elements / (u64::from(parts) * u64::from(width))) as u32;
    if !cols.is_multiple_of(width) {
        return Err(format!("the tile's {cols} columns are not a multiple of the part's {width} columns"));
    }
    if height == 0 || !rows.is_multiple_of(height) {
        return Err(format!("the tile's {rows} rows are not a multiple of the part's {height} rows"));
    }
    let single = H32.contains(&height);
    if !single && !height.is_multiple_of(32) {
        return Err(format!(
            "a part of {height} rows is not a block message (1, 2, 4, 8, 16 or a multiple of 32 rows)"
        ));
    }
    Ok(PrefetchCut { height, width, down: rows / height, across: cols / width })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_ownership_is_the_cut() {
        // SyclKittens paper, D.2.1: 8 rows x (16 columns, count 2), for both operands.
        let a = prefetch_cut((32, 32), 2, 4).expect("A panel");
        assert_eq!(a, PrefetchCut { height: 8, width: 32, down: 4, across: 1 });
        let b = prefetch_cut((32, 64), 2, 8).expect("B panel");
        assert_eq!(b, PrefetchCut { height: 8, width: 32, down: 4, across: 2 });
    }

    #[test]
    fn cuts_cover_the_tile_once() {
        for rows in (8..=64).step_by(8) {
            for cols in (16..=128).step_by(16) {
                for parts in 1..=32 {
                    if let Ok(cut) = prefetch_cut((rows, cols), 2, parts) {
                        assert_eq!(cut.down * cut.across, parts);
                        assert_eq!(cut.down * cut.height, rows);
                        assert_eq!(cut.across * cut.width, cols);
                    }
                }
            }
        }
        assert!(prefetch_cut((32, 32), 2, 3).is_err());
        assert!(prefetch_cut((8, 48), 2, 1).is_err(), "48 columns are not a multiple of 32");
    }

    #[test]
    fn every_row_has_a_source_and_fits_64_bytes() {
        for r in BLOCKS {
            assert!(!r.source.is_empty());
            for &c in r.counts {
                assert!(r.width * c * r.elem_bytes <= BLOCK_ROW_BYTES || r.op != BlockOp::Load);
            }
        }
        for (row, dtype) in DTYPES.iter().zip(DType::ALL) {
            assert_eq!(row.dtype, *dtype, "rows stand in the order of the types");
            assert!(!row.source.is_empty());
            let k = MMAS.iter().find(|r| r.a == *dtype).map(|r| r.k);
            assert_eq!(row.mma_k, k, "{dtype}");
        }
        assert!(block(BlockOp::Store, 2, 16, 8, 1).is_some());
        assert!(block(BlockOp::Store, 2, 16, 16, 1).is_none());
    }
}
