//! Owns the ops of the language, one file per family; each op's host body is behind it.

pub mod convert;
pub mod memory;
pub mod mma;
pub mod place;
