//! Owns the memory of tensors on an OpenCL device, and who may look at it when.
//!
//! Every tensor has memory of this process beside its buffer, so that views, rows and slices stay what they are on
//! the host. Where the device shares memory the buffer lies in that very memory, and looking at it is a mapping
//! (nothing is copied); elsewhere it is a copy, made when it is needed and not before.
//!
//! *Guarantees*: the process sees elements only after the commands that write them; a device works on what the
//! process wrote last. A shared look stays valid while a launch reads the same tensor, because a buffer mapped for
//! reading may be read by kernels (OpenCL 3.0 API, `clEnqueueMapBuffer`). *Assumes*: a launch that writes a tensor
//! borrows it mutably, so nobody looks at it meanwhile. *Not here*: launches.

use std::sync::{Arc, Mutex, PoisonError};

use super::device::OpenClDevice;
use super::driver::{Access, Backing, BufferHandle, DriverError, MapHandle};
use crate::error::TensorError;
use crate::tensor::HostMemory;

/// The memory of a tensor on a device.
pub(crate) struct DeviceMemory {
    device: OpenClDevice,
    buffer: BufferHandle,
    host: Arc<HostMemory>,
    state: Mutex<State>,
}

/// Which side is current.
enum State {
    /// The buffer lies in the memory of the process, which may look at it while it is mapped.
    Shared { mapped: Option<(Access, MapHandle)> },
    /// The buffer is a copy. At least one side is current.
    Copied { process: bool, device: bool },
}

impl DeviceMemory {
    /// Zeros, `bytes` of them rounded up to a line.
    pub(crate) fn zeroed(device: &OpenClDevice, bytes: usize) -> Result<Arc<DeviceMemory>, DriverError> {
        let call = "clCreateBuffer";
        let limit = device.facts().largest_buffer_bytes;
        let host = HostMemory::zeroed(bytes).filter(|host| host.bytes() as u64 <= limit);
        let host = Arc::new(host.ok_or_else(|| DriverError::new(call, -61))?);
        let (driver, context) = (device.driver(), device.context());
        let (buffer, state) = if device.facts().shares_memory {
            let buffer = driver.buffer(context, Backing::Host(host.clone()))?;
            (buffer, State::Shared { mapped: None })
        } else {
            let buffer = driver.buffer(context, Backing::Device { bytes: host.bytes() })?;
            driver.zero(device.queue(), &buffer, host.bytes())?;
            (buffer, State::Copied { process: true, device: true })
        };
        Ok(Arc::new(DeviceMemory { device: device.clone(), buffer, host, state: Mutex::new(state) }))
    }

    pub(crate) fn device(&self) -> &OpenClDevice {
        &self.device
    }

    pub(crate) fn buffer(&self) -> &BufferHandle {
        &self.buffer
    }

    pub(crate) fn host(&self) -> &HostMemory {
        &self.host
    }

    /// Makes the memory of the process current, for reading.
    pub(crate) fn give_back_for_reading(&self) -> Result<(), DriverError> {
        self.give_back(Access::Read)
    }

    /// Makes the memory of the process current, for writing. The caller is the only one to look at it.
    pub(crate) fn give_back_for_writing(&self) -> Result<(), DriverError> {
        self.give_back(Access::Write)
    }

    fn give_back(&self, access: Access) -> Result<(), DriverError> {
        let (driver, queue) = (self.device.driver(), self.device.queue());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *state {
            State::Shared { mapped } => {
                match (&mapped, access) {
                    (Some((Access::Write, _)), Access::Write) | (Some((Access::Read, _)), Access::Read) => {
                        return Ok(());
                    }
                    // For a shared look a mapping for writing becomes one for reading, which launches leave alone.
                    (Some((Access::Write, handle)), Access::Read)
                    | (Some((Access::Read, handle)), Access::Write) => {
                        driver.unmap(queue, &self.buffer, handle)?;
                        *mapped = None;
                    }
                    (None, _) => {}
                }
                let handle = driver.map(queue, &self.buffer, access, self.host.bytes())?;
                *mapped = Some((access, handle));
            }
            State::Copied { process, device } => {
                if !*process {
                    self.host.refill(|bytes| driver.read(queue, &self.buffer, bytes))?;
                    *process = true;
                }
                if access == Access::Write {
                    *device = false;
                }
            }
        }
        Ok(())
    }

    /// Makes the buffer current for a kernel, which will write to it if `written`.
    pub(crate) fn hand_over(&self, written: bool) -> Result<(), DriverError> {
        let (driver, queue) = (self.device.driver(), self.device.queue());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *state {
            State::Shared { mapped } => {
                // Mapped for reading, a buffer may stay mapped while kernels read it, and somebody may be looking.
                if let Some((access, handle)) = mapped
                    && (written || *access == Access::Write)
                {
                    driver.unmap(queue, &self.buffer, handle)?;
                    *mapped = None;
                }
            }
            State::Copied { process, device } => {
                if !*device {
                    self.host.lend(|bytes| driver.write(queue, &self.buffer, bytes))?;
                    *device = true;
                }
                if written {
                    *process = false;
                }
            }
        }
        Ok(())
    }

    /// Copies another memory of the same device and size.
    pub(crate) fn copy_from(&self, source: &DeviceMemory) -> Result<(), DriverError> {
        source.hand_over(false)?;
        self.hand_over(true)?;
        let bytes = self.host.bytes().min(source.host.bytes());
        let queue = self.device.queue();
        self.device.driver().copy(queue, &source.buffer, &self.buffer, bytes)?;
        // The copy may outlive both tensors; waiting here is cheaper than keeping track of it.
        self.device.driver().finish(queue)
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let State::Shared { mapped: Some((_, handle)) } = state {
            let (driver, queue) = (self.device.driver(), self.device.queue());
            // The host memory must not go before the unmapping has run. A device that is lost runs nothing.
            let _ = driver.unmap(queue, &self.buffer, handle).and_then(|()| driver.finish(queue));
        }
    }
}

impl From<DriverError> for TensorError {
    fn from(error: DriverError) -> TensorError {
        TensorError::Device { reason: error.to_string() }
    }
}
