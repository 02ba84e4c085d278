//! Owns [`Home`]: whom a view asks before anybody looks at its elements.
//!
//! A tensor on a device has memory of this process too, which is current only when the device has given it back.
//! *Guarantees*: a view of a tensor on a device costs nothing to make; the first look waits for the device.
//! *Not here*: the protocol between device and process (`opencl::memory`).

#[cfg(not(feature = "opencl"))]
use core::marker::PhantomData;

use crate::error::TensorError;
#[cfg(feature = "opencl")]
use crate::opencl::DeviceMemory;

/// Where the current elements of a view may be.
#[derive(Clone, Copy)]
pub(crate) struct Home<'a> {
    #[cfg(feature = "opencl")]
    memory: Option<&'a DeviceMemory>,
    #[cfg(not(feature = "opencl"))]
    memory: PhantomData<&'a ()>,
}

impl<'a> Home<'a> {
    /// Memory of this process that no device uses.
    pub(crate) const PROCESS: Home<'static> = Home {
        #[cfg(feature = "opencl")]
        memory: None,
        #[cfg(not(feature = "opencl"))]
        memory: PhantomData,
    };

    /// Memory of a device.
    #[cfg(feature = "opencl")]
    pub(crate) fn device(memory: &'a DeviceMemory) -> Home<'a> {
        Home { memory: Some(memory) }
    }

    /// The memory of the device, if it is one.
    #[cfg(feature = "opencl")]
    pub(crate) fn memory(self) -> Option<&'a DeviceMemory> {
        self.memory
    }

    /// Makes the elements current in this process, for reading.
    pub(crate) fn readable(self) -> Result<(), TensorError> {
        #[cfg(feature = "opencl")]
        if let Some(memory) = self.memory {
            memory.give_back_for_reading().map_err(TensorError::from)?;
        }
        Ok(())
    }

    /// Makes the elements current in this process, for writing.
    pub(crate) fn writable(self) -> Result<(), TensorError> {
        #[cfg(feature = "opencl")]
        if let Some(memory) = self.memory {
            memory.give_back_for_writing().map_err(TensorError::from)?;
        }
        Ok(())
    }

    /// [`Home::readable`] for reads that cannot return an error.
    pub(crate) fn expect_readable(self) {
        // No invented elements: a read that cannot be had must not go on.
        self.readable().unwrap_or_else(|error| panic!("{error}"));
    }

    /// [`Home::writable`] for accesses that cannot return an error.
    pub(crate) fn expect_writable(self) {
        self.writable().unwrap_or_else(|error| panic!("{error}"));
    }
}
