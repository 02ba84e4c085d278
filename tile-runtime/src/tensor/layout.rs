//! Owns the arithmetic of tensor layouts: shapes, pitches and strides, all checked.
//!
//! *Guarantees*: for a layout built here, every offset of an element inside the shape, and the byte size of
//! everything from the first to the last element, is below `isize::MAX`; so the unchecked arithmetic on a
//! built layout cannot overflow. *Not here*: memory (`storage`), lifetimes (`view`), hardware limits
//! (`xe_surface`).

use core::ops::{Bound, RangeBounds};

use crate::error::TensorError;
use crate::xe_surface::LIMIT;

/// Sizes of a tensor: `[batch, depth, rows, cols]`.
pub type Shape = [usize; 4];

/// Bytes of one cache line and of one Xe register: owned tensors align their base, pitch and plane strides to
/// it (DESIGN §5: 2-D block messages need a 64-byte base, plane strides in multiples of it, and at least 64
/// bytes per row).
pub const LINE_BYTES: usize = 64;

/// Row strides that are a multiple of this many bytes get one more line.
///
/// A power-of-two row stride maps the rows of a tile to few cache sets. Measured with `benches/pitch.rs` on two
/// cores, bf16 GEMM: one line more gives 1.03 to 1.22 times the speed at strides of 1 to 4 KiB, and nothing at
/// 256 and 512 bytes, where it would also cost most memory.
const CROWDED_STRIDE_BYTES: usize = 1024;

/// Where the elements of a tensor lie, relative to its first element; all strides in elements.
///
/// Element `(b, d, r, c)` is at `b * batch_stride + d * depth_stride + r * pitch + c`. A stride of 0 repeats a
/// plane (inputs only).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorLayout {
    shape: Shape,
    pitch: usize,
    depth_stride: usize,
    batch_stride: usize,
}

impl TensorLayout {
    /// Rows without gaps, planes without gaps.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`] if the size is not addressable.
    pub fn packed(shape: Shape, element_bytes: usize) -> Result<TensorLayout, TensorError> {
        TensorLayout::pitched(shape, shape[3], element_bytes)
    }

    /// Rows `pitch` elements apart, planes without further gaps.
    ///
    /// # Errors
    /// [`TensorError::Pitch`] if a row does not fit its pitch, [`TensorError::TooLarge`] if the size is not
    /// addressable.
    pub fn pitched(shape: Shape, pitch: usize, element_bytes: usize) -> Result<TensorLayout, TensorError> {
        let too_large = || TensorError::TooLarge { shape, element_bytes };
        let depth_stride = shape[2].checked_mul(pitch).ok_or_else(too_large)?;
        let batch_stride = shape[1].checked_mul(depth_stride).ok_or_else(too_large)?;
        TensorLayout::strided(shape, pitch, depth_stride, batch_stride, element_bytes)
    }

    /// Arbitrary strides in elements.
    ///
    /// # Errors
    /// [`TensorError::Pitch`] if there are several rows and a row does not fit its pitch,
    /// [`TensorError::TooLarge`] if the size is not addressable.
    pub fn strided(
        shape: Shape,
        pitch: usize,
        depth_stride: usize,
        batch_stride: usize,
        element_bytes: usize,
    ) -> Result<TensorLayout, TensorError> {
        let [_, _, rows, cols] = shape;
        if pitch < cols && rows > 1 {
            return Err(TensorError::Pitch { shape, pitch });
        }
        let layout = TensorLayout { shape, pitch, depth_stride, batch_stride };
        let addressable = |elements: Option<usize>| {
            elements
                .and_then(|count| count.checked_mul(element_bytes.max(1)))
                .filter(|bytes| *bytes <= isize::MAX as usize - LINE_BYTES)
        };
        // The count is bounded too: a repeated plane (stride 0) occupies little but reads as many elements.
        let count = if layout.is_empty() {
            Some(0)
        } else {
            shape.iter().try_fold(1usize, |product, size| product.checked_mul(*size))
        };
        match (addressable(count), addressable(layout.checked_span())) {
            (Some(_), Some(_)) => Ok(layout),
            _ => Err(TensorError::TooLarge { shape, element_bytes }),
        }
    }

    /// The layout of tensors the runtime owns: pitch and plane strides in whole lines, at least one line per
    /// row, and one more where the row stride would crowd the cache.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`] if the size is not addressable.
    pub fn padded(shape: Shape, element_bytes: usize) -> Result<TensorLayout, TensorError> {
        let too_large = || TensorError::TooLarge { shape, element_bytes };
        let row_bytes = shape[3].checked_mul(element_bytes).ok_or_else(too_large)?.max(1);
        let mut pitch_bytes = row_bytes.checked_next_multiple_of(LINE_BYTES).ok_or_else(too_large)?;
        // A pitch beyond the largest one of a surface would cost more than it gains.
        if pitch_bytes.is_multiple_of(CROWDED_STRIDE_BYTES) && pitch_bytes as u64 != LIMIT {
            pitch_bytes = pitch_bytes.checked_add(LINE_BYTES).ok_or_else(too_large)?;
        }
        TensorLayout::pitched(shape, pitch_bytes / element_bytes, element_bytes)
    }

    /// `[batch, depth, rows, cols]`.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Elements from one row to the next.
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// Elements from one plane to the next within a batch entry; 0 repeats the plane.
    pub fn depth_stride(&self) -> usize {
        self.depth_stride
    }

    /// Elements from one batch entry to the next; 0 repeats the entry.
    pub fn batch_stride(&self) -> usize {
        self.batch_stride
    }

    /// True if there is no element.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Number of elements, repeated ones included.
    pub fn count(&self) -> usize {
        if self.is_empty() { 0 } else { self.shape.iter().product() }
    }

    /// Elements from the first to the last one, both included; 0 for an empty layout.
    pub fn span(&self) -> usize {
        self.checked_span().expect("checked when the layout was built")
    }

    fn checked_span(&self) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        let [batch, depth, rows, cols] = self.shape;
        let steps = [(batch, self.batch_stride), (depth, self.depth_stride), (rows, self.pitch)];
        steps.iter().try_fold(cols, |end, (size, stride)| end.checked_add((size - 1).checked_mul(*stride)?))
    }

    /// The offset of the first element of row `(batch, depth, row)`, or `None` outside the shape.
    pub fn row_offset(&self, batch: usize, depth: usize, row: usize) -> Option<usize> {
        let inside = batch < self.shape[0] && depth < self.shape[1] && row < self.shape[2];
        // Without columns there is nothing to point at, and huge strides may lead beyond any memory.
        let offset = || batch * self.batch_stride + depth * self.depth_stride + row * self.pitch;
        inside.then(|| if self.is_empty() { 0 } else { offset() })
    }

    /// The offset of the first element of every row, plane by plane.
    pub(crate) fn rows(&self) -> impl Iterator<Item = usize> + use<> {
        let layout = *self;
        row_indices(self.shape).map(move |(batch, depth, row)| {
            layout.row_offset(batch, depth, row).expect("the indices come from the shape")
        })
    }

    /// True if no two elements share a place. Sufficient, not necessary: the axes, ordered by stride, must
    /// nest. Every permutation of a packed tensor and every part of one passes.
    pub fn is_injective(&self) -> bool {
        if self.is_empty() {
            return true;
        }
        let [batch, depth, rows, cols] = self.shape;
        let mut axes =
            [(1, cols), (self.pitch, rows), (self.depth_stride, depth), (self.batch_stride, batch)];
        axes.sort_unstable();
        let mut extent = 1usize;
        axes.iter().filter(|(_, size)| *size > 1).all(|(stride, size)| {
            let fits = *stride >= extent;
            extent = extent.saturating_add(stride.saturating_mul(size - 1));
            fits
        })
    }

    /// The part within `range` of `axis`, and its offset from the first element.
    ///
    /// # Errors
    /// [`TensorError::OutOfRange`] if the range leaves the axis or runs backwards.
    pub fn part(
        &self,
        axis: Axis,
        range: impl RangeBounds<usize>,
    ) -> Result<(usize, TensorLayout), TensorError> {
        let len = self.shape[axis as usize];
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => len,
        };
        if start > end || end > len {
            return Err(TensorError::OutOfRange { axis, start, end, shape: self.shape });
        }
        let mut part = *self;
        part.shape[axis as usize] = end - start;
        let stride = match axis {
            Axis::Batch => self.batch_stride,
            Axis::Depth => self.depth_stride,
            Axis::Rows => self.pitch,
            Axis::Cols => 1,
        };
        // An empty part has no element to point at; an offset past the memory would make a wild pointer.
        let offset = if part.is_empty() { 0 } else { start * stride };
        Ok((offset, part))
    }

    /// The layout in which columns are `parts` neighbouring parts, one per depth: `[batch, 1, rows, parts * cols]` becomes
    /// `[batch, parts, rows, cols]`.
    ///
    /// # Errors
    /// [`TensorError::Split`] if depth is not 1, or the columns are not a multiple of `parts`.
    pub fn split_cols(&self, parts: usize) -> Result<TensorLayout, TensorError> {
        let [batch, depth, rows, cols] = self.shape;
        if depth != 1 || parts == 0 || !cols.is_multiple_of(parts) {
            return Err(TensorError::Split { axis: Axis::Cols, parts, shape: self.shape });
        }
        let shape = [batch, parts, rows, cols / parts];
        Ok(TensorLayout { shape, depth_stride: cols / parts, ..*self })
    }

    /// The layout in which neighbouring planes of one row are the rows of one plane: `[batch, parts * rows, 1, cols]` becomes
    /// `[batch, parts, rows, cols]`.
    ///
    /// # Errors
    /// [`TensorError::Split`] if there is more than one row, or depth is not a multiple of `parts`;
    /// [`TensorError::Pitch`] if a row does not fit the distance of the planes.
    pub fn split_depth(&self, parts: usize, element_bytes: usize) -> Result<TensorLayout, TensorError> {
        let [batch, depth, rows, cols] = self.shape;
        if rows != 1 || parts == 0 || !depth.is_multiple_of(parts) {
            return Err(TensorError::Split { axis: Axis::Depth, parts, shape: self.shape });
        }
        let shape = [batch, parts, depth / parts, cols];
        let too_large = TensorError::TooLarge { shape, element_bytes };
        let depth_stride = self.depth_stride.checked_mul(shape[2]).ok_or(too_large)?;
        TensorLayout::strided(shape, self.depth_stride, depth_stride, self.batch_stride, element_bytes)
    }

    /// The layout in which the single entry of `axis` (batch or depth) is read `size` times.
    ///
    /// # Errors
    /// [`TensorError::Broadcast`] if the axis is not a plane axis of size 1, [`TensorError::TooLarge`] if the
    /// number of elements read is not addressable.
    pub fn broadcast(
        &self,
        axis: Axis,
        size: usize,
        element_bytes: usize,
    ) -> Result<TensorLayout, TensorError> {
        let single = self.shape[axis as usize] == 1;
        let mut shape = self.shape;
        shape[axis as usize] = size;
        match axis {
            Axis::Batch if single => {
                TensorLayout::strided(shape, self.pitch, self.depth_stride, 0, element_bytes)
            }
            Axis::Depth if single => {
                TensorLayout::strided(shape, self.pitch, 0, self.batch_stride, element_bytes)
            }
            Axis::Batch | Axis::Depth | Axis::Rows | Axis::Cols => {
                Err(TensorError::Broadcast { axis, size, shape: self.shape })
            }
        }
    }
}

/// Indices of every row, (batch, depth, row), plane by plane.
pub(super) fn row_indices(shape: Shape) -> impl Iterator<Item = (usize, usize, usize)> {
    let [batches, depths, rows, cols] = shape;
    // Without columns there is nothing to visit, however many rows there are.
    let rows = if cols == 0 { 0 } else { rows };
    let batches = if depths == 0 || rows == 0 { 0 } else { batches };
    (0..batches).flat_map(move |batch| {
        (0..depths).flat_map(move |depth| (0..rows).map(move |row| (batch, depth, row)))
    })
}

/// An axis of a tensor, in the order of [`Shape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Outer plane axis.
    Batch = 0,
    /// Inner plane axis.
    Depth = 1,
    /// Rows of a plane.
    Rows = 2,
    /// Columns of a plane.
    Cols = 3,
}

impl core::fmt::Display for Axis {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Axis::Batch => "batch",
            Axis::Depth => "depth",
            Axis::Rows => "rows",
            Axis::Cols => "cols",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(shape: Shape, pitch: usize, depth: usize, batch: usize) -> TensorLayout {
        TensorLayout::strided(shape, pitch, depth, batch, 2).expect("legal")
    }

    #[test]
    fn owned_pitches_are_whole_lines_and_never_crowd_the_cache() {
        for cols in (0..300).chain([511, 512, 1000, 1024, 2048, 4096, 14336]) {
            for element_bytes in [2, 4] {
                let layout = TensorLayout::padded([2, 3, 5, cols], element_bytes).expect("small");
                let pitch_bytes = layout.pitch() * element_bytes;
                assert_eq!(pitch_bytes % LINE_BYTES, 0);
                assert_ne!(pitch_bytes % CROWDED_STRIDE_BYTES, 0);
                assert!(pitch_bytes >= LINE_BYTES && layout.pitch() >= cols);
                assert!(pitch_bytes < cols * element_bytes + 2 * LINE_BYTES);
                assert_eq!(layout.depth_stride() * element_bytes % LINE_BYTES, 0);
            }
        }
    }

    #[test]
    fn the_widest_rows_of_a_surface_get_no_line_more() {
        let pitch_bytes = |cols| TensorLayout::padded([1, 1, 2, cols], 2).expect("addressable").pitch() * 2;
        assert_eq!(pitch_bytes(1 << 23), 1 << 24);
        assert_eq!(pitch_bytes((1 << 23) - 31), 1 << 24);
        assert_eq!(pitch_bytes(1 << 22), (1 << 23) + LINE_BYTES);
    }

    #[test]
    fn span_ends_at_the_last_element() {
        assert_eq!(strided([1, 1, 3, 4], 10, 0, 0).span(), 24);
        assert_eq!(strided([2, 3, 3, 4], 10, 100, 1000).span(), 1224);
        assert_eq!(strided([2, 3, 0, 4], 10, 100, 1000).span(), 0);
        assert_eq!(strided([5, 1, 3, 4], 10, 0, 0).count(), 60);
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        let huge = usize::MAX;
        for shape in
            [[1, 1, huge, 2], [huge, 1, 1, 1], [1 << 40, 1 << 40, 1, 1], [1, 1, 1, isize::MAX as usize]]
        {
            let refused = TensorLayout::packed(shape, 2);
            assert_eq!(refused, Err(TensorError::TooLarge { shape, element_bytes: 2 }));
            assert!(TensorLayout::padded(shape, 2).is_err());
        }
        // Little memory, but too many reads.
        let one = TensorLayout::packed([1, 1, 1, 8], 2).expect("small");
        assert!(one.broadcast(Axis::Batch, huge, 2).is_err());
        assert_eq!(TensorLayout::packed([7, 0, 3, 9], 2).expect("empty").span(), 0);
        assert!(TensorLayout::packed([huge, huge, huge, 0], 2).is_ok(), "no element, nothing to overflow");
    }

    #[test]
    fn overlapping_layouts_are_recognised() {
        assert!(strided([2, 3, 4, 5], 5, 20, 60).is_injective());
        // Heads interleaved in the row: [batch, head, sequence, dim] over memory [batch, sequence, head, dim].
        assert!(strided([2, 3, 4, 5], 15, 5, 60).is_injective());
        assert!(!strided([2, 3, 4, 5], 15, 4, 60).is_injective());
        assert!(!strided([2, 1, 4, 5], 5, 0, 0).is_injective());
        assert!(!strided([2, 3, 4, 5], 5, 20, 59).is_injective());
        assert!(strided([1, 1, 4, 5], 5, 0, 0).is_injective());
    }

    #[test]
    fn columns_become_planes_and_planes_rows() {
        let token = strided([2, 1, 1, 24], 32, 32, 1000);
        let heads = token.split_cols(6).expect("6 times 4");
        assert_eq!((heads.shape(), heads.row_offset(1, 5, 0)), ([2, 6, 1, 4], Some(1020)));
        let groups = heads.split_depth(2, 2).expect("2 times 3");
        assert_eq!((groups.shape(), groups.row_offset(1, 1, 2)), ([2, 2, 3, 4], Some(1020)));
        assert!(groups.is_injective());
        for (refused, axis, parts) in [
            (token.split_cols(5), Axis::Cols, 5),
            (token.split_cols(0), Axis::Cols, 0),
            (heads.split_depth(4, 2), Axis::Depth, 4),
            (heads.split_depth(0, 2), Axis::Depth, 0),
        ] {
            let shape = if axis == Axis::Cols { [2, 1, 1, 24] } else { [2, 6, 1, 4] };
            assert_eq!(refused, Err(TensorError::Split { axis, parts, shape }));
        }
        assert!(heads.split_cols(2).is_err() && groups.split_depth(1, 2).is_err());
        // A plane that is read again and again is no set of rows.
        let repeated = strided([1, 1, 1, 4], 4, 4, 4).broadcast(Axis::Depth, 6, 2).expect("one plane");
        assert!(matches!(repeated.split_depth(2, 2), Err(TensorError::Pitch { .. })));
        assert!(strided([1, 1, 0, 24], 24, 0, 0).split_cols(6).expect("empty").is_empty());
    }

    #[test]
    fn parts_shift_and_shrink() {
        let layout = strided([2, 3, 4, 5], 10, 100, 1000);
        let (offset, part) = layout.part(Axis::Rows, 1..=2).expect("inside");
        assert_eq!((offset, part.shape()), (10, [2, 3, 2, 5]));
        let (offset, part) = part.part(Axis::Cols, 3..).expect("inside");
        assert_eq!((offset, part.shape()), (3, [2, 3, 2, 2]));
        assert_eq!(layout.part(Axis::Batch, 1..2).expect("inside").0, 1000);
        assert_eq!(layout.part(Axis::Rows, 4..4).expect("empty").0, 0);
        let wrong = layout.part(Axis::Rows, 3..5);
        assert_eq!(
            wrong,
            Err(TensorError::OutOfRange { axis: Axis::Rows, start: 3, end: 5, shape: [2, 3, 4, 5] })
        );
        #[expect(clippy::reversed_empty_ranges, reason = "the refusal is the test")]
        let backwards = layout.part(Axis::Rows, 3..2);
        assert!(backwards.is_err());
        assert!(layout.part(Axis::Cols, ..=usize::MAX).is_err());
    }
}
