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
use crate::device::Device;
use crate::error::TensorError;
#[cfg(feature = "opencl")]
use crate::opencl::DeviceMemory;
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
        let (layout, len) = room(shape, size_of::<T>())?;
        let bytes = len.saturating_mul(size_of::<T>());
        let buffer = HostBuffer::zeroed(len).ok_or(TensorError::OutOfMemory { shape, bytes })?;
        Ok(Tensor { layout, storage: Storage::Host(buffer) })
    }

    /// A tensor of zeros on a device. Host and simulator work in the memory of the process; a tensor of an OpenCL
    /// device is used by launches on it where it lies. Everything else about it is as for any tensor: reading it
    /// waits for the device, and panics if the device fails ([`Tensor::read`] does not).
    ///
    /// # Errors
    /// As [`Tensor::with_shape`], and [`TensorError::Device`] if the device fails.
    pub fn with_shape_on(device: &Device, shape: Shape) -> Result<Tensor<T>, TensorError> {
        match device {
            Device::Host(_) => Tensor::with_shape(shape),
            #[cfg(feature = "sim")]
            Device::Sim(_) => Tensor::with_shape(shape),
            #[cfg(feature = "opencl")]
            Device::OpenCl(device) => {
                let (layout, len) = room(shape, size_of::<T>())?;
                let bytes = len.saturating_mul(size_of::<T>());
                let memory = DeviceMemory::zeroed(device, bytes).map_err(|error| {
                    if error.is_out_of_memory() {
                        TensorError::OutOfMemory { shape, bytes }
                    } else {
                        TensorError::from(error)
                    }
                })?;
                Ok(Tensor { layout, storage: Storage::OpenCl(memory) })
            }
        }
    }

    /// A copy on a device, padding included; between two tensors of one device it does not leave the device.
    ///
    /// # Errors
    /// As [`Tensor::with_shape_on`].
    pub fn to_device(&self, device: &Device) -> Result<Tensor<T>, TensorError> {
        let mut copy = Tensor::with_shape_on(device, self.shape())?;
        #[cfg(feature = "opencl")]
        if let (Storage::OpenCl(from), Storage::OpenCl(to)) = (&self.storage, &copy.storage)
            && from.device().is_same(to.device())
        {
            to.copy_from(from)?;
            return Ok(copy);
        }
        self.storage.home().readable()?;
        copy.storage.home().writable()?;
        // Owned tensors of one shape have one layout; the memory of a device may be a little longer.
        let (from, to) = (self.memory(), copy.memory_mut());
        let len = from.len().min(to.len());
        to[..len].copy_from_slice(&from[..len]);
        Ok(copy)
    }

    /// Borrows the whole tensor for reading, once its device has written it.
    ///
    /// # Errors
    /// [`TensorError::Device`] if the device fails, where [`Tensor::view`] would panic when looked at.
    pub fn read(&self) -> Result<View<'_, T>, TensorError> {
        self.storage.home().readable()?;
        Ok(self.view())
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

    /// An independent copy on the same device, padding included.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`] if there is no memory for it, [`TensorError::Device`] if the device fails.
    pub fn try_clone(&self) -> Result<Tensor<T>, TensorError> {
        match &self.storage {
            Storage::Host(_) => self.to_device(&Device::host()),
            #[cfg(feature = "opencl")]
            Storage::OpenCl(memory) => self.to_device(&Device::OpenCl(memory.device().clone())),
        }
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
        View::of_tensor(&self.storage, self.layout)
    }

    /// Borrows the whole tensor for writing.
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        ViewMut::of_tensor(&mut self.storage, self.layout)
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
        self.storage.as_slice()
    }

    fn memory_mut(&mut self) -> &mut [T] {
        self.storage.as_mut_slice()
    }
}

impl<T: AnyElement> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}>{:?} (pitch {})", T::DTYPE, self.shape(), self.pitch())
    }
}

/// The layout of an owned tensor and its elements, slack included.
fn room(shape: Shape, element_bytes: usize) -> Result<(TensorLayout, usize), TensorError> {
    let layout = TensorLayout::padded(shape, element_bytes)?;
    Ok((layout, rows_len(&layout, element_bytes) + LINE_BYTES / element_bytes))
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
