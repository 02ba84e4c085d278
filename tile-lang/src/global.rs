//! Owns `gl`, a tensor as a kernel sees it, and the edge rule of every access: reads outside give 0, writes
//! outside are dropped.
//!
//! *Assumes*: views are built from slices, or by `launch` from pointers it vouches for. *Guarantees*: no access
//! leaves the elements of the tensor, so padding is never even read; an output of a launch is read and written
//! by safe ops only in the tile its sub-group owns. *Not here*: how rows are converted (`simd`).

#![allow(unsafe_code, reason = "half of the view module: it turns checked bounds into raw accesses")]

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::rc::Rc;

use tile_ir::types::DType;

use crate::element::{AnyElement, TileElement};
use crate::launch::{Cx, RawGlobal};
use crate::place::{Claim, Order, Origin, Share};
use crate::race::{self, Watch};
use crate::role::AtomicElement;
use crate::simd::storage::{Filled, Unfilled};
use crate::simd::{Dst, Src, ahead, bodies};

/// Who else may touch a tensor's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everyone reads.
    Shared,
    /// This view alone reads and writes.
    Exclusive,
    /// Every sub-group of the launch reads and writes the tile it owns.
    Owned,
}

/// How the places of an output are dealt out: in which order, by tiles of which size, and what of each.
type Dealt = (Order, (usize, usize), Share);

/// A tensor in global memory: batch x depth x rows x cols elements of `T`, rows `pitch` elements apart.
///
/// A kernel gets `&gl<T>` or `&mut gl<T>` for the time of a launch. The type is unsized (that is what the
/// second parameter is for; never write it): a `gl` can be neither copied, nor swapped, nor kept.
#[allow(non_camel_case_types, reason = "the field's name for a global layout")]
pub struct gl<T, S: ?Sized = [()]> {
    base: *mut T,
    shape: [u32; 4],
    pitch: u32,
    strides: (u64, u64),
    access: Access,
    cx: Cx,
    claim: Cell<Option<Dealt>>,
    /// Who looks for races, and which argument of the launch this is.
    watch: Option<(Rc<Watch>, usize)>,
    /// True once something was added atomically: then nothing else is admitted.
    added: Cell<bool>,
    #[allow(dead_code, reason = "makes the type unsized")]
    tail: S,
}

/// A `gl` for reading that borrows the memory of a slice or of a launch.
pub struct View<'a, T> {
    global: gl<T, [(); 0]>,
    memory: PhantomData<&'a T>,
}

/// A `gl` for reading and writing that borrows the memory of a slice or of a launch.
pub struct ViewMut<'a, T> {
    global: gl<T, [(); 0]>,
    memory: PhantomData<&'a mut T>,
}

impl<T> Deref for View<'_, T> {
    type Target = gl<T>;

    #[inline]
    fn deref(&self) -> &gl<T> {
        &self.global
    }
}

impl<T> Deref for ViewMut<'_, T> {
    type Target = gl<T>;

    #[inline]
    fn deref(&self) -> &gl<T> {
        &self.global
    }
}

impl<T> DerefMut for ViewMut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut gl<T> {
        &mut self.global
    }
}

/// Where the elements of a tensor lie in a slice, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Batch, depth, rows, cols.
    pub extents: [u32; 4],
    /// From a row to the next.
    pub pitch: u32,
    /// From a batch to the next; 0 repeats one batch.
    pub batch_stride: u64,
    /// From a depth to the next; 0 repeats one depth.
    pub depth_stride: u64,
}

impl Shape {
    /// A tensor of the given extents (batch, depth, rows, cols) whose planes follow each other without gaps.
    pub fn new(extents: [u32; 4], pitch: u32) -> Shape {
        let [_, depth, rows, _] = extents.map(u64::from);
        let plane = rows * u64::from(pitch);
        Shape { extents, pitch, depth_stride: plane, batch_stride: plane.saturating_mul(depth) }
    }

    /// One past the offset of the last element; 0 if there is none.
    fn end(&self) -> u128 {
        let last = |extent: u32| u128::from(extent) - 1;
        let [batch, depth, rows, cols] = self.extents;
        if self.extents.contains(&0) {
            return 0;
        }
        last(batch) * u128::from(self.batch_stride)
            + last(depth) * u128::from(self.depth_stride)
            + last(rows) * u128::from(self.pitch)
            + u128::from(cols)
    }

    /// Tells whether no two elements share an offset, by nesting: rows in planes in batches.
    fn is_injective(&self) -> bool {
        let [batch, depth, rows, _] = self.extents;
        let of = |extents: [u32; 4]| Shape { extents, ..*self }.end();
        let [.., cols] = self.extents;
        self.end() == 0
            || ((rows == 1 || u128::from(self.pitch) >= of([1, 1, 1, cols]))
                && (depth == 1 || u128::from(self.depth_stride) >= of([1, 1, rows, cols]))
                && (batch == 1 || u128::from(self.batch_stride) >= of([1, depth, rows, cols])))
    }
}

/// Why a slice cannot be viewed as a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// The slice is shorter than the tensor: pass a longer slice, or a smaller shape.
    #[error(
        "a view needs every element inside its slice; the shape reaches {needed} elements and the slice has {given}"
    )]
    TooShort {
        /// Elements from the first to the last one of the tensor.
        needed: u128,
        /// Elements of the slice.
        given: usize,
    },
    /// Elements share memory: make `pitch` at least `cols`, and each stride at least what lies under it.
    #[error("a writable view needs one place in memory per element; here rows, depths or batches overlap")]
    Overlapping,
}

fn check<T>(slice: &[T], shape: &Shape) -> Result<(), ViewError> {
    let needed = shape.end();
    if needed > slice.len() as u128 {
        return Err(ViewError::TooShort { needed, given: slice.len() });
    }
    Ok(())
}

impl<T: AnyElement> gl<T> {
    /// Views a slice as a `rows x cols` matrix without padding, to call a kernel or an op as a plain function.
    ///
    /// ```
    /// use tile_lang::prelude::*;
    ///
    /// let data = [1.0f32; 6];
    /// let a = gl::of(&data, 2, 3).expect("6 elements make a 2 x 3 matrix");
    /// assert_eq!((a.rows(), a.cols(), a.pitch()), (2, 3, 3));
    /// assert!(gl::of(&data, 2, 4).is_err());
    /// ```
    ///
    /// # Errors
    /// [`ViewError::TooShort`] when the slice has less than `rows * cols` elements.
    pub fn of(slice: &[T], rows: u32, cols: u32) -> Result<View<'_, T>, ViewError> {
        gl::view(slice, Shape::new([1, 1, rows, cols], cols))
    }

    /// Views a slice as a writable `rows x cols` matrix without padding.
    ///
    /// # Errors
    /// [`ViewError::TooShort`] when the slice has less than `rows * cols` elements.
    pub fn of_mut(slice: &mut [T], rows: u32, cols: u32) -> Result<ViewMut<'_, T>, ViewError> {
        gl::view_mut(slice, Shape::new([1, 1, rows, cols], cols))
    }

    /// Views a slice as a tensor of any shape, pitch and strides. Broadcasting strides (0) are allowed.
    ///
    /// # Errors
    /// [`ViewError::TooShort`] when an element would lie outside the slice.
    pub fn view(slice: &[T], shape: Shape) -> Result<View<'_, T>, ViewError> {
        check(slice, &shape)?;
        let global = gl::from_parts(slice.as_ptr().cast_mut(), &shape, Access::Shared, Cx::SOLO);
        Ok(View { global, memory: PhantomData })
    }

    /// Views a slice as a writable tensor.
    ///
    /// # Errors
    /// [`ViewError::TooShort`] when an element would lie outside the slice, [`ViewError::Overlapping`] when two
    /// elements would share memory.
    pub fn view_mut(slice: &mut [T], shape: Shape) -> Result<ViewMut<'_, T>, ViewError> {
        check(slice, &shape)?;
        if !shape.is_injective() {
            return Err(ViewError::Overlapping);
        }
        let global = gl::from_parts(slice.as_mut_ptr(), &shape, Access::Exclusive, Cx::SOLO);
        Ok(ViewMut { global, memory: PhantomData })
    }
}

impl<T> gl<T, [(); 0]> {
    fn from_parts(base: *mut T, shape: &Shape, access: Access, cx: Cx) -> gl<T, [(); 0]> {
        gl {
            base,
            shape: shape.extents,
            pitch: shape.pitch,
            strides: (shape.batch_stride, shape.depth_stride),
            access,
            cx,
            claim: Cell::new(None),
            watch: None,
            added: Cell::new(false),
            tail: [],
        }
    }

    fn from_raw(raw: &RawGlobal, access: Access, cx: Cx) -> gl<T, [(); 0]> {
        let (batch_stride, depth_stride) = raw.strides();
        let shape = Shape { extents: raw.shape(), pitch: raw.pitch(), batch_stride, depth_stride };
        gl::from_parts(raw.base().cast(), &shape, access, cx)
    }
}

impl<'a, T: AnyElement> View<'a, T> {
    /// Views an input of a launch.
    ///
    /// # Safety
    /// The promises of [`RawGlobal::new`] hold for `'a`; `raw` has elements of `T` and is not writable.
    pub(crate) unsafe fn from_raw(raw: &RawGlobal, cx: Cx) -> View<'a, T> {
        View { global: gl::from_raw(raw, Access::Shared, cx), memory: PhantomData }
    }
}

impl<'a, T: AnyElement> ViewMut<'a, T> {
    /// Views an output of a launch.
    ///
    /// # Safety
    /// The promises of [`RawGlobal::new`] hold for `'a`; `raw` has elements of `T` and is writable; `cx` is the
    /// place of the calling sub-group, which has no other view of this tensor.
    pub(crate) unsafe fn from_raw(raw: &RawGlobal, cx: Cx) -> ViewMut<'a, T> {
        ViewMut { global: gl::from_raw(raw, Access::Owned, cx), memory: PhantomData }
    }

    /// The same view, with somebody who looks for races; it is argument `index` of the launch.
    pub(crate) fn watched(mut self, watch: Option<Rc<Watch>>, index: usize) -> Self {
        self.global.watch = watch.map(|watch| (watch, index));
        self
    }
}

/// The elements of a tensor that a tile covers.
struct Window<T> {
    start: *mut T,
    rows: usize,
    cols: usize,
}

impl<T> gl<T> {
    /// Batches.
    pub fn batch(&self) -> u32 {
        self.shape[0]
    }

    /// Planes per batch.
    pub fn depth(&self) -> u32 {
        self.shape[1]
    }

    /// Rows per plane.
    pub fn rows(&self) -> u32 {
        self.shape[2]
    }

    /// Columns per row.
    pub fn cols(&self) -> u32 {
        self.shape[3]
    }

    /// Elements from a row to the next.
    pub fn pitch(&self) -> u32 {
        self.pitch
    }

    /// Tiles of `tile_rows` rows that cover the rows; 0 for tiles without rows.
    pub fn row_tiles(&self, tile_rows: usize) -> u32 {
        tiles(self.rows(), tile_rows)
    }

    /// Tiles of `tile_cols` columns that cover the columns; 0 for tiles without columns.
    pub fn col_tiles(&self, tile_cols: usize) -> u32 {
        tiles(self.cols(), tile_cols)
    }

    /// The place of the sub-group this view was made for.
    pub(crate) fn cx(&self) -> Cx {
        self.cx
    }

    /// The shape: batch, depth, rows, cols.
    pub(crate) fn shape(&self) -> [u32; 4] {
        self.shape
    }

    /// The part of a `rows x cols` tile at `at` that lies in the tensor. All offsets are of elements inside the
    /// tensor, so they cannot overflow; a window without elements starts anywhere.
    #[inline]
    fn window(&self, at: Origin, rows: usize, cols: usize) -> Window<T> {
        let [batch, depth, height, width] = self.shape.map(u64::from);
        let inside = at.batch < batch && at.depth < depth && at.row < height && at.col < width;
        if !inside {
            return Window { start: self.base, rows: 0, cols: 0 };
        }
        let offset =
            at.batch * self.strides.0 + at.depth * self.strides.1 + at.row * u64::from(self.pitch) + at.col;
        Window {
            start: self.base.wrapping_add(offset as usize),
            rows: (height - at.row).min(rows as u64) as usize,
            cols: (width - at.col).min(cols as u64) as usize,
        }
    }

    /// Tells whoever looks for races of an access to the elements of a window.
    #[inline]
    fn touch(&self, access: race::Access, at: Origin, window: &Window<T>) {
        if let Some((watch, index)) = &self.watch {
            let first = [at.batch, at.depth, at.row, at.col];
            watch.argument(*index, access, first, window.rows, window.cols);
        }
    }

    /// Checks that a safe access to an output stays in what this sub-group owns.
    ///
    /// # Panics
    /// In a launch, when an output is accessed elsewhere, or by two ways of dealing out its tiles.
    #[inline]
    fn admit(&self, claim: Option<Claim>) {
        match self.access {
            Access::Shared | Access::Exclusive => {}
            Access::Owned => self.admit_owned(claim),
        }
    }

    /// Checks that an output of a launch takes nothing but atomic adds.
    fn admit_added(&self) {
        if self.access == Access::Owned {
            assert!(self.claim.get().is_none(), "{ADDED_OR_OWNED}");
            self.added.set(true);
        }
    }

    fn admit_owned(&self, claim: Option<Claim>) {
        let Some(claim) = claim else {
            panic!("an output is read only at the coordinate that `own_tile` gave for it");
        };
        assert!(claim.cx == self.cx, "a tile is accessed by the sub-group that owns it, and by no other");
        assert!(!self.added.get(), "{ADDED_OR_OWNED}");
        let dealt = (claim.order, claim.tile, claim.share);
        match self.claim.get() {
            None => self.claim.set(Some(dealt)),
            Some(first) => assert!(
                first == dealt,
                "the tiles of one output are dealt out in one way; here in two: {first:?} and {dealt:?}"
            ),
        }
    }
}

fn tiles(extent: u32, tile: usize) -> u32 {
    match u32::try_from(tile) {
        Ok(0) => 0,
        Ok(tile) => extent.div_ceil(tile),
        Err(_) => extent.min(1),
    }
}

const ADDED_OR_OWNED: &str = "an output takes either atomic adds or plain stores and loads";

/// Adds a number to an element that other threads may be adding to.
pub struct AtomicAdd<T: AnyElement>(unsafe fn(element: *mut T, by: T::Scalar));

/// [`AtomicAdd`] of f32.
pub(crate) const ADD_F32: AtomicAdd<f32> = AtomicAdd(add_f32);

/// # Safety
/// `element` is aligned, live, and accessed by nothing but atomics while other threads may access it.
unsafe fn add_f32(element: *mut f32, by: f32) {
    // SAFETY: passed on from the caller; a f32 has the size and alignment of a u32.
    let bits = unsafe { AtomicU32::from_ptr(element.cast()) };
    let add = |old: u32| Some((f32::from_bits(old) + by).to_bits());
    // The closure always gives a value, so the loop ends with one stored.
    let _ = bits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
}

/// [`AtomicAdd`] of i32, wrapping.
pub(crate) const ADD_I32: AtomicAdd<i32> = AtomicAdd(add_i32);

/// # Safety
/// As for [`add_f32`].
unsafe fn add_i32(element: *mut i32, by: i32) {
    // SAFETY: passed on from the caller.
    unsafe { AtomicI32::from_ptr(element) }.fetch_add(by, Ordering::Relaxed);
}

/// A load as an out-of-line body needs it: where, and by which right.
#[derive(Clone, Copy)]
pub(crate) struct At {
    /// The first element.
    pub(crate) origin: Origin,
    /// The ownership the coordinate carried.
    pub(crate) claim: Option<Claim>,
}

impl<T: AnyElement> gl<T> {
    /// Fills a tile with the elements at `at`, row for row.
    #[inline(always)]
    pub(crate) fn load<'tile, U: TileElement>(&self, at: At, mut tile: Unfilled<'tile>) -> Filled<'tile> {
        // SAFETY: the region is the tile's own; `load_rows` writes all of it.
        unsafe {
            load_rows(self, at, tile.shape(), tile.dst());
            if U::DTYPE == DType::Tf32 {
                tile.round_to_tf32();
            }
            tile.assume_filled()
        }
    }

    /// Reads the element at `at`; 0 outside the tensor.
    pub(crate) fn element(&self, at: At) -> T::Scalar {
        self.admit(at.claim);
        let window = self.window(at.origin, 1, 1);
        if window.rows == 0 || window.cols == 0 {
            return T::Scalar::default();
        }
        self.touch(race::Access::Read, at.origin, &window);
        // SAFETY: the window has one element of the tensor, whose memory is live and written by nobody else now, as in
        // `load_rows`.
        unsafe { window.start.read() }.to_scalar()
    }

    /// Fills a tile with the transpose of the elements at `at`.
    #[inline(always)]
    pub(crate) fn load_transposed<'tile, U: TileElement>(
        &self,
        at: At,
        mut tile: Unfilled<'tile>,
    ) -> Filled<'tile> {
        // SAFETY: the region is the tile's own; `load_transposed_rows` writes all of it.
        unsafe {
            load_transposed_rows(self, at, tile.shape(), tile.dst());
            if U::DTYPE == DType::Tf32 {
                tile.round_to_tf32();
            }
            tile.assume_filled()
        }
    }

    /// Writes the values of a tile of `cols` columns at `at`, in a tile this sub-group owns.
    pub(crate) fn store(&mut self, at: At, cols: usize, values: &[f32]) {
        self.admit(at.claim);
        // SAFETY: the view is exclusive, or `admit` found the tile to be owned by this sub-group alone.
        unsafe { self.store_anywhere(at.origin, cols, values) }
    }

    /// Writes the values of a tile of `cols` columns at `at`.
    ///
    /// # Safety
    /// No other sub-group reads or writes the same elements during the launch.
    pub(crate) unsafe fn store_anywhere(&mut self, at: Origin, cols: usize, values: &[f32]) {
        ahead::on_store();
        if cols == 0 {
            return;
        }
        let window = self.window(at, values.len() / cols, cols);
        self.touch(race::Access::Write, at, &window);
        let dst = Dst { ptr: window.start, pitch: self.pitch as usize };
        let src = Src { ptr: values.as_ptr(), pitch: cols };
        // SAFETY: the window lies in the tensor, whose memory is live and, being reached through `&mut gl`,
        // writable; `values` has `rows * cols` elements and is a tile, apart from every tensor.
        unsafe { (T::bodies(bodies()).store)(src, window.rows, window.cols, dst) }
    }

    /// Adds the values of a tile of `cols` columns to the elements at `at`, each in one indivisible step.
    pub(crate) fn add(&mut self, at: Origin, cols: usize, values: &[f32])
    where
        T: AtomicElement,
    {
        ahead::on_store();
        self.admit_added();
        if cols == 0 {
            return;
        }
        let window = self.window(at, values.len() / cols, cols);
        self.touch(race::Access::Add, at, &window);
        for (row, values) in values.chunks_exact(cols).take(window.rows).enumerate() {
            for (col, value) in values.iter().take(window.cols).enumerate() {
                let element = window.start.wrapping_add(row * self.pitch as usize + col);
                // SAFETY: the window lies in the tensor, whose memory is live, aligned and, being reached through `&mut
                // gl`, writable; in a launch every sub-group's view admits atomic adds alone (`admit_added`, and
                // `#[tile_kernel]` for the kernel as a whole).
                unsafe { (T::ADD.0)(element, T::scalar_of(*value)) }
            }
        }
    }

    /// Prefetches the `rows x cols` tile at `at`.
    pub(crate) fn prefetch(&self, at: Origin, rows: usize, cols: usize) {
        let (window, size) = (self.window(at, rows, cols), size_of::<T>());
        let pitch_bytes = self.pitch as usize * size;
        ahead::prefetch(window.start.cast_const().cast(), window.rows, window.cols * size, pitch_bytes);
    }
}

/// Loads one tile. Out of line, so that the ops that return tiles consist of one call each.
///
/// # Safety
/// `dst` is writable for `rows x cols` elements, `cols` being its pitch, and apart from the tensor.
#[inline(never)]
unsafe fn load_rows<T: AnyElement>(global: &gl<T>, at: At, (rows, cols): (usize, usize), dst: Dst<f32>) {
    ahead::on_load();
    global.admit(at.claim);
    let window = global.window(at.origin, rows, cols);
    global.touch(race::Access::Read, at.origin, &window);
    if window.rows != rows || window.cols != cols {
        // SAFETY: passed on from the caller.
        unsafe { clear(rows * cols, dst) }
    }
    let src = Src { ptr: window.start.cast_const(), pitch: global.pitch as usize };
    // SAFETY: the window lies in the tensor, whose memory is live and written by nobody else now: it is an
    // input, or `admit` found the tile to be owned. `dst` is large enough and apart by the caller's promise.
    unsafe { (T::bodies(bodies()).load)(src, window.rows, window.cols, dst) }
}

/// Loads the `rows x cols` transpose of a `cols x rows` part of the tensor.
///
/// # Safety
/// As for [`load_rows`].
#[inline(never)]
unsafe fn load_transposed_rows<T: AnyElement>(
    global: &gl<T>,
    at: At,
    (rows, cols): (usize, usize),
    dst: Dst<f32>,
) {
    ahead::on_load();
    global.admit(at.claim);
    let window = global.window(at.origin, cols, rows);
    global.touch(race::Access::Read, at.origin, &window);
    if window.rows != cols || window.cols != rows {
        // SAFETY: passed on from the caller.
        unsafe { clear(rows * cols, dst) }
    }
    let src = Src { ptr: window.start.cast_const(), pitch: global.pitch as usize };
    // SAFETY: as in `load_rows`.
    unsafe { (T::bodies(bodies()).load_transposed)(src, window.rows, window.cols, dst) }
}

/// Zeroes a tile that crosses an edge of its tensor, before what lies inside is loaded.
///
/// # Safety
/// `dst` is writable for `len` contiguous elements.
#[cold]
unsafe fn clear(len: usize, dst: Dst<f32>) {
    // SAFETY: passed on from the caller; all-zero bytes are +0.0.
    unsafe { dst.ptr.write_bytes(0, len) }
}
