//! Owns the ops on shared memory, the cooperative copies, and the barriers.
//!
//! Positions count tiles (vectors) of the size that is moved and stay inside: one outside is a panic, which a launch
//! turns into a typed error. *Guarantees*: a copy has the edge rule of loads and stores. *Not here*: what shared memory is
//! (`shared`, `group`), how sub-groups take turns (`tile-runtime`).

use crate::element::{AnyElement, MmaInput};
use crate::global::gl;
use crate::group::{Context, Stop};
use crate::ops::memory::at;
use crate::place::{Coordinate, Origin, Own};
use crate::race::Access;
use crate::role::{SharedLoaded, SharedStored, SharedTransposed, Transformed};
use crate::shared::{Shared, st, sv};
use crate::tile::sealed::Sealed as _;
use crate::tile::{Extent, StoredShared, rt};
use crate::vector::sealed::Values as _;
use crate::vector::{Encoding, PerCol, rv};

/// Makes a shared tile or vector: one for all sub-groups of a work-group. Its elements are undefined until stored.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let s: st<bf16, 64, 64> = shared();
/// let v: sv<f32, 64> = shared();
/// # let _ = (s, v);
/// ```
pub fn shared<S: Shared>() -> S {
    shared_in(&Context::SOLO, 0, "")
}

/// The expanded form of [`shared`]: `index` numbers the calls of a kernel, `name` is the variable's.
pub fn shared_in<S: Shared>(cx: &Context<'_>, index: usize, name: &'static str) -> S {
    S::of(cx.memory(index, S::LEN), **cx, cx.watch().map(|watch| (watch, name)))
}

/// The first element of part number `index` of `extent` elements, in parts of `size`.
#[track_caller]
fn start(op: &str, axis: &str, index: u32, size: usize, extent: usize) -> usize {
    let first = u64::from(index).saturating_mul(size as u64);
    assert!(
        first.saturating_add(size as u64) <= extent as u64,
        "`{op}` stays inside its shared memory: it has {} {axis} of {size}, and this is number {index}",
        extent.checked_div(size).unwrap_or(0)
    );
    first as usize
}

/// Loads a `Row` tile, or an `Acc` tile of f32, from shared memory. The position counts tiles.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut s: st<bf16, 16, 16> = shared();
/// let x: rt<bf16, 16, 16> = fill(0.5);
/// store_shared(&mut s, &x, [0, 0]);
/// let half: rt<bf16, 8, 16> = load_shared(&s, [1, 0]);
/// assert_eq!(half.get(0, 0), 0.5);
/// ```
///
/// # Panics
/// When the tile is not inside the shared tile.
#[inline(never)]
pub fn load_shared<
    T: AnyElement,
    const SM: usize,
    const SN: usize,
    const M: usize,
    const N: usize,
    L: SharedLoaded<T>,
>(
    s: &st<T, SM, SN>,
    [row, col]: [u32; 2],
) -> rt<T, M, N, L> {
    let row = start("load_shared", "tiles down", row, M, SM);
    let col = start("load_shared", "tiles across", col, N, SN);
    s.touch(Access::Read, (row, col), (M, N));
    rt::build(|tile| tile.copied(|r| s.row(row + r, col, N)))
}

/// Loads a right operand from shared memory, packed on the way.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut s: st<bf16, 16, 16> = shared();
/// let x: rt<bf16, 16, 16> = fill(0.5);
/// store_shared(&mut s, &x, [0, 0]);
/// let b: rt<bf16, 16, 16, Vnni> = load_transform_shared(&s, [0, 0]);
/// assert_eq!(b.get(15, 15), 0.5);
/// ```
///
/// # Panics
/// When the tile is not inside the shared tile.
#[inline(never)]
pub fn load_transform_shared<
    T: MmaInput,
    const SM: usize,
    const SN: usize,
    const K: usize,
    const N: usize,
    L: Transformed,
>(
    s: &st<T, SM, SN>,
    [row, col]: [u32; 2],
) -> rt<T, K, N, L> {
    let row = start("load_transform_shared", "tiles down", row, K, SM);
    let col = start("load_transform_shared", "tiles across", col, N, SN);
    s.touch(Access::Read, (row, col), (K, N));
    rt::build(|tile| tile.copied(|r| s.row(row + r, col, N)))
}

/// Loads the transpose of a tile of shared memory: a `Row` tile, or the right operand of `mma_ABt`. The tile is M x N; the
/// position counts tiles of N rows and M columns.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut s: st<f32, 16, 16> = shared();
/// let data: Vec<f32> = (0..256).map(|i| i as f32).collect();
/// load_coop(&mut s, &gl::of(&data, 16, 16).expect("16 x 16 elements are there"), [0, 0]);
/// let t: rt<f32, 8, 16> = load_transpose_shared(&s, [0, 1]); // columns 8..16
/// assert_eq!(t.get(1, 3), 57.0); // row 3, column 9
/// ```
///
/// # Panics
/// When the tile is not inside the shared tile.
#[inline(never)]
pub fn load_transpose_shared<
    T: AnyElement,
    const SM: usize,
    const SN: usize,
    const M: usize,
    const N: usize,
    L: SharedTransposed<T>,
>(
    s: &st<T, SM, SN>,
    [row, col]: [u32; 2],
) -> rt<T, M, N, L> {
    let row = start("load_transpose_shared", "tiles down", row, N, SM);
    let col = start("load_transpose_shared", "tiles across", col, M, SN);
    s.touch(Access::Read, (row, col), (N, M));
    rt::build(|tile| tile.copied_across(|r| s.row(row + r, col, M)))
}

/// Stores a tile to shared memory. The position counts tiles.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut s: st<f32, 8, 32> = shared();
/// let x: rt<f32, 8, 16> = fill(1.5);
/// store_shared(&mut s, &x, [0, 1]);
/// assert_eq!(s.get(7, 31), 1.5);
/// assert!(s.get(0, 0).is_nan()); // nobody stored it
/// ```
///
/// # Panics
/// When the tile is not inside the shared tile.
pub fn store_shared<
    T: AnyElement,
    const SM: usize,
    const SN: usize,
    U: StoredShared<T>,
    const M: usize,
    const N: usize,
    L: SharedStored<U>,
>(
    s: &mut st<T, SM, SN>,
    tile: &rt<U, M, N, L>,
    [row, col]: [u32; 2],
) {
    let row = start("store_shared", "tiles down", row, M, SM);
    let col = start("store_shared", "tiles across", col, N, SN);
    s.touch(Access::Write, (row, col), (M, N));
    for (r, values) in tile.values().chunks_exact(N.max(1)).enumerate() {
        s.row(row + r, col, N).iter().zip(values).for_each(|(cell, value)| cell.set(*value));
    }
}

/// Loads a vector from shared memory. The position counts vectors.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut s: sv<f32, 32> = shared();
/// let v: rv<f32, 16, PerCol> = fill(2.5);
/// store_vec_shared(&mut s, &v, 1);
/// let back: rv<f32, 16, PerCol> = load_vec_shared(&s, 1);
/// assert_eq!(back.get(15), 2.5);
/// ```
///
/// # Panics
/// When the vector is not inside the shared vector.
#[inline(never)]
pub fn load_vec_shared<T: AnyElement, const SN: usize, const N: usize, E: Encoding>(
    s: &sv<T, SN>,
    index: u32,
) -> rv<T, N, E> {
    let first = start("load_vec_shared", "vectors", index, N, SN);
    rv::build(|vector| vector.copied(|_| s.part(Access::Read, first, N)))
}

/// Stores a vector to shared memory. The position counts vectors.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut s: sv<f32, 32> = shared();
/// let v: rv<f32, 16, PerCol> = fill(2.5);
/// store_vec_shared(&mut s, &v, 1);
/// let back: rv<f32, 16, PerCol> = load_vec_shared(&s, 1);
/// assert_eq!(back.get(15), 2.5);
/// ```
///
/// # Panics
/// When the vector is not inside the shared vector.
pub fn store_vec_shared<T: AnyElement, const SN: usize, U: StoredShared<T>, const N: usize, E: Encoding>(
    s: &mut sv<T, SN>,
    vector: &rv<U, N, E>,
    index: u32,
) {
    let first = start("store_vec_shared", "vectors", index, N, SN);
    let cells = s.part(Access::Write, first, N);
    cells.iter().zip(vector.values()).for_each(|(cell, value)| cell.set(*value));
}

/// Fills a shared tile from a tensor; what lies outside the tensor is 0. The sub-groups of the work-group share the work, so
/// all of them call it with one coordinate, which counts shared tiles; a [`barrier`] makes the copy visible.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let data = [2.0f32; 10 * 16];
/// let mut s: st<f32, 16, 16> = shared();
/// load_coop(&mut s, &gl::of(&data, 10, 16).expect("10 x 16 elements are there"), [0, 0]);
/// barrier();
/// assert_eq!((s.get(9, 15), s.get(10, 0)), (2.0, 0.0));
/// ```
///
/// # Panics
/// As `load`: in a launch, when the tensor is an output.
pub fn load_coop<T: AnyElement, const M: usize, const N: usize>(
    s: &mut st<T, M, N>,
    g: &gl<T>,
    coordinate: impl Coordinate<Extent<M, N>>,
) {
    let from = at::<Extent<M, N>>(coordinate);
    let (rows, cols) = s.place.subgroups;
    let (count, mine) = ((rows as usize * cols as usize).max(1), s.place.subgroup as usize);
    for row in M * mine / count..M * (mine + 1) / count {
        let origin = Origin { row: from.origin.row.saturating_add(row as u64), ..from.origin };
        let line: rv<T, N, PerCol> = rv::build(|v| g.load::<T>(crate::global::At { origin, ..from }, v));
        s.touch(Access::Write, (row, 0), (1, N));
        s.row(row, 0, N).iter().zip(line.values()).for_each(|(cell, value)| cell.set(*value));
    }
}

/// Stores a shared tile of all tiles that the sub-groups of the work-group own: each sub-group stores its own. The shared
/// tile has the owned tile's rows and columns times those of the grid of sub-groups.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut data = [f32::NAN; 5 * 16];
/// let mut c = gl::of_mut(&mut data, 5, 16).expect("5 x 16 elements are there");
/// let at = own_tile::<8, 16>(&c, Linear);
/// let mut s: st<f32, 8, 16> = shared();
/// let x: rt<f32, 8, 16> = fill(4.0);
/// store_shared(&mut s, &x, [0, 0]);
/// barrier();
/// store_coop(&mut c, &s, at);
/// assert_eq!(data, [4.0; 80]);
/// ```
///
/// # Panics
/// When the shared tile has another size, and as `store`.
pub fn store_coop<T: AnyElement, const SM: usize, const SN: usize, const M: usize, const N: usize>(
    c: &mut gl<T>,
    s: &st<T, SM, SN>,
    coordinate: Own<M, N>,
) {
    let (down, across) = (s.place.subgroups.0 as usize, s.place.subgroups.1 as usize);
    assert!(
        M.checked_mul(down) == Some(SM) && N.checked_mul(across) == Some(SN),
        "`store_coop` stores {down} x {across} owned tiles of {M} x {N}, and the shared tile has {SM} x {SN} elements"
    );
    let (row, col) = (s.place.subgroup as usize / across.max(1), s.place.subgroup as usize % across.max(1));
    s.touch(Access::Read, (row * M, col * N), (M, N));
    let tile: rt<T, M, N> = rt::build(|tile| tile.copied(|r| s.row(row * M + r, col * N, N)));
    c.store(at(coordinate), N, tile.values());
}

/// Waits until every sub-group of the work-group is here. What each of them stored before is visible to all after.
///
/// ```
/// tile_lang::prelude::barrier(); // alone, there is nobody to wait for
/// ```
pub fn barrier() {
    barrier_in(&Context::SOLO);
}

/// The expanded form of [`barrier`].
pub fn barrier_in(cx: &Context<'_>) {
    cx.stop(Stop::Barrier);
}

/// Says that this sub-group is here, and goes on: the first half of a [`barrier`]. Between the halves a sub-group does what
/// needs nothing of the others.
///
/// ```
/// use tile_lang::prelude::*;
///
/// barrier_arrive();
/// barrier_wait();
/// ```
pub fn barrier_arrive() {
    barrier_arrive_in(&Context::SOLO);
}

/// The expanded form of [`barrier_arrive`].
pub fn barrier_arrive_in(cx: &Context<'_>) {
    cx.arrive();
}

/// Waits until every sub-group of the work-group has called [`barrier_arrive`]: the second half.
///
/// ```
/// use tile_lang::prelude::*;
///
/// barrier_arrive();
/// barrier_wait(); // outside a launch there is one sub-group
/// ```
pub fn barrier_wait() {
    barrier_wait_in(&Context::SOLO);
}

/// The expanded form of [`barrier_wait`].
pub fn barrier_wait_in(cx: &Context<'_>) {
    cx.stop(Stop::Wait);
}
