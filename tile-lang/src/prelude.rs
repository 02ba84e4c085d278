//! Owns the names a kernel author writes. `use tile_std::prelude::*` brings them all.

pub use crate::element::{AnyElement, Element, MmaInput, TileElement, bf16, f16, tf32};
pub use crate::global::gl;
pub use crate::ops::closure::ElementMath;
pub use crate::ops::memory::{
    atomic_add, atomic_add_vec, load, load_transform, load_transpose, prefetch_load, prefetch_load_coop,
    store, store_at, store_transpose,
};
pub use crate::ops::mma::{mma_AB, mma_ABt};
pub use crate::ops::place::{own_tile, subgroup_col, subgroup_id, subgroup_row};
pub use crate::ops::selection::{iota, iota_cols, iota_rows};
pub use crate::ops::shared::{
    barrier, barrier_arrive, barrier_wait, load_coop, load_shared, load_transform_shared,
    load_transpose_shared, load_vec_shared, shared, store_coop, store_shared, store_vec_shared,
};
pub use crate::ops::source::{fill, zeros};
pub use crate::ops::vector::{load_scalar, load_vec, store_vec, store_vec_at};
pub use crate::place::{Linear, Own, Peers, Snake, Upward, elements};
pub use crate::role::{Acc, Row, Vnni, VnniT};
pub use crate::shared::{st, sv};
pub use crate::tile::rt;
pub use crate::vector::{PerCol, PerRow, Wide, rv};
