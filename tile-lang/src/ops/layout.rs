//! Owns the ops that move the elements of a tile, and the tiles that are parts of others.
//!
//! *Guarantees*: values move bit by bit. *Not here*: loads and stores that transpose (`memory`).

use crate::element::AnyElement;
use crate::operand::{ElementWise, PartIndex};
use crate::role::{Role, Row};
use crate::tile::sealed::Sealed as _;
use crate::tile::{PartOf, rt};

/// The names of the methods that move elements.
pub const LAYOUT: &[&str] = &["transpose", "sub_tile", "set_sub_tile"];

impl<T: AnyElement, const M: usize, const N: usize, L> rt<T, M, N, L> {
    /// Gives the transpose: a `Row` tile of N rows and M columns.
    ///
    /// In a kernel, the rows and columns of the tile are multiples of 16. A tile that is needed only transposed costs
    /// less as [`load_transpose`](crate::ops::memory::load_transpose) into a `Row` tile, and one that is only stored
    /// transposed as [`store_transpose`](crate::ops::memory::store_transpose).
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let data: Vec<f32> = (0..512).map(|i| i as f32).collect();
    /// let a = gl::of(&data, 16, 32).expect("16 x 32 elements are there");
    /// let x: rt<f32, 16, 32> = load(&a, [0, 0]);
    /// let y: rt<f32, 32, 16> = x.transpose();
    /// assert_eq!((y.get(31, 2), y.get(0, 15)), (x.get(2, 31), x.get(15, 0)));
    /// ```
    #[inline(never)]
    pub fn transpose(&self) -> rt<T, N, M, Row>
    where
        L: ElementWise,
    {
        rt::build(|tile| tile.transposed(self.values()))
    }
}

impl<T: AnyElement, const M: usize, const N: usize, L: Role> rt<T, M, N, L> {
    /// Gives the part of R rows and C columns that begins at row `row * R` and column `col * C`.
    ///
    /// In a kernel the part is a name for some of the tile's registers and costs nothing; `row` and `col` are known at
    /// compile time.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let data: Vec<f32> = (0..512).map(|i| i as f32).collect();
    /// let a = gl::of(&data, 16, 32).expect("16 x 32 elements are there");
    /// let x: rt<f32, 16, 32> = load(&a, [0, 0]);
    /// let part = x.sub_tile::<8, 16>(1, 0);
    /// assert_eq!(part.get(0, 0), x.get(8, 0));
    /// ```
    ///
    /// # Panics
    /// When the part does not lie in the tile. A compiled kernel with such a part is refused by `#[tile_kernel]`.
    #[inline(never)]
    pub fn sub_tile<const R: usize, const C: usize>(
        &self,
        row: impl PartIndex,
        col: impl PartIndex,
    ) -> rt<T, R, C, L> {
        rt::build(|tile| tile.part(self.values(), (M, N), (row.index(), col.index())))
    }

    /// Replaces the part that begins at row `row * R` and column `col * C`, R and C being the rows and columns of `part`.
    ///
    /// Loading a tile part by part is a load of each part and `set_sub_tile`.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let mut x: rt<f32, 16, 32> = zeros();
    /// let part: rt<f32, 8, 16> = fill(2.0);
    /// x.set_sub_tile(&part, 1, 1);
    /// assert_eq!((x.get(8, 16), x.get(7, 16), x.get(8, 15)), (2.0, 0.0, 0.0));
    /// ```
    ///
    /// # Panics
    /// As [`sub_tile`](rt::sub_tile).
    pub fn set_sub_tile<U: PartOf<T>, const R: usize, const C: usize>(
        &mut self,
        part: &rt<U, R, C, L>,
        row: impl PartIndex,
        col: impl PartIndex,
    ) {
        let (top, left) = place((M, N), (R, C), (row.index(), col.index()));
        if C == 0 {
            return;
        }
        let whole = self.values_mut().chunks_exact_mut(N).skip(top);
        for (to, from) in whole.zip(part.values().chunks_exact(C)) {
            to[left..left + C].copy_from_slice(from);
        }
    }
}

/// The first row and column of a part.
pub(crate) fn place(
    (rows, cols): (usize, usize),
    (part_rows, part_cols): (usize, usize),
    (row, col): (usize, usize),
) -> (usize, usize) {
    let start = |index: usize, part: usize, of: usize, what: &str| {
        let start =
            index.checked_mul(part).filter(|start| start.checked_add(part).is_some_and(|end| end <= of));
        start.unwrap_or_else(|| {
            panic!("a part lies in its tile; part {index} of {part} {what} ends beyond {of}")
        })
    };
    (start(row, part_rows, rows, "rows"), start(col, part_cols, cols, "columns"))
}
