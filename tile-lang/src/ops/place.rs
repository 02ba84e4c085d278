//! Owns the ops that ask for a sub-group's place.
//!
//! Expanded kernels call the `_in` forms with the hidden context of the launch; the plain forms are what a
//! kernel author writes, and act as the only sub-group. *Not here*: the arithmetic (`crate::place`).

use crate::element::AnyElement;
use crate::global::gl;
use crate::launch::Cx;
use crate::place::{Order, Own};

/// Gives the coordinate of the one `M x N` tile of output `c` that this sub-group owns.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut data = [f32::NAN; 4 * 16];
/// let mut c = gl::of_mut(&mut data, 4, 16).expect("4 x 16 elements are there");
/// let at = own_tile::<8, 16>(&c, Snake(8));
/// assert_eq!((at.row(), at.col(), at.outside()), (0, 0, false));
/// let tile: rt<f32, 8, 16> = zeros();
/// store(&mut c, &tile, at);
/// assert_eq!(data, [0.0; 64]);
/// ```
pub fn own_tile<const M: usize, const N: usize>(c: &gl<impl AnyElement>, order: Order) -> Own<M, N> {
    Own::new(c.cx(), c.shape(), order)
}

/// The expanded form of [`own_tile`]. The place is the one the launch put into the view of `c`, which is the
/// caller's `cx`: safety must not depend on what a caller passes.
pub fn own_tile_in<const M: usize, const N: usize>(
    _cx: &Cx,
    c: &gl<impl AnyElement>,
    order: Order,
) -> Own<M, N> {
    own_tile(c, order)
}

/// Gives the id of this sub-group in its work-group.
///
/// ```
/// assert_eq!(tile_lang::prelude::subgroup_id(), 0);
/// ```
pub fn subgroup_id() -> u32 {
    subgroup_id_in(&Cx::SOLO)
}

/// The expanded form of [`subgroup_id`].
pub fn subgroup_id_in(cx: &Cx) -> u32 {
    cx.subgroup
}

/// Gives the row of this sub-group in its work-group.
///
/// ```
/// assert_eq!(tile_lang::prelude::subgroup_row(), 0);
/// ```
pub fn subgroup_row() -> u32 {
    subgroup_row_in(&Cx::SOLO)
}

/// The expanded form of [`subgroup_row`].
pub fn subgroup_row_in(cx: &Cx) -> u32 {
    cx.subgroup / cx.subgroups.1.max(1)
}

/// Gives the column of this sub-group in its work-group.
///
/// ```
/// assert_eq!(tile_lang::prelude::subgroup_col(), 0);
/// ```
pub fn subgroup_col() -> u32 {
    subgroup_col_in(&Cx::SOLO)
}

/// The expanded form of [`subgroup_col`].
pub fn subgroup_col_in(cx: &Cx) -> u32 {
    cx.subgroup % cx.subgroups.1.max(1)
}
