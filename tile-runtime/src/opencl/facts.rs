//! Owns what is known of an OpenCL device and what follows from it: which modules it takes, or what it lacks.
//!
//! *Guarantees*: a decision looks at capabilities only, never at a product name, and what is missing is named.
//! *Not here*: asking the driver (`ocl`), what a single module needs beyond that (`needs`).

use core::fmt;

use super::driver::DriverError;

/// What kind of processor a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A CPU.
    Cpu,
    /// A GPU.
    Gpu,
    /// Anything else: an accelerator, an emulator.
    Other,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Cpu => "a CPU",
            Kind::Gpu => "a GPU",
            Kind::Other => "an accelerator",
        })
    }
}

/// A SPIR-V version, (major, minor).
pub type SpirVVersion = (u8, u8);

/// What a driver says of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// The name of the platform.
    pub platform: String,
    /// The name of the device.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The PCI vendor; 0x8086 is Intel.
    pub vendor: u32,
    /// The version of OpenCL, for example `OpenCL 3.0 NEO`.
    pub version: String,
    /// The version of the driver.
    pub driver: String,
    /// The SPIR-V versions it takes; empty if it takes none.
    pub spir_v: Vec<SpirVVersion>,
    /// Names of extensions.
    pub extensions: Vec<String>,
    /// Sizes a sub-group may have; empty if the driver does not tell.
    pub subgroup_sizes: Vec<usize>,
    /// Intel's number of the architecture: release times 2^22, version times 2^14, revision.
    pub architecture: Option<u32>,
    /// Bytes of local memory of a work-group.
    pub local_bytes: u64,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes of the largest buffer.
    pub largest_buffer_bytes: u64,
    /// Most work-items of a work-group.
    pub max_work_group: usize,
    /// True if the device works in the memory of the process.
    pub shares_memory: bool,
    /// What the offset of a part of a buffer must be a multiple of, in bytes.
    pub part_align: usize,
}

/// PCI number of Intel.
pub const INTEL: u32 = 0x8086;

/// The extension for 2-D block messages.
pub const BLOCK_IO: &str = "cl_intel_subgroup_2d_block_io";
/// The extension for DPAS.
pub const DPAS: &str = "cl_intel_subgroup_matrix_multiply_accumulate";

/// Lanes of a sub-group of the `xe` target.
pub const XE_LANES: usize = 16;

/// SPIR-V version of our modules (DESIGN §5).
pub const OUR_SPIR_V: SpirVVersion = (1, 2);

/// Architectures with an `xe` device name, as (release, version). Source: `ocloc ids`, ocloc 26.27.1.
const ARCHITECTURES: &[((u32, u32), &str)] = &[
    ((12, 60), "pvc"),
    ((20, 1), "bmg"),
    ((20, 2), "bmg"),
    ((20, 4), "lnl"),
    ((30, 0), "ptl"),
    ((30, 1), "ptl"),
    ((35, 11), "cri"),
];

/// The modules a device takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// `xe` modules compiled for this Xe device.
    Xe(&'static str),
    /// `lane` modules.
    Lane,
}

impl Target {
    /// The code generation target.
    pub fn name(self) -> &'static str {
        match self {
            Target::Xe(_) => "xe",
            Target::Lane => "lane",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Xe(device) => write!(f, "xe ({device})"),
            Target::Lane => f.write_str("lane"),
        }
    }
}

/// Something a device lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lack {
    /// It is neither a GPU of Intel nor a CPU.
    Kind {
        /// What it is.
        kind: Kind,
        /// Its PCI vendor.
        vendor: u32,
    },
    /// None of these extensions is there; the first one is what the field calls it.
    Extension(&'static [&'static str]),
    /// There is no sub-group of this size.
    SubgroupSize {
        /// The size.
        needed: usize,
        /// The sizes there are.
        offered: Vec<usize>,
    },
    /// It does not take this SPIR-V version.
    SpirV {
        /// The version.
        needed: SpirVVersion,
        /// What it takes.
        offered: Vec<SpirVVersion>,
    },
    /// Modules are compiled for other architectures.
    Architecture {
        /// Its number, as (release, version); `None` if the driver does not tell.
        given: Option<(u32, u32)>,
    },
    /// A work-group needs more local memory.
    LocalMemory {
        /// Bytes needed.
        needed: u64,
        /// Bytes there are.
        offered: u64,
    },
    /// A work-group has more work-items.
    WorkGroup {
        /// Work-items needed.
        needed: usize,
        /// Work-items there may be.
        offered: usize,
    },
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lack::Kind { kind, vendor } => {
                write!(
                    f,
                    "a kernel runs on an Intel GPU or a CPU; this is {kind} of PCI vendor {vendor:#06x}"
                )
            }
            Lack::Extension(names) if names.first() == Some(&BLOCK_IO) => write!(
                f,
                "a GPU must have 2-D block I/O ({BLOCK_IO}): Data Center GPU Max, Arc B or Core Ultra 200V and \
                 newer, with a driver whose compiler (IGC) is 2.1.1 or newer; it has none, and `lane` modules are \
                 for CPUs only"
            ),
            Lack::Extension(names) if names.first() == Some(&DPAS) => {
                write!(f, "a GPU must have {DPAS}, which drivers have from IGC 2.2.1 on")
            }
            Lack::Extension(names) => write!(f, "it must have {}", names.join(" or ")),
            Lack::SubgroupSize { needed, offered } => {
                write!(f, "it must have sub-groups of {needed} lanes; it has sizes {offered:?}")
            }
            Lack::SpirV { needed, offered } => {
                write!(f, "it must take SPIR-V {}.{}; it takes ", needed.0, needed.1)?;
                if offered.is_empty() {
                    return f.write_str("none");
                }
                for (i, (major, minor)) in offered.iter().enumerate() {
                    write!(f, "{}{major}.{minor}", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Lack::Architecture { given } => {
                f.write_str(
                    "its architecture must be one modules are compiled for (pvc 12.60, bmg 20.1, lnl 20.4, ",
                )?;
                f.write_str("ptl 30.0, cri 35.11); ")?;
                match given {
                    Some((release, version)) => write!(f, "it is {release}.{version}"),
                    None => f.write_str("the driver does not tell it"),
                }
            }
            Lack::LocalMemory { needed, offered } => {
                write!(f, "a work-group needs {needed} bytes of local memory; there are {offered}")
            }
            Lack::WorkGroup { needed, offered } => {
                write!(f, "a work-group has {needed} work-items; {offered} are possible")
            }
        }
    }
}

/// All that is missing, as one text.
pub fn list(lacks: &[Lack]) -> String {
    lacks.iter().map(Lack::to_string).collect::<Vec<_>>().join("; ")
}

impl DeviceFacts {
    /// Reads the facts from the answers to `clGetDeviceInfo`, asked by the number of the question.
    pub(super) fn from_answers(
        platform: String,
        ask: impl Fn(u32) -> Result<Vec<u8>, DriverError>,
    ) -> Result<DeviceFacts, DriverError> {
        let kind = number(&ask(0x1000)?); // CL_DEVICE_TYPE
        let versions = ask(0x105b).unwrap_or_default(); // CL_DEVICE_IL_VERSION, from OpenCL 2.1
        let spir_v = |word: &str| {
            let (major, minor) = word.strip_prefix("SPIR-V_")?.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        let sizes = ask(0x4108).unwrap_or_default(); // CL_DEVICE_SUB_GROUP_SIZES_INTEL
        let architecture = ask(0x4250).unwrap_or_default(); // CL_DEVICE_IP_VERSION_INTEL
        Ok(DeviceFacts {
            platform,
            name: text(&ask(0x102b)?),
            kind: match kind {
                kind if kind & 4 != 0 => Kind::Gpu,
                kind if kind & 2 != 0 => Kind::Cpu,
                _ => Kind::Other,
            },
            vendor: number(&ask(0x1001)?) as u32,
            version: text(&ask(0x102f)?),
            driver: text(&ask(0x102d)?),
            spir_v: text(&versions).split_whitespace().filter_map(spir_v).collect(),
            extensions: text(&ask(0x1030)?).split_whitespace().map(str::to_string).collect(),
            subgroup_sizes: sizes.chunks_exact(8).map(|size| number(size) as usize).collect(),
            architecture: (architecture.len() == 4).then(|| number(&architecture) as u32),
            local_bytes: number(&ask(0x1023)?),
            memory_bytes: number(&ask(0x101f)?),
            largest_buffer_bytes: number(&ask(0x1010)?),
            max_work_group: number(&ask(0x1004)?) as usize,
            shares_memory: number(&ask(0x1035)?) != 0,
            part_align: (number(&ask(0x1019)?) as usize / 8).max(1),
        })
    }

    /// True if the device has the extension.
    pub fn has(&self, extension: &str) -> bool {
        self.extensions.iter().any(|known| known == extension)
    }

    /// The modules the device takes.
    ///
    /// # Errors
    /// Everything it lacks.
    pub fn target(&self) -> Result<Target, Vec<Lack>> {
        let mut lacks = Vec::new();
        if !self.spir_v.contains(&OUR_SPIR_V) {
            lacks.push(Lack::SpirV { needed: OUR_SPIR_V, offered: self.spir_v.clone() });
        }
        let target = match self.kind {
            Kind::Cpu => Some(Target::Lane),
            Kind::Gpu if self.vendor == INTEL => self.xe(&mut lacks),
            Kind::Gpu | Kind::Other => {
                lacks.push(Lack::Kind { kind: self.kind, vendor: self.vendor });
                None
            }
        };
        match target {
            Some(target) if lacks.is_empty() => Ok(target),
            _ => Err(lacks),
        }
    }

    fn xe(&self, lacks: &mut Vec<Lack>) -> Option<Target> {
        for names in [&[BLOCK_IO], &[DPAS]] {
            if !self.has(names[0]) {
                lacks.push(Lack::Extension(names));
            }
        }
        if !self.subgroup_sizes.contains(&XE_LANES) {
            lacks.push(Lack::SubgroupSize { needed: XE_LANES, offered: self.subgroup_sizes.clone() });
        }
        let given = self.architecture.map(|number| (number >> 22, (number >> 14) & 0xff));
        let known = ARCHITECTURES.iter().find(|(key, _)| Some(*key) == given);
        if known.is_none() {
            lacks.push(Lack::Architecture { given });
        }
        known.map(|(_, name)| Target::Xe(name))
    }
}

/// A string that may end in zeros.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_string()
}

/// A little-endian number of up to 8 bytes.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

impl fmt::Display for DeviceFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} of {}, driver {}", self.name, self.kind, self.platform, self.driver)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A GPU with all that `xe` modules need.
    pub(crate) fn max_gpu() -> DeviceFacts {
        DeviceFacts {
            platform: "A platform".into(),
            name: "A GPU".into(),
            kind: Kind::Gpu,
            vendor: INTEL,
            version: "OpenCL 3.0".into(),
            driver: "1.2.3".into(),
            spir_v: vec![(1, 0), (1, 2)],
            extensions: vec![BLOCK_IO.into(), DPAS.into()],
            subgroup_sizes: vec![16, 32],
            architecture: Some(12 << 22 | 60 << 14 | 7),
            local_bytes: 128 << 10,
            memory_bytes: 1 << 36,
            largest_buffer_bytes: 1 << 35,
            max_work_group: 1024,
            shares_memory: false,
            part_align: 128,
        }
    }

    pub(crate) fn cpu() -> DeviceFacts {
        DeviceFacts {
            name: "A CPU".into(),
            kind: Kind::Cpu,
            extensions: vec![],
            architecture: None,
            subgroup_sizes: vec![],
            shares_memory: true,
            ..max_gpu()
        }
    }

    #[test]
    fn capabilities_decide_the_target() {
        assert_eq!(max_gpu().target(), Ok(Target::Xe("pvc")));
        let architecture = |release: u32, version: u32| DeviceFacts {
            architecture: Some(release << 22 | version << 14),
            ..max_gpu()
        };
        assert_eq!(architecture(20, 1).target(), Ok(Target::Xe("bmg")));
        assert_eq!(architecture(20, 4).target(), Ok(Target::Xe("lnl")));
        assert_eq!(architecture(30, 1).target(), Ok(Target::Xe("ptl")));
        assert_eq!(architecture(35, 11).target(), Ok(Target::Xe("cri")));
        assert_eq!(cpu().target(), Ok(Target::Lane));
        // A name decides nothing.
        assert_eq!(DeviceFacts { name: "Intel(R) Arc(TM)".into(), ..cpu() }.target(), Ok(Target::Lane));
    }

    #[test]
    fn a_gpu_without_block_io_is_told_so_and_gets_no_lane_module() {
        let old = DeviceFacts {
            extensions: vec![DPAS.into()],
            architecture: Some(12 << 22 | 55 << 14),
            ..max_gpu()
        };
        let lacks = old.target().expect_err("an Arc A");
        assert_eq!(lacks[0], Lack::Extension(&[BLOCK_IO]));
        let text = list(&lacks);
        assert!(text.starts_with("a GPU must have 2-D block I/O (cl_intel_subgroup_2d_block_io)"), "{text}");
        assert!(text.contains("`lane` modules are for CPUs only"), "{text}");
        assert!(text.ends_with("it is 12.55"), "{text}");
    }

    #[test]
    fn everything_missing_is_named() {
        let bare = DeviceFacts {
            extensions: vec![],
            subgroup_sizes: vec![8],
            spir_v: vec![],
            architecture: None,
            ..max_gpu()
        };
        assert_eq!(bare.target().expect_err("bare").len(), 5);
        let other = DeviceFacts { kind: Kind::Other, vendor: 0x1172, ..cpu() };
        assert_eq!(
            list(&other.target().expect_err("an accelerator")),
            "a kernel runs on an Intel GPU or a CPU; this is an accelerator of PCI vendor 0x1172"
        );
        let foreign = DeviceFacts { vendor: 0x10de, ..max_gpu() };
        assert!(matches!(foreign.target().expect_err("foreign")[..], [Lack::Kind { .. }]));
        let ancient = DeviceFacts { spir_v: vec![(1, 0), (1, 1)], ..cpu() };
        assert_eq!(list(&ancient.target().expect_err("old")), "it must take SPIR-V 1.2; it takes 1.0, 1.1");
    }
}
