//! Owns [`Tensor`], the owned tensor: constructors, reading back, access to its padding.
//!
//! *Guarantees*: the base is 64-byte aligned; pitch and plane strides are multiples of 64 bytes; a row has at
//! least 64 bytes; 64 bytes of slack follow the last row; all of it is initialised. A tensor without elements still
//! has one such plane of rows, one row at least. *Not here*: parts of a
//! tensor (`view`), where the memory comes from (`storage`).

use core::fmt;

use tile_lang::prelude::AnyElement;

use super::layout::{LINE_BYTES, Shape, TensorLayout, row_indices};
use super::storage::{HostBuffer, Storage};
use super::view::{View, ViewMut};
use crate::error::TensorError;
use crate::xe_surface::LIMIT;

/// An owned tensor of shape `[batch, depth, rows, cols]`.
///
/// ```
/// # fn main() -> Result<(), tile_runtime::TensorError> {
/// use tile_runtime::Tensor;
///
/// let mut a = Tensor::from_vec(2, 3, vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(a.get(0, 0, 1, 0), Some(4.0));
/// assert_eq!(a.pitch(), 16); // rows are padded to 64 bytes
///
/// let mut right = a.view_mut().slice_cols(1..)?;
/// right.row_mut(0, 0, 0).expect("two rows").fill(0.0);
/// assert_eq!(a.to_vec(), [1.0, 0.0, 0.0, 4.0, 5.0, 6.0]);
/// # Ok(())
/// # }
/// ```
pub struct Tensor<T: AnyElement> {
    layout: TensorLayout,
    storage: Storage<T>,
}

impl<T: AnyElement> Tensor<T> {
    /// A matrix of zeros: `rows` x `cols`, one plane.
    ///
    /// # Errors
    /// As [`Tensor::with_shape`].
    pub fn zeros(rows: usize, cols: usize) -> Result<Tensor<T>, TensorError> {
        Tensor::with_shape([1, 1, rows, cols])
    }

    /// A tensor of zeros with shape `[batch, depth, rows, cols]`. Sizes of 0 are fine.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`] if the size is not addressable, [`TensorError::OutOfMemory`] if there is no
    /// such memory.
    pub fn with_shape(shape: Shape) -> Result<Tensor<T>, TensorError> {
        let element_bytes = size_of::<T>();
        let layout = TensorLayout::padded(shape, element_bytes)?;
        let len = rows_len(&layout, element_bytes) + LINE_BYTES / element_bytes;
        let out_of_memory = || TensorError::OutOfMemory { shape, bytes: len.saturating_mul(element_bytes) };
        let buffer = HostBuffer::zeroed(len).ok_or_else(out_of_memory)?;
        Ok(Tensor { layout, storage: Storage::Host(buffer) })
    }

    /// A matrix with the given elements, row by row.
    ///
    /// # Errors
    /// [`TensorError::Length`] unless there are exactly `rows * cols` elements; otherwise as
    /// [`Tensor::with_shape`].
    pub fn from_slice(rows: usize, cols: usize, elements: &[T]) -> Result<Tensor<T>, TensorError> {
        Tensor::from_view(View::from_slice(elements, rows, cols)?)
    }

    /// A matrix with the given elements, row by row: [`Tensor::from_slice`] for a vector.
    ///
    /// # Errors
    /// As [`Tensor::from_slice`].
    pub fn from_vec(rows: usize, cols: usize, elements: Vec<T>) -> Result<Tensor<T>, TensorError> {
        Tensor::from_slice(rows, cols, &elements)
    }

    /// A copy of what a view shows; repeated planes are written out.
    ///
    /// # Errors
    /// As [`Tensor::with_shape`].
    pub fn from_view(view: View<'_, T>) -> Result<Tensor<T>, TensorError> {
        let mut tensor = Tensor::with_shape(view.shape())?;
        tensor.view_mut().copy_from(view)?;
        Ok(tensor)
    }

    /// A tensor whose element `(batch, depth, row, col)` is what the function returns for these indices.
    ///
    /// # Errors
    /// As [`Tensor::with_shape`].
    pub fn from_fn(
        shape: Shape,
        mut element: impl FnMut(usize, usize, usize, usize) -> T,
    ) -> Result<Tensor<T>, TensorError> {
        let mut tensor = Tensor::with_shape(shape)?;
        let mut view = tensor.view_mut();
        for (batch, depth, row) in row_indices(shape) {
            let places = view.row_mut(batch, depth, row).expect("the indices come from the shape");
            for (col, place) in places.iter_mut().enumerate() {
                *place = element(batch, depth, row, col);
            }
        }
        Ok(tensor)
    }

    /// An independent copy, padding included.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`] if there is no memory for it.
    pub fn try_clone(&self) -> Result<Tensor<T>, TensorError> {
        let mut copy = Tensor::with_shape(self.shape())?;
        copy.memory_mut().copy_from_slice(self.memory());
        Ok(copy)
    }

    /// `[batch, depth, rows, cols]`.
    pub fn shape(&self) -> Shape {
        self.layout.shape()
    }

    /// Rows of a plane.
    pub fn rows(&self) -> usize {
        self.shape()[2]
    }

    /// Columns of a plane.
    pub fn cols(&self) -> usize {
        self.shape()[3]
    }

    /// Elements from one row to the next; at least the columns, a multiple of 64 bytes.
    pub fn pitch(&self) -> usize {
        self.layout.pitch()
    }

    /// Shape, pitch and strides.
    pub fn layout(&self) -> TensorLayout {
        self.layout
    }

    /// Borrows the whole tensor for reading.
    pub fn view(&self) -> View<'_, T> {
        View::of_tensor(self.memory(), self.layout)
    }

    /// Borrows the whole tensor for writing.
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        let layout = self.layout;
        ViewMut::of_tensor(self.memory_mut(), layout)
    }

    /// The element at these indices, or `None` outside the shape.
    pub fn get(&self, batch: usize, depth: usize, row: usize, col: usize) -> Option<T> {
        self.view().get(batch, depth, row, col)
    }

    /// One row, or `None` outside the shape.
    pub fn row(&self, batch: usize, depth: usize, row: usize) -> Option<&[T]> {
        self.view().row(batch, depth, row)
    }

    /// Every element, row by row, plane by plane.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.view().iter()
    }

    /// Every element, row by row, plane by plane, without padding.
    pub fn to_vec(&self) -> Vec<T> {
        self.view().to_vec()
    }

    /// Writes `value` to every element of the memory that is outside the shape: behind each row, and after the
    /// last row. No result may depend on it; tests fill it with NaN and look at it again.
    pub fn fill_padding(&mut self, value: T) {
        for range in self.padding_ranges() {
            self.memory_mut()[range].fill(value);
        }
    }

    /// Every element of the memory outside the shape.
    pub fn padding(&self) -> impl Iterator<Item = T> + '_ {
        self.padding_ranges().into_iter().flat_map(|range| self.memory()[range].iter().copied())
    }

    fn padding_ranges(&self) -> Vec<core::ops::Range<usize>> {
        let mut ranges = Vec::new();
        let mut free_from = 0;
        for start in self.layout.rows() {
            ranges.push(free_from..start);
            free_from = start + self.cols();
        }
        ranges.push(free_from..self.memory().len());
        ranges
    }

    fn memory(&self) -> &[T] {
        match &self.storage {
            Storage::Host(buffer) => buffer.as_slice(),
        }
    }

    fn memory_mut(&mut self) -> &mut [T] {
        match &mut self.storage {
            Storage::Host(buffer) => buffer.as_mut_slice(),
        }
    }
}

impl<T: AnyElement> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}>{:?} (pitch {})", T::DTYPE, self.shape(), self.pitch())
    }
}

/// Elements of all rows, padding included. Without elements it is one plane of at least one row, because device
/// modules may send messages for it and mask all of it; unless no surface can be that large (`xe_surface`).
fn rows_len(layout: &TensorLayout, element_bytes: usize) -> usize {
    let [batch, _, rows, cols] = layout.shape();
    let surface = |size: usize| size as u64 <= LIMIT;
    if !layout.is_empty() {
        batch * layout.batch_stride()
    } else if surface(rows) && surface(cols.saturating_mul(element_bytes)) {
        rows.max(1) * layout.pitch()
    } else {
        0
    }
}
