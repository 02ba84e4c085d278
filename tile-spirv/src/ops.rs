//! Owns the emission of tile ops, one file per family.

pub(crate) mod memory;
pub(crate) mod mma;
mod tail;
