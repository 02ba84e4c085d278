//! Owns the emission of tile ops, one file per family.

mod bytes;
mod group;
mod lanewise;
mod layout;
pub(crate) mod map;
mod mask;
pub(crate) mod memory;
pub(crate) mod mma;
mod reduce;
mod scatter;
pub(crate) mod selection;
mod tail;
mod topk;
mod vector;
pub(crate) mod vector_reduce;
mod wide;
