//! Owns [`Device`]: which devices exist and how one is chosen.
//!
//! *Guarantees*: nothing is chosen in silence; [`Device::best`] says why. *Not here*: execution (`host`, `sim`).

use core::fmt;
use std::num::NonZeroUsize;

use crate::error::DeviceError;
use crate::host::HostDevice;
#[cfg(feature = "opencl")]
use crate::opencl::{Devices, OpenClDevice};
#[cfg(feature = "sim")]
use crate::sim::SimDevice;

/// The environment variable that overrides [`Device::best`].
pub const DEVICE_VARIABLE: &str = "TILE_DEVICE";

/// What [`DEVICE_VARIABLE`] may hold.
const LEGAL: &str = "`host`, `sim`, `sim:pvc`, `sim:bmg`, `sim:lnl`, `sim:ptl`, `sim:cri`, `sim:lane`, `opencl`, \
                     `opencl:N`, `opencl:NAME`";

/// Devices an `xe` module may be compiled for; the first is the default of the simulator.
pub(crate) const XE_DEVICES: &[&str] = &["pvc", "bmg", "lnl", "ptl", "cri"];

/// What stands for `lane` modules in `sim:lane`.
const LANE: &str = "lane";

/// A handle to something that executes kernels. Cloning it is cheap; clones share threads and caches.
#[derive(Clone)]
#[non_exhaustive]
pub enum Device {
    /// The CPU of this process; runs the host body of a kernel.
    Host(HostDevice),
    /// The simulator; runs the device module of a kernel, instruction by instruction.
    #[cfg(feature = "sim")]
    Sim(SimDevice),
    /// A device of an OpenCL driver; runs the device module of a kernel.
    #[cfg(feature = "opencl")]
    OpenCl(OpenClDevice),
}

impl Device {
    /// The CPU of this process with one thread per available core. Needs nothing installed.
    pub fn host() -> Device {
        Device::Host(HostDevice::shared())
    }

    /// The CPU of this process with this many threads, which are its own.
    pub fn host_with_threads(threads: NonZeroUsize) -> Device {
        Device::Host(HostDevice::with_threads(threads))
    }

    /// The simulator, running modules for the first Xe device they are compiled for.
    #[cfg(feature = "sim")]
    pub fn sim() -> Device {
        Device::Sim(SimDevice::any())
    }

    /// The simulator, running modules for this Xe device: `pvc`, `bmg`, `lnl`, `ptl` or `cri`.
    ///
    /// # Errors
    /// [`DeviceError::Unknown`] for any other name.
    #[cfg(feature = "sim")]
    pub fn sim_as(xe_device: &str) -> Result<Device, DeviceError> {
        match XE_DEVICES.iter().find(|known| **known == xe_device) {
            Some(known) => Ok(Device::Sim(SimDevice::modelled_on(known))),
            None => Err(DeviceError::Unknown { value: format!("sim:{xe_device}"), legal: LEGAL }),
        }
    }

    /// The simulator, running the modules for CPUs.
    #[cfg(feature = "sim")]
    pub fn sim_lane() -> Device {
        Device::Sim(SimDevice::lane())
    }

    /// The device `TILE_DEVICE` names, else an Intel GPU, else the host; and why.
    ///
    /// # Errors
    /// As [`Device::select`].
    pub fn best() -> Result<(Device, Why), DeviceError> {
        match std::env::var(DEVICE_VARIABLE) {
            Ok(value) => Device::select(Some(&value)),
            Err(std::env::VarError::NotPresent) => Device::select(None),
            Err(std::env::VarError::NotUnicode(value)) => Device::select(Some(&value.to_string_lossy())),
        }
    }

    /// [`Device::best`] with the value of `TILE_DEVICE` as an argument; `None` and `""` are no choice.
    ///
    /// # Errors
    /// [`DeviceError::Unknown`] if the value names no device, [`DeviceError::Unavailable`] if the device it
    /// names is not in this build; for OpenCL devices, [`DeviceError::NoOpenCl`], [`DeviceError::NoDevice`] or
    /// [`DeviceError::Lacking`] say why there is none.
    pub fn select(value: Option<&str>) -> Result<(Device, Why), DeviceError> {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return Ok(Device::gpu_or_host());
        };
        let device = match value {
            "host" => Device::host(),
            _ if value == "opencl" || value.starts_with("opencl:") => Device::select_opencl(value)?,
            _ => Device::select_sim(value)?,
        };
        Ok((device, Why::Asked { value: value.into() }))
    }

    #[cfg(feature = "opencl")]
    fn gpu_or_host() -> (Device, Why) {
        match Devices::of_process().map(Devices::gpu) {
            Ok(Some(gpu)) => (Device::OpenCl(gpu.clone()), Why::Gpu { name: gpu.facts().to_string() }),
            Ok(None) => {
                (Device::host(), Why::NoGpu { reason: "no OpenCL device is a GPU that runs kernels".into() })
            }
            Err(error) => (Device::host(), Why::NoGpu { reason: error.to_string() }),
        }
    }

    #[cfg(not(feature = "opencl"))]
    fn gpu_or_host() -> (Device, Why) {
        (Device::host(), Why::NoGpuRuntime)
    }

    #[cfg(feature = "opencl")]
    fn select_opencl(value: &str) -> Result<Device, DeviceError> {
        Devices::of_process()?.select(value).map(Device::OpenCl)
    }

    #[cfg(not(feature = "opencl"))]
    fn select_opencl(value: &str) -> Result<Device, DeviceError> {
        let reason = "this build lacks the feature `opencl`";
        Err(DeviceError::Unavailable { device: value.into(), reason })
    }

    #[cfg(feature = "sim")]
    fn select_sim(value: &str) -> Result<Device, DeviceError> {
        match value.strip_prefix("sim:") {
            Some(LANE) => Ok(Device::sim_lane()),
            Some(xe_device) => Device::sim_as(xe_device),
            None if value == "sim" => Ok(Device::sim()),
            None => Err(DeviceError::Unknown { value: value.into(), legal: LEGAL }),
        }
    }

    #[cfg(not(feature = "sim"))]
    fn select_sim(value: &str) -> Result<Device, DeviceError> {
        let known = value.strip_prefix("sim:").is_some_and(|name| name == LANE || XE_DEVICES.contains(&name));
        if known || value == "sim" {
            let reason = "this build lacks the feature `sim`";
            return Err(DeviceError::Unavailable { device: value.into(), reason });
        }
        Err(DeviceError::Unknown { value: value.into(), legal: LEGAL })
    }

    /// The device's name: `"host"`, `"sim"` or `"opencl"`.
    pub fn name(&self) -> &'static str {
        match self {
            Device::Host(_) => "host",
            #[cfg(feature = "sim")]
            Device::Sim(_) => "sim",
            #[cfg(feature = "opencl")]
            Device::OpenCl(_) => "opencl",
        }
    }
}

/// The name with what matters for speed or meaning, for example `host (2 threads, avx512)`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Host(host) => host.fmt(f),
            #[cfg(feature = "sim")]
            Device::Sim(sim) => sim.fmt(f),
            #[cfg(feature = "opencl")]
            Device::OpenCl(device) => fmt::Display::fmt(device, f),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why [`Device::best`] chose a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// `TILE_DEVICE` asked for it.
    Asked {
        /// Its value.
        value: String,
    },
    /// It is a GPU that runs kernels.
    Gpu {
        /// Its name and driver.
        name: String,
    },
    /// There is no GPU that runs kernels.
    NoGpu {
        /// How that was found out.
        reason: String,
    },
    /// The build lacks the feature `opencl`, so nobody looked for a GPU.
    NoGpuRuntime,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Asked { value } => write!(f, "{DEVICE_VARIABLE}={value} asks for it"),
            Why::Gpu { name } => write!(f, "it is a GPU that runs kernels: {name}"),
            Why::NoGpu { reason } => write!(f, "there is no Intel GPU to use: {reason}"),
            Why::NoGpuRuntime => {
                f.write_str("this build has no OpenCL runtime, so it did not look for an Intel GPU")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(value: &str) -> (String, String) {
        let (device, why) = Device::select(Some(value)).expect("legal");
        (device.name().to_string(), why.to_string())
    }

    #[test]
    fn the_variable_overrides_and_says_so() {
        assert_eq!(selected("host"), ("host".into(), "TILE_DEVICE=host asks for it".into()));
    }

    #[cfg(not(feature = "opencl"))]
    #[test]
    fn without_opencl_the_host_is_the_best_device() {
        let (device, why) = Device::select(None).expect("the host is always there");
        assert_eq!(device.name(), "host");
        assert_eq!(why.to_string(), "this build has no OpenCL runtime, so it did not look for an Intel GPU");
        assert_eq!(Device::select(Some("")).expect("no choice").1, Why::NoGpuRuntime);
        for value in ["opencl", "opencl:0", "opencl:arc"] {
            let refused = Device::select(Some(value)).expect_err("not built").to_string();
            assert_eq!(
                refused,
                format!("device `{value}` is not available: this build lacks the feature `opencl`")
            );
        }
    }

    #[test]
    fn other_values_are_errors_that_list_the_legal_ones() {
        for value in ["gpu", "HOST", " host", "sim:", "sim:dg2", "host:2", "opencl2"] {
            let refused = Device::select(Some(value)).expect_err("not legal").to_string();
            assert_eq!(
                refused,
                format!(
                    "`{value}` does not name a device; legal values of TILE_DEVICE are `host`, `sim`, `sim:pvc`, \
                     `sim:bmg`, `sim:lnl`, `sim:ptl`, `sim:cri`, `sim:lane`, `opencl`, `opencl:N`, \
                     `opencl:NAME`"
                )
            );
        }
    }

    #[cfg(feature = "sim")]
    #[test]
    fn the_simulator_can_be_asked_for() {
        assert_eq!(selected("sim"), ("sim".into(), "TILE_DEVICE=sim asks for it".into()));
        assert_eq!(selected("sim:lane"), ("sim".into(), "TILE_DEVICE=sim:lane asks for it".into()));
        assert_eq!(Device::sim_lane().to_string(), "sim (lane modules)");
        for name in XE_DEVICES {
            let device = Device::sim_as(name).expect("known");
            assert!(device.to_string().contains(name), "{device}");
        }
    }

    #[cfg(not(feature = "sim"))]
    #[test]
    fn the_simulator_may_be_left_out() {
        let refused = Device::select(Some("sim:bmg")).expect_err("not built").to_string();
        assert_eq!(refused, "device `sim:bmg` is not available: this build lacks the feature `sim`");
    }
}
