//! Owns the errors of this crate: one enum per concern.
//!
//! *Guarantees*: a message states the rule, then the values that broke it; a launch error names kernel and
//! instance. *Not here*: errors of the simulator (`tile_sim`), which a launch error carries as its source.

use thiserror::Error;

use crate::tensor::{Axis, Shape};

/// A tensor or view that cannot be made, or an access outside of one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TensorError {
    /// Use a smaller shape: its size in bytes is not addressable.
    #[error("a tensor must be addressable; shape {shape:?} of {element_bytes}-byte elements is not")]
    TooLarge {
        /// The shape asked for.
        shape: Shape,
        /// Bytes of one element.
        element_bytes: usize,
    },
    /// Free memory or use a smaller shape.
    #[error("out of memory: shape {shape:?} needs {bytes} bytes")]
    OutOfMemory {
        /// The shape asked for.
        shape: Shape,
        /// Bytes asked for, padding included.
        bytes: usize,
    },
    /// Pass as many elements as the shape has.
    #[error("shape {shape:?} has {needed} elements; {given} were given")]
    Length {
        /// The shape asked for.
        shape: Shape,
        /// Elements the shape needs.
        needed: usize,
        /// Elements given.
        given: usize,
    },
    /// Pass a longer slice: the layout ends beyond it.
    #[error(
        "shape {shape:?} with pitch {pitch} ends {needed} elements after its start; the slice has {given}"
    )]
    Short {
        /// The shape asked for.
        shape: Shape,
        /// Elements from row to row.
        pitch: usize,
        /// Elements from the first to the last, both included.
        needed: usize,
        /// Elements of the slice.
        given: usize,
    },
    /// Use a pitch of at least the number of columns.
    #[error(
        "rows must not overlap: the pitch must be at least the columns; shape {shape:?} has pitch {pitch}"
    )]
    Pitch {
        /// The shape asked for.
        shape: Shape,
        /// Elements from row to row.
        pitch: usize,
    },
    /// Use strides under which every element of an output has its own place.
    #[error(
        "elements of an output must not overlap; shape {shape:?} has pitch {pitch}, depth stride \
         {depth_stride} and batch stride {batch_stride}"
    )]
    Overlap {
        /// The shape asked for.
        shape: Shape,
        /// Elements from row to row.
        pitch: usize,
        /// Elements from plane to plane.
        depth_stride: usize,
        /// Elements from batch entry to batch entry.
        batch_stride: usize,
    },
    /// Use tensors of one shape.
    #[error("both shapes must be equal; the target has {target:?} and the source has {source_shape:?}")]
    ShapeMismatch {
        /// Shape of the tensor written.
        target: Shape,
        /// Shape of the tensor read.
        source_shape: Shape,
    },
    /// Use a range inside the axis.
    #[error("{axis} {start}..{end} must lie in 0..{}; the shape is {shape:?}", shape[*axis as usize])]
    OutOfRange {
        /// The axis.
        axis: Axis,
        /// First index of the range.
        start: usize,
        /// One past the last index of the range.
        end: usize,
        /// The shape cut.
        shape: Shape,
    },
    /// Broadcast `batch` or `depth`, and only from size 1.
    #[error("only a batch or depth of 1 can be broadcast; {axis} of shape {shape:?} cannot become {size}")]
    Broadcast {
        /// The axis.
        axis: Axis,
        /// The size asked for.
        size: usize,
        /// The shape broadcast.
        shape: Shape,
    },
}
