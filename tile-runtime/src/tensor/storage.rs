//! Owns the memory of tensors: where it lives and how it is aligned.
//!
//! *Guarantees*: host memory is aligned to a cache line, every byte of it is initialised at all times, and a
//! failed allocation is an error, not an abort. *Not here*: what the elements mean (`layout`).

use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc};

use tile_lang::prelude::AnyElement;

use super::layout::LINE_BYTES;

/// Where the elements of a tensor are kept. Device memory (OpenCL buffers, unified shared memory) becomes a
/// further variant; every use of a storage matches on it, so the compiler lists what must then be written.
pub(crate) enum Storage<T: AnyElement> {
    /// Memory of this process.
    Host(HostBuffer<T>),
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

    pub(crate) fn as_slice(&self) -> &[T] {
        // SAFETY: `first` points at `len` elements that `zeroed` allocated and initialised (all-zero bits are
        // a valid value of every `AnyElement`: bf16, f16, f32, i32; the trait is sealed), or at none.
        unsafe { core::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`; `&mut self` makes the access exclusive.
        unsafe { core::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
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
