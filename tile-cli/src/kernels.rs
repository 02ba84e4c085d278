//! From the kernels in the binary to modules for the tools.
//!
//! *Guarantees*: a name that matches nothing is an error that lists what there is. *Not here*: the tools.

use tile_runtime::contract::{InstanceInfo, KernelInfo};

use crate::module::ModuleInput;

/// Why a request names no kernel, instance or device. Each variant lists what could be named.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// No kernel has the name.
    #[error("no kernel `{name}`; there are: {known}")]
    UnknownKernel {
        /// Name asked for.
        name: String,
        /// Names that exist.
        known: String,
    },
    /// No instance of the kernel contains the text.
    #[error("no instance of `{kernel}` contains `{text}`; there are: {known}")]
    UnknownInstance {
        /// The kernel.
        kernel: &'static str,
        /// Text asked for.
        text: String,
        /// Instances that exist.
        known: String,
    },
    /// No selected module is legal on the device.
    #[error("`{name}` has no module for device `{device}`; its devices are: {known}")]
    UnknownDevice {
        /// Kernel or file.
        name: String,
        /// Device asked for.
        device: String,
        /// Devices that the modules name.
        known: String,
    },
}

/// Returns every kernel of the library: the one place that knows where the list is.
pub fn registry() -> &'static [&'static KernelInfo] {
    tile_std::KERNELS
}

/// Finds a kernel by its exact name.
///
/// # Errors
/// When there is none.
pub fn find(kernels: &[&'static KernelInfo], name: &str) -> Result<&'static KernelInfo, KernelError> {
    kernels.iter().copied().find(|kernel| kernel.name == name).ok_or_else(|| KernelError::UnknownKernel {
        name: name.to_owned(),
        known: list(kernels.iter().map(|kernel| kernel.name)),
    })
}

/// Returns the instances of `kernel` whose name contains `text` (white space ignored); all when `None`.
///
/// # Errors
/// When there is none.
pub fn instances(
    kernel: &'static KernelInfo,
    text: Option<&str>,
) -> Result<Vec<&'static InstanceInfo>, KernelError> {
    let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let wanted = letters(text.unwrap_or(""));
    let found: Vec<_> = kernel.instances.iter().filter(|i| letters(i.name).contains(&wanted)).collect();
    if found.is_empty() {
        return Err(KernelError::UnknownInstance {
            kernel: kernel.name,
            text: text.unwrap_or("").to_owned(),
            known: list(kernel.instances.iter().map(|instance| instance.name)),
        });
    }
    Ok(found)
}

/// Returns the modules of `instance`.
pub fn modules(instance: &InstanceInfo) -> Vec<ModuleInput> {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let module = |module: &tile_runtime::contract::ModuleInfo| ModuleInput {
        kernel: instance.kernel.to_owned(),
        instance: instance.name.to_owned(),
        words: module.words.to_vec(),
        entry: module.entry.to_owned(),
        devices: owned(module.devices),
        options: owned(module.options),
        igc_options: owned(module.igc_options),
    };
    instance.modules.iter().map(module).collect()
}

/// Checks that every device asked for is named by some module, so that a misspelt one cannot select nothing.
///
/// # Errors
/// When one is not.
pub fn check_devices(name: &str, modules: &[ModuleInput], devices: &[String]) -> Result<(), KernelError> {
    let mut known: Vec<&str> = modules.iter().flat_map(|m| &m.devices).map(String::as_str).collect();
    known.sort_unstable();
    known.dedup();
    match devices.iter().find(|device| !known.contains(&device.as_str())) {
        None => Ok(()),
        Some(device) => Err(KernelError::UnknownDevice {
            name: name.to_owned(),
            device: device.clone(),
            known: list(known.into_iter()),
        }),
    }
}

/// Lays out the kernels with their instances for people.
pub fn table(kernels: &[&'static KernelInfo]) -> String {
    let heading =
        ["kernel", "instance", "sub-groups", "tile", "register bytes", "module", "SPIR-V bytes", "devices"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for instance in kernels.iter().flat_map(|kernel| kernel.instances) {
        for module in instance.modules {
            rows.push(vec![
                instance.kernel.to_owned(),
                instance.name.to_owned(),
                format!("{}x{}", instance.subgroups.0, instance.subgroups.1),
                format!("{}x{}", instance.grid.tile.0, instance.grid.tile.1),
                instance.live_tile_bytes.to_string(),
                module.target.to_owned(),
                module.words.len().to_string(),
                module.devices.join(","),
            ]);
        }
    }
    let instances: usize = kernels.iter().map(|kernel| kernel.instances.len()).sum();
    format!("{}\nkernels: {}, instances: {instances}\n", crate::table::align(&rows), kernels.len())
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use tile_runtime::contract::{GridInfo, GroupInfo, ModuleInfo};

    use super::*;

    const PLAIN: InstanceInfo = InstanceInfo {
        kernel: "gemm",
        name: "<bf16, bf16, 32>",
        generics: &[],
        params: &[],
        subgroups: (8, 4),
        grid: GridInfo { param: 0, tile: (32, 64) },
        modules: &[ModuleInfo {
            target: "xe",
            devices: &["pvc", "bmg"],
            words: &[3, 2, 0x23, 7],
            entry: "gemm_bf16",
            options: &["-o"],
            igc_options: &["A=1"],
        }],
        absent: &[],
        live_tile_bytes: 14336,
        host_tile_bytes: 0,
        group: GroupInfo::NONE,
        run: |_, _| (),
    };
    static GEMM: KernelInfo = KernelInfo {
        name: "gemm",
        attr: "",
        source: "",
        instances: &[PLAIN, InstanceInfo { name: "<bf16, f32, 16>", ..PLAIN }],
    };

    #[test]
    fn names_that_match_nothing_list_what_there_is() {
        let error = find(&[&GEMM], "gem").expect_err("no such kernel").to_string();
        assert_eq!(error, "no kernel `gem`; there are: gemm");
        assert_eq!(find(&[], "gemm").expect_err("empty").to_string(), "no kernel `gemm`; there are: none");
        let error = instances(&GEMM, Some("f8")).expect_err("no such instance").to_string();
        assert_eq!(
            error,
            "no instance of `gemm` contains `f8`; there are: <bf16, bf16, 32>, <bf16, f32, 16>"
        );
        let modules = modules(&PLAIN);
        let error = check_devices("gemm", &modules, &["pvcc".into()]).expect_err("misspelt").to_string();
        assert_eq!(error, "`gemm` has no module for device `pvcc`; its devices are: bmg, pvc");
        assert!(check_devices("gemm", &modules, &["bmg".into()]).is_ok());
    }

    #[test]
    fn an_instance_is_selected_by_any_part_of_its_name() {
        let names = |text| -> Vec<&str> {
            instances(&GEMM, text).expect("some").iter().map(|instance| instance.name).collect()
        };
        assert_eq!(names(None).len(), 2);
        assert_eq!(names(Some("bf16,f32")), ["<bf16, f32, 16>"]);
    }

    #[test]
    fn everything_the_tools_need_comes_along() {
        let module = &modules(&PLAIN)[0];
        assert_eq!(module.build_options(&[]), "-o -igc_opts 'A=1'");
        assert_eq!((module.entry.as_str(), module.words.len()), ("gemm_bf16", 4));
        let text = table(&[&GEMM]);
        assert!(text.contains("pvc,bmg") && text.ends_with("kernels: 1, instances: 2\n"), "{text}");
    }
}
