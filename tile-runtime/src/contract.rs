//! Owns the static description of a compiled kernel: what `#[tile_kernel]` emits and every launch reads.
//!
//! *Assumes*: values are written by the macro as `static` items, so every type here is a plain struct of
//! `'static` data with public fields, constructible in a constant.
//! *Guarantees*: an instance is found by its generic arguments and by nothing else; the text of a kernel, an
//! instance and a generic argument is the one users see in every message. *Not here*: checking arguments
//! against a description (`launch`), executing it (`host`, `sim`).

use core::fmt;

use tile_lang::launch::HostFn;
pub use tile_lang::{DType, ScalarType};

/// A kernel: one function under `#[tile_kernel]` with all its compiled instances.
#[derive(Clone, Copy, Debug)]
pub struct KernelInfo {
    /// The name of the kernel function.
    pub name: &'static str,
    /// The tokens of the attribute, as the user wrote them.
    pub attr: &'static str,
    /// The tokens of the function, as the user wrote them.
    pub source: &'static str,
    /// Every compiled instance, in the order of the attribute.
    pub instances: &'static [InstanceInfo],
}

impl KernelInfo {
    /// Finds the instance compiled for exactly these generic arguments, in the order of the kernel's generics.
    pub fn find(&self, generics: &[Generic]) -> Option<&'static InstanceInfo> {
        self.instances.iter().find(|instance| instance.generics == generics)
    }

    /// Finds an instance by its name, ignoring white space: `"<bf16, 32>"` and `"<bf16,32>"` are the same.
    pub fn find_named(&self, name: &str) -> Option<&'static InstanceInfo> {
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let wanted = letters(name);
        self.instances.iter().find(|instance| letters(instance.name) == wanted)
    }
}

impl fmt::Display for KernelInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with instances ", self.name)?;
        if self.instances.is_empty() {
            return f.write_str("(none)");
        }
        for (i, instance) in self.instances.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { ", " }, instance.name)?;
        }
        Ok(())
    }
}

/// A kernel with its element types, sizes and work-group grid fixed: the unit of compilation and of launch.
#[derive(Clone, Copy, Debug)]
pub struct InstanceInfo {
    /// The name of the kernel function.
    pub kernel: &'static str,
    /// The generic arguments as text, for example `"<bf16, f32, 32, 64, 32, false, true>"`.
    pub name: &'static str,
    /// The generic arguments as values; the key of the instance.
    pub generics: &'static [Generic],
    /// The launch parameters in order.
    pub params: &'static [ParamInfo],
    /// Sub-groups of one work-group, (rows, cols).
    pub subgroups: (u32, u32),
    /// Which output the launch grid comes from, and the tile of one sub-group in it.
    pub grid: GridInfo,
    /// The compiled device modules; the host body is [`InstanceInfo::run`].
    pub modules: &'static [ModuleInfo],
    /// The targets that the instance has no module for, and why.
    pub absent: &'static [AbsentModule],
    /// Largest sum of live tile bytes in the registers of one sub-group (Xe packing).
    pub live_tile_bytes: usize,
    /// Sum over all tile values of their host storage in bytes; sizes the stacks of the host device.
    pub host_tile_bytes: usize,
    /// What the sub-groups of a work-group do together.
    pub group: GroupInfo,
    /// The executable host body: the program of one sub-group.
    pub run: HostFn,
}

impl InstanceInfo {
    /// The first module for `target` (for example `"xe"`) that lists `device` (for example `"pvc"`).
    pub fn module(&self, target: &str, device: &str) -> Option<&'static ModuleInfo> {
        self.modules.iter().find(|module| module.target == target && module.devices.contains(&device))
    }

    /// The modules there are, for messages.
    #[cfg(any(feature = "sim", feature = "opencl"))]
    pub(crate) fn list_modules(&self) -> String {
        let text = |module: &ModuleInfo| format!("{} for {}", module.target, module.devices.join(", "));
        let list: Vec<String> = self.modules.iter().map(text).collect();
        let mut text = if list.is_empty() { "none".to_string() } else { list.join("; ") };
        self.absent.iter().for_each(|absent| text.push_str(&format!("; {absent}")));
        text
    }
}

impl fmt::Display for InstanceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kernel, self.name)
    }
}

/// One generic argument of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generic {
    /// An element type.
    Type(DType),
    /// A size (`const N: usize`).
    Size(u64),
    /// A switch (`const F: bool`).
    Flag(bool),
}

impl fmt::Display for Generic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Generic::Type(dtype) => dtype.fmt(f),
            Generic::Size(size) => size.fmt(f),
            Generic::Flag(flag) => flag.fmt(f),
        }
    }
}

/// One launch parameter: a `gl` or a scalar of the kernel function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// The parameter's name in the kernel function.
    pub name: &'static str,
    /// What the launch must pass for it.
    pub kind: ParamKind,
}

impl fmt::Display for ParamInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.kind)
    }
}

/// What a launch passes for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A tensor the kernel reads: `&gl<T>`.
    In(DType),
    /// A tensor the kernel writes: `&mut gl<T>`.
    Out(DType),
    /// A scalar.
    Scalar(ScalarType),
}

impl fmt::Display for ParamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamKind::In(dtype) => write!(f, "input tensor of {dtype}"),
            ParamKind::Out(dtype) => write!(f, "output tensor of {dtype}"),
            ParamKind::Scalar(scalar) => write!(f, "{scalar}"),
        }
    }
}

/// How the number of work-groups follows from an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridInfo {
    /// Index into [`InstanceInfo::params`] of the output whose shape sizes the grid.
    pub param: usize,
    /// The tile one sub-group owns in it, (rows, cols).
    pub tile: (u32, u32),
}

/// What the sub-groups of a work-group do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupInfo {
    /// They wait for each other at barriers.
    pub waits: bool,
    /// Bytes of the shared memory of a work-group, as a device has it.
    pub shared_bytes: usize,
}

impl GroupInfo {
    /// Nothing: each sub-group works alone.
    pub const NONE: GroupInfo = GroupInfo { waits: false, shared_bytes: 0 };
}

/// A target that an instance has no module for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbsentModule {
    /// The code generation target.
    pub target: &'static str,
    /// The op of the kernel that it has no lowering of.
    pub op: &'static str,
}

impl fmt::Display for AbsentModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {} module, because that target has no lowering of `{}`", self.target, self.op)
    }
}

/// One compiled device module of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleInfo {
    /// The code generation target: `"xe"`, or `"lane"` for CPUs.
    pub target: &'static str,
    /// The devices the module is legal on: `"pvc"`, `"bmg"`, `"lnl"`, `"ptl"`, `"cri"`; of a `lane` module `"cpu"`.
    pub devices: &'static [&'static str],
    /// SPIR-V words as little-endian bytes.
    pub words: &'static [u8],
    /// The name of the entry point.
    pub entry: &'static str,
    /// Options for the OpenCL program build, for example `"-cl-intel-256-GRF-per-thread"`.
    pub options: &'static [&'static str],
    /// Options for Intel's graphics compiler, for example `"AllowPrefetchDecomposeWithHoisting=1"`.
    pub igc_options: &'static [&'static str],
}

impl ModuleInfo {
    /// The SPIR-V words, or `None` if the number of bytes is not a multiple of 4 (no macro emits that).
    pub fn to_words(&self) -> Option<Vec<u32>> {
        let (words, rest) = self.words.as_chunks::<4>();
        rest.is_empty().then(|| words.iter().copied().map(u32::from_le_bytes).collect())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const PLAIN: InstanceInfo = InstanceInfo {
        kernel: "gemm",
        name: "<bf16, 32, true>",
        generics: &[Generic::Type(DType::Bf16), Generic::Size(32), Generic::Flag(true)],
        params: &[
            ParamInfo { name: "c", kind: ParamKind::Out(DType::F32) },
            ParamInfo { name: "a", kind: ParamKind::In(DType::Bf16) },
            ParamInfo { name: "n", kind: ParamKind::Scalar(ScalarType::U32) },
        ],
        subgroups: (8, 4),
        grid: GridInfo { param: 0, tile: (32, 64) },
        modules: &[ModuleInfo {
            target: "xe",
            devices: &["pvc", "bmg"],
            words: &[3, 2, 0x23, 7, 1, 0, 0, 0],
            entry: "gemm_bf16",
            options: &[],
            igc_options: &[],
        }],
        absent: &[],
        live_tile_bytes: 0,
        host_tile_bytes: 0,
        group: GroupInfo::NONE,
        run: |_, _| (),
    };
    static KERNEL: KernelInfo = KernelInfo {
        name: "gemm",
        attr: "",
        source: "",
        instances: &[
            PLAIN,
            InstanceInfo { name: "<f16, 32, true>", generics: &[Generic::Type(DType::F16)], ..PLAIN },
        ],
    };

    #[test]
    fn an_instance_is_found_by_all_of_its_generics() {
        let key = [Generic::Type(DType::Bf16), Generic::Size(32), Generic::Flag(true)];
        assert_eq!(KERNEL.find(&key).map(|i| i.name), Some("<bf16, 32, true>"));
        assert_eq!(KERNEL.find(&[Generic::Type(DType::F16)]).map(|i| i.name), Some("<f16, 32, true>"));
        assert!(KERNEL.find(&key[..2]).is_none());
        assert!(KERNEL.find(&[key[0], key[1], Generic::Flag(false)]).is_none());
        assert_eq!(KERNEL.find_named("<bf16,32,true>").map(|i| i.name), Some("<bf16, 32, true>"));
        assert!(KERNEL.find_named("<bf16,32>").is_none());
    }

    #[test]
    fn text_is_what_users_type() {
        assert_eq!(KERNEL.to_string(), "gemm with instances <bf16, 32, true>, <f16, 32, true>");
        assert_eq!(KERNEL.instances[0].to_string(), "gemm<bf16, 32, true>");
        let params = PLAIN.params.iter().map(|p| p.to_string()).collect::<Vec<_>>();
        assert_eq!(params, ["c: output tensor of f32", "a: input tensor of bf16", "n: u32"]);
        let generics = PLAIN.generics.iter().map(|g| g.to_string()).collect::<Vec<_>>();
        assert_eq!(generics, ["bf16", "32", "true"]);
    }

    #[test]
    fn modules_are_chosen_by_target_and_device_and_read_little_endian() {
        assert!(PLAIN.module("xe", "lnl").is_none());
        assert!(PLAIN.module("lane", "pvc").is_none());
        let module = PLAIN.module("xe", "bmg").expect("listed");
        assert_eq!(module.to_words(), Some(vec![0x0723_0203, 1]));
        assert_eq!(ModuleInfo { words: &[1, 2, 3], ..*module }.to_words(), None);
    }
}
