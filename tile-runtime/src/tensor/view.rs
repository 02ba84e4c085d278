//! Owns borrowed views: parts of tensors and of plain slices, typed and with the element type erased.
//!
//! *Guarantees*: all elements of a view lie inside the memory it borrowed; a [`ViewMut`] is the only way to
//! its memory while it lives and its elements do not overlap; a view knows the whole region it may touch, so
//! that a device can map it. *Not here*: checks between the arguments of a launch (`launch`).

use core::fmt;
use core::marker::PhantomData;
use core::ops::RangeBounds;

use tile_lang::prelude::AnyElement;

use super::home::Home;
use super::layout::{Axis, Shape, TensorLayout, row_indices};
use super::storage::Storage;
use crate::contract::DType;
use crate::error::TensorError;

/// A borrowed tensor for reading: a part of a [`crate::Tensor`] or of a slice.
pub struct View<'a, T: AnyElement> {
    placed: Placed,
    home: Home<'a>,
    memory: PhantomData<&'a [T]>,
}

/// A borrowed tensor for writing: a part of a [`crate::Tensor`] or of a slice.
pub struct ViewMut<'a, T: AnyElement> {
    placed: Placed,
    home: Home<'a>,
    memory: PhantomData<&'a mut [T]>,
}

/// A [`View`] whose element type is a value.
#[derive(Clone, Copy)]
pub struct AnyView<'a> {
    placed: Placed,
    home: Home<'a>,
    memory: PhantomData<&'a [u8]>,
}

/// A [`ViewMut`] whose element type is a value.
pub struct AnyViewMut<'a> {
    placed: Placed,
    home: Home<'a>,
    memory: PhantomData<&'a mut [u8]>,
}

/// A layout placed in memory: what all four views are made of.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) dtype: DType,
    /// Element (0, 0, 0, 0); written through only by views for writing.
    pub(crate) first: *mut u8,
    pub(crate) layout: TensorLayout,
    #[cfg_attr(
        not(any(feature = "sim", feature = "opencl")),
        expect(dead_code, reason = "the host needs no region")
    )]
    pub(crate) region: Region,
}

/// Everything a view may touch: the memory of its tensor, or its slice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) base: *mut u8,
    pub(crate) bytes: usize,
}

// SAFETY: a `View` is a shared borrow of `[T]`, which is `Send` because `AnyElement: Sync`.
unsafe impl<T: AnyElement> Send for View<'_, T> {}
// SAFETY: as above; its methods only read.
unsafe impl<T: AnyElement> Sync for View<'_, T> {}
// SAFETY: a `ViewMut` is an exclusive borrow of `[T]`, which is `Send` because `AnyElement: Send`.
unsafe impl<T: AnyElement> Send for ViewMut<'_, T> {}
// SAFETY: through `&ViewMut` its methods only read.
unsafe impl<T: AnyElement> Sync for ViewMut<'_, T> {}
// SAFETY: made from a `View` only.
unsafe impl Send for AnyView<'_> {}
// SAFETY: made from a `View` only.
unsafe impl Sync for AnyView<'_> {}
// SAFETY: made from a `ViewMut` only.
unsafe impl Send for AnyViewMut<'_> {}
// SAFETY: made from a `ViewMut` only.
unsafe impl Sync for AnyViewMut<'_> {}

impl Placed {
    /// Places a layout at the start of `len` elements at `base`.
    fn new<T: AnyElement>(base: *mut T, len: usize, layout: TensorLayout) -> Result<Placed, TensorError> {
        let needed = layout.span();
        if needed > len {
            let (shape, pitch) = (layout.shape(), layout.pitch());
            return Err(TensorError::Short { shape, pitch, needed, given: len });
        }
        let region = Region { base: base.cast(), bytes: len * size_of::<T>() };
        Ok(Placed { dtype: T::DTYPE, first: base.cast(), layout, region })
    }

    fn part(self, axis: Axis, range: impl RangeBounds<usize>) -> Result<Placed, TensorError> {
        let (offset, layout) = self.layout.part(axis, range)?;
        let bytes = offset * self.dtype.size_bytes() as usize;
        // `wrapping_add` is safe to call; `offset` is that of an element of this view, hence in the region.
        Ok(Placed { first: self.first.wrapping_add(bytes), layout, ..self })
    }

    fn broadcast(self, axis: Axis, size: usize) -> Result<Placed, TensorError> {
        let layout = self.layout.broadcast(axis, size, self.dtype.size_bytes() as usize)?;
        Ok(Placed { layout, ..self })
    }

    /// Bytes from the start of the region to the first element.
    #[cfg(any(feature = "sim", feature = "opencl"))]
    pub(crate) fn offset_bytes(&self) -> usize {
        self.first.addr() - self.region.base.addr()
    }

    /// Bytes from the first to the last element, both included.
    pub(crate) fn span_bytes(&self) -> usize {
        self.layout.span() * self.dtype.size_bytes() as usize
    }

    /// A row as elements; `None` outside the shape.
    ///
    /// # Safety
    /// `T` is the element type, and nobody writes to the row during `'a`.
    unsafe fn row<'a, T: AnyElement>(&self, batch: usize, depth: usize, row: usize) -> Option<&'a [T]> {
        let offset = self.layout.row_offset(batch, depth, row)?;
        let cols = self.layout.shape()[3];
        // SAFETY: `row_offset` checked the indices and `Placed::new` checked that the span fits the region, so
        // `cols` initialised elements lie there; no writer by this function's contract.
        Some(unsafe { core::slice::from_raw_parts(self.first.cast::<T>().add(offset), cols) })
    }

    fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{name}<{}>{:?} (pitch {})", self.dtype, self.layout.shape(), self.layout.pitch())
    }
}

/// The methods `View` and `ViewMut` share: description, parts and reading.
macro_rules! common_methods {
    ($view:ident) => {
        /// `[batch, depth, rows, cols]`.
        pub fn shape(&self) -> Shape {
            self.placed.layout.shape()
        }

        /// Rows of a plane.
        pub fn rows(&self) -> usize {
            self.shape()[2]
        }

        /// Columns of a plane.
        pub fn cols(&self) -> usize {
            self.shape()[3]
        }

        /// Shape, pitch and strides.
        pub fn layout(&self) -> TensorLayout {
            self.placed.layout
        }

        /// The part with these rows.
        ///
        /// # Errors
        /// [`TensorError::OutOfRange`] if the range leaves the view.
        pub fn slice_rows(self, range: impl RangeBounds<usize>) -> Result<Self, TensorError> {
            self.part(Axis::Rows, range)
        }

        /// The part with these columns.
        ///
        /// # Errors
        /// [`TensorError::OutOfRange`] if the range leaves the view.
        pub fn slice_cols(self, range: impl RangeBounds<usize>) -> Result<Self, TensorError> {
            self.part(Axis::Cols, range)
        }

        /// The columns as `parts` neighbouring parts, one per depth, such as the heads of a token:
        /// `[batch, 1, rows, parts * cols]` becomes `[batch, parts, rows, cols]`. Nothing moves.
        ///
        /// # Errors
        /// [`TensorError::Split`] if depth is not 1, or the columns are not a multiple of `parts`.
        pub fn split_cols(self, parts: usize) -> Result<Self, TensorError> {
            let placed = Placed { layout: self.placed.layout.split_cols(parts)?, ..self.placed };
            Ok($view { placed, home: self.home, memory: PhantomData })
        }

        /// Planes of one row as the rows of `parts` planes, such as the heads of a token that share keys:
        /// `[batch, parts * rows, 1, cols]` becomes `[batch, parts, rows, cols]`. Nothing moves.
        ///
        /// # Errors
        /// [`TensorError::Split`] if there is more than one row, or depth is not a multiple of `parts`; [`TensorError::Pitch`]
        /// if the planes overlap.
        pub fn split_depth(self, parts: usize) -> Result<Self, TensorError> {
            let layout = self.placed.layout.split_depth(parts, size_of::<T>())?;
            Ok($view { placed: Placed { layout, ..self.placed }, home: self.home, memory: PhantomData })
        }

        /// The part with these indices along an axis.
        ///
        /// # Errors
        /// [`TensorError::OutOfRange`] if the range leaves the view.
        pub fn part(self, axis: Axis, range: impl RangeBounds<usize>) -> Result<Self, TensorError> {
            Ok($view { placed: self.placed.part(axis, range)?, home: self.home, memory: PhantomData })
        }
    };
}

impl<'a, T: AnyElement> View<'a, T> {
    common_methods!(View);

    /// A matrix over a slice, row by row.
    ///
    /// # Errors
    /// [`TensorError::Length`] unless the slice has exactly `rows * cols` elements.
    pub fn from_slice(elements: &'a [T], rows: usize, cols: usize) -> Result<View<'a, T>, TensorError> {
        View::from_slice_with_shape(elements, [1, 1, rows, cols])
    }

    /// A tensor over a slice, row by row, plane by plane.
    ///
    /// # Errors
    /// [`TensorError::Length`] unless the slice has exactly as many elements as the shape.
    pub fn from_slice_with_shape(elements: &'a [T], shape: Shape) -> Result<View<'a, T>, TensorError> {
        View::with_layout(elements, exact(shape, size_of::<T>(), elements.len())?)
    }

    /// A tensor over the start of a slice, in any layout: rows with a pitch, interleaved or repeated planes.
    ///
    /// # Errors
    /// [`TensorError::Short`] if the layout ends beyond the slice.
    pub fn with_layout(elements: &'a [T], layout: TensorLayout) -> Result<View<'a, T>, TensorError> {
        let placed = Placed::new(elements.as_ptr().cast_mut(), elements.len(), layout)?;
        Ok(View { placed, home: Home::PROCESS, memory: PhantomData })
    }

    pub(super) fn of_tensor(storage: &'a Storage<T>, layout: TensorLayout) -> View<'a, T> {
        let (first, len) = storage.elements();
        let placed = Placed::new(first, len, layout).expect("a tensor allocates what its layout spans");
        View { placed, home: storage.home(), memory: PhantomData }
    }

    /// The view in which the single batch or depth entry is read `size` times.
    ///
    /// # Errors
    /// [`TensorError::Broadcast`] unless the axis is `Batch` or `Depth` and has size 1.
    pub fn broadcast(self, axis: Axis, size: usize) -> Result<View<'a, T>, TensorError> {
        Ok(View { placed: self.placed.broadcast(axis, size)?, home: self.home, memory: PhantomData })
    }

    /// The element at these indices, or `None` outside the shape.
    pub fn get(&self, batch: usize, depth: usize, row: usize, col: usize) -> Option<T> {
        self.row(batch, depth, row)?.get(col).copied()
    }

    /// One row, or `None` outside the shape.
    pub fn row(&self, batch: usize, depth: usize, row: usize) -> Option<&'a [T]> {
        self.home.expect_readable();
        // SAFETY: `placed` was made from `&'a [T]` or a borrowed storage by the constructors above; if that is a
        // device's, it has just given the elements back.
        unsafe { self.placed.row(batch, depth, row) }
    }

    /// Every element, row by row, plane by plane.
    pub fn iter(&self) -> impl Iterator<Item = T> + use<'a, T> {
        let view = *self;
        row_indices(view.shape()).flat_map(move |(batch, depth, row)| {
            view.row(batch, depth, row).expect("the indices come from the shape").iter().copied()
        })
    }

    /// Every element, row by row, plane by plane.
    pub fn to_vec(&self) -> Vec<T> {
        let mut elements = Vec::with_capacity(self.placed.layout.count());
        for (batch, depth, row) in row_indices(self.shape()) {
            let row = self.row(batch, depth, row).expect("the indices come from the shape");
            elements.extend_from_slice(row);
        }
        elements
    }
}

impl<'a, T: AnyElement> ViewMut<'a, T> {
    common_methods!(ViewMut);

    /// A matrix over a slice, row by row.
    ///
    /// # Errors
    /// [`TensorError::Length`] unless the slice has exactly `rows * cols` elements.
    pub fn from_slice(
        elements: &'a mut [T],
        rows: usize,
        cols: usize,
    ) -> Result<ViewMut<'a, T>, TensorError> {
        ViewMut::from_slice_with_shape(elements, [1, 1, rows, cols])
    }

    /// A tensor over a slice, row by row, plane by plane.
    ///
    /// # Errors
    /// [`TensorError::Length`] unless the slice has exactly as many elements as the shape.
    pub fn from_slice_with_shape(elements: &'a mut [T], shape: Shape) -> Result<ViewMut<'a, T>, TensorError> {
        let layout = exact(shape, size_of::<T>(), elements.len())?;
        ViewMut::with_layout(elements, layout)
    }

    /// A tensor over the start of a slice, in any layout whose elements do not overlap.
    ///
    /// # Errors
    /// [`TensorError::Short`] if the layout ends beyond the slice, [`TensorError::Overlap`] if two elements
    /// may share a place.
    pub fn with_layout(elements: &'a mut [T], layout: TensorLayout) -> Result<ViewMut<'a, T>, TensorError> {
        if !layout.is_injective() {
            return Err(TensorError::Overlap {
                shape: layout.shape(),
                pitch: layout.pitch(),
                depth_stride: layout.depth_stride(),
                batch_stride: layout.batch_stride(),
            });
        }
        let placed = Placed::new(elements.as_mut_ptr(), elements.len(), layout)?;
        Ok(ViewMut { placed, home: Home::PROCESS, memory: PhantomData })
    }

    pub(super) fn of_tensor(storage: &'a mut Storage<T>, layout: TensorLayout) -> ViewMut<'a, T> {
        let (first, len) = storage.elements();
        let placed = Placed::new(first, len, layout).expect("a tensor allocates what its layout spans");
        ViewMut { placed, home: storage.home(), memory: PhantomData }
    }

    /// Lends the view: the original is usable again when the loan ends.
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut { placed: self.placed, home: self.home, memory: PhantomData }
    }

    /// Lends the view for reading.
    pub fn as_view(&self) -> View<'_, T> {
        View { placed: self.placed, home: self.home, memory: PhantomData }
    }

    /// One row, or `None` outside the shape.
    pub fn row_mut(&mut self, batch: usize, depth: usize, row: usize) -> Option<&mut [T]> {
        let offset = self.placed.layout.row_offset(batch, depth, row)?;
        let cols = self.cols();
        self.home.expect_writable();
        // SAFETY: `row_offset` checked the indices and `Placed::new` checked that the span fits the region, so
        // `cols` initialised elements lie there; the constructors took `&'a mut [T]` and `&mut self` makes
        // this the only access through it; a device has just given the elements back.
        Some(unsafe { core::slice::from_raw_parts_mut(self.placed.first.cast::<T>().add(offset), cols) })
    }

    /// Copies every element of a view of the same shape.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`] if the shapes differ.
    pub fn copy_from(&mut self, source: View<'_, T>) -> Result<(), TensorError> {
        let (target, source_shape) = (self.shape(), source.shape());
        if target != source_shape {
            return Err(TensorError::ShapeMismatch { target, source_shape });
        }
        for (batch, depth, row) in row_indices(target) {
            let from = source.row(batch, depth, row).expect("the indices come from the shape");
            self.row_mut(batch, depth, row).expect("the shapes are equal").copy_from_slice(from);
        }
        Ok(())
    }
}

/// The packed layout of a shape with exactly `given` elements.
fn exact(shape: Shape, element_bytes: usize, given: usize) -> Result<TensorLayout, TensorError> {
    let layout = TensorLayout::packed(shape, element_bytes)?;
    match layout.count() {
        needed if needed == given => Ok(layout),
        needed => Err(TensorError::Length { shape, needed, given }),
    }
}

impl<T: AnyElement> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: AnyElement> Copy for View<'_, T> {}

impl<T: AnyElement> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.placed.describe("View", f)
    }
}

impl<T: AnyElement> fmt::Debug for ViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.placed.describe("ViewMut", f)
    }
}

impl<'a, T: AnyElement> From<&'a super::Tensor<T>> for View<'a, T> {
    fn from(tensor: &'a super::Tensor<T>) -> View<'a, T> {
        tensor.view()
    }
}

impl<'a, T: AnyElement> From<&'a mut super::Tensor<T>> for ViewMut<'a, T> {
    fn from(tensor: &'a mut super::Tensor<T>) -> ViewMut<'a, T> {
        tensor.view_mut()
    }
}

impl<'a, T: AnyElement> From<ViewMut<'a, T>> for View<'a, T> {
    fn from(view: ViewMut<'a, T>) -> View<'a, T> {
        View { placed: view.placed, home: view.home, memory: PhantomData }
    }
}

impl<'a> AnyView<'a> {
    pub(crate) fn placed(&self) -> &Placed {
        &self.placed
    }

    pub(crate) fn home(&self) -> Home<'a> {
        self.home
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.placed.dtype
    }

    /// Shape, pitch and strides.
    pub fn layout(&self) -> TensorLayout {
        self.placed.layout
    }
}

impl<'a> AnyViewMut<'a> {
    pub(crate) fn placed(&self) -> &Placed {
        &self.placed
    }

    pub(crate) fn home(&self) -> Home<'a> {
        self.home
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.placed.dtype
    }

    /// Shape, pitch and strides.
    pub fn layout(&self) -> TensorLayout {
        self.placed.layout
    }
}

#[cfg(any(feature = "sim", feature = "opencl"))]
impl AnyView<'_> {
    /// All memory the view may touch, as bytes. Memory of a device must have been given back.
    pub(crate) fn region(&self) -> &[u8] {
        // SAFETY: the constructors of `View` took `&[T]`, of which `Placed::new` recorded start and size, and
        // whose elements have no padding; the borrow lasts as long as the view.
        unsafe { self.placed.region.bytes() }
    }
}

#[cfg(any(feature = "sim", feature = "opencl"))]
impl AnyViewMut<'_> {
    /// All memory the view may touch, as bytes. Memory of a device must have been given back.
    pub(crate) fn region(&self) -> &[u8] {
        // SAFETY: the constructors of `ViewMut` took `&mut [T]`, of which `Placed::new` recorded start and
        // size, and whose elements have no padding; the borrow lasts as long as the view, and nobody writes
        // through `&self`.
        unsafe { self.placed.region.bytes() }
    }

    /// All memory the view may touch, as bytes. Memory of a device must have been given back.
    pub(crate) fn region_mut(&mut self) -> &mut [u8] {
        let Region { base, bytes, .. } = self.placed.region;
        // SAFETY: as in `region`; `&mut self` makes this the only access, and every bit pattern is a valid
        // element (bf16, f16, f32; the trait is sealed).
        unsafe { core::slice::from_raw_parts_mut(base, bytes) }
    }
}

#[cfg(any(feature = "sim", feature = "opencl"))]
impl Region {
    /// # Safety
    /// The region is live, initialised and not written during `'r`.
    unsafe fn bytes<'r>(self) -> &'r [u8] {
        // SAFETY: by this function's contract; `base` is never null, for it comes from a slice.
        unsafe { core::slice::from_raw_parts(self.base, self.bytes) }
    }
}

impl<'a, T: AnyElement> From<View<'a, T>> for AnyView<'a> {
    fn from(view: View<'a, T>) -> AnyView<'a> {
        AnyView { placed: view.placed, home: view.home, memory: PhantomData }
    }
}

impl<'a, T: AnyElement> From<ViewMut<'a, T>> for AnyViewMut<'a> {
    fn from(view: ViewMut<'a, T>) -> AnyViewMut<'a> {
        AnyViewMut { placed: view.placed, home: view.home, memory: PhantomData }
    }
}
