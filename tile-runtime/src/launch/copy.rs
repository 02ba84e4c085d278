//! Owns aligned copies of tensors: their layout, filling them, finding their rows again.
//!
//! *Guarantees*: a copy obeys every rule of 2-D block messages that a copy can obey; repeated planes stay repeated;
//! its padding is a NaN in every element type. *Not here*: when a tensor is copied (`sim`, `opencl`).

use core::ops::Range;

use crate::tensor::{LINE_BYTES, Placed, TensorLayout};

/// What copies are padded with: a NaN in every floating-point type.
const POISON: u8 = 0xff;

/// The layout of an aligned copy: padded as owned tensors are; repeated planes stay repeated. `None` if its
/// size is not addressable.
pub(crate) fn copy_layout(placed: &Placed, element_bytes: usize) -> Option<TensorLayout> {
    let [batch, depth, rows, cols] = placed.layout.shape();
    let repeated = (placed.layout.batch_stride() == 0, placed.layout.depth_stride() == 0);
    let stored = [if repeated.0 { 1 } else { batch }, if repeated.1 { 1 } else { depth }, rows, cols];
    let padded = TensorLayout::padded(stored, element_bytes).ok()?;
    let stride = |repeated: bool, stride: usize| if repeated { 0 } else { stride };
    TensorLayout::strided(
        placed.layout.shape(),
        padded.pitch(),
        stride(repeated.1, padded.depth_stride()),
        stride(repeated.0, padded.batch_stride()),
        element_bytes,
    )
    .ok()
}

/// Bytes of a copy: whole rows, at least one plane of at least one row, and a line of slack.
pub(crate) fn copy_bytes(layout: &TensorLayout, element_bytes: usize) -> usize {
    let [_, _, rows, cols] = layout.shape();
    let rows_len =
        if layout.is_empty() { rows.max(1) * layout.pitch() } else { layout.span() + layout.pitch() - cols };
    rows_len * element_bytes + LINE_BYTES
}

/// A copy of the tensor in a layout, with poison in its padding. `memory` has room for it.
pub(crate) fn filled_copy(
    mut memory: Vec<u8>,
    placed: &Placed,
    region: &[u8],
    layout: TensorLayout,
) -> Vec<u8> {
    memory.resize(copy_bytes(&layout, placed.dtype.size_bytes() as usize), POISON);
    for (home, row) in rows_of(placed, Some(layout)) {
        memory[row].copy_from_slice(&region[home]);
    }
    memory
}

/// The rows of a tensor as bytes: where they are in its region, and where in its block, which holds the region
/// or a copy with another layout.
pub(crate) fn rows_of(
    placed: &Placed,
    copy: Option<TensorLayout>,
) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<> {
    let element_bytes = placed.dtype.size_bytes() as usize;
    let row_bytes = placed.layout.shape()[3] * element_bytes;
    let offset_bytes = placed.offset_bytes();
    let bytes = move |start: usize| start..start + row_bytes;
    placed.layout.rows().zip(copy.unwrap_or(placed.layout).rows()).map(move |(home, row)| {
        let home = bytes(offset_bytes + home * element_bytes);
        let row = if copy.is_some() { bytes(row * element_bytes) } else { home.clone() };
        (home, row)
    })
}
