//! Owns OpenCL devices as devices of the runtime: finding them, choosing one, what each of them holds.
//!
//! *Guarantees*: a device is found by capability, index or name, and the reason it is not is told; there is one
//! [`OpenClDevice`] per device and list, whose clones share queue, programs and the commands under way. *Not here*:
//! OpenCL calls (`ocl`), what makes a device fit (`facts`), launches (`launch`).

use core::fmt;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::driver::{ContextHandle, DeviceHandle, Driver, DriverError, EventHandle, Progress, QueueHandle};
use super::facts::{DeviceFacts, Lack, Target, list};
use super::ocl::Ocl;
use super::program::{Built, ProgramKey};
use crate::cache::Cache;
use crate::error::DeviceError;

/// A device of an OpenCL platform. Clones share everything.
#[derive(Clone)]
pub struct OpenClDevice {
    inner: Arc<Inner>,
}

/// A program that is built once, by whoever comes first.
pub(super) type Slot = Arc<Mutex<Option<Arc<Built>>>>;

struct Inner {
    driver: Arc<dyn Driver>,
    handle: DeviceHandle,
    facts: DeviceFacts,
    target: Target,
    context: ContextHandle,
    queue: QueueHandle,
    programs: Mutex<HashMap<ProgramKey, Slot>>,
    under_way: Mutex<VecDeque<UnderWay>>,
    cache: Option<Cache>,
}

/// A command in the queue and all that must live until it is done.
pub(super) struct UnderWay {
    pub(super) event: EventHandle,
    #[expect(dead_code, reason = "it is dropped, not read")]
    pub(super) keeps: Box<dyn Send>,
}

/// Commands after which a launch waits for the oldest one.
const MOST_UNDER_WAY: usize = 1024;

impl OpenClDevice {
    pub(super) fn driver(&self) -> &dyn Driver {
        &*self.inner.driver
    }

    pub(super) fn handle(&self) -> &DeviceHandle {
        &self.inner.handle
    }

    pub(super) fn context(&self) -> &ContextHandle {
        &self.inner.context
    }

    pub(super) fn queue(&self) -> &QueueHandle {
        &self.inner.queue
    }

    pub(super) fn cache(&self) -> Option<&Cache> {
        self.inner.cache.as_ref()
    }

    pub(super) fn slot(&self, key: ProgramKey) -> Slot {
        let mut programs = self.inner.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.entry(key).or_default().clone()
    }

    /// What the driver says of the device.
    pub fn facts(&self) -> &DeviceFacts {
        &self.inner.facts
    }

    /// The modules it takes.
    pub fn target(&self) -> Target {
        self.inner.target
    }

    /// True if both are the same device with the same queue.
    pub fn is_same(&self, other: &OpenClDevice) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Waits for everything launched on it.
    ///
    /// # Errors
    /// Of the driver.
    pub fn finish(&self) -> Result<(), DriverError> {
        self.driver().finish(self.queue())?;
        self.let_go();
        Ok(())
    }

    /// Commands whose buffers are still kept.
    pub fn under_way(&self) -> usize {
        self.let_go();
        self.inner.under_way.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Keeps what a command needs until it is done, whether or not anybody waits for it.
    pub(super) fn keep(&self, command: UnderWay) {
        self.let_go();
        let mut under_way = self.inner.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.push_back(command);
        if under_way.len() > MOST_UNDER_WAY
            && let Some(oldest) = under_way.pop_front()
        {
            // A failed command is done, too; whoever waits for it is told. After a failed call nobody knows whether the
            // command still uses its memory: that is then never freed.
            let waited = self.driver().wait(&oldest.event);
            if waited.is_err() && !self.is_over(&oldest) {
                core::mem::forget(oldest);
            }
        }
    }

    /// Lets go of what complete commands kept: the queue is in order, so they are at the front.
    pub(super) fn let_go(&self) {
        let mut under_way = self.inner.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(oldest) = under_way.front()
            && self.is_over(oldest)
        {
            under_way.pop_front();
        }
    }

    /// True if the driver says that a command is complete or failed.
    fn is_over(&self, command: &UnderWay) -> bool {
        !matches!(self.driver().progress(&command.event), Ok(Progress::Waiting) | Err(_))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Memory of the process may be in use by commands nobody waited for; if waiting fails, it is never freed.
        let under_way = core::mem::take(self.under_way.get_mut().unwrap_or_else(PoisonError::into_inner));
        if self.driver.finish(&self.queue).is_err() {
            core::mem::forget(under_way);
        }
    }
}

impl fmt::Display for OpenClDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "opencl ({}; {} modules)", self.inner.facts, self.inner.target)
    }
}

impl fmt::Debug for OpenClDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One device of a machine, usable or not.
pub struct Found {
    /// What the driver says of it.
    pub facts: DeviceFacts,
    /// The device, or what it lacks.
    pub device: Result<OpenClDevice, Vec<Lack>>,
}

/// The OpenCL devices of a machine.
pub struct Devices {
    found: Vec<Found>,
}

impl Devices {
    /// The devices of this process, found at the first call.
    ///
    /// # Errors
    /// [`DeviceError::NoOpenCl`] if there is no OpenCL library, [`DeviceError::Driver`] if a driver fails.
    pub fn of_process() -> Result<&'static Devices, DeviceError> {
        static DEVICES: OnceLock<Result<Devices, DeviceError>> = OnceLock::new();
        let find = || {
            let driver = Ocl::of_process().map_err(|reason| DeviceError::NoOpenCl { reason })?;
            Devices::with_driver(Arc::new(driver), Cache::of_user())
        };
        DEVICES.get_or_init(find).as_ref().map_err(Clone::clone)
    }

    /// The devices of a driver, whose programs are kept in a cache.
    ///
    /// # Errors
    /// [`DeviceError::Driver`] if the driver fails.
    pub fn with_driver(driver: Arc<dyn Driver>, cache: Option<Cache>) -> Result<Devices, DeviceError> {
        let mut found = Vec::new();
        for (handle, facts) in driver.devices()? {
            let device = match facts.target() {
                Err(lacks) => Err(lacks),
                Ok(target) => {
                    let context = driver.context(&handle)?;
                    let queue = driver.queue(&context, &handle)?;
                    let (driver, facts, cache) = (driver.clone(), facts.clone(), cache.clone());
                    let (programs, under_way) = (Mutex::default(), Mutex::default());
                    let inner =
                        Inner { driver, handle, facts, target, context, queue, programs, under_way, cache };
                    Ok(OpenClDevice { inner: Arc::new(inner) })
                }
            };
            found.push(Found { facts, device });
        }
        Ok(Devices { found })
    }

    /// Every device, in the order of the drivers; the index is the `N` of `opencl:N`.
    pub fn all(&self) -> &[Found] {
        &self.found
    }

    /// The first GPU that can be used.
    pub fn gpu(&self) -> Option<&OpenClDevice> {
        let usable = self.found.iter().filter_map(|found| found.device.as_ref().ok());
        usable.into_iter().find(|device| matches!(device.target(), Target::Xe(_)))
    }

    /// The device of `TILE_DEVICE`: `opencl` takes the first GPU that can be used, else the first device that can;
    /// `opencl:2` the third of the list; `opencl:arc` the first with that in its name, however capitalised.
    ///
    /// # Errors
    /// [`DeviceError::Lacking`] with what the device lacks, [`DeviceError::NoDevice`] if there is none such.
    pub fn select(&self, value: &str) -> Result<OpenClDevice, DeviceError> {
        let usable = |found: &Found| {
            let lacking =
                |lacks: &[Lack]| DeviceError::Lacking { device: found.facts.to_string(), lacks: list(lacks) };
            found.device.clone().map_err(|lacks| lacking(&lacks))
        };
        let none = || DeviceError::NoDevice { value: value.to_string(), there: self.names() };
        let Some(which) = value.strip_prefix("opencl:") else {
            let first = || self.found.iter().find(|found| found.device.is_ok());
            return match (self.gpu(), first(), &self.found[..]) {
                (Some(gpu), _, _) => Ok(gpu.clone()),
                (None, Some(found), _) | (None, None, [found]) => usable(found),
                (None, None, _) => Err(none()),
            };
        };
        let wanted = which.to_lowercase();
        let found = match which.parse::<usize>() {
            Ok(index) => self.found.get(index),
            Err(_) if wanted.is_empty() => None,
            Err(_) => self.found.iter().find(|found| found.facts.name.to_lowercase().contains(&wanted)),
        };
        found.ok_or_else(none).and_then(usable)
    }

    fn names(&self) -> String {
        let name = |(index, found): (usize, &Found)| format!("{index} = {}", found.facts.name);
        let names: Vec<String> = self.found.iter().enumerate().map(name).collect();
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    }
}

impl From<DriverError> for DeviceError {
    fn from(error: DriverError) -> DeviceError {
        DeviceError::Driver { reason: error.to_string() }
    }
}
