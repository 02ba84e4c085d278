//! Owns the ops of the language, one file per family; each op's host body is behind it.

pub mod closure;
pub mod convert;
pub mod layout;
pub mod map;
pub mod mask;
pub mod memory;
pub mod mma;
pub mod place;
pub mod reduce;
pub mod selection;
pub mod shared;
pub mod source;
pub mod topk;
pub mod vector;
pub mod vector_reduce;

/// The names of the element-wise, reducing, masking and layout methods of tiles, family by family, for tests that compare
/// them with the op tables. Vectors have the methods of the tables, without the broadcasting forms.
pub const SURFACE: &[&[&str]] = &[
    map::UNARY,
    map::BINARY,
    selection::TERNARY,
    selection::COMPARISONS,
    reduce::REDUCTIONS,
    vector_reduce::POSITIONS,
    mask::MASKS,
    selection::MASK_METHODS,
    layout::LAYOUT,
    topk::TOP_K,
];
