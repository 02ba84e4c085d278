//! Owns building programs: options, the cache on disk, what the driver says of the kernel.
//!
//! *Guarantees*: a module is built once per device and process; one that the device cannot take is refused with what
//! is missing before a build; a failed build gives kernel, instance, options and log. *Not here*: launching.

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::device::OpenClDevice;
use super::driver::{DriverError, KernelFacts, KernelHandle, ProgramHandle};
use super::facts::{DeviceFacts, Lack, Target};
use super::needs::Needs;
use crate::contract::{InstanceInfo, ModuleInfo};
use crate::error::LaunchError;
use crate::launch::Built as BuildReport;

/// Words and entry point: both are static, so their addresses tell them apart.
pub(super) type ProgramKey = (usize, &'static str);

/// A kernel ready to launch.
pub(super) struct Built {
    /// Locked from the first argument to the enqueueing: arguments belong to the kernel, not to a launch.
    pub(super) kernel: Mutex<KernelHandle>,
}

/// A module that did not become a program of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedBuild {
    /// The device.
    pub device: String,
    /// The build options.
    pub options: String,
    /// The call that failed.
    pub error: DriverError,
    /// What the driver's compiler said; may be empty.
    pub log: String,
}

impl fmt::Display for FailedBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with options `{}`: {}", self.device, self.options, self.error)?;
        match &self.log[..] {
            "" => f.write_str("; the driver gave no log"),
            log => write!(f, "; the driver's log:\n{log}"),
        }
    }
}

/// The build options for a module: its own, and Intel's compiler keys where that compiler builds it.
fn options(module: &ModuleInfo, target: Target) -> String {
    let mut options = module.options.to_vec().join(" ");
    match target {
        Target::Xe(_) if !module.igc_options.is_empty() => {
            let space = if options.is_empty() { "" } else { " " };
            options.push_str(&format!("{space}-igc_opts '{}'", module.igc_options.join(",")));
        }
        Target::Xe(_) | Target::Lane => {}
    }
    options
}

/// All that a compiled program depends on.
fn cache_key(facts: &DeviceFacts, options: &str, words: &[u8]) -> Vec<u8> {
    let DeviceFacts { platform, name, version, driver, .. } = facts;
    let texts = [platform, name, version, driver].map(String::as_str);
    let mut key = Vec::new();
    for text in texts.into_iter().chain([options]) {
        key.extend_from_slice(text.as_bytes());
        key.push(0);
    }
    key.extend_from_slice(words);
    key
}

impl OpenClDevice {
    /// The kernel of a module, built if this is the first launch of it; then with how that went.
    pub(super) fn built(
        &self,
        instance: &'static InstanceInfo,
        module: &'static ModuleInfo,
        args: u32,
        work_items: usize,
    ) -> Result<(Arc<Built>, Option<BuildReport>), LaunchError> {
        let slot = self.slot((module.words.as_ptr().addr(), module.entry));
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(built) = &*slot {
            return Ok((built.clone(), None));
        }
        let (built, report) = self.build(instance, module, args, work_items)?;
        let built = Arc::new(built);
        *slot = Some(built.clone());
        Ok((built, Some(report)))
    }

    fn build(
        &self,
        instance: &'static InstanceInfo,
        module: &'static ModuleInfo,
        args: u32,
        work_items: usize,
    ) -> Result<(Built, BuildReport), LaunchError> {
        let (kernel, name) = (instance.kernel, instance.name);
        let start = Instant::now();
        let description = |rule: String| LaunchError::Description { kernel, instance: name, rule };
        let lacking = |lacks: Vec<Lack>| LaunchError::Lacking {
            kernel,
            instance: name,
            target: module.target,
            device: self.facts().to_string(),
            lacks,
        };
        let words = module.to_words();
        let needs = words.as_deref().and_then(|words| Needs::of(words, module.entry)).ok_or_else(|| {
            description(format!(
                "its `{}` module must be SPIR-V with an entry `{}`",
                module.target, module.entry
            ))
        })?;
        let mut unmet = needs.unmet(self.facts(), work_items);
        let (needed, offered) = (instance.group.shared_bytes as u64, self.facts().local_bytes);
        if needed > offered {
            unmet.push(Lack::LocalMemory { needed, offered });
        }
        if !unmet.is_empty() {
            return Err(lacking(unmet));
        }
        let options = options(module, self.target());
        let key = cache_key(self.facts(), &options, module.words);
        let failed = |error: DriverError, log: String| {
            let (device, options) = (self.facts().to_string(), options.clone());
            let failure = Box::new(FailedBuild { device, options, error, log });
            LaunchError::Build { kernel, instance: name, failure }
        };
        let cached = self.cached(&key, &options);
        let from_cache = cached.is_some();
        let program = match cached {
            Some(program) => program,
            None => {
                let program = self.driver().program_from_il(self.context(), module.words);
                let program = program.map_err(|error| failed(error, String::new()))?;
                let built = self.driver().build(&program, self.handle(), &options);
                built.map_err(|failure| failed(failure.error, failure.log))?;
                self.store(&key, &program);
                program
            }
        };
        let handle = self.driver().kernel(&program, module.entry);
        let handle = handle.map_err(|error| failed(error, String::new()))?;
        let facts = self.driver().kernel_facts(&handle, self.handle());
        let facts = facts.map_err(|error| failed(error, String::new()))?;
        self.check(facts, args, work_items).map_err(description)?;
        if facts.local_bytes > self.facts().local_bytes {
            let (needed, offered) = (facts.local_bytes, self.facts().local_bytes);
            return Err(lacking(vec![Lack::LocalMemory { needed, offered }]));
        }
        if work_items > facts.max_work_group {
            return Err(lacking(vec![Lack::WorkGroup { needed: work_items, offered: facts.max_work_group }]));
        }
        let report = BuildReport { from_cache, took: start.elapsed(), options };
        Ok((Built { kernel: Mutex::new(handle) }, report))
    }

    /// The rule of the launch ABI that the driver's view of the kernel breaks.
    fn check(&self, facts: KernelFacts, args: u32, work_items: usize) -> Result<(), String> {
        if facts.args != args {
            return Err(format!("its module must take {args} arguments; the driver says {}", facts.args));
        }
        let [x, y, z] = facts.work_group;
        if x != 0 && (x, y, z) != (work_items, 1, 1) {
            return Err(format!(
                "its module must be for work-groups of {work_items} x 1 x 1; it is for {x} x {y} x {z}"
            ));
        }
        Ok(())
    }

    /// The program of the cache on disk; one the driver does not take any more is removed.
    fn cached(&self, key: &[u8], options: &str) -> Option<ProgramHandle> {
        let cache = self.cache()?;
        let binary = cache.get(key)?;
        let program = self.driver().program_from_binary(self.context(), self.handle(), &binary).ok();
        let built = program.filter(|program| self.driver().build(program, self.handle(), options).is_ok());
        if built.is_none() {
            cache.remove(key);
        }
        built
    }

    /// Stores a built program. A cache that cannot be written costs time at the next start, nothing else.
    fn store(&self, key: &[u8], program: &ProgramHandle) {
        if let Some(cache) = self.cache()
            && let Ok(binary) = self.driver().binary(program)
        {
            let _ = cache.put(key, &binary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opencl::facts::tests::max_gpu;

    const MODULE: ModuleInfo = ModuleInfo {
        target: "xe",
        devices: &["pvc"],
        words: &[],
        entry: "f",
        options: &["-cl-intel-256-GRF-per-thread"],
        igc_options: &["A=1", "B=2"],
    };

    #[test]
    fn keys_of_intels_compiler_go_to_intels_compiler_only() {
        let xe = "-cl-intel-256-GRF-per-thread -igc_opts 'A=1,B=2'";
        assert_eq!(options(&MODULE, Target::Xe("pvc")), xe);
        assert_eq!(options(&ModuleInfo { options: &[], ..MODULE }, Target::Xe("pvc")), "-igc_opts 'A=1,B=2'");
        assert_eq!(options(&ModuleInfo { options: &[], ..MODULE }, Target::Lane), "");
    }

    #[test]
    fn another_driver_option_or_word_is_another_key() {
        let key = |facts: DeviceFacts, options: &str, words: &[u8]| cache_key(&facts, options, words);
        let plain = key(max_gpu(), "-a", b"words");
        assert_eq!(plain, key(max_gpu(), "-a", b"words"));
        for other in [
            key(DeviceFacts { driver: "1.2.4".into(), ..max_gpu() }, "-a", b"words"),
            key(DeviceFacts { name: "B".into(), ..max_gpu() }, "-a", b"words"),
            key(max_gpu(), "-b", b"words"),
            key(max_gpu(), "-a", b"wordz"),
            key(max_gpu(), "-", b"awords"),
        ] {
            assert_ne!(plain, other);
        }
    }
}
