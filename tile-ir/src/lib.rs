//! Tile IR: what an op means.
//!
//! # Glossary (one word per concept, in code, messages and documentation)
//!
//! | word | meaning |
//! |---|---|
//! | *kernel* | a function under `#[tile_kernel]`; its body is the program of one sub-group |
//! | *instance* | a kernel with its element types, sizes and work-group grid fixed; the unit of compilation |
//! | *op* | an operation of tile IR |
//! | *instruction* | an operation of SPIR-V or of the machine |
//! | *tile* | a matrix of elements held in the registers of one sub-group (`rt`) |
//! | *role* | the part a tile's registers play: `Row`, `Vnni`, `VnniT`, `Acc` |
//! | *global* | a tensor in device memory as a kernel sees it (`gl`): batch, depth, rows, cols, pitch |
//! | *lane* | one of the 16 (on Xe) elements of a register; never visible in kernel text |
//! | *sub-group* | the lanes that execute one kernel body together |
//! | *work-group* | a grid of sub-groups (rows, cols) scheduled together |
//! | *shared memory* | memory of one work-group (SLM on Intel GPUs): `st`, `sv` |
//! | *barrier* | where the sub-groups of a work-group wait for each other |
//! | *pitch* | elements from one row of a global to the next |
//! | *plane* | one (batch, depth) matrix of a global |
//! | *edge* | the last row or column of a plane |
//!
//! # Semantics
//!
//! - A scalar value is *uniform*: all lanes of the sub-group hold the same value. Branch conditions and
//!   coordinates are scalars, so control flow is uniform by construction. Between the sub-groups of a work-group a scalar
//!   may vary: see [`uniform`], whose rule keeps barriers where every sub-group reaches them.
//! - Coordinates are in tiles and are multiplied by the tile size in 64 bits. Elements of a load outside the
//!   plane are 0; elements of a store outside are dropped.
//! - Scalar arithmetic is total: see [`scalar`].
//! - A region ends in an explicit [`ir::Exit`]; there is no fall-through.
//!
//! *Assumes* nothing and depends on nothing. *Guarantees*: a [`verify::Verified`] kernel obeys every rule named
//! in [`error::Code`], so lowering need not check again. *Not here*: how an op is emitted (`tile-spirv`),
//! called or executed on the host (`tile-lang`).
#![forbid(unsafe_code)]
#![deny(clippy::wildcard_enum_match_arm)]

pub mod error;
pub mod integer;
pub mod ir;
pub mod legal;
pub mod map;
pub mod ops;
mod print;
mod registers;
pub mod scalar;
pub mod topk;
pub mod types;
pub mod uniform;
pub mod verify;
mod workgroup;
