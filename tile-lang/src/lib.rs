//! The vocabulary of a kernel author: tiles, global layouts, and ops with executable host bodies.
//!
//! A kernel body is ordinary Rust over the types of [`prelude`], and it runs: as a plain function over views
//! of slices (below), on the host device of `tile-runtime` as one call per sub-group, and, from the same
//! tokens, on Intel GPUs.
//!
//! ```
//! use tile_lang::prelude::*;
//!
//! fn gemm(c: &mut gl<f32>, a: &gl<bf16>, b: &gl<bf16>) {
//!     let at = own_tile::<32, 64>(c, Linear);
//!     let mut acc: rt<f32, 32, 64, Acc> = zeros();
//!     for k in 0..a.col_tiles(32) {
//!         let x: rt<bf16, 32, 32> = load(a, [at.row(), k]);
//!         let y: rt<bf16, 32, 64, Vnni> = load_transform(b, [k, at.col()]);
//!         mma_AB(&mut acc, &x, &y);
//!     }
//!     store(c, &acc, at);
//! }
//!
//! let (a, b) = (vec![bf16::ONE; 5 * 70], vec![bf16::ONE; 70 * 9]);
//! let mut c = vec![f32::NAN; 5 * 9];
//! gemm(
//!     &mut gl::of_mut(&mut c, 5, 9).expect("5 x 9 elements are there"),
//!     &gl::of(&a, 5, 70).expect("5 x 70 elements are there"),
//!     &gl::of(&b, 70, 9).expect("70 x 9 elements are there"),
//! );
//! assert_eq!(c, [70.0; 45]);
//! ```
//!
//! *Guarantees*: results do not depend on the CPU's SIMD level; no safe code reaches memory outside a tensor.
//! *Not here*: launching (`tile-runtime`), compiling a kernel (`tile-macros`), lowering (`tile-spirv`).
//!
//! Where things are: [`tile`] and [`role`] say what a tile is, [`vector`] what a vector is, [`shared`] and [`group`] what a
//! work-group shares, [`global`] what a tensor is, [`place`] who works
//! where, [`ops`] what can be done, [`scalar`] what scalar arithmetic means, [`launch`] what the runtime passes,
//! [`simd`] how the host does it. Unsafe code is confined to `simd`, and to `global` and `launch`, which make up
//! the view module.

#![deny(unsafe_code)]

mod element;
pub mod global;
pub mod group;
pub mod launch;
pub mod operand;
pub mod ops;
pub mod place;
pub mod prelude;
pub mod race;
pub mod role;
pub mod scalar;
pub mod shared;
pub mod simd;
pub mod tile;
pub mod vector;

pub use tile_ir::types::{DType, ScalarType};

/// Proves to rustc that a value has the type the macro inferred: `witness::<rt<f32, 32, 64, Acc>>(&acc)`.
#[inline]
pub fn witness<T: ?Sized>(_: &T) {}
