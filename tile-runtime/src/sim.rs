//! Owns the simulator as a device: tensors into simulated memory, the kernel's arguments, results back.
//!
//! *Assumes*: a [`Plan`], and the argument ABI of `xe` modules: per tensor pointer, batch, depth, rows, cols,
//! pitch, x0, batch stride and depth stride in bytes; scalars as they are, `bool` as a 0 or 1 of 32 bits.
//! *Guarantees*: a tensor is mapped with all the memory around it that its view may touch, at the address it
//! really has modulo 64; inputs are read-only; a byte that is no element of an output is never changed, and a
//! module that tries is an error; if a launch fails, no output changed. *Not here*: the rules of block
//! messages (`xe_surface`), executing words (`tile_sim`).

use core::fmt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tile_sim::{Arg, Hardware, Launch, Memory, Module, Options};

use crate::contract::{InstanceInfo, ModuleInfo};
use crate::device::XE_DEVICES;
use crate::error::LaunchError;
use crate::launch::check::{Checked, CheckedTensor, Plan, Scalar};
use crate::launch::copy::{copy_bytes, copy_layout, filled_copy, rows_of};
use crate::launch::{LaunchArg, LaunchOptions, Mapped, Ran, Report, Staged};
use crate::tensor::{LINE_BYTES, Placed, TensorLayout};
use crate::xe_surface::{BASE_ALIGN, Candidate, Direct, place, place_anywhere, place_unchecked};

/// Lanes of a sub-group of `xe` modules; in `lane` modules one work-item is a whole sub-group.
const XE_LANES: u32 = 16;

/// The modules a simulator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// `xe` modules for this Xe device; `None` takes the first one there is.
    Xe(Option<&'static str>),
    /// `lane` modules, which are for CPUs.
    Lane,
}

impl Model {
    fn target(self) -> &'static str {
        match self {
            Model::Xe(_) => "xe",
            Model::Lane => "lane",
        }
    }
}

/// The simulator as a device. Clones share the cache of parsed modules.
#[derive(Clone)]
pub struct SimDevice {
    model: Model,
    /// Parsed modules by the address of their words, which are static.
    modules: Arc<Mutex<HashMap<usize, Arc<Module>>>>,
}

/// The work-groups of a launch, which the simulator counts in 32 bits as a device does.
fn countable(instance: &'static InstanceInfo, groups: u64) -> Result<u32, LaunchError> {
    u32::try_from(groups).map_err(|_| LaunchError::WorkGroups {
        kernel: instance.kernel,
        instance: instance.name,
        groups: groups.into(),
        limit: u32::MAX.into(),
    })
}

impl SimDevice {
    pub(crate) fn any() -> SimDevice {
        SimDevice { model: Model::Xe(None), modules: Arc::default() }
    }

    pub(crate) fn lane() -> SimDevice {
        SimDevice { model: Model::Lane, modules: Arc::default() }
    }

    pub(crate) fn modelled_on(xe_device: &'static str) -> SimDevice {
        SimDevice { model: Model::Xe(Some(xe_device)), modules: Arc::default() }
    }

    /// Runs an accepted launch and waits for it.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        args: &mut [LaunchArg<'_>],
        options: &LaunchOptions<'_>,
    ) -> Result<Report, LaunchError> {
        let start = Instant::now();
        let instance = plan.instance;
        let (kernel, name) = (instance.kernel, instance.name);
        let (info, device) = self.choose(instance)?;
        let module = self.parsed(instance, info)?;
        let groups = countable(instance, plan.groups)?;
        let (rows, cols) = instance.subgroups;
        let lanes = if self.model == Model::Lane { 1 } else { XE_LANES };
        let local = rows.checked_mul(cols).and_then(|n| n.checked_mul(lanes)).ok_or_else(|| {
            let rule = format!("a work-group has fewer than 2^32 lanes; its sub-groups are {rows} x {cols}");
            LaunchError::Description { kernel, instance: name, rule }
        })?;

        let mut mapping = Mapping::new(instance, self.model);
        let words = mapping.arguments(plan, args, options)?;
        let ran = match self.model {
            Model::Xe(_) => Ran::SimulatedXe { entry: info.entry, device },
            Model::Lane => Ran::SimulatedLane { entry: info.entry },
        };
        let mut counters = None;
        if groups > 0 {
            // At most about a hundred times per launch.
            let stride = plan.groups.div_ceil(100).max(1);
            let mut tell = |done: u64| {
                if let Some(progress) = options.progress
                    && (done.is_multiple_of(stride) || done == plan.groups)
                {
                    progress(done, plan.groups);
                }
            };
            tell(0);
            let launch =
                Launch { entry: info.entry, groups: [groups, 1, 1], local: [local, 1, 1], args: &words };
            let recorded = Options { hardware: hardware(device), ..options.sim.cloned().unwrap_or_default() };
            let counted = tile_sim::run_telling(&module, &mut mapping.memory, &launch, &recorded, &mut tell)
                .map_err(|source| LaunchError::Simulator { kernel, instance: name, source })?;
            counters = Some(counted);
            mapping.check_strays(plan, args)?;
            mapping.copy_back(plan, args);
        }
        let mut report = plan.report("sim", ran, start.elapsed(), mapping.staged);
        report.counters = counters;
        report.mapped = mapping.mapped;
        Ok(report)
    }

    /// The module to run, and the device it is for.
    fn choose(
        &self,
        instance: &'static InstanceInfo,
    ) -> Result<(&'static ModuleInfo, &'static str), LaunchError> {
        let wanted = match self.model {
            Model::Lane => &["cpu"],
            Model::Xe(None) => XE_DEVICES,
            Model::Xe(Some(model)) => {
                let index = XE_DEVICES.iter().position(|known| *known == model);
                index.map_or(&[][..], |i| &XE_DEVICES[i..=i])
            }
        };
        let target = self.model.target();
        wanted.iter().find_map(|device| Some((instance.module(target, device)?, *device))).ok_or_else(|| {
            LaunchError::NoModule {
                kernel: instance.kernel,
                instance: instance.name,
                target,
                device: match self.model {
                    Model::Lane => "a CPU",
                    Model::Xe(model) => model.unwrap_or("any"),
                },
                available: instance.list_modules(),
            }
        })
    }

    fn parsed(
        &self,
        instance: &'static InstanceInfo,
        info: &'static ModuleInfo,
    ) -> Result<Arc<Module>, LaunchError> {
        let (kernel, name) = (instance.kernel, instance.name);
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let key = info.words.as_ptr().addr();
        if let Some(module) = modules.get(&key) {
            return Ok(module.clone());
        }
        let words = info.to_words().ok_or_else(|| {
            let rule =
                format!("SPIR-V has whole words of 4 bytes; the module has {} bytes", info.words.len());
            LaunchError::Description { kernel, instance: name, rule }
        })?;
        let module = Module::parse(&words).map_err(|source| LaunchError::Simulator {
            kernel,
            instance: name,
            source,
        })?;
        let module = Arc::new(module);
        modules.insert(key, module.clone());
        Ok(module)
    }
}

impl fmt::Display for SimDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.model {
            Model::Xe(Some(model)) => write!(f, "sim (modules for {model})"),
            Model::Xe(None) => f.write_str("sim (the first module of a kernel)"),
            Model::Lane => f.write_str("sim (lane modules)"),
        }
    }
}

/// The GPU generation of a device, which decides the block messages there are.
fn hardware(xe_device: &str) -> Hardware {
    match xe_device {
        "bmg" | "lnl" | "ptl" => Hardware::Xe2,
        "cri" => Hardware::Cri,
        _ => Hardware::Pvc,
    }
}

/// The tensors of a launch in simulated memory.
struct Mapping {
    instance: &'static InstanceInfo,
    model: Model,
    memory: Memory,
    blocks: Vec<Block>,
    staged: Vec<Staged>,
    mapped: Vec<Mapped>,
}

/// One simulated allocation.
struct Block {
    address: u64,
    /// The parameters in it: several inputs may share a tensor.
    params: Vec<usize>,
    /// The layout of an aligned copy; `None` if the memory is mapped as it is.
    copy: Option<TensorLayout>,
}

impl Mapping {
    fn new(instance: &'static InstanceInfo, model: Model) -> Mapping {
        let (memory, blocks, staged, mapped) = (Memory::new(), Vec::new(), Vec::new(), Vec::new());
        Mapping { instance, model, memory, blocks, staged, mapped }
    }

    /// Maps every tensor and gives the kernel's arguments.
    fn arguments(
        &mut self,
        plan: &Plan,
        args: &[LaunchArg<'_>],
        options: &LaunchOptions<'_>,
    ) -> Result<Vec<Arg>, LaunchError> {
        let mut words = Vec::new();
        for (index, (checked, arg)) in plan.args.iter().zip(args).enumerate() {
            match checked {
                Checked::Scalar(Scalar::U32(value)) => words.push(Arg::U32(*value)),
                Checked::Scalar(Scalar::I32(value)) => words.push(Arg::I32(*value)),
                Checked::Scalar(Scalar::U64(value)) => words.push(Arg::U64(*value)),
                Checked::Scalar(Scalar::F32(value)) => words.push(Arg::F32(*value)),
                Checked::Scalar(Scalar::Bool(value)) => words.push(Arg::U32((*value).into())),
                Checked::Tensor(tensor) => {
                    let direct = self.tensor(index, tensor, plan, arg.region(), options)?;
                    let [batch, depth, rows, cols] = tensor.shape;
                    words.push(Arg::Pointer(direct.base));
                    words.extend([batch, depth, rows, cols, direct.pitch, direct.x0].map(Arg::U32));
                    words.extend([direct.batch_stride_bytes, direct.depth_stride_bytes].map(Arg::U64));
                }
            }
        }
        for block in &self.blocks {
            let written = block.params.iter().any(|i| output(&plan.args[*i]).is_some());
            if !written {
                self.memory.protect(block.address);
            }
        }
        Ok(words)
    }

    /// Maps one tensor, in place if the hardware could take it there.
    fn tensor(
        &mut self,
        index: usize,
        tensor: &CheckedTensor,
        plan: &Plan,
        region: &[u8],
        options: &LaunchOptions<'_>,
    ) -> Result<Direct, LaunchError> {
        let (kernel, instance) = (self.instance.kernel, self.instance.name);
        let parameter = self.instance.params[index].name;
        let placed = &tensor.placed;
        let layout = placed.layout;
        let candidate = Candidate {
            address: placed.first.addr() as u64,
            element_bytes: placed.dtype.size_bytes(),
            shape: tensor.shape,
            pitch: layout.pitch() as u64,
            depth_stride: layout.depth_stride() as u64,
            batch_stride: layout.batch_stride() as u64,
            readable_bytes: (region.len() - placed.offset_bytes()) as u64,
            base_align: BASE_ALIGN,
        };
        let found = match self.model {
            Model::Xe(_) => place(&candidate),
            Model::Lane => place_anywhere(&candidate),
        };
        match found {
            Ok(direct) => self.in_place(index, placed, plan, region, direct),
            Err(_) if options.force => {
                self.in_place(index, placed, plan, region, place_unchecked(&candidate))
            }
            Err(broken) if !broken.is_cured_by_copy() => {
                Err(LaunchError::Surface { kernel, instance, parameter, broken })
            }
            Err(broken) if options.strict => Err(LaunchError::Strict { kernel, instance, parameter, broken }),
            Err(broken) => {
                let (direct, bytes) = self.copied(index, placed, region)?;
                self.staged.push(Staged { parameter, broken, bytes });
                Ok(direct)
            }
        }
    }

    /// Maps the region of a tensor, unless another argument has mapped it.
    fn in_place(
        &mut self,
        index: usize,
        placed: &Placed,
        plan: &Plan,
        region: &[u8],
        direct: Direct,
    ) -> Result<Direct, LaunchError> {
        let same = |block: &&mut Block| {
            block.copy.is_none() && plan.args[block.params[0]].region() == Some(placed.region)
        };
        let address = match self.blocks.iter_mut().find(same) {
            Some(block) => {
                block.params.push(index);
                block.address
            }
            None => {
                let bytes = self.reserved(index, region.len())?;
                let misalign = placed.region.base.addr() % LINE_BYTES;
                self.map(index, extended(bytes, region), misalign as u64, None)
            }
        };
        let parameter = self.instance.params[index].name;
        let first = address + placed.offset_bytes() as u64;
        self.mapped.push(Mapped { parameter, address, bytes: region.len(), first });
        // The real and the simulated address are equal modulo 64, so alignment carries over.
        let base = first.wrapping_add(direct.base.wrapping_sub(placed.first.addr() as u64));
        Ok(Direct { base, ..direct })
    }

    /// Maps an aligned copy of a tensor; its padding is poison. Gives its bytes, too.
    fn copied(
        &mut self,
        index: usize,
        placed: &Placed,
        region: &[u8],
    ) -> Result<(Direct, usize), LaunchError> {
        let element_bytes = placed.dtype.size_bytes() as usize;
        let layout =
            copy_layout(placed, element_bytes).ok_or_else(|| self.out_of_memory(index, usize::MAX))?;
        let bytes = self.reserved(index, copy_bytes(&layout, element_bytes))?;
        let bytes = filled_copy(bytes, placed, region, layout);
        let len = bytes.len();
        let address = self.map(index, bytes, 0, Some(layout));
        let parameter = self.instance.params[index].name;
        self.mapped.push(Mapped { parameter, address, bytes: len, first: address });
        // Without elements all planes are one, see `xe_surface`.
        let stride_bytes =
            |stride: usize| if layout.is_empty() { 0 } else { (stride * element_bytes) as u64 };
        let direct = Direct {
            base: address,
            x0: 0,
            pitch: layout.pitch() as u32,
            depth_stride_bytes: stride_bytes(layout.depth_stride()),
            batch_stride_bytes: stride_bytes(layout.batch_stride()),
        };
        Ok((direct, len))
    }

    fn map(&mut self, index: usize, bytes: Vec<u8>, misalign: u64, copy: Option<TensorLayout>) -> u64 {
        let address = self.memory.map(bytes, misalign);
        self.blocks.push(Block { address, params: vec![index], copy });
        address
    }

    fn reserved(&self, index: usize, bytes: usize) -> Result<Vec<u8>, LaunchError> {
        let mut memory = Vec::new();
        memory.try_reserve_exact(bytes).map_err(|_| self.out_of_memory(index, bytes))?;
        Ok(memory)
    }

    fn out_of_memory(&self, index: usize, bytes: usize) -> LaunchError {
        let (kernel, instance) = (self.instance.kernel, self.instance.name);
        LaunchError::OutOfMemory { kernel, instance, parameter: self.instance.params[index].name, bytes }
    }

    /// Checks that only elements of outputs changed.
    fn check_strays(&self, plan: &Plan, args: &[LaunchArg<'_>]) -> Result<(), LaunchError> {
        for block in &self.blocks {
            let outputs = || block.params.iter().filter_map(|i| output(&plan.args[*i]));
            if outputs().next().is_none() {
                continue; // Protected: the simulator refused to write it.
            }
            let owner = block.params[0];
            let region = args[owner].region();
            let after = self.memory.bytes(block.address);
            let before = self.reserved(owner, after.len())?;
            let mut before = match (block.copy, output(&plan.args[owner])) {
                (Some(layout), Some(placed)) => filled_copy(before, placed, region, layout),
                _ => extended(before, region),
            };
            // What was there before must be there after, elements of outputs aside.
            for (_, row) in outputs().flat_map(|placed| rows_of(placed, block.copy)) {
                before[row.clone()].copy_from_slice(&after[row]);
            }
            if before != after {
                let differs = before.iter().zip(after).position(|(before, after)| before != after);
                return Err(LaunchError::StrayWrite {
                    kernel: self.instance.kernel,
                    instance: self.instance.name,
                    parameter: self.instance.params[owner].name,
                    offset_bytes: differs.expect("both have the length of the block and differ"),
                });
            }
        }
        Ok(())
    }

    /// Copies the elements of every output back to where they came from.
    fn copy_back(&self, plan: &Plan, args: &mut [LaunchArg<'_>]) {
        for block in &self.blocks {
            let after = self.memory.bytes(block.address);
            for index in &block.params {
                if let (LaunchArg::Out(view), Some(placed)) = (&mut args[*index], output(&plan.args[*index]))
                {
                    let region = view.region_mut();
                    for (home, row) in rows_of(placed, block.copy) {
                        region[home].copy_from_slice(&after[row]);
                    }
                }
            }
        }
    }
}

/// The place of an output; `None` for any other argument.
fn output(checked: &Checked) -> Option<&Placed> {
    match checked {
        Checked::Tensor(tensor) if tensor.writable => Some(&tensor.placed),
        Checked::Tensor(_) | Checked::Scalar(_) => None,
    }
}

fn extended(mut memory: Vec<u8>, bytes: &[u8]) -> Vec<u8> {
    memory.extend_from_slice(bytes);
    memory
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::tests::PLAIN;

    static INSTANCE: InstanceInfo = PLAIN;

    #[test]
    fn more_work_groups_than_32_bits_count_are_an_error_that_says_how_many() {
        assert_eq!(countable(&INSTANCE, u32::MAX.into()).expect("fits 32 bits"), u32::MAX);
        let error = countable(&INSTANCE, 1 << 32).expect_err("too many");
        let text = "a launch has at most 4294967295 work-groups here; this one needs 4294967296";
        assert_eq!(error.to_string(), format!("{INSTANCE}: {text}"));
        assert!(matches!(error, LaunchError::WorkGroups { .. }), "{error}");
    }
}
