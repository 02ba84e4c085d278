//! Owns the ops that make a tile from a tensor, prefetch one, and store one.
//!
//! *Guarantees*: the edge rule: elements outside the tensor load as 0 and are not stored, whatever lies in
//! memory there; coordinates are multiplied out in 64 bits, so an overflowing one is outside.
//! *Not here*: bounds arithmetic and memory access (`global`).

use crate::element::{AnyElement, MmaOperand};
use crate::global::{At, gl};
use crate::launch::Cx;
use crate::place::{Coordinate, Owned, Peers};
use crate::role::{AtomicElement, Loaded, Storable, Transformed, TransposedLoad};
use crate::tile::sealed::Sealed as _;
use crate::tile::{Extent, LoadedFrom, StoredIn, Tile, rt};
use crate::vector::sealed::Values as _;
use crate::vector::{Encoding, rv};

pub use super::source::{fill, zeros};
pub use super::vector::{load_scalar, load_vec, store_vec, store_vec_at};

pub(super) fn at<E>(coordinate: impl Coordinate<E>) -> At {
    At { origin: coordinate.origin(), claim: coordinate.claim() }
}

/// Loads a `Row` tile, or an `Acc` tile of f32 or i32. A tile of tf32 comes from a tensor of f32, rounded to nearest even.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let data: Vec<f32> = (0..40).map(|i| i as f32).collect();
/// let a = gl::of(&data, 2, 20).expect("2 x 20 elements are there");
/// let tile: rt<f32, 8, 16> = load(&a, [0, 1]); // the tile of columns 16..32
/// assert_eq!((tile.get(1, 3), tile.get(1, 4)), (39.0, 0.0));
/// ```
///
/// # Panics
/// In a launch, when the tensor is an output and `coordinate` is not what `own_tile` gave for it: other
/// sub-groups may be writing there. A compiled kernel that does so is refused by `#[tile_kernel]`.
#[inline(never)]
pub fn load<T: AnyElement, U: LoadedFrom<T>, const M: usize, const N: usize, L: Loaded<U>>(
    g: &gl<T>,
    coordinate: impl Coordinate<Extent<M, N>>,
) -> rt<U, M, N, L> {
    rt::build(|tile| g.load::<U>(at(coordinate), tile))
}

/// Loads a right operand from a [K, N] tensor.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let data: Vec<bf16> = (0..64).map(|i| bf16::from_f32(i as f32)).collect();
/// let b = gl::of(&data, 4, 16).expect("4 x 16 elements are there");
/// let tile: rt<bf16, 16, 16, Vnni> = load_transform(&b, [0, 0]);
/// assert_eq!((tile.get(3, 1), tile.get(4, 1)), (49.0, 0.0));
/// ```
///
/// # Panics
/// As [`load`].
#[inline(never)]
pub fn load_transform<
    T: AnyElement,
    U: MmaOperand + LoadedFrom<T>,
    const K: usize,
    const N: usize,
    L: Transformed,
>(
    g: &gl<T>,
    coordinate: impl Coordinate<Extent<K, N>>,
) -> rt<U, K, N, L> {
    rt::build(|tile| g.load::<U>(at(coordinate), tile))
}

/// Loads the transpose of a part of an [N, K] tensor: a right operand (`VnniT`), or a `Row` tile, in which row `k` is
/// column `k` of the tensor, so that `col_*` reductions of it combine the columns of the tensor. The tile is K x N; the
/// coordinate counts tiles of the tensor, that is `[n, k]` in tiles of N rows and K columns.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let data: Vec<bf16> = (0..64).map(|i| bf16::from_f32(i as f32)).collect();
/// let b = gl::of(&data, 4, 16).expect("4 x 16 elements are there");
/// let tile: rt<bf16, 16, 16, VnniT> = load_transpose(&b, [0, 0]);
/// assert_eq!((tile.get(1, 3), tile.get(1, 4)), (49.0, 0.0));
/// let row: rt<bf16, 16, 16> = load_transpose(&b, [0, 0]);
/// assert_eq!(row.get(1, 3), 49.0);
/// ```
///
/// # Panics
/// As [`load`].
#[inline(never)]
pub fn load_transpose<
    T: AnyElement,
    U: LoadedFrom<T>,
    const K: usize,
    const N: usize,
    L: TransposedLoad<U>,
>(
    g: &gl<T>,
    coordinate: impl Coordinate<Extent<N, K>>,
) -> rt<U, K, N, L> {
    rt::build(|tile| g.load_transposed::<U>(at(coordinate), tile))
}

/// Asks for a tile to be brought near, ahead of its load. Changes no value.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let data = [bf16::ONE; 64];
/// let a = gl::of(&data, 4, 16).expect("4 x 16 elements are there");
/// prefetch_load::<rt<bf16, 8, 16>>(&a, [7, 7]); // outside: nothing to bring
/// ```
pub fn prefetch_load<R: Tile>(g: &gl<R::Element>, coordinate: impl Coordinate<R::Extent>)
where
    R::Element: AnyElement,
{
    g.prefetch(coordinate.origin(), R::ROWS, R::COLS);
}

/// Asks for this sub-group's part of a tile that all its `peers` use: together they ask for every byte once.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let data = [bf16::ONE; 64];
/// let a = gl::of(&data, 4, 16).expect("4 x 16 elements are there");
/// prefetch_load_coop::<rt<bf16, 8, 16>>(&a, [0, 0], Peers::Row);
/// ```
pub fn prefetch_load_coop<R: Tile>(g: &gl<R::Element>, coordinate: impl Coordinate<R::Extent>, peers: Peers)
where
    R::Element: AnyElement,
{
    prefetch_load_coop_in::<R>(&Cx::SOLO, g, coordinate, peers);
}

/// The expanded form of [`prefetch_load_coop`].
///
/// The host runs the sub-groups of a work-group one after another, so the parts of the others would come long
/// after this sub-group's load: here each asks for the whole tile. Cutting it is a matter of the GPU, where a
/// tile that cannot be cut is refused when the kernel is compiled.
pub fn prefetch_load_coop_in<R: Tile>(
    _cx: &Cx,
    g: &gl<R::Element>,
    coordinate: impl Coordinate<R::Extent>,
    _peers: Peers,
) where
    R::Element: AnyElement,
{
    prefetch_load::<R>(g, coordinate);
}

/// Stores a tile where this sub-group owns one.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut data = [bf16::ONE; 3 * 16];
/// let mut c = gl::of_mut(&mut data, 3, 16).expect("3 x 16 elements are there");
/// let at = own_tile::<8, 16>(&c, Linear);
/// let acc: rt<f32, 8, 16, Acc> = zeros();
/// store(&mut c, &acc.to::<bf16>(), at); // rows 3 to 7 are dropped
/// assert_eq!(data, [bf16::ZERO; 48]);
/// ```
///
/// # Panics
/// In a launch, when the tiles of one output are dealt out in two ways (two orders or two shapes), for then two
/// sub-groups could own one element. A compiled kernel that does so is refused by `#[tile_kernel]`.
pub fn store<T: AnyElement, U: StoredIn<T>, const M: usize, const N: usize, L: Storable<U>>(
    c: &mut gl<T>,
    tile: &rt<U, M, N, L>,
    coordinate: impl Owned<Extent<M, N>>,
) {
    c.store(at(coordinate), N, tile.values());
}

/// Stores the transpose of an M x N tile where this sub-group owns an N x M one.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut data = [0f32; 3 * 8];
/// let mut c = gl::of_mut(&mut data, 3, 8).expect("3 x 8 elements are there");
/// let source: Vec<f32> = (0..128).map(|i| i as f32).collect();
/// let a = gl::of(&source, 8, 16).expect("8 x 16 elements are there");
/// let x: rt<f32, 8, 16> = load(&a, [0, 0]);
/// let at = own_tile::<16, 8>(&c, Linear);
/// store_transpose(&mut c, &x, at); // rows 3 to 15 are dropped
/// assert_eq!(data[8..16], [1.0, 17.0, 33.0, 49.0, 65.0, 81.0, 97.0, 113.0]);
/// ```
///
/// # Panics
/// As [`store`].
pub fn store_transpose<T: AnyElement, U: StoredIn<T>, const M: usize, const N: usize, L: Storable<U>>(
    c: &mut gl<T>,
    tile: &rt<U, M, N, L>,
    coordinate: impl Owned<Extent<N, M>>,
) {
    let turned: rt<U, N, M> = rt::build(|turned| turned.transposed(tile.values()));
    c.store(at(coordinate), M, turned.values());
}

/// Adds a tile of f32 or i32 to a tensor of the same type at any coordinate, element by element. Other sub-groups may be adding to the same elements:
/// no addition is lost, and their order is open, so a sum of rounded numbers may differ from run to run in its last bits.
/// Integers wrap.
///
/// The sums start from what the output holds before the launch. In one kernel an output takes either atomic adds or
/// plain stores and loads.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut data = [1f32; 2 * 16];
/// let mut c = gl::of_mut(&mut data, 2, 16).expect("2 x 16 elements are there");
/// let tile: rt<f32, 8, 16, Acc> = fill(2.0);
/// atomic_add(&mut c, &tile, elements([1, 8])); // rows 2 to 8 and columns 16 to 23 are dropped
/// atomic_add(&mut c, &tile, [0, 0]);
/// assert_eq!((data[0], data[24], data[31]), (3.0, 5.0, 5.0));
/// ```
///
/// # Panics
/// In a launch, when the output was loaded or stored plainly before. A compiled kernel that does so is refused by
/// `#[tile_kernel]`.
pub fn atomic_add<T: AtomicElement, U: StoredIn<T>, const M: usize, const N: usize, L: Storable<U>>(
    c: &mut gl<T>,
    tile: &rt<U, M, N, L>,
    coordinate: impl Coordinate<Extent<M, N>>,
) {
    c.add(coordinate.origin(), N, tile.values());
}

/// Adds a vector of f32 or i32 to consecutive elements of one row of a tensor, as [`atomic_add`] a tile. The coordinate is that of
/// `load_vec`.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut data = [1f32; 20];
/// let mut c = gl::of_mut(&mut data, 1, 20).expect("1 x 20 elements are there");
/// let x: rt<f32, 8, 16> = fill(0.5);
/// atomic_add_vec(&mut c, &x.col_sum(), [0, 1]); // columns 20 to 31 are dropped
/// assert_eq!((data[15], data[16]), (1.0, 5.0));
/// ```
///
/// # Panics
/// As [`atomic_add`].
pub fn atomic_add_vec<T: AtomicElement, U: StoredIn<T>, const N: usize, E: Encoding>(
    c: &mut gl<T>,
    vector: &rv<U, N, E>,
    coordinate: impl Coordinate<Extent<1, N>>,
) {
    c.add(coordinate.origin(), N, vector.values());
}

/// Stores a tile at any coordinate. A kernel that uses it gets an `unsafe` launcher.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut data = [1.0f32; 32];
/// let mut c = gl::of_mut(&mut data, 2, 16).expect("2 x 16 elements are there");
/// let tile: rt<f32, 8, 16> = zeros();
/// // SAFETY: this is the only sub-group.
/// unsafe { store_at(&mut c, &tile, elements([1, 8])) };
/// assert_eq!(data[..24], [1.0; 24]);
/// assert_eq!(data[24..], [0.0; 8]);
/// ```
///
/// # Safety
/// No other sub-group of the launch reads or writes the elements of the tile.
#[allow(unsafe_code, reason = "the one op whose safety rests with the kernel author")]
pub unsafe fn store_at<T: AnyElement, U: StoredIn<T>, const M: usize, const N: usize, L: Storable<U>>(
    c: &mut gl<T>,
    tile: &rt<U, M, N, L>,
    coordinate: impl Coordinate<Extent<M, N>>,
) {
    // SAFETY: passed on from the caller.
    unsafe { c.store_anywhere(coordinate.origin(), N, tile.values()) }
}
