//! Owns places: which tile a sub-group owns, and how coordinates name elements.
//!
//! *Guarantees*: all arithmetic is 64-bit and total; over one launch, [`Own`] is injective from sub-groups to
//! tiles. *Not here*: memory (`global`), and the same arithmetic in IR, which tests compare with this.

use crate::launch::Cx;
use crate::tile::{Dim, Extent};
use crate::vector::{Encoding, PerCol, PerRow, Wide};

pub use Order::{Linear, Snake, Upward};

/// The order in which work-groups walk the tiles of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Row after row.
    Linear,
    /// Row after row, the last row of work-groups first: for outputs whose last rows are the most work, as those of
    /// causal attention. A device that has no work-groups left to start then waits for short ones.
    Upward,
    /// Stacks of this many work-group columns; each stack runs down or up, each of its rows right or left, so
    /// that consecutive work-groups share operands in cache. A width of 0 counts as 1.
    Snake(u32),
}

impl Order {
    /// The (row, column) of work-group `id` in a `(rows, cols)` grid of work-groups; a bijection for
    /// `id < rows * cols`.
    pub fn place(self, id: u64, (rows, cols): (u32, u32)) -> (u64, u64) {
        let (rows, cols) = (u64::from(rows).max(1), u64::from(cols).max(1));
        match self {
            Linear => (id / cols, id % cols),
            Upward => ((rows - 1).saturating_sub(id / cols), id % cols),
            Snake(width) => {
                let stack_width = u64::from(width).max(1);
                let stack = id / (stack_width * rows);
                let first = (stack * stack_width).min(cols - 1);
                let width = stack_width.min(cols - first);
                let r = id.saturating_sub(stack * stack_width * rows);
                let row = (r / width).min(rows - 1);
                let col = r % width;
                let row = if stack % 2 == 1 { rows - 1 - row } else { row };
                let col = if row % 2 == 1 { width - 1 - col } else { col };
                (row, first + col)
            }
        }
    }
}

/// The coordinate of the one `M x N` tile of an output that this sub-group owns, in tiles.
///
/// Only `own_tile` makes one, and no two sub-groups of a launch get the same: that is why `store` is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own<const M: usize, const N: usize> {
    pub(crate) cx: Cx,
    pub(crate) order: Order,
    batch: u32,
    depth: u32,
    row: u32,
    col: u32,
    outside: bool,
}

impl<const M: usize, const N: usize> Own<M, N> {
    /// The tile that the sub-group at `cx` owns of an output of `shape` (batch, depth, rows, cols).
    pub(crate) fn new(cx: Cx, shape: [u32; 4], order: Order) -> Own<M, N> {
        let per_plane = (u64::from(cx.grid.0) * u64::from(cx.grid.1)).max(1);
        let (plane, id) = (cx.group / per_plane, cx.group % per_plane);
        let depths = u64::from(cx.planes.1).max(1);
        let (group_row, group_col) = order.place(id, cx.grid);
        let (down, across) = (cx.subgroups.0, cx.subgroups.1.max(1));
        let row = group_row * u64::from(down) + u64::from(cx.subgroup / across);
        let col = group_col * u64::from(across) + u64::from(cx.subgroup % across);
        // A tile past u32::MAX is outside every tensor, and so is tile u32::MAX itself.
        let tile = |index: u64| u32::try_from(index).unwrap_or(u32::MAX);
        let own = Own {
            cx,
            order,
            batch: tile(plane / depths),
            depth: tile(plane % depths),
            row: tile(row),
            col: tile(col),
            outside: false,
        };
        let [batch, depth, rows, cols] = shape.map(u64::from);
        let outside = u64::from(own.batch) >= batch
            || u64::from(own.depth) >= depth
            || u64::from(own.row) >= rows.div_ceil(M.max(1) as u64)
            || u64::from(own.col) >= cols.div_ceil(N.max(1) as u64);
        Own { outside, ..own }
    }

    /// The batch index.
    pub fn batch(self) -> u32 {
        self.batch
    }

    /// The depth index.
    pub fn depth(self) -> u32 {
        self.depth
    }

    /// The row, in tiles of `M` rows.
    pub fn row(self) -> u32 {
        self.row
    }

    /// The column, in tiles of `N` columns.
    pub fn col(self) -> u32 {
        self.col
    }

    /// The row of the work-group, in blocks of the tiles that its sub-groups own: the same in all of them.
    pub fn group_row(self) -> u32 {
        self.row / self.cx.subgroups.0.max(1)
    }

    /// The column of the work-group, in blocks of the tiles that its sub-groups own.
    pub fn group_col(self) -> u32 {
        self.col / self.cx.subgroups.1.max(1)
    }

    fn claimed(self, share: Share) -> Claim {
        Claim { cx: self.cx, order: self.order, tile: (M, N), share }
    }

    /// Tells whether the tile lies wholly outside the output, as at the lower and right rim of a grid of
    /// work-groups. Storing there is harmless; returning early saves the work.
    pub fn outside(self) -> bool {
        self.outside
    }
}

/// The element at which a tile starts. May be far outside the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Batch index.
    pub batch: u64,
    /// Depth index.
    pub depth: u64,
    /// Row, in elements.
    pub row: u64,
    /// Column, in elements.
    pub col: u64,
}

impl Origin {
    fn in_tiles<const M: usize, const N: usize>([batch, depth, row, col]: [u32; 4]) -> Origin {
        Origin {
            batch: batch.into(),
            depth: depth.into(),
            row: u64::from(row).saturating_mul(M as u64),
            col: u64::from(col).saturating_mul(N as u64),
        }
    }

    fn in_elements(at: [u32; 4]) -> Origin {
        Origin::in_tiles::<1, 1>(at)
    }
}

/// Who stores where: the facts of an [`Own`] that make it unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub(crate) cx: Cx,
    pub(crate) order: Order,
    pub(crate) tile: (usize, usize),
    pub(crate) share: Share,
}

/// What of an output a sub-group takes by the tile it owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// The tile itself.
    Tile,
    /// The vector along rows whose place has the tile's coordinates the other way round.
    PerRow,
    /// The vector along columns, or the wide one, whose place has the tile's coordinates.
    PerCol,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for [u32; 2] {}
    impl Sealed for [u32; 4] {}
    impl Sealed for super::Elements {}
    impl<const M: usize, const N: usize> Sealed for super::Own<M, N> {}
}

/// A coordinate of a tile whose shape is `E`.
///
/// `[row, col]` and `[batch, depth, row, col]` count in tiles; [`elements`] counts in elements; an [`Own`] is
/// the coordinate of a tile of its own shape.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a coordinate of a tile of `{E}`",
    label = "not a coordinate",
    note = "write `[row, col]` or `[batch, depth, row, col]` as u32 in tiles, or `elements([row, col])`",
    note = "what `own_tile::<M, N>` returns is the coordinate of an M x N tile only"
)]
pub trait Coordinate<E>: sealed::Sealed + Copy {
    /// The first element of the tile.
    fn origin(self) -> Origin;
    /// The ownership this coordinate carries, if any.
    fn claim(self) -> Option<Claim>;
}

impl<const M: usize, const N: usize> Coordinate<Extent<M, N>> for [u32; 2] {
    fn origin(self) -> Origin {
        Origin::in_tiles::<M, N>([0, 0, self[0], self[1]])
    }

    fn claim(self) -> Option<Claim> {
        None
    }
}

impl<const M: usize, const N: usize> Coordinate<Extent<M, N>> for [u32; 4] {
    fn origin(self) -> Origin {
        Origin::in_tiles::<M, N>(self)
    }

    fn claim(self) -> Option<Claim> {
        None
    }
}

impl<const M: usize, const N: usize> Coordinate<Extent<M, N>> for Elements {
    fn origin(self) -> Origin {
        Origin::in_elements(self.0)
    }

    fn claim(self) -> Option<Claim> {
        None
    }
}

impl<const M: usize, const N: usize> Coordinate<Extent<M, N>> for Own<M, N> {
    fn origin(self) -> Origin {
        Origin::in_tiles::<M, N>([self.batch, self.depth, self.row, self.col])
    }

    fn claim(self) -> Option<Claim> {
        Some(self.claimed(Share::Tile))
    }
}

/// A coordinate that only its sub-group has, for a tile whose shape is `E`.
#[diagnostic::on_unimplemented(
    message = "`store` needs the coordinate that `own_tile` gives for a tile of `{E}`, but this is `{Self}`",
    label = "not a coordinate only this sub-group has",
    note = "make it with `let at = own_tile::<M, N>(c, Snake(8));`, M x N being the shape of the stored tile",
    note = "`store_at` takes any coordinate, and is unsafe: the caller must see that no two sub-groups store to one element"
)]
pub trait Owned<E>: Coordinate<E> {}
impl<const M: usize, const N: usize> Owned<Extent<M, N>> for Own<M, N> {}

/// A coordinate that belongs to the tile of this sub-group alone, for a vector of encoding `E` and length `L`: a vector along
/// columns as long as the tile has columns goes to the row `at.row()`, as its `at.col()`-th vector; one along rows as long as the
/// tile has rows to the row `at.col()`, as its `at.row()`-th.
#[diagnostic::on_unimplemented(
    message = "`store_vec` needs what `own_tile` gives for a tile as wide as a `PerCol` or `Wide` vector, or as high as a `PerRow` one: here the vector is `{E}` of `{L}` and the coordinate `{Self}`",
    label = "not a coordinate of this vector that only this sub-group has",
    note = "make it with `let at = own_tile::<M, N>(c, Linear);`: a `PerCol` or `Wide` vector has N elements, a `PerRow` vector M",
    note = "`store_vec_at` takes any coordinate, and is unsafe: the caller must see that no two sub-groups store to one element"
)]
pub trait OwnedLine<E: Encoding, L>: sealed::Sealed + Copy {
    /// The first element.
    #[doc(hidden)]
    fn line_origin(self) -> Origin;
    /// The ownership.
    #[doc(hidden)]
    fn line_claim(self) -> Claim;
}

impl<const M: usize, const N: usize> OwnedLine<PerCol, Dim<N>> for Own<M, N> {
    fn line_origin(self) -> Origin {
        Origin::in_tiles::<1, N>([self.batch, self.depth, self.row, self.col])
    }

    fn line_claim(self) -> Claim {
        self.claimed(Share::PerCol)
    }
}

impl<const M: usize, const N: usize> OwnedLine<Wide, Dim<N>> for Own<M, N> {
    fn line_origin(self) -> Origin {
        OwnedLine::<PerCol, Dim<N>>::line_origin(self)
    }

    fn line_claim(self) -> Claim {
        self.claimed(Share::PerCol)
    }
}

impl<const M: usize, const N: usize> OwnedLine<PerRow, Dim<M>> for Own<M, N> {
    fn line_origin(self) -> Origin {
        Origin::in_tiles::<1, M>([self.batch, self.depth, self.col, self.row])
    }

    fn line_claim(self) -> Claim {
        self.claimed(Share::PerRow)
    }
}

/// A coordinate in elements, made by [`elements`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements([u32; 4]);

/// Makes a coordinate that counts in elements instead of tiles: `[row, col]` or `[batch, depth, row, col]`.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let data: Vec<f32> = (0..64).map(|i| i as f32).collect();
/// let a = gl::of(&data, 4, 16).expect("4 x 16 elements are there");
/// let tile: rt<f32, 8, 16> = load(&a, elements([1, 2]));
/// assert_eq!(tile.get(0, 0), 18.0);
/// assert_eq!(tile.get(0, 14), 0.0); // column 16 is outside
/// ```
pub fn elements(at: impl ElementIndex) -> Elements {
    Elements(at.index())
}

/// What [`elements`] and `load_scalar` take: `[row, col]` or `[batch, depth, row, col]`, as u32.
#[diagnostic::on_unimplemented(
    message = "an element is named by `[row, col]` or `[batch, depth, row, col]` as u32, but this is `{Self}`",
    label = "not an element index"
)]
pub trait ElementIndex: sealed::Sealed {
    /// The index as (batch, depth, row, col).
    fn index(self) -> [u32; 4];
}

impl ElementIndex for [u32; 2] {
    fn index(self) -> [u32; 4] {
        [0, 0, self[0], self[1]]
    }
}

impl ElementIndex for [u32; 4] {
    fn index(self) -> [u32; 4] {
        self
    }
}

/// The sub-groups of a work-group that use the same tile and share its prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peers {
    /// The sub-groups in my row of the work-group.
    Row,
    /// The sub-groups in my column of the work-group.
    Col,
}
