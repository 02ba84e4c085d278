//! Owns the memory of tensors: where it lives and how it is aligned.
//!
//! *Guarantees*: host memory is aligned to a cache line, every byte of it is initialised at all times, and a
//! failed allocation is an error, not an abort. *Not here*: what the elements mean (`layout`).

use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc};
#[cfg(feature = "opencl")]
use std::sync::Arc;

use tile_lang::prelude::AnyElement;

use super::home::Home;
use super::layout::LINE_BYTES;
#[cfg(feature = "opencl")]
use crate::opencl::DeviceMemory;

/// Where the elements of a tensor are kept. Further kinds of device memory (unified shared memory) become variants;
/// every use of a storage matches on it, so the compiler lists what must then be written.
pub(crate) enum Storage<T: AnyElement> {
    /// Memory of this process.
    Host(HostBuffer<T>),
    /// Memory of an OpenCL device, with memory of this process to read and write it through.
    #[cfg(feature = "opencl")]
    OpenCl(Arc<DeviceMemory>),
}

impl<T: AnyElement> Storage<T> {
    /// The first element and the number of elements. Whoever looks at them asks [`Storage::home`] first.
    pub(crate) fn elements(&self) -> (*mut T, usize) {
        match self {
            Storage::Host(buffer) => (buffer.first.as_ptr(), buffer.len),
            #[cfg(feature = "opencl")]
            Storage::OpenCl(memory) => {
                let host = memory.host();
                (host.base().cast(), host.bytes() / size_of::<T>())
            }
        }
    }

    /// Whom to ask before the elements are looked at.
    pub(crate) fn home(&self) -> Home<'_> {
        match self {
            Storage::Host(_) => Home::PROCESS,
            #[cfg(feature = "opencl")]
            Storage::OpenCl(memory) => Home::device(memory),
        }
    }

    /// The elements, once the device has given them back.
    pub(crate) fn as_slice(&self) -> &[T] {
        self.home().expect_readable();
        let (first, len) = self.elements();
        // SAFETY: `len` elements were allocated there and initialised with zeros, a valid value of every `AnyElement`
        // (the trait is sealed); the home just said that no device writes to them, and none will while `self` is
        // borrowed, for a launch that writes borrows the tensor mutably.
        unsafe { core::slice::from_raw_parts(first, len) }
    }

    /// The elements for writing, once the device has given them back.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        self.home().expect_writable();
        let (first, len) = self.elements();
        // SAFETY: as in `as_slice`; `&mut self` makes the access exclusive.
        unsafe { core::slice::from_raw_parts_mut(first, len) }
    }
}

/// A line-aligned, initialised array of elements.
pub(crate) struct HostBuffer<T: AnyElement> {
    first: NonNull<T>,
    len: usize,
}

// SAFETY: the buffer owns its memory exclusively, as `Box<[T]>` does, and elements are `Send + Sync`
// (supertraits of `AnyElement`).
unsafe impl<T: AnyElement> Send for HostBuffer<T> {}
// SAFETY: as above; shared access only reads.
unsafe impl<T: AnyElement> Sync for HostBuffer<T> {}

impl<T: AnyElement> HostBuffer<T> {
    /// Allocates `len` zero elements; `None` if there is no such memory.
    pub(crate) fn zeroed(len: usize) -> Option<HostBuffer<T>> {
        let layout = HostBuffer::<T>::layout(len)?;
        if layout.size() == 0 {
            // Aligned although there is nothing to align: views of it pass the same checks.
            let line = NonNull::<Line>::dangling();
            return Some(HostBuffer { first: line.cast(), len: 0 });
        }
        // SAFETY: the size is not 0 (checked above).
        let memory = unsafe { alloc_zeroed(layout) };
        NonNull::new(memory.cast::<T>()).map(|first| HostBuffer { first, len })
    }

    fn layout(len: usize) -> Option<Layout> {
        Layout::array::<T>(len).ok()?.align_to(LINE_BYTES).ok()
    }
}

impl<T: AnyElement> Drop for HostBuffer<T> {
    fn drop(&mut self) {
        let layout = HostBuffer::<T>::layout(self.len).expect("the same layout was allocated");
        if layout.size() != 0 {
            // SAFETY: `zeroed` allocated this memory with the same layout, and nothing else frees it.
            unsafe { dealloc(self.first.as_ptr().cast(), layout) }
        }
    }
}

/// A cache line; gives the dangling pointer of an empty buffer its alignment.
#[repr(align(64))]
struct Line;

const _: () = assert!(align_of::<Line>() == LINE_BYTES);

/// What [`HostMemory`] is aligned to, in bytes.
#[cfg(feature = "opencl")]
const PAGE_BYTES: usize = 4096;

/// Memory of this process that a device works in, or through which its memory is read and written. Aligned to a
/// page, which GPUs that share memory demand; a whole number of lines long.
#[cfg(feature = "opencl")]
pub struct HostMemory {
    /// The allocation, which has a page more than is used.
    allocation: NonNull<u8>,
    layout: Layout,
    /// The first page boundary in it.
    first: NonNull<u8>,
}

#[cfg(feature = "opencl")]
// SAFETY: it owns its memory; who may look at it when is decided by `opencl::memory`.
unsafe impl Send for HostMemory {}
#[cfg(feature = "opencl")]
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

#[cfg(feature = "opencl")]
impl HostMemory {
    /// Allocates at least `bytes` zero bytes; `None` if there is no such memory. Memory nobody touches costs nothing.
    pub(crate) fn zeroed(bytes: usize) -> Option<HostMemory> {
        let bytes = bytes.max(1).checked_next_multiple_of(LINE_BYTES)?.checked_add(PAGE_BYTES)?;
        // Aligned by hand: an allocator asked for more than its natural alignment writes the zeros itself, to every
        // page, instead of taking fresh ones from the system.
        let layout = Layout::from_size_align(bytes, 1).ok()?;
        // SAFETY: the size is not 0.
        let allocation = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let skip = allocation.addr().get().next_multiple_of(PAGE_BYTES) - allocation.addr().get();
        // SAFETY: `skip` is less than a page, and the allocation has a page more than is used.
        let first = unsafe { allocation.add(skip) };
        Some(HostMemory { allocation, layout, first })
    }

    /// The first byte.
    pub fn base(&self) -> *mut u8 {
        self.first.as_ptr()
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.layout.size() - PAGE_BYTES
    }

    /// Shows all bytes to `copy`, which hands them to a device.
    pub(crate) fn lend<R>(&self, copy: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: allocated with this size and zeroed. `opencl::memory` hands over what the process wrote last, with
        // its state locked: writers hold the tensor mutably and have returned, and no device writes to a copy.
        copy(unsafe { core::slice::from_raw_parts(self.base(), self.bytes()) })
    }

    /// Lets `copy` overwrite all bytes with those of a device.
    pub(crate) fn refill<R>(&self, copy: impl FnOnce(&mut [u8]) -> R) -> R {
        // SAFETY: allocated with this size and zeroed. `opencl::memory` refills memory that a launch made stale, with
        // its state locked: that launch borrowed the tensor mutably, so no look at it from before is left, and every
        // later one comes after this call.
        copy(unsafe { core::slice::from_raw_parts_mut(self.base(), self.bytes()) })
    }
}

#[cfg(feature = "opencl")]
impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: `zeroed` allocated it with this layout, and nothing else frees it.
        unsafe { dealloc(self.allocation.as_ptr(), self.layout) }
    }
}
